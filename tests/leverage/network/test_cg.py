"""Conjugate gradients solve a system or report that they did not."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skpriv.leverage.network._cg import (
    NystromPreconditioner,
    conjugate_gradients,
    nystrom,
)


def rotation(size, seed=0):
    rng = np.random.default_rng(seed)
    return np.linalg.qr(rng.normal(size=(size, size)))[0]


def with_spectrum(eigenvalues, seed=0):
    Q = rotation(len(eigenvalues), seed)
    return torch.tensor((Q * eigenvalues) @ Q.T)


def normal(*shape, seed=0):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape))


def solve(H, B, **options):
    return conjugate_gradients(lambda V: H @ V, B, **options)


def decaying(H, rank, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return nystrom(lambda V: H @ V, len(H), rank, generator, dtype=H.dtype)


def assert_not_converged(solution):
    assert not solution.converged.any()
    assert solution.X.isnan().all()


def naive(H, b, tol, max_iter):
    """Textbook conjugate gradients for one right-hand side."""
    x, r = np.zeros_like(b), b.copy()
    p, n_iter = r.copy(), 0
    while np.linalg.norm(r) > tol * np.linalg.norm(b) and n_iter < max_iter:
        step = (r @ r) / (p @ H @ p)
        x, new = x + step * p, r - step * (H @ p)
        p = new + (new @ new) / (r @ r) * p
        r, n_iter = new, n_iter + 1
    return x, n_iter


@pytest.mark.parametrize("condition", [1, 1e3, 1e6, 1e8])
def test_solutions_equal_the_direct_ones(condition):
    H = with_spectrum(np.geomspace(1, 1 / condition, 40))
    B = normal(40, 6)
    solution = solve(H, B, tol=1e-7, max_iter=5000)
    assert solution.converged.all()
    # A relative residual of tol leaves a relative error of tol times the condition.
    exact = np.linalg.solve(H.numpy(), B.numpy())
    error = np.linalg.norm(solution.X.numpy() - exact, axis=0)
    assert (error <= 1e-7 * condition * np.linalg.norm(exact, axis=0)).all()
    true = (B - H @ solution.X).norm(dim=0) / B.norm(dim=0)
    # Rounding of H x, with x up to the condition times as long as b.
    rounding = 1e-17 * (100 + condition)
    assert (true <= 1e-7 + rounding).all()
    assert_allclose(solution.residuals, true, rtol=1e-6, atol=rounding)


def test_steps_are_those_of_the_textbook():
    H, B = with_spectrum(np.linspace(1, 9, 30)), normal(30, 4)
    solution = solve(H, B, tol=1e-5)
    for j in range(4):
        x, n_iter = naive(H.numpy(), B[:, j].numpy(), 1e-5, 100)
        assert_allclose(solution.X[:, j], x, rtol=1e-9, atol=1e-12)
        assert solution.n_iter[j] == n_iter


def test_many_right_hand_sides_of_a_small_system_are_all_solved():
    H, B = with_spectrum(np.geomspace(1, 1e-3, 6)), normal(6, 200)
    solution = solve(H, B, tol=1e-10)
    assert solution.converged.all()
    assert (solution.X != 0).any(dim=0).all()
    assert_allclose(solution.X, np.linalg.solve(H, B), rtol=1e-5, atol=1e-7)


def test_a_column_alone_has_the_solution_that_it_has_among_others():
    H = with_spectrum(np.geomspace(1, 1e-1, 30))
    # From an eigenvector, solved at once, to what takes all directions.
    easy = H @ torch.linalg.eigh(H)[1][:, :3]
    B = torch.cat([easy, normal(30, 5), 1e-9 * normal(30, 1), torch.zeros(30, 1)], 1)
    together = solve(H, B, tol=1e-11)
    assert together.n_iter.unique().numel() > 2
    for j in range(B.shape[1]):
        alone = solve(H, B[:, [j]], tol=1e-11)
        scale = float(alone.X.abs().max())
        assert_allclose(together.X[:, [j]], alone.X, rtol=0, atol=1e-10 * scale)
        # Blocks of other widths round otherwise.
        assert abs(together.n_iter[j] - alone.n_iter[0]) <= 1


def test_products_shrink_as_columns_are_done_and_each_pays_one_check():
    H = with_spectrum(np.geomspace(1, 1e-3, 50))
    easy = torch.linalg.eigh(H)[1][:, :8]
    widths = []

    def product(V):
        widths.append(V.shape[1])
        return H @ V

    solution = conjugate_gradients(product, torch.cat([easy, normal(50, 2)], 1))
    assert solution.converged.all()
    # The first product, with one vector, estimates the norm of H.
    assert widths[:2] == [1, 10]
    assert widths[1:] == sorted(widths[1:], reverse=True)
    assert sum(widths[1:]) == solution.n_iter.sum() + 10


@pytest.mark.parametrize("lowest", [-1.0, -1e-2, -1e-6, -1e-10])
@pytest.mark.parametrize("preconditioned", [False, True])
def test_an_indefinite_operator_is_found_out_in_every_column(lowest, preconditioned):
    H = with_spectrum(np.append(np.geomspace(1, 1e-2, 39), lowest))
    vectors = torch.linalg.eigh(H)[1]
    precondition = NystromPreconditioner(vectors[:, -5:], torch.ones(5).double()).solve
    solution = solve(
        H,
        normal(40, 20),
        precondition=precondition if preconditioned else None,
        tol=1e-10,
        max_iter=500,
    )
    assert_not_converged(solution)
    assert solution.negative_curvature.all()
    assert solution.residuals.isfinite().all()


def test_only_columns_that_meet_the_negative_direction_are_refused():
    H = torch.diag(torch.tensor([3.0, 2.0, 1.0, -1.0]).double())
    B = torch.eye(4).double()
    solution = solve(H, B)
    assert_array_equal(solution.negative_curvature, [False, False, False, True])
    assert_array_equal(solution.converged, [True, True, True, False])
    assert_allclose(solution.X[:, :3], (torch.linalg.inv(H) @ B)[:, :3])


@pytest.mark.parametrize("tol", [1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("rank", [None, 5, 12, 30])
def test_singular_systems_with_a_solution_are_solved_not_accused(tol, rank):
    A = normal(12, 30)
    H, B = A.T @ A, A.T @ normal(12, 7)
    precondition = None if rank is None else decaying(H, rank).solve
    solution = solve(H, B, tol=tol, precondition=precondition)
    assert solution.converged.all()
    assert not solution.negative_curvature.any()
    if rank is None:
        exact = np.linalg.pinv(H.numpy()) @ B.numpy()
        assert_allclose(solution.X, exact, atol=10 * tol * np.abs(exact).max())


def test_the_head_of_a_softmax_without_a_penalty_is_solved():
    # All classes shifted alike change no probability: as many null directions as
    # features.
    rng = np.random.default_rng(0)
    Z, proba = rng.normal(size=(50, 4)), rng.dirichlet(np.ones(3), size=50)
    H = sum(
        np.kron(np.diag(p) - np.outer(p, p), np.outer(z, z))
        for z, p in zip(Z, proba, strict=True)
    )
    B = np.column_stack(
        [np.kron(np.eye(3)[0] - p, z) for z, p in zip(Z, proba, strict=True)]
    )
    solution = solve(torch.tensor(H), torch.tensor(B), tol=1e-10)
    assert solution.converged.all()
    exact = np.linalg.pinv(H, rcond=1e-10) @ B
    assert_allclose(solution.X, exact, rtol=1e-7, atol=1e-8 * np.abs(exact).max())


@pytest.mark.parametrize("outside", ["wholly", "partly"])
def test_a_system_without_a_solution_does_not_converge(outside):
    A = normal(12, 30)
    null = torch.linalg.svd(A)[2][12:].T
    B = null @ normal(18, 5)
    if outside == "partly":
        B = B + A.T @ normal(12, 5)
    solution = solve(A.T @ A, B, tol=1e-6)
    assert_not_converged(solution)
    # Rounding in the kernel is no sign of negative curvature.
    assert not solution.negative_curvature.any()


@given(
    st.integers(-500, 400), st.integers(-400, 400), st.integers(1, 12), st.integers()
)
@settings(deadline=None, max_examples=40)
def test_scales_change_nothing_but_the_scale(of_B, of_H, size, seed):
    rng = np.random.default_rng(abs(seed))
    A = rng.normal(size=(size, size))
    H, B = (
        torch.tensor(A @ A.T + np.eye(size)),
        torch.tensor(rng.normal(size=(size, 3))),
    )
    one = solve(H, B, tol=1e-9)
    # Powers of two scale without rounding.
    two = solve(2.0**of_H * H, 2.0**of_B * B, tol=1e-9)
    assert one.converged.all()
    assert_array_equal(one.n_iter, two.n_iter)
    assert_array_equal(one.residuals, two.residuals)
    assert_array_equal(one.X * 2.0**of_B / 2.0**of_H, two.X)


@pytest.mark.parametrize("of_B", [1e-300, 1e-150, 1e150, 1e300])
@pytest.mark.parametrize("of_H", [1e-150, 1.0, 1e150])
def test_extreme_scales_are_solved_unless_the_solution_is_out_of_range(of_B, of_H):
    H, B = with_spectrum(np.geomspace(1, 1e-2, 20)), normal(20, 3)
    expected = solve(H, B, tol=1e-9)
    solution = solve(of_H * H, of_B * B, tol=1e-9)
    if of_B / of_H > 1e308:
        assert_not_converged(solution)
        return
    assert solution.converged.all()
    if of_B / of_H > 1e-308:
        X = solution.X / of_B * of_H
        assert_allclose(X, expected.X, rtol=1e-6, atol=1e-6)


def test_indefiniteness_is_seen_at_any_scale():
    H, B = with_spectrum(np.linspace(-0.5, 1, 20)), normal(20, 3)
    for scale in (1e-150, 1e150):
        assert solve(scale * H, B).negative_curvature.all()


def test_single_precision_says_where_it_can_go_no_further():
    H = with_spectrum(np.geomspace(1, 1e-4, 60))
    B = H @ normal(60, 5)
    exact = torch.linalg.solve(H, B)
    coarse = solve(H.float(), B.float(), tol=1e-4)
    assert coarse.converged.all()
    assert coarse.X.dtype == torch.float32
    assert ((coarse.X - exact).norm(dim=0) <= 0.1 * exact.norm(dim=0)).all()
    fine = solve(H.float(), B.float(), tol=1e-9)
    assert_not_converged(fine)
    assert not fine.negative_curvature.any()
    assert (fine.residuals > 1e-9).all()


def test_columns_whose_recurrence_drifted_start_again_until_solved():
    # A product that is wrong now and then leads the recurrence astray.
    H, B = with_spectrum(np.geomspace(1, 1e-2, 30)), normal(30, 4)
    calls = []

    def product(V):
        calls.append(V.shape[1])
        return (1 + 1e-3 * (len(calls) == 8)) * (H @ V)

    steady = solve(H, B, tol=1e-8)
    solution = conjugate_gradients(product, B, tol=1e-8)
    assert solution.converged.all()
    assert (solution.n_iter > steady.n_iter).all()
    assert ((B - H @ solution.X).norm(dim=0) <= 1.01e-8 * B.norm(dim=0)).all()


def test_an_operator_that_is_not_linear_never_converges():
    H, B = with_spectrum(np.geomspace(1, 1e-2, 30)), normal(30, 4)
    solution = conjugate_gradients(
        lambda V: H @ V + 1e-3 * V.norm(dim=0) * torch.cos(1e3 * V), B, tol=1e-8
    )
    assert_not_converged(solution)
    assert (solution.residuals > 1e-8).all()


def test_too_few_iterations_are_said():
    H, B = with_spectrum(np.geomspace(1, 1e-4, 50)), normal(50, 4)
    solution = solve(H, B, max_iter=7)
    assert_not_converged(solution)
    assert_array_equal(solution.n_iter, [7] * 4)
    assert not solution.negative_curvature.any()
    x = np.column_stack([naive(H.numpy(), b, 1e-6, 7)[0] for b in B.T.numpy()])
    true = np.linalg.norm(B.numpy() - H.numpy() @ x, axis=0) / np.linalg.norm(B, axis=0)
    assert_allclose(solution.residuals, true, rtol=1e-8)
    # As many as are needed are enough.
    needed = int(solve(H, B).n_iter.max())
    assert solve(H, B, max_iter=needed).converged.all()


def test_zero_columns_cost_nothing():
    H, B = with_spectrum(np.linspace(1, 2, 9)), normal(9, 4)
    B[:, 1] = 0
    solution = solve(H, B)
    assert solution.converged.all()
    assert_array_equal(solution.X[:, 1], np.zeros(9))
    assert solution.n_iter[1] == 0
    assert solution.residuals[1] == 0
    nothing = conjugate_gradients(pytest.fail, torch.zeros(9, 3))
    assert nothing.converged.all()
    assert_array_equal(nothing.X, np.zeros((9, 3)))


def test_no_columns_have_no_solutions():
    solution = conjugate_gradients(pytest.fail, torch.zeros(5, 0).double())
    assert solution.X.shape == (5, 0)
    assert solution.converged.shape == solution.residuals.shape == (0,)


def test_a_system_of_one_unknown():
    solution = solve(
        torch.tensor([[4.0]]).double(), torch.tensor([[2.0, -8.0]]).double()
    )
    assert_allclose(solution.X, [[0.5, -2.0]])
    assert_array_equal(solution.n_iter, [1, 1])
    assert solve(-torch.ones(1, 1), torch.ones(1, 1)).negative_curvature.all()
    assert_not_converged(solve(torch.zeros(1, 1), torch.ones(1, 1)))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_spoils_its_own_column_only(value):
    H, B = with_spectrum(np.linspace(1, 2, 9)), normal(9, 4)
    B[3, 2] = value
    solution = solve(H, B)
    assert_array_equal(solution.converged, [True, True, False, True])
    assert_array_equal(solution.X.isnan().any(dim=0), [False, False, True, False])
    assert solution.residuals[2].isnan()


def test_a_product_that_is_not_finite_does_not_converge():
    B = normal(9, 4)
    for value in (np.nan, np.inf, -np.inf):
        bad = conjugate_gradients(lambda V, value=value: V * value, B)
        assert_not_converged(bad)
        assert not bad.negative_curvature.any()
    late = []

    def product(V):
        late.append(V)
        return V * torch.arange(1.0, 10.0)[:, None] * (np.nan if len(late) > 4 else 1)

    assert_not_converged(conjugate_gradients(product, B))


def test_a_preconditioner_that_is_not_positive_leads_to_no_wrong_number():
    H, B = with_spectrum(np.linspace(1, 2, 9)), normal(9, 4)
    assert_not_converged(solve(H, B, precondition=lambda V: 0 * V))
    for precondition in (torch.neg, lambda V: V * torch.linspace(-1, 1, 9)[:, None]):
        solution = solve(H, B, precondition=precondition)
        assert not solution.negative_curvature.any()
        error = (B - H @ solution.X).norm(dim=0) / B.norm(dim=0)
        assert (error[solution.converged] <= 1.01e-6).all()
        assert solution.X[:, ~solution.converged].isnan().all()


def test_arguments_are_left_as_they_were():
    H, B = with_spectrum(np.linspace(1, 2, 9)), normal(9, 4)
    before = B.clone()
    solve(H, B, precondition=lambda V: V)
    assert torch.equal(B, before)


@pytest.mark.parametrize("damping", [0.0, 1e-3, 10.0])
def test_the_preconditioner_is_the_inverse_of_its_dense_twin(damping):
    U = torch.tensor(rotation(12)[:, :4])
    eigenvalues = torch.tensor([9.0, 4.0, 1.0, 0.25]).double()
    dense = np.eye(12) - U.numpy() @ U.numpy().T
    for u, value in zip(U.numpy().T, eigenvalues.numpy(), strict=True):
        dense += (value + damping) / (0.25 + damping) * np.outer(u, u)
    V = normal(12, 5)
    solved = NystromPreconditioner(U, eigenvalues).solve(V, damping)
    assert_allclose(solved, np.linalg.solve(dense, V), rtol=1e-12, atol=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 25))
@settings(deadline=None, max_examples=30)
def test_the_nystrom_approximation_equals_its_naive_twin(seed, size, rank):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(size, size))
    H = A @ np.diag(0.8 ** np.arange(size)) @ A.T
    seen = []
    approximation = nystrom(
        lambda V: seen.append(V) or torch.tensor(H) @ V,
        size,
        rank,
        torch.Generator().manual_seed(seed),
    )
    (V,) = seen
    V = V.numpy()
    assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-13)
    twin = H @ V @ np.linalg.pinv(V.T @ H @ V, rcond=1e-14, hermitian=True) @ V.T @ H
    U, values = approximation.U.numpy(), approximation.eigenvalues.numpy()
    largest = np.linalg.eigvalsh(H)[-1]
    # Either way loses half of the digits where the core is nearly singular.
    assert_allclose((U * values) @ U.T, twin, rtol=0, atol=1e-7 * largest)
    assert_allclose(U.T @ U, np.eye(len(values)), atol=1e-12)
    assert (np.diff(values) <= 0).all()
    # It never exceeds H.
    assert np.linalg.eigvalsh(H - (U * values) @ U.T)[0] >= -1e-7 * largest


def test_an_operator_of_low_rank_is_found_whole():
    A = normal(5, 40)
    H = A.T @ A
    for scale in (1e-150, 1.0, 1e150):
        approximation = decaying(scale * H, 20)
        U, values = approximation.U, approximation.eigenvalues / scale
        assert values.shape == (5,)
        assert_allclose((U * values) @ U.T, H, atol=1e-12 * float(H.abs().max()))


def test_no_operator_is_preconditioned_by_nothing():
    V = normal(8, 2)
    for H in (torch.zeros(8, 8).double(), torch.full((8, 8), torch.nan).double()):
        approximation = decaying(H, 3)
        assert approximation.eigenvalues.shape == (0,)
        assert_array_equal(approximation.solve(V), V)
        assert_array_equal(approximation.solve(V, 0.1), V)


def test_the_preconditioner_of_an_indefinite_operator_is_positive():
    H = with_spectrum(np.linspace(-1, 1, 20))
    approximation = decaying(H, 10)
    assert (approximation.eigenvalues > 0).all()
    inverse = approximation.solve(torch.eye(20).double(), 0.01).numpy()
    assert np.linalg.eigvalsh((inverse + inverse.T) / 2)[0] > 0


def test_the_generator_decides():
    H = with_spectrum(np.geomspace(1, 1e-6, 30))
    first, again, other = (decaying(H, 5, seed).U for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_preconditioner_halves_the_iterations(dtype):
    damping = 5e-4
    H = with_spectrum(np.arange(1, 301.0) ** -1.5)
    approximation = decaying(H.to(dtype), 50)
    H = (H + damping * torch.eye(300)).to(dtype)
    B = normal(300, 10).to(dtype)
    plain = solve(H, B, tol=1e-4)
    helped = solve(
        H, B, tol=1e-4, precondition=lambda V: approximation.solve(V, damping)
    )
    assert plain.converged.all()
    assert helped.converged.all()
    assert (2 * helped.n_iter <= plain.n_iter).all()
    difference = (helped.X - plain.X).norm(dim=0) / plain.X.norm(dim=0)
    assert (difference < 2e-4 / damping).all()
