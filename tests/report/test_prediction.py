"""Predictions of records by models that were fitted without them."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from skpriv.report._prediction import predict_left_out


@pytest.mark.parametrize("n_neighbors", [1, 3, 39, 100])
def test_left_out_prediction_is_that_of_a_model_without_the_record(n_neighbors):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 3, 40)
    found = predict_left_out(KNeighborsClassifier(n_neighbors), X, y)
    assert found.n_folds is None
    k = min(n_neighbors, 39)
    for i in range(40):
        rest = np.arange(40) != i
        model = KNeighborsClassifier(k).fit(X[rest], y[rest])
        assert found.predicted[i] == model.predict(X[[i]])[0]
        nearest = model.kneighbors(X[[i]], return_distance=False)[0]
        assert found.agreement[i] == pytest.approx((y[rest][nearest] == y[i]).mean())


def test_duplicates_are_neighbours_and_the_record_itself_is_not():
    X = np.repeat([[0.0], [1.0]], 3, axis=0)
    y = np.array([0, 0, 1, 1, 1, 1])
    found = predict_left_out(KNeighborsClassifier(2), X, y)
    np.testing.assert_array_equal(found.agreement, [0.5, 0.5, 0, 1, 1, 1])


def test_first_of_equally_frequent_classes_is_predicted():
    X = np.array([[0.0], [1.0], [1.1], [9.0], [9.1]])
    y = np.array([2, 0, 1, 0, 1])
    found = predict_left_out(KNeighborsClassifier(2), X, y)
    assert found.predicted[0] == 0
    assert found.agreement[0] == 0


def test_classes_may_have_any_names():
    y = np.array(["u", "v", "u", "v", "v"])
    found = predict_left_out(KNeighborsClassifier(1), np.arange(5.0)[:, None], y)
    assert found.predicted[[0, 4]].tolist() == ["v", "v"]
    np.testing.assert_array_equal(found.agreement[[0, 4]], [0, 1])


@pytest.mark.parametrize("n_neighbors", [1, 3, 100])
def test_left_out_average_is_that_of_a_model_without_the_record(n_neighbors):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    found = predict_left_out(KNeighborsRegressor(n_neighbors), X, y)
    assert found.agreement is None
    for i in range(20):
        rest = np.arange(20) != i
        model = KNeighborsRegressor(min(n_neighbors, 19)).fit(X[rest], y[rest])
        assert found.predicted[i] == pytest.approx(model.predict(X[[i]])[0])


def test_no_record_is_predicted_by_a_model_that_saw_it():
    # A model that follows its records exactly is right only about those it saw.
    rng = np.random.default_rng(0)
    X, y = np.eye(40), rng.normal(size=40)
    found = predict_left_out(Ridge(alpha=1e-6, fit_intercept=False), X, y)
    assert found.n_folds == 5
    np.testing.assert_array_equal(found.predicted, 0)


def test_whole_numbers_are_predicted_by_fractions():
    X, y = np.ones((6, 1)), np.array([0, 0, 0, 1, 1, 1])
    found = predict_left_out(Ridge(), X, y)
    assert ((found.predicted > 0.2) & (found.predicted < 0.8)).all()


def test_fifths_hold_every_class_in_proportion():
    class Recorder(LogisticRegression):
        seen = []

        def fit(self, X, y):
            self.seen.append(np.bincount(y).tolist())
            return super().fit(X, y)

    y = np.repeat([0, 1], [30, 10])[np.random.default_rng(0).permutation(40)]
    X = y[:, np.newaxis] * 5.0
    np.testing.assert_array_equal(predict_left_out(Recorder(), X, y).predicted, y)
    assert Recorder.seen == [[24, 8]] * 5


def test_a_class_of_one_record_is_never_predicted_for_it():
    X = np.array([[0.0], [1.0], [2.0], [9.0]])
    y = np.array([0, 0, 0, 1])
    found = predict_left_out(LogisticRegression(), X, y)
    np.testing.assert_array_equal(found.predicted, 0)
    found = predict_left_out(LogisticRegression(), X[[0, 3]], y[[0, 3]])
    np.testing.assert_array_equal(found.predicted, [1, 0])
