import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.linear_model import LinearRegression

from skpriv import LeverageAttack
from skpriv.leverage.gaussian import tradeoff_curve


def _draw(rng, n_samples=60, n_features=20, n_outputs=1, scale=2.0):
    X = rng.normal(size=(n_samples, n_features)) * rng.uniform(0.1, 3, (n_samples, 1))
    mean = X @ rng.normal(size=(n_features, n_outputs)) + 1
    y, fresh = mean + scale * rng.normal(size=(2, n_samples, n_outputs))
    return (X, y, fresh) if n_outputs > 1 else (X, y[:, 0], fresh[:, 0])


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_leverage_is_the_diagonal_of_the_hat_matrix(fit_intercept):
    X, y, _ = _draw(np.random.default_rng(0))
    X[:, 3] = X[:, 4]
    design = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    expected = np.diag(design @ np.linalg.pinv(design))
    attack = LeverageAttack(fit_intercept=fit_intercept).fit(X, y)
    assert_allclose(attack.leverage_, expected, rtol=1e-9)
    residuals = y - LinearRegression(fit_intercept=fit_intercept).fit(X, y).predict(X)
    assert_allclose(attack.sigma2_, (residuals**2).sum() / (60 - expected.sum()))


def test_score_is_the_log_likelihood_ratio_of_the_residual():
    X, y, _ = _draw(np.random.default_rng(0))
    attack = LeverageAttack().fit(X, y)
    residual, h = y - attack.target_.predict(X), attack.leverage_
    member, other = (norm(0, np.sqrt(attack.sigma2_ * v)) for v in (1 - h, 1 + h))
    expected = member.logpdf(residual) - other.logpdf(residual)
    assert_allclose(attack.scores_, expected, rtol=1e-9)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_roc_of_a_record_lies_on_the_curve_of_the_theory(n_outputs):
    rng = np.random.default_rng(0)
    X, y, _ = _draw(rng, n_outputs=n_outputs)
    mean = LinearRegression().fit(X, y).predict(X)
    n_draws, sigma = 1500, 1.5
    scores = np.empty((2, n_draws, len(X)))
    for draw in range(n_draws):
        labels, fresh = mean + sigma * rng.normal(size=(2, *y.shape))
        attack = LeverageAttack(target=LinearRegression().fit(X, labels))
        attack.fit(X, labels)
        # The variance of the errors is known here, as it is in the theory.
        attack.sigma2_ = sigma**2
        scores[:, draw] = (
            attack.score_samples(X, labels),
            attack.score_samples(X, fresh),
        )
    alpha = np.array([0.01, 0.1, 0.5])
    thresholds = np.quantile(scores[1], 1 - alpha, axis=0)
    missed = (scores[0] <= thresholds[:, np.newaxis]).mean(axis=1)
    expected = tradeoff_curve(alpha[:, np.newaxis], attack.leverage_, n_outputs)
    # Binomial error of the members, and as much again of the threshold.
    error = np.sqrt(0.25 / n_draws) + np.sqrt(alpha / n_draws)[:, np.newaxis] * 2
    assert (np.abs(missed - expected) < 4 * error).all()
    success = np.mean([scores[0] > 0, scores[1] < 0], axis=(0, 1))
    assert_allclose(attack.attack_success_, success, atol=4 * np.sqrt(0.25 / 3000))


def test_no_other_test_of_the_residual_does_better():
    rng = np.random.default_rng(1)
    hits = {name: [] for name in ("leverage", "loss", "studentised", "lira")}
    for _ in range(400):
        X, labels, fresh = _draw(rng, scale=1.5)
        attack = LeverageAttack().fit(X, labels)
        h = attack.leverage_
        residual = np.stack([labels, fresh]) - attack.target_.predict(X)
        score = np.stack([attack.scores_, attack.score_samples(X, fresh)])
        scaled = np.abs(residual) / np.sqrt(attack.sigma2_)
        rivals = {
            "leverage": score > 0,
            "loss": scaled < 1,
            "studentised": scaled / np.sqrt(1 - h) < 1.2,
            "lira": scaled / np.sqrt(1 + h) < 0.7,
        }
        for name, called in rivals.items():
            hits[name].append((called[0].mean() + 1 - called[1].mean()) / 2)
    best = np.array(hits.pop("leverage"))
    for name, other in hits.items():
        gap = best - other
        assert gap.mean() > -3 * gap.std() / np.sqrt(gap.size), name


def test_rows_are_recognised_and_new_labels_are_scored():
    X, y, fresh = _draw(np.random.default_rng(0))
    attack = LeverageAttack().fit(X, y)
    assert_allclose(attack.score_samples(X[5:9]), attack.scores_[5:9])
    assert_allclose(attack.score_samples(X, y), attack.scores_)
    assert (attack.score_samples(X, fresh) != attack.scores_).all()
    with pytest.warns(UserWarning, match="1 rows of X have a leverage above 1"):
        scores = attack.score_samples(100 * X[:1], y[:1])
    assert np.isnan(scores).all()


def test_model_without_errors_gives_no_score():
    X, _, _ = _draw(np.random.default_rng(0))
    with pytest.warns(UserWarning, match="no errors on the records of fit"):
        scores = LeverageAttack().fit(X, np.zeros(60)).scores_
    assert np.isnan(scores).all()


def test_as_many_parameters_as_rows_are_refused():
    X, y, _ = _draw(np.random.default_rng(0), 20, 20)
    with pytest.raises(ValueError, match="n_samples=20 rows fix 20 parameters"):
        LeverageAttack().fit(X, y)
