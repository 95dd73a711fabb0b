"""The kernels rank as sorting exact distances does, ties and all."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from skpriv.neighbors._approximate import ApproximateSearch
from skpriv.neighbors._exact import EuclideanSearch, MetricSearch
from skpriv.neighbors._graph import DistanceSearch, GraphSearch
from skpriv.neighbors._search import make_search


def tie_groups(distances, exclude, n_ranks, rtol=2e-12):
    """Sets of tied records, nearest first, up to the group that holds n_ranks."""
    order = [r for r in np.argsort(distances, kind="stable") if r != exclude]
    groups = []
    for position, r in enumerate(order):
        close = position and distances[r] - distances[order[position - 1]] <= (
            rtol * distances[r]
        )
        if not close:
            if position >= n_ranks:
                break
            groups.append(set())
        groups[-1].add(int(r))
    return groups


def found_groups(search, X, exclude, n_ranks):
    groups = {}
    for queries, ranking in search.rank(X, exclude, n_ranks):
        for q, row, ties, length in zip(queries, *ranking, strict=True):
            groups[int(q)] = []
            for record, join in zip(row[:length], ties[:length], strict=True):
                if not join:
                    groups[int(q)].append(set())
                groups[int(q)][-1].add(int(record))
            assert sum(map(len, groups[int(q)])) == length
    return [groups[q] for q in range(X.shape[0])]


def assert_ranks(search, X, distances, exclude, n_ranks):
    expected = [
        tie_groups(row, e, n_ranks) for row, e in zip(distances, exclude, strict=True)
    ]
    assert found_groups(search, X, exclude, n_ranks) == expected


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 80),
    n_ranks=st.integers(1, 90),
    grid=st.sampled_from([2, 5, 1000]),
    sparse=st.booleans(),
)
def test_euclidean_search_ranks_whole_tie_groups(seed, n, n_ranks, grid, sparse):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, grid, (n, 3)).astype(float)
    Q = rng.integers(0, grid, (5, 3)).astype(float)
    exclude = rng.integers(-1, n, 5)
    distances = cdist(Q, X, "sqeuclidean")
    if sparse:
        X, Q = sp.csr_array(X), sp.csr_array(Q)
    assert_ranks(EuclideanSearch(X, None), Q, distances, exclude, n_ranks)


@pytest.mark.parametrize("n_ranks", [20, 3000], ids=["nearest", "all"])
@pytest.mark.parametrize("offset", [0.0, 100.0], ids=["centred", "off centre"])
def test_near_ties_are_ranked_right_where_products_round_them_away(n_ranks, offset):
    # Pairs of records whose squared distances from the query differ by 1e-10: less
    # than the rounding of norms and products of this size.
    rng = np.random.default_rng(0)
    n = 3000
    radii = np.repeat(np.linspace(1, 2, n // 2), 2) + np.tile([0, 1e-10], n // 2)
    directions = rng.normal(size=(n, 20))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    grid = 2.0**-30  # so that adding the offset changes no digit
    X = np.rint(rng.permutation(radii)[:, None] * directions / grid) * grid + offset
    Q = np.full((1, 20), offset)
    distances = ((X - Q) ** 2).sum(axis=1)[None]
    assert_ranks(EuclideanSearch(X, None), Q, distances, np.array([-1]), n_ranks)


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1.0, 1e30, 1e200])
def test_scale_of_the_features_does_not_matter(scale):
    rng = np.random.default_rng(1)
    X, Q = rng.normal(size=(400, 4)), rng.normal(size=(3, 4))
    distances = cdist(Q, X, "sqeuclidean")
    search = EuclideanSearch(X * scale, None)
    for n_ranks in (10, 400):
        assert_ranks(search, Q * scale, distances, np.full(3, -1), n_ranks)


def test_one_far_record_does_not_blur_the_others():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(500, 2))
    X[0] = 1e12
    Q = rng.normal(size=(4, 2))
    distances = cdist(Q, X, "sqeuclidean")
    assert_ranks(EuclideanSearch(X, None), Q, distances, np.full(4, -1), 500)


def test_ties_at_the_edge_are_completed_only_where_they_are():
    # 300 copies of one record, among 700 distinct ones.
    rng = np.random.default_rng(3)
    X = np.vstack([np.zeros((300, 2)), rng.normal(size=(700, 2))])
    Q = np.array([[0.0, 0.0], [5.0, 5.0]])
    distances = cdist(Q, X, "sqeuclidean")
    search = EuclideanSearch(X, None)
    assert_ranks(search, Q, distances, np.array([7, -1]), 10)


@pytest.mark.parametrize("n", [1, 3])
def test_squares_that_a_product_leaves_below_zero_count_as_zero(n):
    # Copies of one record: the product leaves rounding of either sign.
    for seed in range(50):
        row = np.random.default_rng(seed).normal(size=(1, 7)) * 10**seed % 1e3
        X = np.repeat(row, n, axis=0)
        assert_ranks(EuclideanSearch(X, None), row, np.zeros((1, n)), np.array([-1]), n)


METRICS = ["manhattan", "chebyshev", "cosine", "canberra", "haversine", "minkowski"]


@pytest.mark.parametrize("metric", METRICS)
def test_any_metric(metric):
    rng = np.random.default_rng(4)
    X, Q = rng.uniform(-1, 1, (300, 2)), rng.uniform(-1, 1, (4, 2))
    params = {"p": 3} if metric == "minkowski" else {}
    distances = pairwise_distances(Q, X, metric=metric, **params)
    search = MetricSearch(X, metric, params or None, None)
    for n_ranks in (5, 300):
        assert_ranks(search, Q, distances, np.array([-1, 0, 1, 2]), n_ranks)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distance_matrix(dtype):
    rng = np.random.default_rng(5)
    D = rng.integers(1, 40, (6, 50)).astype(dtype)
    for n_ranks in (1, 7, 50):
        assert_ranks(DistanceSearch(), D, D, np.array([-1, 0, 1, 2, 3, 49]), n_ranks)


def test_graph_with_repeated_and_missing_neighbours():
    # Row 0 lists record 3 twice and a missing one (-1); row 1 lists nothing.
    graph = sp.csr_array((2, 5))
    graph.data = np.array([2.0, 1.0, 2.0, 9.0])
    graph.indices = np.array([3, 4, 3, -1], dtype=np.int32)
    graph.indptr = np.array([0, 4, 4], dtype=np.int32)
    groups = found_groups(GraphSearch(), graph, np.array([-1, -1]), 5)
    assert groups == [[{4}, {3}], []]


def test_approximate_index_that_misses_and_repeats_neighbours(monkeypatch):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(600, 4))
    search = make_search(
        X, 10, search="approximate", metric="euclidean", metric_params=None,
        n_jobs=1, random_state=0,
    )  # fmt: skip
    assert isinstance(search, ApproximateSearch)
    candidates = np.full((2, search._width), -1)
    candidates[:, :3] = [[5, 9, 5], [8, -1, -1]]
    answer = candidates, np.ones(candidates.shape, dtype=np.float32)
    monkeypatch.setattr(search._index, "query", lambda X, k: answer)
    Q = rng.normal(size=(2, 4))
    groups = found_groups(search, Q, np.array([-1, -1]), 10)
    nearer = sorted([5, 9], key=lambda r: ((X[r] - Q[0]) ** 2).sum())
    assert groups == [[{nearer[0]}, {nearer[1]}], [{8}]]


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_approximate_search_ranks_what_its_index_finds(metric):
    rng = np.random.default_rng(7)
    X, Q = rng.normal(size=(500, 5)), rng.normal(size=(5, 5))
    search = make_search(
        X, 10, search="approximate", metric=metric, metric_params=None,
        n_jobs=2, random_state=0,
    )  # fmt: skip
    for rows, exclude in [(X, np.arange(500)), (Q, np.full(5, -1))]:
        distances = cdist(rows, X, "cityblock" if metric == "manhattan" else metric)
        assert_ranks(search, rows, distances, exclude, 10)


@pytest.mark.parametrize(
    ("random_state", "n_jobs", "used"), [(0, 2, 1), (None, 2, 2), (None, None, 1)]
)
def test_index_built_with_a_seed_uses_one_thread(random_state, n_jobs, used):
    # With a seed, results must repeat; they depend on the number of threads.
    search = make_search(
        np.random.default_rng(0).normal(size=(200, 2)), 10,
        search="approximate", metric="euclidean", metric_params=None,
        n_jobs=n_jobs, random_state=random_state,
    )  # fmt: skip
    assert search._index.n_jobs == used


@pytest.mark.parametrize(
    ("n", "n_features", "expected"),
    [(100, 3, "exact"), (500_000, 10, "exact"), (500_000, 60, "approximate")],
)
def test_auto_takes_an_approximate_index_for_heavy_work_only(
    monkeypatch, n, n_features, expected
):
    class Large:
        shape = n, n_features

    for name in ("exact", "approximate"):
        built = type(name, (), {"__init__": lambda self, *args: None, "name": name})
        target = "EuclideanSearch" if name == "exact" else "ApproximateSearch"
        monkeypatch.setattr(f"skpriv.neighbors._search.{target}", built)
    search = make_search(
        Large(), 20, search="auto", metric="euclidean", metric_params=None,
        n_jobs=None, random_state=None,
    )  # fmt: skip
    assert search.name == expected
