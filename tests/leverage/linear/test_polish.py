"""A model that has nearly converged is scored at the optimum, in a copy."""

from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    GammaRegressor,
    LogisticRegression,
    PoissonRegressor,
    TweedieRegressor,
)
from sklearn.model_selection import StratifiedKFold

from skpriv import GLSScorer

VARIANTS = ["leverage", "self_influence", "attack_power"]


def records(n=80, p=4, n_classes=2):
    """Records of which one is so far away that small changes move its logit a lot."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    logits = np.column_stack([X[:, 0], -X[:, 0], X[:, 1]])[:, :n_classes]
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    X[0, -2:] = 40, -40
    return X, y, rng.uniform(0.5, 2, size=n)


def logistic(**params):
    return LogisticRegression(**{"tol": 1e-12, "max_iter": 10_000, **params})


def disturbed(model, X, size):
    """Move the weights of a fitted model by a step that the first record notices.

    Its solver might have stopped there with a loose tolerance.
    """
    model = deepcopy(model).set_params(tol=10.0)
    change = np.where(model.coef_ != 0, X[0], 0)
    change = size * change / np.sum(change**2, axis=-1, keepdims=True)
    signs = (-1.0) ** np.arange(len(change)) if change.ndim > 1 else np.ones(1)
    model.coef_ = model.coef_ + (change.T * signs).T.reshape(model.coef_.shape)
    return model


def compare(model, X, y, weights, variant, size=0.4):
    exact = GLSScorer(FrozenEstimator(model), variant=variant)
    exact.fit(X, y, sample_weight=weights)
    assert exact.n_polish_steps_ == 0
    near = disturbed(model, X, size)
    kept = near.coef_.copy()
    found = GLSScorer(FrozenEstimator(near), variant=variant)
    found.fit(X, y, sample_weight=weights)
    assert 1 <= found.n_polish_steps_ <= 5
    assert found.converged_.all()
    assert_allclose(found.scores_, exact.scores_, rtol=1e-4)
    new = (X[:5] + X[5:10]) / 2
    assert_allclose(
        found.score_samples(new, y[:5]), exact.score_samples(new, y[:5]), rtol=1e-5
    )
    assert found.estimator_.estimator is not model
    assert_array_equal(found.estimator_.coef_, kept)
    assert_array_equal(near.coef_, kept)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_logistic_regression(n_classes, fit_intercept, variant):
    X, y, weights = records(n_classes=n_classes)
    model = logistic(fit_intercept=fit_intercept).fit(X, y, weights)
    # A class that is unlikely for the record hardly counts.
    compare(model, X, y, weights, variant, size=4.0 if n_classes == 3 else 0.4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_more_features_than_records(n_classes):
    X, y, weights = records(n=30, p=50, n_classes=n_classes)
    compare(logistic(C=0.1).fit(X, y, weights), X, y, weights, "leverage")


def test_collinear_features_of_different_scales():
    X, y, weights = records(n=200)
    X = np.column_stack([X, 1e-4 * X[:, :1], X[:, 1] - X[:, 0]])
    model = logistic(C=np.inf, solver="newton-cg").fit(X, y, weights)
    compare(model, X, y, weights, "leverage")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_active_set_of_an_l1_penalty(n_classes):
    X, y, weights = records(n=200, p=8, n_classes=n_classes)
    model = logistic(l1_ratio=1, C=0.2, solver="saga").fit(X, y, weights)
    assert (model.coef_ == 0).any()
    compare(model, X, y, weights, "leverage")


@pytest.mark.parametrize(
    "model",
    [PoissonRegressor(), GammaRegressor(), TweedieRegressor(power=1.5, link="log")],
    ids=str,
)
def test_generalised_linear_models(model):
    X, _, weights = records()
    X[:, -2:] /= 4
    y = np.random.default_rng(2).gamma(2, np.exp(0.2 * X[:, 0]))
    model.set_params(alpha=0.1, solver="newton-cholesky", tol=1e-10)
    compare(model.fit(X, y, weights), X, y, weights, "self_influence")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_each_fold_is_polished():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] + rng.logistic(size=60) > 0).astype(int)
    exact = GLSScorer(logistic(), cv=4).fit(X, y).scores_
    found = GLSScorer(LogisticRegression(max_iter=3), cv=4).fit(X, y).scores_
    error = np.abs(found / exact - 1)
    errors = [error[test].max() for _, test in StratifiedKFold(4).split(X, y)]
    # Two of the models have converged for the records that they did not see.
    assert np.sort(errors)[1] < 1e-5 < 1e-3 < np.sort(errors)[2]


def test_a_model_far_from_the_optimum_is_not_polished():
    X, y, _ = records()
    model = logistic().fit(X, y)
    model.set_params(tol=100.0).coef_ = model.coef_ + 1
    with pytest.warns(ConvergenceWarning, match="has not converged"):
        scorer = GLSScorer(FrozenEstimator(model)).fit(X, y)
    assert scorer.n_polish_steps_ == 0
    assert np.isnan(scorer.scores_).any()


def test_a_model_without_an_optimum_is_not_polished():
    X, y, _ = records()
    X = np.column_stack([X, np.eye(len(X))[:, 0] * 10])
    model = LogisticRegression(C=np.inf, max_iter=10_000).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        scorer = GLSScorer(FrozenEstimator(model)).fit(X, y)
    assert scorer.n_polish_steps_ == 0
    assert np.isnan(scorer.scores_[0])
