"""Records that early stopping holds out were not trained on, and have no leverage."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpriv import GLSScorer
from skpriv.leverage.linear._held_out import held_out

N = 300
COMMON = {
    "alpha": 0.1,
    "average": True,
    "early_stopping": True,
    "validation_fraction": 0.4,
    "n_iter_no_change": 30,
    "max_iter": 300,
}


def classifier(**params):
    return SGDClassifier(**{"loss": "log_loss", **COMMON, **params})


def regressor(**params):
    return SGDRegressor(**{**COMMON, "eta0": 0.01, **params})


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(N, 3))


def labels(X, n_classes):
    rng = np.random.default_rng(1)
    logits = np.column_stack([X, -X])[:, :n_classes]
    codes = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return np.array(["b", "c", "a"])[codes]


def targets(model, X, n_classes):
    return labels(X, n_classes) if is_classifier(model) else X[:, 0] + X[:, 1] ** 2


@pytest.mark.parametrize(
    ("model", "n_classes"),
    [(classifier(), 2), (classifier(), 3), (regressor(), 0)],
    ids=["two classes", "three classes", "regression"],
)
@pytest.mark.parametrize("random_state", [7, None, np.random.RandomState(5)], ids=str)
def test_training_does_not_depend_on_the_records_said_to_be_held_out(
    X, model, n_classes, random_state
):
    # Without a tolerance the number of epochs does not depend on them, either.
    model = clone(model).set_params(random_state=random_state, tol=None, max_iter=3)
    y = targets(model, X, n_classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = GLSScorer(model).fit(X, y).estimator_
    out = held_out(fitted, y)
    assert out.sum() == 120
    moved = np.where(out[:, None], X + 5, X)
    assert_array_equal(clone(fitted).fit(moved, y).coef_, fitted.coef_)
    for i in np.flatnonzero(~out)[:3]:
        moved = X + (np.arange(N) == i)[:, None]
        assert np.any(clone(fitted).fit(moved, y).coef_ != fitted.coef_)


@pytest.mark.parametrize("frozen", [False, True])
def test_scores_are_those_of_the_model_as_it_was_trained(X, frozen):
    y = labels(X, 2)
    model = make_pipeline(StandardScaler(), classifier(random_state=0))
    model = FrozenEstimator(model.fit(X, y)) if frozen else model
    scorer = GLSScorer(model).fit(X, y)
    sgd = scorer.estimator_[-1]
    out = held_out(sgd, y)
    A = np.column_stack([StandardScaler().fit_transform(X), np.ones(N)])
    q = sgd.predict_proba(A[:, :-1]).prod(axis=1)
    H = (A.T * np.where(out, 0, q)) @ A + np.diag([*[0.1 * np.sum(~out)] * 3, 0])
    truth = q * np.einsum("ij,ij->i", A, np.linalg.solve(H, A.T).T)
    assert_allclose(scorer.scores_, np.where(out, 0, truth), rtol=1e-9, atol=0)
    assert scorer.effective_parameters_ == pytest.approx(truth[~out].sum())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_of_records_count_besides(X):
    y = X[:, 0] + X[:, 1] ** 2
    weights = np.random.default_rng(2).uniform(0.5, 2, N)
    scorer = GLSScorer(regressor(random_state=0)).fit(X, y, sample_weight=weights)
    out = held_out(scorer.estimator_, y)
    A, w = np.column_stack([X, np.ones(N)]), np.where(out, 0, weights)
    H = (A.T * w) @ A + np.diag([*[0.1 * np.sum(~out)] * 3, 0])
    truth = w * np.einsum("ij,ij->i", A, np.linalg.solve(H, A.T).T)
    assert_allclose(scorer.scores_, truth, rtol=1e-9)


def test_the_other_scores_of_records_held_out(X):
    y = labels(X, 2)
    model = classifier(random_state=0)
    for variant, expected in (("self_influence", 0), ("attack_power", 0.5)):
        scorer = GLSScorer(model, variant=variant).fit(X, y)
        out = held_out(scorer.estimator_, y)
        assert_array_equal(scorer.scores_[out], expected)
        assert (scorer.scores_[~out] > expected).all()


def test_a_fitted_model_whose_split_cannot_be_found_is_refused(X):
    y = labels(X, 2)
    model = FrozenEstimator(classifier(random_state=None).fit(X, y))
    with pytest.raises(ValueError, match=r"early_stopping=True.*random_state"):
        GLSScorer(model).fit(X, y)
