"""The module of a perceptron gives its probabilities and predictions."""

import warnings

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor

from skpriv.leverage.network._mlp import module_of

X, SPECIES = load_iris(return_X_y=True)


def _fit(kind, y, X=X, **parameters):
    model = kind(max_iter=5, random_state=0, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def _outputs(model, X=X):
    return module_of(model)(torch.tensor(X, dtype=torch.float64)).detach()


@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu"])
@pytest.mark.parametrize("hidden", [(5,), (4, 3), ()])
def test_logits_give_the_probabilities_of_a_classifier(activation, hidden):
    parameters = {"activation": activation, "hidden_layer_sizes": hidden}
    several = _fit(MLPClassifier, SPECIES, **parameters)
    two = _fit(MLPClassifier, SPECIES == 1, **parameters)
    proba = _outputs(several).softmax(dim=1).numpy()
    assert_allclose(proba, several.predict_proba(X), rtol=1e-12)
    proba = _outputs(two).sigmoid()[:, 0].numpy()
    assert_allclose(proba, two.predict_proba(X)[:, 1], rtol=1e-12)


@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu"])
@pytest.mark.parametrize("targets", [X[:, 2], X[:, 2:]])
def test_outputs_are_the_predictions_of_a_regressor(activation, targets):
    model = _fit(
        MLPRegressor, targets, activation=activation, hidden_layer_sizes=(4, 3)
    )
    predicted = model.predict(X).reshape(len(X), -1)
    # A sum of terms of size 1 that is close to 0 has fewer digits.
    assert_allclose(_outputs(model).numpy(), predicted, rtol=1e-12, atol=1e-15)


def test_weights_fitted_in_single_precision_are_kept_to_the_last_digit():
    model = _fit(MLPClassifier, SPECIES, X=X.astype(np.float32))
    assert model.coefs_[0].dtype == np.float32
    module = module_of(model)
    assert {p.dtype for p in module.parameters()} == {torch.float64}
    assert (module[0].weight.detach().numpy() == model.coefs_[0].T).all()
    # The perceptron itself computes in single precision.
    assert_allclose(
        _outputs(model).softmax(dim=1).numpy(),
        model.predict_proba(X.astype(np.float32)),
        rtol=1e-4,
    )


def test_making_the_module_draws_no_random_numbers():
    model = _fit(MLPClassifier, SPECIES)
    state = torch.random.get_rng_state()
    module_of(model)
    assert torch.equal(torch.random.get_rng_state(), state)
