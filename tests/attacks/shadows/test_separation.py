"""Attack success from means and variances."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import nct, norm, ttest_ind
from sklearn.datasets import load_iris

from skpriv import LiRAAttack
from skpriv.attacks._shadows._likelihood import SMALLEST_VARIANCE, Reference
from skpriv.attacks._shadows._separation import (
    Separation,
    separations,
    success_of_separation,
)


def _membership(n_shadows, n_records, rng):
    membership = np.empty((n_shadows, n_records), dtype=bool)
    membership[::2] = rng.random((n_shadows // 2, n_records)) < 0.5
    membership[1::2] = ~membership[::2]
    return membership


def _estimate(signals, membership, labels=None, **parameters):
    reference = Reference(signals, membership, labels)
    n_records = signals.shape[1]
    batches = [slice(0, n_records // 2), slice(n_records // 2, n_records)]
    found = separations(reference, batches, SMALLEST_VARIANCE)
    return success_of_separation(found, **parameters)


def test_estimate_is_that_of_a_two_sample_test():
    rng = np.random.default_rng(0)
    membership = _membership(16, 40, rng)
    signals = rng.normal(size=(16, 40)) + membership * np.linspace(-1, 4, 40)
    success, interval = _estimate(signals, membership)
    for record in range(40):
        sides = [signals[side[:, record], record] for side in (membership, ~membership)]
        t = ttest_ind(*sides).statistic
        assert_allclose(success[record], norm.cdf(t / 2 / 2), rtol=1e-12)
        # At each end of the interval, t is at the edge of what is likely.
        noncentrality = 2 * 2 * norm.ppf(interval[record])
        assert_allclose(nct.cdf(t, 14, noncentrality), [0.975, 0.025], atol=1e-4)


@pytest.mark.parametrize("n_shadows", [6, 8, 16, 64])
@pytest.mark.parametrize("d", [0.0, 0.5, 3.0])
def test_interval_covers_the_true_success(n_shadows, d):
    rng = np.random.default_rng(n_shadows)
    membership = _membership(n_shadows, 4_000, rng)
    signals = (rng.normal(size=membership.shape) + d * membership) * 7 - 3
    success, interval = _estimate(signals, membership)
    truth = norm.cdf(d / 2)
    inside = (interval[:, 0] <= truth) & (truth <= interval[:, 1])
    assert inside.mean() == pytest.approx(0.95, abs=0.012)
    assert ((interval[:, 0] <= success) & (success <= interval[:, 1])).all()
    if n_shadows == 64:
        assert success.mean() == pytest.approx(truth, abs=0.01)


def test_estimate_is_less_noisy_than_a_count():
    rng = np.random.default_rng(0)
    membership = _membership(64, 500, rng)
    d = rng.exponential(0.5, 500)
    attack = LiRAAttack.from_signals(
        rng.normal(size=membership.shape) + d * membership, membership
    )
    truth = norm.cdf(d / 2)
    counted, estimated = (
        np.sqrt(((success - truth) ** 2).mean())
        for success in (attack.attack_success_, attack.estimated_success_)
    )
    assert estimated < 0.8 * counted


def test_predictions_count_in_the_direction_of_the_label():
    rng = np.random.default_rng(0)
    membership = _membership(16, 40, rng)
    gap = np.where(np.arange(40) % 2, 2.0, -2.0)
    signals = 100 + rng.normal(size=(16, 40)) + gap * membership
    up, _ = _estimate(signals, membership, 100 + 10 * gap)
    assert (up > 0.5).mean() > 0.95
    down, _ = _estimate(signals, membership, 100 - 10 * gap)
    assert_allclose(down, 1 - up)


def test_what_signals_do_not_tell_is_not_made_up():
    rng = np.random.default_rng(0)
    membership = _membership(8, 5, rng)
    signals = rng.normal(size=(8, 5))
    signals[:, 0] = 3.0
    signals[:, 1] = np.where(membership[:, 1], 3.0, 1.0)
    signals[:, 2] = np.where(membership[:, 2], 3.0, signals[:, 2])
    membership[:, 3] = np.arange(8) == 0
    success, interval = _estimate(signals, membership)
    assert success[0] == 0.5
    assert np.isnan(interval[0]).all()
    assert np.isnan(success[[1, 3]]).all()
    assert np.isnan(interval[[1, 3]]).all()
    assert np.isfinite(success[[2, 4]]).all()
    assert np.isfinite(interval[[2, 4]]).all()


def test_right_and_wrong_are_no_normal_signals():
    rng = np.random.default_rng(0)
    signals = np.where(rng.random((8, 30)) < 0.5, 1.0, -1.0)
    success, interval = _estimate(signals, _membership(8, 30, rng))
    assert np.isnan(success).all()
    assert np.isnan(interval).all()


def test_separation_that_is_beyond_doubt_has_a_success_of_one():
    rng = np.random.default_rng(0)
    membership = _membership(8, 30, rng)
    signals = rng.normal(size=(8, 30)) + 1e7 * membership
    success, interval = _estimate(signals, membership)
    assert_array_equal(success, 1.0)
    assert_array_equal(interval, 1.0)


@pytest.mark.parametrize("sign", [-1, 1])
def test_interval_is_continuous_where_the_exact_one_is_given_up(sign):
    d = sign * np.array([99.9, 100.1]) * np.sqrt(2 / 512)
    n = np.full(2, 512)
    found = success_of_separation(Separation(d, n, n, np.ones(2, dtype=bool)))
    for values in (found[0], *found[1].T):
        assert_allclose(*values, atol=1e-4)


def test_estimate_follows_a_new_fit():
    X, y = load_iris(return_X_y=True)
    attack = LiRAAttack(n_shadows=6, random_state=0).fit(X, y)
    first = attack.estimated_success_
    assert attack.estimated_success_ is first
    assert attack.estimated_success_interval_.shape == (150, 2)
    attack.set_params(random_state=1).fit(X, y)
    assert (attack.estimated_success_ != first).any()
