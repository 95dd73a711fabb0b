"""Invariances of the values, and changes of the data with a known effect."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skpriv import KNNLeaveOneOutScorer, KNNShapleyScorer, WaKAScorer
from skpriv.utils import _threads

CLOSE = {"rtol": 0, "atol": 1e-13}
SCORERS = [
    WaKAScorer(3),
    WaKAScorer(4, variant="removal", threshold=0.4),
    WaKAScorer(2, variant="addition", neighborhood=9),
    KNNShapleyScorer(3),
    KNNShapleyScorer(2, neighborhood=6),
    KNNLeaveOneOutScorer(2),
]
scorers = pytest.mark.parametrize("scorer", SCORERS, ids=str)
examples = settings(deadline=None, max_examples=6)


@st.composite
def problems(draw):
    """Records, rows and labels, on a coarse grid or not."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(2, 40))
    grid = draw(st.sampled_from([2, 4, None]))
    X = (
        rng.normal(size=(n + 5, 3))
        if grid is None
        else rng.integers(0, grid, (n + 5, 3))
    )
    y = rng.integers(0, 3, n + 5)
    return X[:n].astype(float), y[:n], X[n:].astype(float), y[n:], rng


def everything(scorer, X, y, Q, y_Q):
    scorer.fit(X, y)
    return scorer.scores_, scorer.attribute(Q, y_Q), scorer.influence().toarray()


@scorers
@examples
@given(problem=problems())
def test_order_of_rows(scorer, problem):
    X, y, Q, y_Q, rng = problem
    order = rng.permutation(len(y))
    own, values, influence = everything(scorer, X, y, Q, y_Q)
    moved = everything(scorer, X[order], y[order], Q[::-1], y_Q[::-1])
    np.testing.assert_allclose(moved[0], own[order], **CLOSE)
    np.testing.assert_allclose(moved[1], values[order], **CLOSE)
    np.testing.assert_allclose(moved[2], influence[np.ix_(order, order)], **CLOSE)


@scorers
@examples
@given(problem=problems(), names=st.permutations(["b", "a", "ccc"]))
def test_names_of_labels(scorer, problem, names):
    X, y, Q, y_Q, _ = problem
    named = np.array(names)
    plain = everything(scorer, X, y, Q, y_Q)
    for given_, expected in zip(
        everything(scorer, X, named[y], Q, named[y_Q]), plain, strict=True
    ):
        np.testing.assert_allclose(given_, expected, **CLOSE)


@scorers
@examples
@given(problem=problems(), scale=st.sampled_from([1e-9, 0.1, 3.0, 1e7]))
def test_scale_and_origin_of_features(scorer, problem, scale):
    X, y, Q, y_Q, _ = problem
    plain = everything(scorer, X, y, Q, y_Q)
    moved = everything(scorer, X * scale + 2 * scale, y, Q * scale + 2 * scale, y_Q)
    for given_, expected in zip(moved, plain, strict=True):
        np.testing.assert_allclose(given_, expected, **CLOSE)


@scorers
@pytest.mark.parametrize(("step", "origin"), [(0.01, 100), (0.1, 1000), (0.1, 2e4)])
def test_decimal_grids_tie_as_integers_do(scorer, step, origin):
    # Decimals far from 0 are rounded by far more than their distances are.
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, (150, 3)), rng.integers(0, 3, 150)
    Q, y_Q = rng.integers(0, 6, (20, 3)), rng.integers(0, 3, 20)
    plain = everything(scorer, X, y, Q, y_Q)
    moved = everything(scorer, X * step + origin, y, Q * step + origin, y_Q)
    for given_, expected in zip(moved, plain, strict=True):
        np.testing.assert_allclose(given_, expected, **CLOSE)


@scorers
@examples
@given(problem=problems())
def test_symmetric_records_have_equal_values(scorer, problem):
    X, y, Q, y_Q, _ = problem
    X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    own, values, _ = everything(scorer, X, y, Q, y_Q)
    np.testing.assert_allclose(own[::2], own[1::2], **CLOSE)
    np.testing.assert_allclose(values[::2], values[1::2], **CLOSE)


@examples
@given(problem=problems(), k=st.integers(1, 70))
def test_shapley_values_add_up_to_the_utility(problem, k):
    X, y, Q, y_Q, _ = problem
    # Off the grid there are no ties, and the k nearest are known.
    X = X + np.arange(len(y))[:, None] * [0.01, 0.001, 0.0001]
    nearest = np.argsort(((X - Q[:, None]) ** 2).sum(axis=2), axis=1)[:, :k]
    utility = (y[nearest] == y_Q[:, None]).sum(axis=1) / k
    for neighborhood in (None, 7):
        scorer = KNNShapleyScorer(k, neighborhood=neighborhood).fit(X, y)
        values = scorer.attribute(Q, y_Q, aggregate=None)
        np.testing.assert_allclose(values.sum(axis=1), utility, **CLOSE)


@pytest.mark.parametrize("k", [1, 3])
def test_a_far_record_moves_only_what_it_must(k):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    far_X, far_y = np.vstack([X, [[1e6, 1e6]]]), np.append(y, 1)
    near = WaKAScorer(k).fit(X, y)
    far = WaKAScorer(k).fit(far_X, far_y)
    np.testing.assert_allclose(far.scores_[:-1], near.scores_, **CLOSE)
    np.testing.assert_allclose(far.attribute(X, y)[:-1], near.attribute(X, y), **CLOSE)
    near, far = KNNShapleyScorer(k).fit(X, y), KNNShapleyScorer(k).fit(far_X, far_y)
    before = near.attribute(X, y, aggregate=None)
    after = far.attribute(X, y, aggregate=None)
    # Behind all others, a match counts where a neighbourhood is not full: less often
    # now, by 1/300 - 1/301. For a match in front, a far mismatch makes up for that;
    # a far match is what a mismatch in front may push out.
    far_matches = (y == far_y[-1])[:, None]
    expected = np.where(far_matches, 1 / 301 - 1 / 300, 0.0)
    change = after[:, :-1] - before
    np.testing.assert_allclose(change, np.broadcast_to(expected, (300, 300)), **CLOSE)


@scorers
def test_inputs_are_left_as_they_are(scorer):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 2, 50)
    before = X.copy(), y.copy()
    X.setflags(write=False)
    y.setflags(write=False)
    everything(scorer, X, y, X[:5], y[:5])
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


@scorers
def test_number_of_threads_does_not_change_a_bit(scorer, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(700, 3)), rng.integers(0, 2, 700)
    results = []
    for n_threads in (1, 3):
        monkeypatch.setattr(_threads, "effective_n_threads", lambda n=n_threads: n)
        results.append(everything(scorer, X, y, X[:99] + 0.01, y[:99]))
    for one, several in zip(*results, strict=True):
        np.testing.assert_array_equal(one, several)


def _grid(seed=0, n=120):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 5, (n, 4)), rng.integers(0, 3, n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("euclidean", None),
        ("sqeuclidean", None),
        ("manhattan", None),
        ("cityblock", None),
        ("chebyshev", None),
        ("minkowski", {"p": 3}),
        ("minkowski", {"p": 1}),
        ("minkowski", {"p": 2, "w": [1, 2, 1, 1]}),
        ("seuclidean", {"V": [1.0, 4.0, 1.0, 1.0]}),
        ("nan_euclidean", None),
        ("mahalanobis", {"VI": np.eye(4)}),
        ("mahalanobis", {"VI": np.diag([2.0, 2, 1, 3]) + np.eye(4)[[1, 0, 2, 3]]}),
        ("mahalanobis", {"V": np.diag([0.5, 1.0, 1.0, 0.25])}),
    ],
)
def test_ties_that_rounding_explains_are_ties_by_any_metric(dtype, metric, params):
    C, y = _grid()
    scorer = WaKAScorer(3, metric=metric, metric_params=params)
    scaled = params
    if metric == "seuclidean":
        scaled = {"V": np.array(params["V"]) / 100**2}
    expected = scorer.fit(C.astype(float), y).scores_
    X = (100 + C / 100).astype(dtype)
    scores = scorer.set_params(metric_params=scaled).fit(X, y).scores_
    np.testing.assert_allclose(scores, expected, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [60, 400])
def test_ties_between_rows_with_missing_values(dtype, n):
    C, y = _grid(n=n)
    C = C.astype(float)
    C[np.random.default_rng(1).random(C.shape) < 0.1] = np.nan
    C[:, 0] = np.nan_to_num(C[:, 0])  # all rows have one feature in common
    present = ~np.isnan(C)
    common = present[:, None] & present
    squares = np.where(common, (C[:, None] - C) ** 2, 0).sum(axis=2)
    D = np.sqrt(4 * squares / common.sum(axis=2))
    scorer = WaKAScorer(3, metric="precomputed")
    expected = scorer.fit(D, y).scores_
    scorer.set_params(metric="nan_euclidean")
    scores = scorer.fit((100 + C / 100).astype(dtype), y).scores_
    np.testing.assert_allclose(scores, expected, atol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_whole_numbers_in_single_precision_are_not_taken_for_rounded(metric):
    # Rounding at 1e5 would hide differences of 1e5 * 1e-7 * the number of steps.
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2**20, (150, 3)).astype(float), rng.integers(0, 2, 150)
    scorer = WaKAScorer(3, metric=metric)
    expected = scorer.fit(X, y).scores_
    np.testing.assert_array_equal(scorer.fit(X.astype("f4"), y).scores_, expected)


def test_seuclidean_takes_the_variances_of_the_training_rows():
    X, y = _problem_of_scales()
    right = WaKAScorer(3).fit(X / X.std(axis=0, ddof=1), y).scores_
    scores = WaKAScorer(3, metric="seuclidean").fit(X, y).scores_
    np.testing.assert_allclose(scores, right, atol=1e-12)
    spaced = WaKAScorer(3, metric="mahalanobis").fit(X, y).scores_
    root = np.linalg.cholesky(np.linalg.inv(np.cov(X.T)))
    np.testing.assert_allclose(spaced, WaKAScorer(3).fit(X @ root, y).scores_)


def _problem_of_scales():
    rng = np.random.default_rng(4)
    return rng.normal(size=(60, 3)) * [1.0, 30.0, 900.0], rng.integers(0, 2, 60)
