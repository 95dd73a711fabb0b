"""The neighbour scorers in use: sizes, searches, rows and labels, and bad input."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from exact_index import ExactIndex
from scipy import stats
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpriv import KNNLeaveOneOutScorer, KNNShapleyScorer, WaKAScorer
from skpriv.metrics import agreement_scorer
from skpriv.neighbors import _ranking

CLOSE = {"rtol": 0, "atol": 1e-12}
SCORERS = [WaKAScorer, KNNShapleyScorer, KNNLeaveOneOutScorer]
all_scorers = pytest.mark.parametrize("Scorer", SCORERS)


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        600, 8, n_informative=4, n_classes=3, random_state=0, flip_y=0.1
    )
    return X, y


# Sizes


def test_neighborhood_is_as_small_as_the_tolerance_allows():
    X, y = np.zeros((300, 1)), np.zeros(300)
    sizes = [
        WaKAScorer(k, metric="precomputed").fit(np.zeros((300, 300)), y).neighborhood_
        for k in (1, 5, 10, 50)
    ]
    assert sizes == [40, 59, 78, 196]
    assert WaKAScorer(5, tol=0).fit(X, y).neighborhood_ == 300


@pytest.mark.parametrize(("k", "q"), [(1, 0.2), (10, 0.8), (200, 0.2), (200, 0.5)])
def test_large_sets_neither_overflow_nor_lose_probability(k, q):
    rng = np.random.default_rng(0)
    n = 20_000
    X, y = rng.normal(size=(n, 2)), rng.integers(0, 3, n)
    Q, y_Q = rng.normal(size=(20, 2)), rng.integers(0, 4, 20)
    waka = WaKAScorer(k, subset_probability=q).fit(X, y)
    assert 0 < waka.truncation_bound_ <= 1e-12
    for pmf in waka.loss_distribution(Q, y_Q):
        assert (pmf >= 0).all()
        np.testing.assert_allclose(pmf.sum(axis=1), 1, rtol=0, atol=1e-9)
    for variant in ("waka", "removal", "addition"):
        waka.set_params(variant=variant).fit(X, y)
        assert np.isfinite(waka.score_samples(Q, y_Q)).all()
        assert np.isfinite(waka.attribute(Q, y_Q)).all()


@pytest.mark.parametrize("k", [1, 200])
def test_shapley_values_of_a_large_set_add_up_to_the_utility(k):
    rng = np.random.default_rng(0)
    n = 50_000
    X, y = rng.normal(size=(n, 5)), rng.integers(0, 3, n)
    Q, y_Q = rng.normal(size=(10, 5)), rng.integers(0, 4, 10)
    nearest = np.argsort(cdist(Q, X), axis=1)[:, :k]
    utility = (y[nearest] == y_Q[:, None]).mean(axis=1)
    for neighborhood in (None, 300):
        scorer = KNNShapleyScorer(k, neighborhood=neighborhood).fit(X, y)
        values = scorer.attribute(Q, y_Q, aggregate=None)
        np.testing.assert_allclose(values.sum(axis=1), utility, **CLOSE)
        np.testing.assert_allclose(
            scorer.attribute(Q, y_Q).sum(), utility.mean(), **CLOSE
        )


@pytest.mark.parametrize("q", [0.001, 1.0])
def test_extreme_subset_probabilities(q):
    # So rare that no neighbourhood is full, or so common that all are.
    X, y = load_iris(return_X_y=True)
    scorer = WaKAScorer(5, subset_probability=q, variant="removal").fit(X, y)
    for pmf in scorer.loss_distribution(X, y):
        np.testing.assert_allclose(pmf.sum(axis=1), 1, rtol=0, atol=1e-9)
    if q == 1:
        loo = KNNLeaveOneOutScorer(5).fit(X, y)
        plain = WaKAScorer(5, subset_probability=q).fit(X, y)
        np.testing.assert_allclose(plain.scores_, loo.scores_, **CLOSE)
        signed = clone(scorer).set_params(threshold=0).fit(X, y)
        np.testing.assert_allclose(signed.attribute(X, y), loo.attribute(X, y), **CLOSE)


# Truncation


@pytest.mark.parametrize("neighborhood", [4, 6, 12, 40])
@pytest.mark.parametrize("variant", ["waka", "removal", "addition"])
def test_truncated_waka_is_within_its_bound(data, neighborhood, variant):
    X, y = data
    k, q = 4, 0.3
    exact = WaKAScorer(k, variant=variant, subset_probability=q, neighborhood=None)
    short = clone(exact).set_params(neighborhood=neighborhood)
    exact.fit(X, y), short.fit(X, y)
    assert exact.truncation_bound_ == 0
    bound = short.truncation_bound_
    assert bound == pytest.approx(stats.binom.cdf(k - 1, neighborhood, q))
    tight = {"rtol": 0, "atol": bound + 1e-15}
    np.testing.assert_allclose(short.scores_, exact.scores_, **tight)
    np.testing.assert_allclose(
        short.attribute(X[:50] + 0.1, y[:50]),
        exact.attribute(X[:50] + 0.1, y[:50]),
        **tight,
    )
    for a, b in zip(
        short.loss_distribution(X), exact.loss_distribution(X), strict=True
    ):
        np.testing.assert_allclose(a.sum(axis=1), 1, **CLOSE)
        np.testing.assert_allclose(a, b, **tight)
    changes = short.influence() - exact.influence()
    assert abs(changes).max() <= 2 * bound


@pytest.mark.parametrize("neighborhood", [3, 10, 100])
def test_truncated_shapley_is_within_its_bound(data, neighborhood):
    X, y = data
    exact = KNNShapleyScorer(3).fit(X, y)
    short = KNNShapleyScorer(3, neighborhood=neighborhood).fit(X, y)
    bound = short.truncation_bound_
    assert bound == 1 / neighborhood
    tight = {"rtol": 0, "atol": bound}
    np.testing.assert_allclose(short.scores_, exact.scores_, **tight)
    Q, y_Q = X[:50] + 0.1, y[:50]
    matrix = short.attribute(Q, y_Q, aggregate=None)
    np.testing.assert_allclose(matrix, exact.attribute(Q, y_Q, aggregate=None), **tight)
    np.testing.assert_allclose(short.attribute(Q, y_Q), matrix.mean(axis=0), **CLOSE)


# Search


def test_exact_and_approximate_search_agree(data, monkeypatch):
    # The index misses a neighbour of each record, and lists another one twice.
    monkeypatch.setattr(ExactIndex, "spoilt", True)
    X, y = data
    exact = WaKAScorer(1, search="exact", tol=1e-6).fit(X, y)
    rough = WaKAScorer(1, search="approximate", tol=1e-6, random_state=0).fit(X, y)
    assert (exact.search_, rough.search_) == ("exact", "approximate")
    assert 0.99 < stats.spearmanr(exact.scores_, rough.scores_).statistic < 1
    # Rows that are given anew are looked up, and left out of their neighbourhood.
    some = rough.score_samples(X[:100], y[:100])
    np.testing.assert_array_equal(some, rough.scores_[:100])


@all_scorers
def test_sparse_rows_are_scored_as_dense_ones(data, Scorer):
    X, y = np.maximum(data[0], 0), data[1]
    dense, sparse = Scorer(3).fit(X, y), Scorer(3).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.scores_, dense.scores_, **CLOSE)
    np.testing.assert_allclose(
        sparse.attribute(sp.coo_array(X[:9]), y[:9]),
        dense.attribute(X[:9], y[:9]),
        **CLOSE,
    )
    np.testing.assert_allclose(
        sparse.score_samples(sp.csc_matrix(X[5:9])), dense.scores_[5:9], **CLOSE
    )


@all_scorers
@pytest.mark.parametrize("wrap", [sp.csr_array, sp.csr_matrix, sp.coo_array])
def test_dense_and_sparse_rows_may_be_mixed(data, Scorer, wrap):
    X, y = data
    dense = Scorer(3).fit(X, y)
    for scorer, rows in [(dense, wrap), (Scorer(3).fit(wrap(X), y), np.asarray)]:
        some = rows(X[5:9])
        np.testing.assert_allclose(
            scorer.score_samples(some), dense.scores_[5:9], **CLOSE
        )
        np.testing.assert_allclose(
            scorer.attribute(some, y[5:9]), dense.attribute(X[5:9], y[5:9]), **CLOSE
        )


def test_matrix_and_graph_of_distances_may_not_be_mixed(data):
    X, y = data
    D = cdist(X, X)
    graph = KNeighborsTransformer(n_neighbors=100).fit_transform(X)
    scorer = WaKAScorer(metric="precomputed")
    with pytest.raises(ValueError, match="X must be a dense matrix"):
        scorer.fit(D, y).score_samples(graph)
    with pytest.raises(ValueError, match="X must be a sparse graph"):
        scorer.fit(graph, y).score_samples(D)


def test_rows_of_a_graph_that_are_shorter_than_in_fit_warn(data):
    X, y = data
    long, short = (
        KNeighborsTransformer(n_neighbors=n).fit(X).transform(X[:9]) for n in (70, 9)
    )
    scorer = WaKAScorer(metric="precomputed")
    scorer.fit(KNeighborsTransformer(n_neighbors=70).fit_transform(X), y)
    scorer.attribute(long, y[:9])
    with pytest.warns(UserWarning, match="a row with 10 neighbours"):
        scorer.attribute(short, y[:9])


@all_scorers
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precomputed_distances(data, Scorer, dtype):
    X, y = data[0][:200].astype(dtype), data[1][:200]
    D = cdist(X, X).astype(dtype)
    plain, given = Scorer(3).fit(X, y), Scorer(3, metric="precomputed").fit(D, y)
    # In float32, distances tie that differ by its rounding.
    close = CLOSE if dtype == np.float64 else {"rtol": 0, "atol": 1e-4}
    np.testing.assert_allclose(given.scores_, plain.scores_, **close)
    some = np.array([7, 3, 150])
    np.testing.assert_allclose(
        given.score_samples(D[some]), given.scores_[some], **CLOSE
    )
    np.testing.assert_allclose(
        given.attribute(D[some], y[some]), plain.attribute(X[some], y[some]), **close
    )


@all_scorers
def test_pipeline_of_graph_and_scorer(data, Scorer):
    X, y = data
    X, y, Q, y_Q = X[:500], y[:500], X[500:], y[500:]
    transformer = KNeighborsTransformer(mode="distance", n_neighbors=60)
    params = {"neighborhood": 60} if Scorer is not KNNLeaveOneOutScorer else {}
    pipe = make_pipeline(transformer, Scorer(4, metric="precomputed", **params))
    pipe.fit(X, y)
    plain = Scorer(4, **params).fit(X, y)
    np.testing.assert_allclose(pipe[-1].scores_, plain.scores_, **CLOSE)
    np.testing.assert_allclose(pipe.score_samples(X), plain.scores_, **CLOSE)
    some = np.array([100, 3, 77])
    np.testing.assert_allclose(
        pipe.score_samples(X[some]), plain.scores_[some], **CLOSE
    )
    rows = pipe[:-1].transform(Q)
    np.testing.assert_allclose(
        pipe[-1].attribute(rows, y_Q), plain.attribute(Q, y_Q), **CLOSE
    )
    np.testing.assert_allclose(
        pipe[-1].score_samples(rows, y_Q), plain.score_samples(Q, y_Q), **CLOSE
    )


def test_graph_that_is_too_short_warns_or_raises(data):
    X, y = data
    graph = KNeighborsTransformer(n_neighbors=20).fit_transform(X)
    scorer = WaKAScorer(5, metric="precomputed")
    with pytest.warns(UserWarning, match="with 19 of them .* 60 neighbours"):
        scorer.fit(graph, y)
    assert scorer.neighborhood_ == 19  # one more may be displaced
    assert scorer.truncation_bound_ == pytest.approx(stats.binom.cdf(4, 19, 0.5))
    exact = WaKAScorer(5).fit(X, y)
    np.testing.assert_allclose(
        scorer.scores_, exact.scores_, rtol=0, atol=scorer.truncation_bound_
    )
    with pytest.raises(ValueError, match="n_neighbors=30 needs at least 31"):
        WaKAScorer(30, metric="precomputed").fit(graph, y)


def test_grid_over_neighbours_finds_each_graph_once(data, tmp_path, monkeypatch):
    X, y = data
    calls = []
    original = KNeighborsTransformer.fit_transform

    def counted(self, X, y=None):
        calls.append(len(X))
        return original(self, X, y)

    monkeypatch.setattr(KNeighborsTransformer, "fit_transform", counted)
    pipe = make_pipeline(
        KNeighborsTransformer(n_neighbors=80),
        WaKAScorer(metric="precomputed"),
        memory=str(tmp_path),
    )
    search = GridSearchCV(
        pipe,
        {"wakascorer__n_neighbors": [1, 3, 5, 9]},
        scoring=lambda est, X, y: -est[-1].scores_.mean(),
        cv=3,
    ).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert sorted(calls) == [400, 400, 400, 600]  # three folds and the refit


def correlation_with_first_feature(pipe, X, y):
    scores = pipe[-1].score_samples(pipe[:-1].transform(X), y)
    return stats.spearmanr(scores, X[:, 0]).statistic


@pytest.mark.parametrize("routing", [False, True])
@all_scorers
def test_grid_over_neighbours_with_scaler(data, Scorer, routing):
    X, y = data
    # With routing, the reference is handed to the scorer fold by fold.
    scoring = agreement_scorer if routing else correlation_with_first_feature
    metadata = {"reference": X[:, 0]} if routing else {}
    with sklearn.config_context(enable_metadata_routing=routing):
        search = GridSearchCV(
            make_pipeline(StandardScaler(), Scorer()),
            {f"{Scorer.__name__.lower()}__n_neighbors": [1, 3, 7]},
            scoring=scoring,
            cv=KFold(3),
        ).fit(X, y, **metadata)
    train, test = next(KFold(3).split(X))
    fold = make_pipeline(StandardScaler(), Scorer(7)).fit(X[train], y[train])
    expected = correlation_with_first_feature(fold, X[test], y[test])
    assert search.cv_results_["split0_test_score"][2] == pytest.approx(expected)
    best = search.best_estimator_
    np.testing.assert_allclose(best.score_samples(X), best[-1].scores_, **CLOSE)


# Rows and labels


@all_scorers
def test_rows_of_the_training_set_are_the_records(data, Scorer):
    X, y = data
    scorer = Scorer(3).fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))[:100]
    np.testing.assert_allclose(
        scorer.score_samples(X[order]), scorer.scores_[order], **CLOSE
    )
    np.testing.assert_allclose(
        scorer.score_samples(X[order], y[order]), scorer.scores_[order], **CLOSE
    )


@all_scorers
def test_new_row_is_scored_as_if_it_were_in_the_training_set(data, Scorer):
    X, y = data
    for row, label in [(X[:1] + 0.3, y[:1]), (X[:1], (y[:1] + 1) % 3)]:
        score = Scorer(3).fit(X, y).score_samples(row, label)
        joined = Scorer(3).fit(np.vstack([X, row]), np.append(y, label))
        np.testing.assert_allclose(score, joined.scores_[-1:], **CLOSE)


@all_scorers
def test_new_row_without_label_is_an_error(data, Scorer):
    X, y = data
    rows = np.vstack([X[:2], X[:1] + 1])
    with pytest.raises(ValueError, match=r"y must be given: 1 of the 3 rows .* row 2"):
        Scorer().fit(X, y).score_samples(rows)


@all_scorers
def test_label_that_no_record_has_matches_nothing(data, Scorer):
    X, y = data
    scorer = Scorer(3).fit(X, y)
    assert (scorer.attribute(X[:5], np.full(5, 99)) <= 0).all() or Scorer is WaKAScorer
    own = scorer.score_samples(X[:5] + 0.1, np.full(5, 99))
    joined = Scorer(3).fit(np.vstack([X, X[:1] + 0.1]), np.append(y, 99))
    np.testing.assert_allclose(own[0], joined.scores_[-1], **CLOSE)


@all_scorers
@pytest.mark.parametrize(
    "names",
    [
        np.array(["x", "why", "z"]),
        np.array(["x", "why", "z"], dtype=object),
        np.array([-5, 1000, 3]),
        np.array([0.0, 2.0, 7.0]),
    ],
    ids=["str", "object", "int", "float"],
)
def test_any_kind_of_label(data, Scorer, names):
    X, y = data
    plain, named = Scorer().fit(X, y), Scorer().fit(X, names[y])
    np.testing.assert_allclose(named.scores_, plain.scores_, **CLOSE)
    np.testing.assert_allclose(
        named.attribute(X[:9], list(names[y[:9]])),
        plain.attribute(X[:9], y[:9]),
        **CLOSE,
    )


@all_scorers
def test_boolean_labels(data, Scorer):
    X, y = data[0], data[1] == 1
    np.testing.assert_allclose(
        Scorer().fit(X, y).scores_, Scorer().fit(X, y.astype(int)).scores_, **CLOSE
    )


@all_scorers
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_keep_their_names(data, Scorer, frame):
    X, y = data
    names = [f"f{i}" for i in range(X.shape[1])]
    table = frame({name: X[:, i] for i, name in enumerate(names)})
    scorer = Scorer().fit(table, y)
    assert list(scorer.feature_names_in_) == names
    np.testing.assert_allclose(
        scorer.score_samples(table), Scorer().fit(X, y).scores_, **CLOSE
    )


def test_float32_rows_give_what_float64_rows_give(data):
    # Multiples of 1/64, which single precision does not round.
    X, y = (np.rint(data[0] * 64) / 64).astype(np.float32), data[1]
    for Scorer in SCORERS:
        single, double = Scorer().fit(X, y), Scorer().fit(X.astype(float), y)
        np.testing.assert_array_equal(single.scores_, double.scores_)


@all_scorers
def test_fitted_scorer_can_be_pickled(data, Scorer):
    X, y = data
    scorer = Scorer().fit(X, y)
    scores = scorer.scores_
    again = pickle.loads(pickle.dumps(scorer))
    np.testing.assert_array_equal(again.scores_, scores)
    np.testing.assert_array_equal(again.score_samples(X), scores)


@all_scorers
def test_fit_again_forgets_the_scores(data, Scorer):
    X, y = data
    scorer = Scorer().fit(X, y)
    assert len(scorer.scores_) == 600
    assert len(scorer.fit(X[:50], y[:50]).scores_) == 50


@all_scorers
def test_parameters_set_after_fit_wait_for_the_next_fit(data, Scorer):
    X, y = data
    scorer, wider = Scorer(3).fit(X, y), Scorer(50).fit(X, y)
    expected = scorer.attribute(X[:9], y[:9])
    scorer.set_params(n_neighbors=50)
    np.testing.assert_array_equal(scorer.attribute(X[:9], y[:9]), expected)
    np.testing.assert_array_equal(scorer.scores_, Scorer(3).fit(X, y).scores_)
    np.testing.assert_array_equal(scorer.fit(X, y).scores_, wider.scores_)


@all_scorers
def test_fit_that_fails_leaves_no_fit(data, Scorer):
    X, y = data
    scorer = Scorer().fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        scorer.fit(np.full_like(X, np.nan), y)
    with pytest.raises(NotFittedError):
        _ = scorer.scores_


@all_scorers
def test_float32_pipeline_recognises_its_records(Scorer):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300].astype(np.float32), y[:300]
    pipe = make_pipeline(PCA(10), Scorer()).fit(X, y)
    np.testing.assert_allclose(
        pipe.score_samples(X), pipe[-1].scores_, rtol=0, atol=1e-6
    )


@all_scorers
def test_sparse_input_is_left_as_it_is(Scorer):
    matrix = sp.csr_array((3, 4))
    matrix.data = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    matrix.indices = np.array([2, 0, 1, 0, 0], dtype=np.int32)  # unsorted, repeated
    matrix.indptr = np.array([0, 2, 5, 5], dtype=np.int32)
    parts = matrix.data.copy(), matrix.indices.copy()
    scorer = Scorer(1).fit(matrix, [0, 1, 0])
    scorer.score_samples(matrix)
    np.testing.assert_array_equal(matrix.data, parts[0])
    np.testing.assert_array_equal(matrix.indices, parts[1])
    dense = Scorer(1).fit(np.array([[2, 0, 1, 0], [9, 3, 0, 0], [0] * 4]), [0, 1, 0])
    np.testing.assert_allclose(scorer.scores_, dense.scores_, **CLOSE)


def test_repeats_in_a_graph_do_not_count_as_neighbours():
    graph = sp.csr_array((3, 3))
    graph.data = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    graph.indices = np.array([1, 1, 0, 0, -1, 0], dtype=np.int32)
    graph.indptr = np.array([0, 2, 4, 6], dtype=np.int32)
    with pytest.raises(ValueError, match="a row with 1 neighbours"):
        KNNShapleyScorer(2, metric="precomputed").fit(graph, [0, 1, 0])


def test_undefined_distances_are_an_error():
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[0] = 5  # constant: it has no correlation with anything
    with pytest.raises(ValueError, match="metric='correlation' gives no distance"):
        _ = WaKAScorer(metric="correlation").fit(X, np.arange(40) % 2).scores_


def test_rows_of_an_approximate_index_are_scored_as_its_records(data):
    X, y = data
    scorer = WaKAScorer(1, search="approximate", tol=1e-6, random_state=0).fit(X, y)
    np.testing.assert_array_equal(scorer.score_samples(X.copy(), y), scorer.scores_)
    np.testing.assert_array_equal(
        scorer.score_samples(X[9:5:-1]), scorer.scores_[9:5:-1]
    )


# The smallest sets


@pytest.mark.parametrize("k", [1, 3])
def test_one_record(k):
    X, y = np.array([[2.0]]), np.array(["only"])
    for Scorer in SCORERS:
        scorer = Scorer(k).fit(X, y)
        # Alone, the record is one of k votes, always (WaKA: in half of all subsets).
        expected = (0.5 if Scorer is WaKAScorer else 1) / k
        np.testing.assert_allclose(scorer.scores_, [expected], **CLOSE)
        assert scorer.influence().toarray() == 0
        assert scorer.attribute([[3.0]], ["other"]) == 0
        np.testing.assert_allclose(
            scorer.attribute([[3.0]], ["only"]), [expected], **CLOSE
        )


@all_scorers
def test_one_class_and_constant_features(Scorer):
    X, y = np.ones((30, 2)), np.zeros(30)
    scorer = Scorer(3).fit(X, y)
    assert np.ptp(scorer.scores_) < 1e-12
    assert np.ptp(scorer.attribute(X[:1], y[:1])) < 1e-12


# Bad input


@pytest.mark.parametrize("k", [0, -1, 2.5, "5", None])
@all_scorers
def test_n_neighbors_must_be_a_positive_integer(data, Scorer, k):
    with pytest.raises(ValueError, match="'n_neighbors' parameter"):
        Scorer(k).fit(*data)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"variant": "other"}, "'variant'"),
        ({"threshold": 1.1}, "'threshold'"),
        ({"threshold": -0.1}, "'threshold'"),
        ({"subset_probability": 0}, "'subset_probability'"),
        ({"subset_probability": 1.5}, "'subset_probability'"),
        ({"neighborhood": 0}, "'neighborhood'"),
        ({"tol": 1}, "'tol'"),
        ({"search": "quick"}, "'search'"),
        ({"metric": "no such metric"}, "'metric'"),
        (
            {"metric": "nan_euclidean", "search": "approximate"},
            "metric='nan_euclidean'",
        ),
    ],
)
def test_parameters_of_waka(data, params, message):
    scorer = WaKAScorer(**params)
    with pytest.raises(ValueError, match=message):
        scorer.fit(*data)


@all_scorers
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_and_infinite_values(data, Scorer, bad):
    X, y = data[0].copy(), data[1]
    X[3, 2] = bad
    with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
        Scorer().fit(X, y)
    scorer = Scorer().fit(*data)
    with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
        scorer.score_samples(X)
    with pytest.raises(ValueError, match=r"y contains (NaN|infinity)"):
        scorer.attribute(data[0][:1], [bad])


def test_missing_values_where_the_metric_allows_them(data):
    X, y = data[0].copy(), data[1]
    X[3, 2] = np.nan
    scorer = WaKAScorer(metric="nan_euclidean").fit(X, y)
    np.testing.assert_allclose(
        scorer.score_samples(X[3:5]), scorer.scores_[3:5], **CLOSE
    )


@all_scorers
def test_lengths_and_columns_must_match(data, Scorer):
    X, y = data
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        Scorer().fit(X, y[:-1])
    scorer = Scorer().fit(X, y)
    with pytest.raises(ValueError, match="features"):
        scorer.score_samples(X[:, :-1])
    for method in (scorer.score_samples, scorer.attribute):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            method(X, y[:-1])
    with pytest.raises(ValueError, match="labels that are strings"):
        scorer.attribute(X[:1], ["a"])
    with pytest.raises(ValueError, match="aggregate must be 'mean' or None"):
        scorer.attribute(X, y, aggregate="max")


@all_scorers
def test_unfitted(Scorer):
    scorer = Scorer()
    for use in (
        lambda: scorer.scores_,
        lambda: scorer.score_samples([[0.0]]),
        lambda: scorer.attribute([[0.0]], [0]),
        lambda: scorer.influence(),
    ):
        with pytest.raises(NotFittedError):
            use()


@pytest.mark.parametrize("Scorer", [WaKAScorer, KNNLeaveOneOutScorer])
def test_targets_are_no_labels(data, Scorer):
    with pytest.raises(ValueError, match="continuous"):
        Scorer().fit(data[0], data[0][:, 0])


def test_precomputed_distances_must_be_square_and_not_negative(data):
    X, y = data
    D = cdist(X, X)
    scorer = WaKAScorer(metric="precomputed")
    with pytest.raises(ValueError, match="square matrix of distances"):
        scorer.fit(D[:, :-1], y)
    with pytest.raises(ValueError, match="Negative values"):
        scorer.fit(-D, y)
    with pytest.raises(ValueError, match="Negative values"):
        scorer.fit(D, y).score_samples(-D)


def test_shapley_tells_targets_from_labels(data):
    X, y = data
    targets = X[:, 0]
    assert KNNShapleyScorer().fit(X, targets).task_ == "regression"
    assert KNNShapleyScorer().fit(X, y).task_ == "classification"
    as_targets = KNNShapleyScorer(task="regression").fit(X, y)
    assert as_targets.task_ == "regression"
    np.testing.assert_allclose(
        as_targets.scores_, KNNShapleyScorer().fit(X, y + 1e-12).scores_, atol=1e-9
    )
    with pytest.raises(ValueError, match="must hold numbers"):
        KNNShapleyScorer(task="regression").fit(X, np.array(["a", "b", "c"])[y])
    with pytest.raises(ValueError, match="continuous"):
        KNNShapleyScorer(task="classification").fit(X, targets)
    with pytest.raises(ValueError, match="neighborhood=5 is for classification"):
        KNNShapleyScorer(neighborhood=5).fit(X, targets)
    with pytest.raises(ValueError, match="set neighborhood"):
        KNNShapleyScorer(search="approximate").fit(X, y)
    graph = KNeighborsTransformer(n_neighbors=20).fit_transform(X)
    with pytest.raises(ValueError, match="must list all neighbours"):
        KNNShapleyScorer(metric="precomputed").fit(graph, targets)


def test_regression_does_not_depend_on_the_order_of_tied_rows():
    rng = np.random.default_rng(0)
    X, y = (
        rng.integers(0, 3, (80, 2)).astype(float),
        rng.normal(size=80).round(1) + 0.05,
    )
    order = rng.permutation(80)
    scorer, moved = KNNShapleyScorer(3), KNNShapleyScorer(3)
    scorer.fit(X, y), moved.fit(X[order], y[order])
    np.testing.assert_allclose(moved.scores_, scorer.scores_[order], **CLOSE)
    np.testing.assert_allclose(
        moved.attribute(X[:9], y[:9]), scorer.attribute(X[:9], y[:9])[order], **CLOSE
    )


# Attacks


def test_likelihood_ratio_needs_a_possible_loss(data):
    X, y = data
    scorer = WaKAScorer(4).fit(X, y)
    with pytest.raises(ValueError, match="multiple of 1/n_neighbors"):
        scorer.likelihood_ratio(X[:2], y[:2], [0.25, 0.3])
    for method in (scorer.likelihood_ratio, scorer.attack_score):
        with pytest.raises(ValueError, match="one value per row of X, 2; got"):
            method(X[:2], y[:2], [0.25])
        with pytest.raises(ValueError, match="between 0 and 1"):
            method(X[:2], y[:2], [0.25, np.nan])
    # With all votes its own label's, a vote against it cannot be.
    scorer = WaKAScorer(1).fit(np.zeros((100, 1)), np.zeros(100))
    assert scorer.truncation_bound_ > 0
    ratio = scorer.likelihood_ratio([[0.0], [0.0]], [0, 0], [0.0, 1.0])
    assert 0 <= ratio[0] < 1e-9
    # Without the record it can: the other 99 are out with probability 2**-99.
    assert ratio[1] == -np.inf
    with pytest.warns(RuntimeWarning, match="In 1 row"):
        ratio = (
            WaKAScorer(3, subset_probability=1.0)
            .fit(X, y * 0)
            .likelihood_ratio(X[:2], y[:2] * 0, [0.0, 1.0])
        )
    assert np.isnan(ratio[1])


def test_likelihood_ratio_of_a_rare_loss_is_exact():
    # The only votes for the record's label lie behind the 45 nearest records.
    X, y = np.arange(200.0)[:, None], np.ones(200)
    y[0] = y[45:] = 0
    ratios = [
        WaKAScorer(1, neighborhood=n).fit(X, y).likelihood_ratio(X[:1], [0], [0.0])
        for n in ("auto", None, 5)
    ]
    expected = 44 * np.log(2)  # ... all of which must be out, without the record
    np.testing.assert_allclose(ratios, expected, rtol=1e-9)


def test_attack_by_exact_likelihood_ratio_reaches_the_stated_success():
    # Membership is a coin for each record; the audited k-NN's loss is what it is.
    rng = np.random.default_rng(0)
    n, k, rounds = 40, 3, 4000
    X, y = rng.normal(size=(n, 2)), rng.integers(0, 2, n)
    scorer = WaKAScorer(k).fit(X, y)
    order = np.argsort(cdist(X, X), axis=1)
    member = rng.random((rounds, n)) < 0.5
    hits = np.zeros(n)
    for i in range(n):
        chosen = member[:, order[i]]
        votes = chosen & (np.cumsum(chosen, axis=1) <= k)
        loss = 1 - (votes & (y[order[i]] == y[i])).sum(axis=1) / k
        table = {
            level: scorer.likelihood_ratio(X[[i]], y[[i]], [level])[0]
            for level in np.unique(loss)
        }
        guess = np.array([table[level] for level in loss]) > 0
        hits[i] = (guess == member[:, i]).mean()
    expected = scorer.attack_success(X, y)
    error = 5 * np.sqrt(0.25 / rounds)  # five standard errors
    np.testing.assert_allclose(hits, expected, rtol=0, atol=error)


def test_memory_is_bounded_by_the_chunks(data, monkeypatch):
    X, y = data
    rows = []
    original = _ranking.rank_rows

    def spy(values, *args):
        rows.append(len(values))
        return original(values, *args)

    monkeypatch.setattr(_ranking, "rank_rows", spy)
    whole = KNNShapleyScorer().fit(X, y).attribute(X, y)
    with sklearn.config_context(working_memory=0.2):
        parts = KNNShapleyScorer().fit(X, y).attribute(X, y)
    np.testing.assert_allclose(parts, whole, **CLOSE)
    assert max(rows[-10:]) * 600 * 16 <= 0.2 * 2**20
