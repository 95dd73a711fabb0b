"""Attack power of a model of one output equals the success of shadow models."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr
from scipy.stats import spearmanr
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    LinearRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)

from skpriv import GLSScorer, LiRAAttack

N = 150
RNG = np.random.default_rng(0)
X = RNG.standard_t(4, size=(N, 5))
F = X @ [0.3, -0.2, 0.1, 0.0, 0.2]
NUMBERS = F + RNG.standard_t(4, size=N)
COUNTS = RNG.poisson(np.exp(1 + F))
TIMES = RNG.gamma(2, np.exp(F))
CLASSES = (NUMBERS > 0).astype(int)
NEWTON = {"solver": "newton-cholesky", "tol": 1e-9}

# Penalties that are strong enough to show whether they count once or twice in a half.
MODELS = {
    "penalty next to the sum": (Ridge(100.0), NUMBERS),
    "penalty next to the mean": (ElasticNet(1.0, l1_ratio=0, tol=1e-10), NUMBERS),
    "Poisson": (PoissonRegressor(alpha=2.0, **NEWTON), COUNTS),
    "gamma": (GammaRegressor(alpha=1.0, **NEWTON), TIMES),
    "Huber": (HuberRegressor(alpha=100.0, tol=1e-6, max_iter=500), NUMBERS),
}


def _measured_success(model, y, n_pairs):
    """Success of an attack on predictions that training moves towards the label."""
    rng = np.random.default_rng(2)
    members = np.empty((2 * n_pairs, N), dtype=bool)
    members[::2] = rng.permuted(np.tile(np.arange(N) < N // 2, (n_pairs, 1)), axis=1)
    members[1::2] = ~members[::2]
    signals = np.array([model.fit(X[half], y[half]).predict(X) for half in members])
    attack = LiRAAttack.from_signals(signals, members, y=y)
    return attack.estimated_success_


@pytest.mark.filterwarnings("ignore:Coordinate descent")
@pytest.mark.parametrize("name", MODELS)
def test_prediction_is_what_shadow_models_measure(name):
    model, y = MODELS[name]
    predicted = GLSScorer(model, variant="attack_power").fit(X, y).scores_
    measured = _measured_success(model, y, n_pairs=150)
    # Each record has a standard error of 0.023; their errors are hardly correlated.
    assert predicted.mean() == pytest.approx(measured.mean(), abs=0.007)
    assert spearmanr(predicted, measured).statistic > 0.7
    slope = np.polyfit(predicted, measured, 1)[0]
    assert slope == pytest.approx(1, abs=0.15)


def _formula(Z, H, gradients):
    """Φ of half the gap over the deviation that other records cause, by definition."""
    moves = Z @ np.linalg.inv(H) @ gradients.T
    own = np.diag(moves)
    noise = np.sqrt((moves**2).sum(axis=1) - own**2)
    return ndtr(np.abs(own) / noise)


def _with_intercept(rows):
    return np.column_stack([rows, np.ones(len(rows))])


def test_formula_of_ridge():
    weights = np.random.default_rng(1).uniform(0.5, 2, size=N)
    scorer = GLSScorer(Ridge(3.0), variant="attack_power")
    scorer.fit(X, NUMBERS, sample_weight=weights)
    Z = _with_intercept(X)
    residuals = NUMBERS - scorer.estimator_.predict(X)
    H = (Z.T * weights) @ Z + 2 * 3.0 * np.diag([1, 1, 1, 1, 1, 0])
    expected = _formula(Z, H, Z * (weights * residuals)[:, None])
    assert_allclose(scorer.scores_, expected, rtol=1e-8)


def test_formula_of_poisson_regression():
    weights = np.random.default_rng(1).uniform(0.5, 2, size=N)
    model = PoissonRegressor(alpha=0.1, **NEWTON)
    scorer = GLSScorer(model, variant="attack_power")
    scorer.fit(X, COUNTS, sample_weight=weights)
    Z = _with_intercept(X)
    mean = scorer.estimator_.predict(X)
    penalty = 0.1 * weights.sum() * np.diag([1, 1, 1, 1, 1, 0])
    H = (Z.T * (weights * mean)) @ Z + penalty
    expected = _formula(Z, H, Z * (weights * (COUNTS - mean))[:, None])
    assert_allclose(scorer.scores_, expected, rtol=1e-6)


def test_formula_of_huber_regression_includes_its_scale():
    epsilon, alpha = 1.35, 3.0
    model = HuberRegressor(epsilon=epsilon, alpha=alpha, tol=1e-9, max_iter=1000)
    scorer = GLSScorer(model, variant="attack_power").fit(X, NUMBERS)
    fitted = scorer.estimator_
    Z, scale = _with_intercept(X), fitted.scale_
    z = (NUMBERS - fitted.predict(X)) / scale
    inside = np.abs(z) <= epsilon
    clipped = np.clip(z, -epsilon, epsilon)
    joint = np.column_stack([Z, z])
    penalty = 2 * 2 * alpha * np.diag([1, 1, 1, 1, 1, 0, 0])
    H = 2 / scale * (joint.T * inside) @ joint + penalty
    gradients = np.column_stack([-2 * clipped[:, None] * Z, 1 - clipped**2])
    expected = _formula(np.column_stack([Z, np.zeros(N)]), H, gradients)
    assert_allclose(scorer.scores_, expected, rtol=1e-6)


def test_units_of_the_target_do_not_matter():
    first, second = (
        GLSScorer(Ridge(), variant="attack_power").fit(X, y).scores_
        for y in (NUMBERS, 1e6 * NUMBERS - 5)
    )
    assert_allclose(second, first, rtol=1e-8)


def test_classes_are_watched_at_the_decision_function():
    squared = SGDClassifier(
        "squared_error", alpha=0.1, tol=1e-8, max_iter=5000, random_state=0
    )
    scores = GLSScorer(squared, variant="attack_power").fit(X, CLASSES).scores_
    assert ((scores >= 0.5) & (scores < 1)).all()


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (Ridge(), np.column_stack([NUMBERS, TIMES])),
        (RidgeClassifier(), np.digitize(NUMBERS, [-0.5, 0.5])),
    ],
    ids=["two targets", "three classes"],
)
def test_several_outputs_have_no_attack_power(model, y):
    with pytest.raises(ValueError, match="attack_power' needs a model of a single out"):
        GLSScorer(model, variant="attack_power").fit(X, y)


@pytest.mark.parametrize("n_records", [4, N])
def test_rounding_errors_of_an_exact_fit_are_no_residuals(n_records):
    y = (NUMBERS if n_records == 4 else X @ [1.0, 2.0, 3.0, 4.0, 5.0])[:n_records]
    with pytest.warns(UserWarning, match="no residuals on the records but rounding"):
        scorer = GLSScorer(LinearRegression(), variant="attack_power").fit(
            X[:n_records], y
        )
    assert np.isnan(scorer.scores_).all()


def test_constant_targets_expose_nobody():
    scorer = GLSScorer(Ridge(), variant="attack_power").fit(X, np.full(N, 3.3))
    assert (scorer.scores_ == 0.5).all()


def test_weights_that_must_be_positive_leave_attack_power_unknown():
    with pytest.warns(UserWarning, match="positive=True"):
        scorer = GLSScorer(Ridge(positive=True), variant="attack_power").fit(X, NUMBERS)
    assert np.isnan(scorer.scores_).all()
