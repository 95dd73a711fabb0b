"""Predictions of records by models that were fitted without them."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from skpriv.report._performance import accuracy, n_folds, predict_left_out, r2


@pytest.mark.parametrize("n_neighbors", [1, 3, 39, 100])
def test_left_out_prediction_is_that_of_a_model_without_the_record(n_neighbors):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 3, 40)
    model = KNeighborsClassifier(n_neighbors)
    predicted, folds = predict_left_out(model, X, y)
    assert folds is None
    assert n_folds(model, None, X, y) == 0
    k = min(n_neighbors, 39)
    for i in range(40):
        rest = np.arange(40) != i
        model = KNeighborsClassifier(k).fit(X[rest], y[rest])
        assert predicted[i] == model.predict(X[[i]])[0]


def test_first_of_equally_frequent_classes_is_predicted():
    X = np.array([[0.0], [1.0], [1.1], [9.0], [9.1]])
    y = np.array([2, 0, 1, 0, 1])
    predicted, _ = predict_left_out(KNeighborsClassifier(2), X, y)
    assert predicted[0] == 0


def test_classes_may_have_any_names():
    y = np.array(["u", "v", "u", "v", "v"])
    for labels in (y, y.astype(object)):
        X = np.arange(5.0)[:, np.newaxis]
        predicted, _ = predict_left_out(KNeighborsClassifier(1), X, labels)
        assert predicted[[0, 4]].tolist() == ["v", "v"]


@pytest.mark.parametrize("n_neighbors", [1, 3, 100])
def test_left_out_average_is_that_of_a_model_without_the_record(n_neighbors):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    predicted, _ = predict_left_out(KNeighborsRegressor(n_neighbors), X, y)
    for i in range(20):
        rest = np.arange(20) != i
        model = KNeighborsRegressor(min(n_neighbors, 19)).fit(X[rest], y[rest])
        assert predicted[i] == pytest.approx(model.predict(X[[i]])[0])


def test_no_record_is_predicted_by_a_model_that_saw_it():
    # A model that follows its records exactly is right only about those it saw.
    rng = np.random.default_rng(0)
    X, y = np.eye(40), rng.normal(size=40)
    model = Ridge(alpha=1e-6, fit_intercept=False)
    done = []
    predicted, folds = predict_left_out(model, X, y, advance=lambda: done.append(1))
    assert folds == n_folds(model, None, X, y) == len(done) == 5
    np.testing.assert_array_equal(predicted, 0)


def test_whole_numbers_are_predicted_by_fractions():
    X, y = np.ones((6, 1)), np.array([0, 0, 0, 1, 1, 1])
    predicted, _ = predict_left_out(Ridge(), X, y)
    assert ((predicted > 0.2) & (predicted < 0.8)).all()


def test_fifths_hold_every_class_in_proportion():
    class Recorder(LogisticRegression):
        seen = []

        def fit(self, X, y):
            self.seen.append(np.bincount(y).tolist())
            return super().fit(X, y)

    y = np.repeat([0, 1], [30, 10])[np.random.default_rng(0).permutation(40)]
    X = y[:, np.newaxis] * 5.0
    np.testing.assert_array_equal(predict_left_out(Recorder(), X, y)[0], y)
    assert Recorder.seen == [[24, 8]] * 5


def test_a_class_of_one_record_is_never_predicted_for_it():
    X = np.array([[0.0], [1.0], [2.0], [9.0]])
    y = np.array([0, 0, 0, 1])
    predicted, _ = predict_left_out(LogisticRegression(), X, y)
    np.testing.assert_array_equal(predicted, 0)
    predicted, _ = predict_left_out(LogisticRegression(), X[[0, 3]], y[[0, 3]])
    np.testing.assert_array_equal(predicted, [1, 0])


def test_records_are_left_out_as_the_user_says():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    for cv in (4, StratifiedKFold(4)):
        predicted, folds = predict_left_out(LogisticRegression(), X, y, cv=cv)
        assert folds == n_folds(LogisticRegression(), cv, X, y) == 4
        expected = cross_val_predict(LogisticRegression(), X, y, cv=cv)
        np.testing.assert_array_equal(predicted, expected)


def test_texts_and_sparse_rows_are_left_out_too():
    texts = np.array(["good day", "bad night"] * 10, dtype=object)
    y = np.array([1, 0] * 10)
    model = make_pipeline(CountVectorizer(), LogisticRegression())
    np.testing.assert_array_equal(predict_left_out(model, texts, y)[0], y)
    rows = CountVectorizer().fit_transform(texts)
    np.testing.assert_array_equal(predict_left_out(model[-1], rows, y)[0], y)


def test_accuracy_has_the_interval_of_clopper_and_pearson():
    y = np.array([0, 0, 1, 1, 1])
    value, *ends = accuracy(y, np.array([0, 1, 1, 1, 1]))
    expected = binomtest(4, 5).proportion_ci(0.95, method="exact")
    assert value == 0.8
    np.testing.assert_allclose(ends, expected, rtol=1e-12)


def test_interval_of_r2_covers_it():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        x = rng.normal(size=300)
        y = x + rng.normal(size=300)
        value, low, high = r2(y, x)
        assert value == pytest.approx(r2_score(y, x))
        covered += low < 0.5 < high
    assert 0.9 <= covered / 200 <= 0.99


def test_r2_of_equal_labels_is_not_known():
    assert np.isnan(r2(np.ones(3), np.zeros(3))).all()
