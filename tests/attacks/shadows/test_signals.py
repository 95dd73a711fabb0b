"""Signals agree with their definition, for models of all kinds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skpriv.attacks._shadows._signals import (
    CLASS_SIGNALS,
    model_signals,
    response_method,
    signals_from_logits,
    votes,
)

IRIS = load_iris(return_X_y=True)


@given(
    seed=st.integers(0, 2**16),
    n_classes=st.integers(2, 5),
    shift=st.floats(-500, 500),
)
@settings(deadline=None)
def test_signals_of_logits_are_those_of_the_definition(seed, n_classes, shift):
    rng = np.random.default_rng(seed)
    logits, y = rng.normal(size=(8, n_classes)), rng.integers(0, n_classes, 8)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    for i in range(8):
        others = np.delete(logits[i], y[i])
        expected = {
            "logit": np.log(p[i, y[i]]) - np.log(1 - p[i, y[i]]),
            "hinge": logits[i, y[i]] - others.max(),
            "loss": np.log(p[i, y[i]]),
        }
        for kind in CLASS_SIGNALS:
            signal = signals_from_logits(logits + shift, y, kind)[i]
            # The shift costs digits, and so does 1 - p in the definition.
            assert_allclose(signal, expected[kind], rtol=1e-9, atol=1e-9)


def test_logit_signal_does_not_saturate():
    signal = signals_from_logits(np.array([[800.0, 0.0, -5.0]]), np.array([0]))
    assert_allclose(signal, 800.0 - np.log(1 + np.exp(-5.0)))


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(max_iter=1000),
        HistGradientBoostingClassifier(max_iter=3),
        SVC(),
        LinearSVC(),
        AdaBoostClassifier(n_estimators=3),
        GaussianNB(),
        RandomForestClassifier(5),
        KNeighborsClassifier(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}),
        OneVsOneClassifier(LinearSVC()),
        SVC(decision_function_shape="ovo"),
        NearestCentroid(),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("kind", CLASS_SIGNALS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_classifier_gives_finite_signals_that_know_right_from_wrong(
    model, kind, n_classes
):
    X, y = IRIS
    kept = y < n_classes
    names = np.array(["setosa", "versicolor", "virginica"])
    model.fit(X[kept], names[y[kept]])
    signals, saturated = model_signals(
        model, X[kept], y[kept], names[:n_classes], kind=kind
    )
    wrong, _ = model_signals(
        model, X[kept], (y[kept] + 1) % n_classes, names[:n_classes], kind=kind
    )
    assert np.isfinite(signals).all()
    assert saturated.dtype == bool
    right = model.predict(X[kept]) == names[y[kept]]
    assert (signals[right] >= wrong[right]).mean() > 0.99


def test_two_class_signal_of_logistic_regression_is_its_decision_function():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    signals, _ = model_signals(model, X, y, np.array([0, 1]))
    expected = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert_allclose(signals, expected, rtol=1e-12)


def test_forest_votes_are_smoothed_and_saturation_is_told():
    X, y = IRIS
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    p = model.predict_proba(X)[np.arange(y.size), y]
    signals, saturated = model_signals(model, X, y, np.arange(3))
    smooth = (10 * p + 0.5) / (10 + 1.5)
    assert_allclose(signals, np.log(smooth) - np.log(1 - smooth), rtol=1e-9)
    assert_array_equal(saturated, (p == 0) | (p == 1))
    assert saturated.any()


@pytest.mark.parametrize(
    ("model", "n_votes"),
    [
        (KNeighborsClassifier(7), 7),
        (RandomForestClassifier(4), 4),
        (BaggingClassifier(n_estimators=6), 6),
        (DecisionTreeClassifier(), 1),
        (make_pipeline(StandardScaler(), KNeighborsClassifier(3)), 3),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("wrap", [lambda m: m, FrozenEstimator])
def test_votes_are_counted(model, n_votes, wrap):
    model = wrap(model.fit(*IRIS))
    assert votes(model, "auto", np.float64) == (n_votes, 0.5)
    assert votes(model, 2.0, np.float64) == (n_votes, 2.0)


def test_model_that_does_not_vote_keeps_its_probabilities():
    X, y = IRIS
    model = GaussianNB().fit(X, y)
    signals, _ = model_signals(model, X, y, np.arange(3))
    log_p = model.predict_log_proba(X)
    clear = np.exp(np.delete(log_p[0], y[0])).sum() > 1e-12
    between = np.abs(signals) < 15
    assert between.any()
    assert not clear
    expected = signals_from_logits(log_p, y)
    assert_allclose(signals[between], expected[between], rtol=1e-6)


@pytest.mark.parametrize("model", [LogisticRegression(max_iter=1000), GaussianNB()])
def test_class_that_a_model_has_not_seen_is_told_and_finite(model):
    X, y = IRIS
    model.fit(X[y < 2], y[y < 2])
    signals, saturated = model_signals(model, X, y, np.arange(3))
    assert saturated[y == 2].all()
    assert_allclose(signals[y == 2], np.log(np.finfo(float).eps), rtol=1e-3)
    if response_method(model, np.arange(3)) == "decision_function":
        assert not saturated[y < 2].any()
        seen = np.where(y == 1, 1, -1) * model.decision_function(X)
        between = (y < 2) & (np.abs(seen) < 15)
        assert_allclose(signals[between], seen[between], rtol=1e-6)


def test_label_only_signal_is_whether_the_label_is_right():
    X, y = IRIS
    model = OneVsOneClassifier(Perceptron()).fit(X, y)
    model = type(
        "LabelOnly", (), {"predict": model.predict, "classes_": np.arange(3)}
    )()
    signals, saturated = model_signals(model, X, y, np.arange(3))
    assert_array_equal(signals, np.where(model.predict(X) == y, 1.0, -1.0))
    assert not saturated.any()


def test_one_vs_one_of_two_classes_is_the_usual_decision():
    X, y = load_breast_cancer(return_X_y=True)
    models = [SVC(decision_function_shape=shape).fit(X, y) for shape in ("ovo", "ovr")]
    ours, usual = (model_signals(model, X, y, np.arange(2))[0] for model in models)
    assert_array_equal(ours, usual)
    # A model that has seen two classes of three answers as one that has seen them all.
    assert response_method(models[0], np.arange(3)) == "predict"
    assert response_method(make_pipeline(models[0]), [0, 1]) == "decision_function"
