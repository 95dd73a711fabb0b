"""Copies of an estimator are trained from scratch, and repeat by their seed."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from skorch import NeuralNetClassifier

from skpriv.utils._training import (
    check_untrained,
    draw_seeds,
    fit_clone,
    seeded_clone,
    seeded_torch,
)

X, Y = load_iris(return_X_y=True)
X = X.astype(np.float32)


def net(module=None):
    return NeuralNetClassifier(
        module or torch.nn.Linear,
        criterion=torch.nn.CrossEntropyLoss,
        max_epochs=1,
        train_split=None,
        verbose=0,
        **({} if module else {"module__in_features": 4, "module__out_features": 3}),
    )


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(3),
        make_pipeline(StandardScaler(), BaggingClassifier(DecisionTreeClassifier())),
        GridSearchCV(DecisionTreeClassifier(max_features=1), {"max_depth": [2, 3]}),
        net(),
    ],
    ids=lambda e: type(e).__name__,
)
def test_models_repeat_by_their_seed_alone(estimator):
    first, second, other = (
        fit_clone(estimator, X, Y, seed=seed).predict_proba(X) for seed in (3, 3, 4)
    )
    assert_array_equal(first, second)
    assert (first != other).any()


def test_the_estimator_itself_is_neither_fitted_nor_seeded():
    estimator = RandomForestClassifier(3)
    fit_clone(estimator, X, Y, seed=0)
    assert estimator.random_state is None
    assert not hasattr(estimator, "estimators_")
    assert seeded_clone(estimator, None).random_state is None


def test_torch_is_seeded_inside_and_restored_outside():
    state = torch.random.get_rng_state()
    with seeded_torch(0):
        first = torch.rand(3)
    assert_array_equal(state, torch.random.get_rng_state())
    with seeded_torch(0):
        assert_array_equal(first, torch.rand(3))
    with seeded_torch(None):
        torch.rand(3)
    assert (state != torch.random.get_rng_state()).any()


def test_a_network_that_would_keep_its_weights_is_refused():
    module = torch.nn.Linear(4, 3)
    trained = net(module).fit(X, Y)
    for estimator in (trained, make_pipeline(StandardScaler(), trained)):
        with pytest.raises(ValueError, match="module must be a class or a function"):
            fit_clone(estimator, X, Y)
    # These do not go on training it.
    for estimator in (net(module), net().fit(X, Y), FrozenEstimator(trained)):
        check_untrained(estimator)


def test_seeds_are_python_integers_that_repeat():
    first, second = (draw_seeds(3, np.random.RandomState(0)) for _ in range(2))
    assert first == second
    assert {type(seed) for seed in first} == {int}
