"""The kinds of model that the command can make."""

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor

from skpriv import GLSScorer
from skpriv.report import KINDS, choose_kind

NAMES = ["logistic", "ridge", "knn", "forest", "boosting", "mlp"]


@pytest.mark.parametrize(
    ("name", "task", "title"),
    [
        (None, "classification", "logistic regression, C = 1"),
        (None, "regression", "ridge regression, alpha = 1"),
        ("ridge", "classification", "ridge classifier, alpha = 1"),
        ("ridge", "regression", "ridge regression, alpha = 1"),
        ("forest", "regression", "random forest of 100 trees"),
    ],
)
def test_kind_is_for_the_task(name, task, title):
    assert choose_kind(name, task).title == title


def test_all_kinds_but_logistic_regression_are_for_both_tasks():
    assert list(dict.fromkeys(kind.name for kind in KINDS)) == NAMES
    for name in NAMES:
        model = choose_kind(name, "classification").build(n_weights=5, n_neighbors=3)
        assert is_classifier(model)
        kind = choose_kind(name, "regression")
        assert (kind is None) == (name == "logistic")
        assert kind is None or is_regressor(kind.build(n_weights=5, n_neighbors=3))


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize(
    ("name", "parameter", "number"),
    [
        ("forest", "n_estimators", 100),
        ("boosting", "max_iter", 100),
        ("mlp", "hidden_layer_sizes", (64,)),
    ],
)
def test_models_are_as_large_as_their_title_says(name, parameter, number, task):
    assert choose_kind(name, task).build().get_params()[parameter] == number


def test_neighbours_are_as_many_as_asked_for():
    for task in ("classification", "regression"):
        assert choose_kind("knn", task).build(n_neighbors=7).n_neighbors == 7


def test_many_weights_are_fitted_without_their_square_and_converge():
    rng = np.random.default_rng(0)
    kind = choose_kind("logistic", "classification")
    assert kind.build(n_weights=2000, n_neighbors=5).solver == "newton-cholesky"
    model = kind.build(n_weights=2001, n_neighbors=5)
    assert model.solver != "newton-cholesky"
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 3, 60)
    assert GLSScorer(model).fit(X, y).newton_step_.max() < 1e-3
