"""How the most exposed records lie among their neighbours."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline

from skpriv.report import _neighborhood
from skpriv.report._neighborhood import comparable_rows, look_around
from skpriv.report._subject import make_subject


def rows(n=50, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3))


def test_neighbours_are_the_nearest_without_the_record_itself():
    X, labels = rows(), np.arange(50)
    found = look_around(X, labels, np.arange(50), n_neighbors=4)
    distances, nearest = NearestNeighbors(n_neighbors=4).fit(X).kneighbors()
    np.testing.assert_array_equal(np.sort(found.labels), np.sort(nearest))
    np.testing.assert_allclose(found.distance, distances[:, -1])
    np.testing.assert_array_equal(found.usual_distances, np.sort(found.distance))


def test_copies_are_neighbours_of_each_other():
    X = np.repeat([[0.0], [1.0]], 8, axis=0)
    labels = np.repeat([0, 1], 8)
    found = look_around(X, labels, np.arange(16), n_neighbors=3)
    expected = np.repeat([[0] * 3, [1] * 3], 8, axis=0)
    np.testing.assert_array_equal(found.labels, expected)
    np.testing.assert_array_equal(found.distance, 0)


def test_of_many_records_the_first_and_some_others_are_looked_at(monkeypatch):
    monkeypatch.setattr(_neighborhood, "_MOST_OPERATIONS", 0)
    monkeypatch.setattr(_neighborhood, "_FEWEST_QUERIES", 6)
    order = np.arange(50)[::-1]
    found = look_around(rows(), np.arange(50), order)
    looked_at = np.flatnonzero(~np.isnan(found.distance))
    assert set(order[:6]) <= set(looked_at)
    assert 6 <= looked_at.size <= 12
    assert found.usual_distances.size == 6


def test_fewer_records_than_neighbours_are_all_looked_at():
    found = look_around(rows(4), np.arange(4), np.arange(4), n_neighbors=5)
    assert found.n_neighbors == 3


def test_columns_are_compared_on_a_common_scale():
    X = pd.DataFrame({"small": rows()[:, 0], "large": 1e6 * rows()[:, 1]})
    X["kind"] = np.where(X["small"] > 0, "a", "b")
    y = np.arange(50) % 2
    found = comparable_rows(make_subject(X, y), LogisticRegression())
    assert found.shape == (50, 4)
    np.testing.assert_allclose(found[:, :2].std(axis=0), 1)


def test_neighbour_models_compare_their_own_features():
    X, y = rows(), np.arange(50) % 2
    model = make_pipeline(PCA(2), KNeighborsClassifier()).fit(X, y)
    found = comparable_rows(make_subject(X, y), model)
    np.testing.assert_array_equal(found, model[0].transform(X))
    assert comparable_rows(make_subject(X, y), LogisticRegression()).shape == (50, 3)


@pytest.mark.parametrize("kind", ["texts", "images"])
def test_rows_without_columns_are_compared_if_they_are_numbers(kind):
    y = np.arange(50) % 2
    X = rows().reshape(50, 3, 1) if kind == "images" else ["a word"] * 50
    found = comparable_rows(make_subject(X, y), LogisticRegression())
    assert (found is None) == (kind == "texts")
    assert found is None or found.shape == (50, 3)
