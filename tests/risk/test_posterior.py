"""Predictions and measurements are weighed by what is known of their errors."""

import numpy as np
import pytest

from skpriv.risk._posterior import (
    PRIOR,
    Half,
    combine,
    prior_of,
    residual_scale,
    residual_shape,
    window_means,
)


def halves(rng, scale, n_pairs, n_records=2000, noise=1.0):
    """Draw separations about their predictions, and measure them at pairs."""
    predicted = rng.gamma(1.0, 0.5, size=n_records)
    shape = residual_shape(predicted)
    true = predicted + np.sqrt(scale * shape) * rng.normal(size=n_records)
    without = np.stack([predicted, predicted])
    drawn = tuple(
        Half(true + noise * rng.normal(size=(n_pairs, n_records)), predicted, without)
        for _ in range(2)
    )
    return true, predicted, drawn


def test_window_means_agree_with_a_loop():
    rng = np.random.default_rng(0)
    values, order = rng.normal(size=101), rng.permutation(101)
    values[::7] = np.nan
    found = window_means(values, order, 0.4)
    for place, record in enumerate(order):
        start = min(max(place - 20, 0), 101 - 40)
        np.testing.assert_allclose(
            found[record], np.nanmean(values[order[start : start + 40]])
        )


@pytest.mark.parametrize("scale", [0.01, 0.1])
def test_residuals_are_measured_by_many_shadows(scale):
    rng = np.random.default_rng(0)
    _, predicted, drawn = halves(rng, scale, 64)
    noise = np.full(predicted.size, 1 / 128)
    found = residual_scale(drawn, residual_shape(predicted), noise)
    assert found == pytest.approx(scale, rel=0.15)


def test_few_shadows_leave_the_prior_as_it_is():
    rng = np.random.default_rng(0)
    _, predicted, drawn = halves(rng, 0.1, 2, n_records=50, noise=3.0)
    noise = np.full(predicted.size, 9 / 4)
    found = residual_scale(drawn, residual_shape(predicted), noise)
    # The mean of a log-normal distribution is above its median.
    assert found == pytest.approx(PRIOR.median * np.exp(1 / 2), rel=0.3)


@pytest.mark.parametrize("n_pairs", [16, 64])
def test_combination_beats_both_parts_and_knows_its_error(n_pairs):
    rng = np.random.default_rng(0)
    true, predicted, drawn = halves(rng, 0.1, n_pairs, noise=2.0)
    estimate, _ = combine(drawn)
    measured = np.concatenate([half.gaps for half in drawn]).mean(axis=0)
    error = np.mean((estimate.mean - true) ** 2)
    assert error < np.mean((predicted - true) ** 2)
    assert error < np.mean((measured - true) ** 2)
    covered = np.abs(estimate.mean - true) < 1.96 * np.sqrt(estimate.variance)
    assert 0.92 < covered.mean() < 0.98


def test_records_that_were_not_measured_keep_their_prediction():
    rng = np.random.default_rng(0)
    _, predicted, drawn = halves(rng, 0.1, 8)
    for half in drawn:
        half.gaps[:, :10] = np.nan
    estimate, _ = combine(drawn)
    np.testing.assert_array_equal(estimate.mean[:10], predicted[:10])
    assert np.isfinite(estimate.variance).all()


@pytest.mark.parametrize("n_pairs", [4, 32])
def test_a_lone_exposed_record_is_not_taken_for_one_of_the_others(n_pairs):
    rng = np.random.default_rng(0)
    nobody = np.zeros(500)
    drawn = tuple(
        Half(rng.normal(size=(n_pairs, 500)), nobody, np.stack([nobody, nobody]))
        for _ in range(2)
    )
    for half in drawn:
        half.gaps[:, 0] += 6
    estimate, _ = combine(drawn)
    sd = np.sqrt(estimate.variance)
    assert abs(estimate.mean[0] - 6) < 3 * sd[0]
    assert 0 < sd[0] < 1
    assert np.abs(estimate.mean[1:]).max() < 0.7


def test_prior_depends_on_how_much_theory_there_is():
    assert prior_of(0.0) == PRIOR
    assert prior_of(0.5) < prior_of(0.1)
    assert prior_of(1.0) == prior_of(1.7)
