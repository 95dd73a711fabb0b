"""The kinds of model that the command can audit."""

import numpy as np
import pytest

from skpriv import GLSScorer
from skpriv.report import choose_kind


@pytest.mark.parametrize(
    ("name", "task", "title"),
    [
        (None, "classification", "logistic regression, C = 1"),
        (None, "regression", "ridge regression, alpha = 1"),
        ("ridge", "classification", "ridge classifier, alpha = 1"),
        ("ridge", "regression", "ridge regression, alpha = 1"),
        ("knn", "classification", "k-nearest neighbours"),
    ],
)
def test_kind_is_for_the_task(name, task, title):
    assert choose_kind(name, task).title == title


@pytest.mark.parametrize("name", ["logistic", "knn"])
def test_kinds_for_classes_are_not_for_a_quantity(name):
    assert choose_kind(name, "regression") is None


def test_many_weights_are_fitted_without_their_square_and_converge():
    rng = np.random.default_rng(0)
    kind = choose_kind("logistic", "classification")
    assert kind.build(n_weights=2000, n_neighbors=5).solver == "newton-cholesky"
    model = kind.build(n_weights=2001, n_neighbors=5)
    assert model.solver != "newton-cholesky"
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 3, 60)
    assert GLSScorer(model).fit(X, y).newton_step_.max() < 1e-3
