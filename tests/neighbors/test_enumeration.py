"""Every value equals its definition, by enumeration of all subsets and tie orders."""

import enumeration as twin
import numpy as np
import pytest

from skpriv import KNNLeaveOneOutScorer, KNNShapleyScorer, WaKAScorer

EXACT = {"rtol": 0, "atol": 1e-12}


def problem(seed, ties, n_max=None):
    """Records, a few query rows, k and q. On a grid, distances are exact and tie."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, (n_max or (7 if ties else 9)) + 1))
    if ties:
        X, Q = rng.integers(0, 3, (n, 2)), rng.integers(0, 3, (2, 2))
    else:
        X, Q = rng.normal(size=(n, 3)), rng.normal(size=(2, 3))
    n_labels = int(rng.integers(2, 5))
    y, y_Q = rng.integers(0, n_labels, n), rng.integers(0, n_labels, 2)
    k = int(rng.integers(1, n + 3))
    q = float(rng.choice([0.2, 0.5, 0.8]))
    return X.astype(float), y, Q.astype(float), y_Q, k, q


def squared(X, row):
    return ((X - row) ** 2).sum(axis=1)


def own_value(X, y, i, value, removed=()):
    """Mean over tie orders of a value at record i, where i is strictly the nearest."""
    others = [r for r in range(len(y)) if r != i and r not in removed]
    matches = y == y[i]
    return twin.mean_over_orders(
        squared(X, X[i]), others, lambda order: value([i, *order], matches)
    )


def own_values(X, y, value):
    return np.array([own_value(X, y, i, value(i)) for i in range(len(y))])


def row_values(X, y, Q, y_Q, value):
    records = range(len(y))
    return np.array([
        [
            twin.mean_over_orders(
                squared(X, row), records, lambda o, r=r, m=y == label: value(o, m, r)
            )
            for r in records
        ]
        for row, label in zip(Q, y_Q, strict=True)
    ])  # fmt: skip


def dense(matrix):
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def influence_by_removal(X, y, value):
    n = len(y)
    changes = np.zeros((n, n))
    for i in range(n):
        whole = own_value(X, y, i, value(i))
        for j in range(n):
            if j != i:
                changes[i, j] = own_value(X, y, i, value(i), removed=[j]) - whole
    return changes


cases = pytest.mark.parametrize("ties", [False, True], ids=["distinct", "ties"])
seeds = pytest.mark.parametrize("seed", range(12))


@seeds
@cases
@pytest.mark.parametrize("variant", ["waka", "removal", "addition"])
def test_waka(seed, ties, variant):
    X, y, Q, y_Q, k, q = problem(seed, ties)
    threshold = [0.0, 0.3, 0.5, 0.85, 1.0][seed % 5]
    scorer = WaKAScorer(
        k, variant=variant, threshold=threshold, subset_probability=q
    ).fit(X, y)

    def value(order, matches, record):
        return twin.waka(order, matches, record, k, q, variant, threshold)

    def own(i):
        return lambda order, matches: value(order, matches, i)

    np.testing.assert_allclose(scorer.scores_, own_values(X, y, own), **EXACT)
    np.testing.assert_allclose(scorer.score_samples(X, y), scorer.scores_, **EXACT)
    expected = row_values(X, y, Q, y_Q, value)
    values = scorer.attribute(Q, y_Q, aggregate=None)
    np.testing.assert_allclose(dense(values), expected, **EXACT)
    np.testing.assert_allclose(scorer.attribute(Q, y_Q), expected.mean(axis=0), **EXACT)


@pytest.mark.parametrize("seed", range(8))
@cases
@pytest.mark.parametrize("variant", ["waka", "removal", "addition"])
def test_waka_influence(seed, ties, variant):
    X, y, _, _, k, q = problem(100 + seed, ties, n_max=6)
    scorer = WaKAScorer(k, variant=variant, subset_probability=q).fit(X, y)
    expected = influence_by_removal(
        X, y, lambda i: lambda o, m: twin.waka(o, m, i, k, q, variant, 0.5)
    )
    np.testing.assert_allclose(dense(scorer.influence()), expected, **EXACT)


@seeds
@cases
def test_loss_distribution_and_what_follows_from_it(seed, ties):
    X, y, _, _, k, q = problem(200 + seed, ties)
    n = len(y)
    scorer = WaKAScorer(k, subset_probability=q).fit(X, y)
    with_record, without = scorer.loss_distribution(X, y)
    inside = own_values(
        X, y, lambda i: lambda o, m: twin.loss_pmf(o, m, k, q, always=[i])
    )
    outside = own_values(X, y, lambda i: lambda o, m: twin.loss_pmf(o[1:], m, k, q))
    np.testing.assert_allclose(with_record, inside, **EXACT)
    np.testing.assert_allclose(without, outside, **EXACT)
    np.testing.assert_allclose(
        scorer.attack_success(X, y),
        0.5 + np.abs(inside - outside).sum(axis=1) / 4,
        **EXACT,
    )
    for level in range(k + 1):
        possible = np.maximum(inside, outside)[:, level] > 1e-13
        rows = np.flatnonzero(possible)
        if rows.size == 0:
            continue
        loss = np.full(rows.size, level / k)
        with np.errstate(divide="ignore"):
            ratio = np.log(inside[rows, level]) - np.log(outside[rows, level])
        np.testing.assert_allclose(
            scorer.likelihood_ratio(X[rows], y[rows], loss), ratio, rtol=1e-9, atol=1e-9
        )
    for loss in [0.0, 0.4, 1.0]:
        expected = own_values(
            X, y, lambda i, loss=loss: lambda o, m: twin.t_waka(o, m, i, k, q, loss)
        )
        np.testing.assert_allclose(
            scorer.attack_score(X, y, np.full(n, loss)), expected, **EXACT
        )


@seeds
@cases
def test_shapley(seed, ties):
    X, y, Q, y_Q, k, _ = problem(300 + seed, ties, n_max=6 if ties else 9)
    scorer = KNNShapleyScorer(k).fit(X, y)

    def value(order, matches, record):
        return twin.shapley_classification(order, matches, record, k)

    def own(i):
        return lambda order, matches: value(order, matches, i)

    np.testing.assert_allclose(scorer.scores_, own_values(X, y, own), **EXACT)
    expected = row_values(X, y, Q, y_Q, value)
    values = scorer.attribute(Q, y_Q, aggregate=None)
    np.testing.assert_allclose(values, expected, **EXACT)
    np.testing.assert_allclose(scorer.attribute(Q, y_Q), expected.mean(axis=0), **EXACT)


@pytest.mark.parametrize("seed", range(8))
@cases
def test_shapley_influence(seed, ties):
    X, y, _, _, k, _ = problem(400 + seed, ties, n_max=6)
    expected = influence_by_removal(
        X, y, lambda i: lambda o, m: twin.shapley_classification(o, m, i, k)
    )
    influence = KNNShapleyScorer(k).fit(X, y).influence()
    np.testing.assert_allclose(dense(influence), expected, **EXACT)


@seeds
@cases
def test_leave_one_out(seed, ties):
    X, y, Q, y_Q, k, _ = problem(500 + seed, ties)
    scorer = KNNLeaveOneOutScorer(k).fit(X, y)

    def value(order, matches, record):
        return twin.leave_one_out(order, matches, record, k)

    def own(i):
        return lambda order, matches: value(order, matches, i)

    np.testing.assert_allclose(scorer.scores_, own_values(X, y, own), **EXACT)
    expected = row_values(X, y, Q, y_Q, value)
    values = scorer.attribute(Q, y_Q, aggregate=None)
    np.testing.assert_allclose(dense(values), expected, **EXACT)
    np.testing.assert_allclose(scorer.attribute(Q, y_Q), expected.mean(axis=0), **EXACT)


@pytest.mark.parametrize("seed", range(8))
def test_leave_one_out_influence(seed):
    X, y, _, _, k, _ = problem(600 + seed, ties=True)
    expected = influence_by_removal(
        X, y, lambda i: lambda o, m: twin.leave_one_out(o, m, i, k)
    )
    influence = KNNLeaveOneOutScorer(k).fit(X, y).influence()
    np.testing.assert_allclose(dense(influence), expected, **EXACT)


@seeds
def test_shapley_of_regression_targets(seed):
    X, _, Q, _, k, _ = problem(700 + seed, ties=False)
    rng = np.random.default_rng(seed)
    n = len(X)
    targets, target_Q = rng.normal(size=n) + 0.5, rng.normal(size=2)
    scorer = KNNShapleyScorer(k, task="regression").fit(X, targets)

    def order(row, records):
        return sorted(records, key=lambda r: squared(X, row)[r])

    def own(i, removed=()):
        others = [r for r in range(n) if r != i and r not in removed]
        ranked = [i, *order(X[i], others)]
        return twin.shapley_regression(ranked, targets, targets[i], i, k)

    np.testing.assert_allclose(scorer.scores_, [own(i) for i in range(n)], **EXACT)
    expected = np.array([
        [
            twin.shapley_regression(order(row, range(n)), targets, target, r, k)
            for r in range(n)
        ]
        for row, target in zip(Q, target_Q, strict=True)
    ])  # fmt: skip
    np.testing.assert_allclose(
        scorer.attribute(Q, target_Q, aggregate=None), expected, **EXACT
    )
    np.testing.assert_allclose(
        scorer.attribute(Q, target_Q), expected.mean(axis=0), **EXACT
    )
    influence = dense(scorer.influence())
    for i in range(n):
        for j in range(n):
            if i != j:
                change = own(i, removed=[j]) - own(i)
                np.testing.assert_allclose(influence[i, j], change, **EXACT)
