"""Estimates of attack success from signals whose true success is known."""

from functools import cache

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import spearmanr
from sklearn.linear_model import Ridge

from skpriv import RiskEstimator
from skpriv.risk._small_area import to_success
from skpriv.utils._halves import complementary_halves

N_RECORDS = 800

# Tests of the same signals share an estimate, in one process.
pytestmark = pytest.mark.xdist_group("small area")


def draw(n_shadows=16, seed=0, n_records=N_RECORDS, exposed=True, noise=1.0):
    """Signals, membership, a covariate and the true success of each record."""
    rng = np.random.default_rng(seed)
    separation = rng.gamma(0.4, 1.0, size=n_records) * exposed
    membership = complementary_halves(
        np.zeros(n_records), n_shadows // 2, random_state=seed
    )
    deviation = rng.uniform(0.5, 2.0, size=n_records)
    level = rng.normal(size=n_records) * 3
    signals = level + deviation * (
        noise * rng.normal(size=membership.shape) + separation * membership
    )
    covariate = np.log(separation + 0.1) + 0.3 * rng.normal(size=n_records)
    return signals, membership, covariate, ndtr(separation / 2)


@cache
def estimate(n_shadows, seed=0):
    """Estimate the risk from what `draw` returns; it is not to be changed."""
    signals, membership, covariate, _ = draw(n_shadows, seed)
    return RiskEstimator.from_signals(
        signals, membership, covariates={"cheap": covariate}
    )


def error(estimated, true):
    return np.sqrt(np.mean((estimated - true) ** 2))


@pytest.mark.parametrize("n_shadows", [8, 16])
def test_few_shadows_do_better_than_counting_and_moments(n_shadows):
    *_, true = draw(n_shadows)
    risk = estimate(n_shadows)
    assert error(risk.scores_, true) < error(risk.attack_.attack_success_, true) / 4
    assert error(risk.scores_, true) < error(risk.attack_.estimated_success_, true) / 2
    assert spearmanr(risk.scores_, true).statistic > 0.8
    assert risk.scores_.mean() == pytest.approx(true.mean(), abs=0.01)


def test_many_shadows_outweigh_a_poor_covariate():
    signals, membership, _, true = draw(128)
    noise = np.random.default_rng(1).normal(size=N_RECORDS)
    risk = RiskEstimator.from_signals(signals, membership, covariates={"noise": noise})
    assert error(risk.scores_, true) < error(risk.attack_.estimated_success_, true)


@pytest.mark.parametrize("n_shadows", [8, 32])
def test_intervals_cover_the_true_success(n_shadows):
    covered = []
    for seed in range(2):
        *_, true = draw(n_shadows, seed=seed)
        low, high = estimate(n_shadows, seed).interval_.T
        covered.append((low <= true + 1e-3) & (true - 1e-3 <= high))
    assert np.mean(covered) > 0.85


@pytest.mark.parametrize("n_covariates", [0, 4])
@pytest.mark.parametrize("n_shadows", [8, 64])
def test_unexposed_records_have_a_success_of_one_half(n_shadows, n_covariates):
    signals, membership, _, _ = draw(n_shadows, exposed=False)
    rng = np.random.default_rng(2)
    noise = {f"noise {j}": rng.normal(size=N_RECORDS) for j in range(n_covariates)}
    risk = RiskEstimator.from_signals(signals, membership, covariates=noise)
    assert risk.scores_.mean() == pytest.approx(0.5, abs=0.005)
    assert (risk.interval_[:, 0] > 0.5).mean() < 0.05


def test_noise_among_the_covariates_does_little_harm():
    signals, membership, covariate, true = draw(16)
    rng = np.random.default_rng(2)
    noise = {f"noise {j}": rng.normal(size=N_RECORDS) for j in range(6)}
    without = estimate(16)
    with_ = RiskEstimator.from_signals(
        signals, membership, covariates={"cheap": covariate, **noise}
    )
    assert error(with_.scores_, true) < 1.1 * error(without.scores_, true)


def test_a_covariate_of_the_wrong_sign_is_not_believed():
    signals, membership, covariate, true = draw(16)
    wrong = RiskEstimator.from_signals(
        signals, membership, covariates={"wrong": -covariate}
    )
    none = RiskEstimator.from_signals(signals, membership)
    assert wrong.weights_["wrong"] < 0.25
    assert error(wrong.scores_, true) < 1.1 * error(none.scores_, true)


def test_order_of_records_does_not_matter():
    signals, membership, covariate, _ = draw(8)
    order = np.random.default_rng(3).permutation(N_RECORDS)
    risk = estimate(8)
    permuted = RiskEstimator.from_signals(
        signals[:, order], membership[:, order], covariates={"cheap": covariate[order]}
    )
    np.testing.assert_array_equal(permuted.scores_, risk.scores_[order])
    np.testing.assert_array_equal(permuted.interval_, risk.interval_[order])


def test_units_of_signals_and_monotone_changes_of_covariates_do_not_matter():
    signals, membership, covariate, _ = draw(8)
    risk = estimate(8)
    # A power of two, so that nothing is rounded.
    other = RiskEstimator.from_signals(
        signals * 2.0**-20, membership, covariates={"cheap": np.exp(covariate)}
    )
    np.testing.assert_array_equal(other.scores_, risk.scores_)


def test_identical_records_have_nearly_the_same_risk():
    signals, membership, covariate, _ = draw(8)
    twice = RiskEstimator.from_signals(
        np.tile(signals, 2),
        np.tile(membership, 2),
        covariates={"cheap": np.tile(covariate, 2)},
    )
    first, second = np.split(twice.scores_, 2)
    np.testing.assert_allclose(first, second, atol=0.1)
    assert spearmanr(first, second).statistic > 0.95


def test_constant_and_missing_covariates_are_left_out_with_weight_zero():
    signals, membership, covariate, _ = draw(8)
    risk = estimate(8)
    more = RiskEstimator.from_signals(
        signals,
        membership,
        covariates={
            "constant": np.ones(N_RECORDS),
            "cheap": covariate,
            "missing": np.full(N_RECORDS, np.nan),
        },
    )
    np.testing.assert_array_equal(more.scores_, risk.scores_)
    assert more.weights_["constant"] == more.weights_["missing"] == 0
    assert more.weights_["cheap"] == risk.weights_["cheap"]


def test_a_covariate_may_be_missing_for_some_records():
    signals, membership, covariate, true = draw(16)
    covariate[::5] = np.nan
    risk = RiskEstimator.from_signals(
        signals, membership, covariates={"cheap": covariate}
    )
    assert np.isfinite(risk.scores_).all()
    assert error(risk.scores_, true) < error(risk.attack_.estimated_success_, true) / 2


def test_attack_power_is_taken_for_the_success_itself():
    signals, membership, _, true = draw(8)
    known = RiskEstimator.from_signals(
        signals, membership, covariates={"attack_power": true}
    )
    ranked = RiskEstimator.from_signals(signals, membership, covariates={"x": true})
    assert error(known.scores_, true) < error(ranked.scores_, true)
    assert known.weights_["attack_power"] > 0.8


def test_regression_signals_have_the_direction_of_the_residual():
    signals, membership, covariate, true = draw(16)
    # Predictions: the level is the same for all, and the label pulls either way.
    rng = np.random.default_rng(5)
    sign = rng.choice([-1.0, 1.0], size=N_RECORDS)
    level = signals.mean(axis=0)
    risk = RiskEstimator.from_signals(
        sign * (signals - level),
        membership,
        y=sign * 20.0,
        covariates={"cheap": covariate},
    )
    assert error(risk.scores_, true) < error(risk.attack_.attack_success_, true) / 3
    assert "out_of_shadow_error" in risk.weights_


def test_a_regressor_takes_the_place_of_the_stack():
    signals, membership, covariate, true = draw(16)
    risk = RiskEstimator.from_signals(
        signals, membership, covariates={"cheap": covariate}, regressor=Ridge()
    )
    assert error(risk.scores_, true) < error(risk.attack_.attack_success_, true) / 2
    assert np.isnan(list(risk.weights_.values())).all()


@pytest.mark.parametrize("n_records", [4, 5, 12])
def test_few_records_have_a_risk(n_records):
    signals, membership, covariate, _ = draw(8, n_records=n_records)
    risk = RiskEstimator.from_signals(
        signals, membership, covariates={"cheap": covariate}
    )
    assert ((risk.scores_ >= 0.5) & (risk.scores_ <= 1)).all()


def test_signals_that_never_vary_mean_no_risk():
    _, membership, _, _ = draw(8, n_records=20)
    risk = RiskEstimator.from_signals(np.ones(membership.shape), membership)
    np.testing.assert_array_equal(risk.scores_, 0.5)


def test_doubt_is_told_in_the_units_of_the_signals():
    signals, membership, _, _ = draw(8, n_records=60)
    risk = RiskEstimator.from_signals(100 * signals, membership)
    without = np.where(membership, np.nan, 100 * signals)
    doubt = -np.nanmean(without, axis=0)
    np.testing.assert_allclose(  # signals are kept in single precision
        risk.covariates_["out_of_shadow_confidence"], doubt, rtol=1e-5
    )


def test_signals_that_membership_decides_mean_full_risk():
    _, membership, _, _ = draw(8, n_records=20)
    with pytest.warns(UserWarning, match="only two different values"):
        risk = RiskEstimator.from_signals(membership.astype(float), membership)
    np.testing.assert_allclose(risk.scores_, 1.0, rtol=1e-5)  # no estimate is certain


def test_models_need_not_be_trained_on_complementary_halves():
    rng = np.random.default_rng(0)
    separation = rng.gamma(0.5, 1.0, size=N_RECORDS)
    membership = rng.random((24, N_RECORDS)) < 0.4
    signals = rng.normal(size=membership.shape) + separation * membership
    risk = RiskEstimator.from_signals(
        signals, membership, covariates={"cheap": separation}
    )
    assert error(risk.scores_, ndtr(separation / 2)) < 0.05


def test_success_and_interval_agree():
    mean, variance = np.array([0.0, 0.5, 3.0]), np.array([0.0, 0.04, 0.2])
    success, interval = to_success(mean, variance, 0.9)
    rng = np.random.default_rng(0)
    drawn = ndtr((mean + np.sqrt(variance) * rng.normal(size=(100_000, 3))) / 2)
    np.testing.assert_allclose(success, drawn.mean(axis=0), atol=1e-3)
    expected = np.quantile(drawn, [0.05, 0.95], axis=0).T.clip(0.5)
    np.testing.assert_allclose(interval, expected, atol=3e-3)
