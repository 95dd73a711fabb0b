"""Closed forms of the Gaussian linear model hold in simulations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import chi2, kstest, multivariate_normal

from skpriv.leverage import gaussian

N = 200_000
LEVERAGES = [0.02, 0.3, 0.9]


def residuals(leverage, n_outputs, member, rng, n=N, sigma2=2.0):
    spread = np.sqrt(sigma2 * (1 - leverage if member else 1 + leverage))
    return spread * rng.normal(size=(n, n_outputs))


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("leverage", LEVERAGES)
def test_score_is_the_log_likelihood_ratio(leverage, n_outputs):
    rng = np.random.default_rng(0)
    r = rng.normal(size=(5, n_outputs))
    eye = np.eye(n_outputs) * 2.0
    member = multivariate_normal(cov=(1 - leverage) * eye).logpdf(r)
    other = multivariate_normal(cov=(1 + leverage) * eye).logpdf(r)
    scores = gaussian.membership_score(r, leverage, 2.0)
    assert_allclose(scores, member - other, rtol=1e-10)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("leverage", LEVERAGES)
@pytest.mark.parametrize("member", [True, False])
def test_score_has_the_law_of_a_shifted_chi_square(leverage, n_outputs, member):
    r = residuals(leverage, n_outputs, member, np.random.default_rng(1), n=20_000)
    scores = gaussian.membership_score(r, leverage, 2.0)
    slope = leverage / (1 - leverage**2) * (1 - leverage if member else 1 + leverage)
    squares = (n_outputs * np.arctanh(leverage) - scores) / slope
    assert kstest(squares, chi2(n_outputs).cdf).pvalue > 1e-3


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("leverage", LEVERAGES)
def test_tradeoff_and_success_equal_simulation(leverage, n_outputs):
    rng = np.random.default_rng(2)
    members, others = (
        gaussian.membership_score(
            residuals(leverage, n_outputs, member, rng), leverage, 2.0
        )
        for member in (True, False)
    )
    alpha = np.array([0.01, 0.1, 0.5])
    thresholds = np.quantile(others, 1 - alpha)
    missed = (members[:, None] <= thresholds).mean(axis=0)
    # Four standard errors of the shares, the threshold's included.
    error = 4 * np.sqrt(2 * 0.25 / N)
    assert_allclose(
        gaussian.tradeoff_curve(alpha, leverage, n_outputs), missed, atol=4 * error
    )
    right = ((members > 0).mean() + (others <= 0).mean()) / 2
    assert_allclose(gaussian.attack_success(leverage, n_outputs), right, atol=error)


@pytest.mark.parametrize("n_outputs", [1, 2, 10])
@pytest.mark.parametrize("leverage", [0.01, 0.4, 0.99])
def test_success_is_the_best_point_of_the_tradeoff_curve(leverage, n_outputs):
    alpha = np.linspace(0, 1, 200_001)
    beta = gaussian.tradeoff_curve(alpha, leverage, n_outputs)
    best = np.max(1 - alpha - beta)
    assert_allclose(gaussian.attack_advantage(leverage, n_outputs), best, rtol=1e-5)


@given(st.floats(1e-6, 1 - 1e-6), st.integers(1, 20), st.floats(0, 1), st.floats(0, 1))
@settings(deadline=None)
def test_more_leverage_is_never_safer(leverage, n_outputs, alpha, share):
    less = leverage * share
    assert gaussian.tradeoff_curve(alpha, leverage, n_outputs) <= (
        gaussian.tradeoff_curve(alpha, less, n_outputs) + 1e-12
    )
    success = gaussian.attack_success(leverage, n_outputs)
    assert 0.5 <= success <= 1
    assert success >= gaussian.attack_success(less, n_outputs) - 1e-9


def test_no_leverage_tells_nothing_and_full_leverage_all():
    alpha = np.array([0.0, 0.3, 1.0])
    assert_allclose(gaussian.tradeoff_curve(alpha, 0.0), 1 - alpha, atol=1e-15)
    assert_allclose(gaussian.tradeoff_curve(alpha, 1.0), 0)
    assert_allclose(gaussian.attack_success([0.0, 1.0]), [0.5, 1.0])
    assert_allclose(gaussian.membership_score([1.0, -3.0], 0.0, 1.0), 0)
    assert gaussian.membership_score([0.0, 1.0], 1.0, 1.0).tolist() == [np.inf, -np.inf]


def test_small_leverage_gives_the_first_order_advantage():
    # The log likelihood ratio tends to h (1 - r²), so TV to h E|1 - r²| / 2.
    mean = quad(lambda x: abs(x - 1) * chi2(1).pdf(x), 0, 1)[0]
    mean += quad(lambda x: (x - 1) * chi2(1).pdf(x), 1, np.inf)[0]
    assert_allclose(gaussian.attack_advantage(1e-4), 1e-4 * mean / 2, rtol=1e-3)


def test_attack_on_a_simulated_linear_model_lies_on_the_curve():
    rng = np.random.default_rng(3)
    n, p, trials = 40, 6, 4000
    X = rng.normal(size=(n, p))
    X[:5] *= 4
    Q = np.linalg.qr(X)[0]
    leverage = (Q**2).sum(axis=1)
    member, other = rng.normal(size=(2, trials, n))
    fitted = member @ Q @ Q.T
    right = (
        gaussian.membership_score(
            (member - fitted).ravel(), np.tile(leverage, trials), 1.0
        ).reshape(trials, n)
        > 0
    )
    right = right.astype(float)
    right += (
        gaussian.membership_score(
            (other - fitted).ravel(), np.tile(leverage, trials), 1.0
        ).reshape(trials, n)
        <= 0
    )
    measured = right.mean(axis=0) / 2
    # Five standard errors of a mean of two shares.
    assert_allclose(
        measured, gaussian.attack_success(leverage), atol=5 * np.sqrt(0.125 / trials)
    )


def test_residual_variance_is_unbiased_in_a_linear_model():
    rng = np.random.default_rng(4)
    Q = np.linalg.qr(rng.normal(size=(20, 5)))[0]
    E = rng.normal(size=(20, 3000)) * 1.5
    estimate = gaussian.residual_variance(E - Q @ (Q.T @ E), 5)
    # The mean of 45,000 squared errors.
    assert_allclose(estimate, 2.25, rtol=0.03)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: gaussian.tradeoff_curve(1.5, 0.5), "alpha"),
        (lambda: gaussian.tradeoff_curve(0.5, -0.1), "leverage"),
        (lambda: gaussian.attack_success([0.5, 1.1]), "leverage"),
        (lambda: gaussian.membership_score([1.0], 0.5, 0.0), "sigma2"),
        (lambda: gaussian.residual_variance([1.0, 2.0], 2), "n_parameters"),
    ],
)
def test_values_out_of_range_are_named(call, name):
    with pytest.raises(ValueError, match=name):
        call()
