"""Repeated rows: found together by every search, and searched for once."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsTransformer

from skpriv import KNNLeaveOneOutScorer, KNNShapleyScorer, WaKAScorer
from skpriv.neighbors import _repeats
from skpriv.neighbors._repeats import distinct_rows

SCORERS = [WaKAScorer(), KNNShapleyScorer(neighborhood=40), KNNLeaveOneOutScorer()]


def repeated(n_distinct, n_copies, seed=0, n_features=6):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n_distinct, n_features))
    X = rows[rng.permutation(np.repeat(np.arange(n_distinct), n_copies))]
    return X, rng.integers(0, 3, len(X))


@pytest.mark.parametrize("scorer", SCORERS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("search", ["exact", "approximate"])
@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_repeated_rows_are_ranked_as_by_all_distances(scorer, search, wrap):
    X, y = repeated(15, 20)
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    expected = type(scorer)(**scorer.get_params()).set_params(metric="precomputed")
    scorer.set_params(search=search, random_state=0)
    scores = scorer.fit(wrap(X), y).scores_
    np.testing.assert_allclose(scores, expected.fit(D, y).scores_, atol=1e-12)


@pytest.mark.parametrize("noise", [0.0, 1e-15])
def test_exact_and_approximate_search_agree_where_rows_repeat(noise):
    # A transformer may round copies differently, so noise must not keep them apart.
    X, y = repeated(700, 3)
    exact = WaKAScorer(3, search="exact").fit(X, y).scores_
    X = X + noise * np.random.default_rng(1).standard_normal(X.shape)
    scorer = WaKAScorer(3, search="approximate", random_state=0).fit(X, y)
    assert scorer.search_ == "approximate"
    np.testing.assert_allclose(scorer.scores_, exact, atol=1e-9)


@pytest.mark.parametrize("search", ["exact", "approximate"])
def test_methods_of_waka_agree_with_all_distances(search):
    X, y = repeated(12, 9)
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    scorer = WaKAScorer(3, search=search, random_state=0).fit(X, y)
    expected = WaKAScorer(3, metric="precomputed").fit(D, y)
    new = np.arange(5)
    for got, right in [
        (scorer.attack_success(X), expected.attack_success(D)),
        (scorer.attribute(X[new], y[new]), expected.attribute(D[new], y[new])),
        (scorer.influence().toarray(), expected.influence().toarray()),
    ]:
        np.testing.assert_allclose(got, right, atol=1e-12)


@pytest.mark.parametrize("search", ["exact", "approximate"])
def test_copies_are_searched_for_once(search, monkeypatch):
    n_rows = []
    make = _repeats.make_search

    def counting(rows, *args, **options):
        found = make(rows, *args, **options)
        rank = found.rank

        def counted(X, *args, **options):
            n_rows.append(X.shape[0])
            return rank(X, *args, **options)

        n_rows.append(rows.shape[0])
        found.rank = counted
        return found

    monkeypatch.setattr(_repeats, "make_search", counting)
    scorer = WaKAScorer(search=search, random_state=0).fit(*repeated(20, 200))
    assert np.isfinite(scorer.scores_).all()
    assert max(n_rows) == 20


def test_rows_that_differ_by_the_sign_of_zero_are_the_same():
    first, places = distinct_rows(np.array([[0.0, 1.0], [2.0, 1.0], [-0.0, 1.0]]))
    assert first.tolist() == [0, 1]
    assert places.tolist() == [0, 1, 0]


def test_rows_whose_hashes_collide_stay_apart(monkeypatch):
    monkeypatch.setattr(
        "skpriv.neighbors._repeats._bytes_of_rows", lambda X: [b""] * len(X)
    )
    first, places = distinct_rows(np.array([[1.0], [2.0], [1.0], [3.0]]))
    assert first.tolist() == [0, 1, 3]
    assert places.tolist() == [0, 1, 0, 2]


def test_ties_that_a_graph_cuts_are_said():
    X, y = repeated(6, 40)
    graph = KNeighborsTransformer(n_neighbors=60).fit_transform(X)
    scorer = WaKAScorer(metric="precomputed").fit(graph, y)
    with pytest.warns(UserWarning, match="at equal distances from rank"):
        scorer.scores_  # noqa: B018
    whole = KNeighborsTransformer(n_neighbors=len(X) - 1).fit_transform(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WaKAScorer(metric="precomputed").fit(whole, y).scores_  # noqa: B018
