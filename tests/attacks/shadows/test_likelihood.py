"""Likelihood ratios agree with their definitions, computed record by record."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from scipy.special import ndtr, polygamma
from scipy.stats import norm
from sklearn.utils import gen_batches

from skpriv import LiRAAttack
from skpriv.attacks._lira import attack_success
from skpriv.attacks._shadows._likelihood import (
    MODES,
    VARIANCES,
    LikelihoodTest,
    Reference,
    leave_pair_out,
    success_interval,
    target_scores,
)
from skpriv.attacks._shadows._pairs import in_order_of_shadows, pair_shadows


def _complementary(rng, n_shadows, n_records):
    membership = np.empty((n_shadows, n_records), dtype=bool)
    membership[::2] = rng.random((n_shadows // 2, n_records)) < 0.5
    membership[1::2] = ~membership[::2]
    return membership


def _scores_and_margins(signals, membership, mode, variance, batch_size=7):
    scores, margins = np.empty((2, *signals.shape))
    batches = list(gen_batches(signals.shape[1], batch_size))
    reference, test = Reference(signals, membership), LikelihoodTest(mode, variance)
    for batch, *values in leave_pair_out(reference, test, batches):
        scores[:, batch], margins[:, batch] = (
            in_order_of_shadows(sides, membership[:, batch]) for sides in values
        )
    return scores, margins


def _variances_by_definition(groups, variance):
    """Variance of each group of signals, alone, pooled, or shrunk to the pooled."""
    own = np.array([np.var(g, ddof=1) for g in groups])
    dof = np.array([len(g) - 1 for g in groups])
    pooled = (own * dof).sum() / dof.sum()
    if variance == "pooled":
        return np.full(len(groups), pooled)
    if variance == "record":
        return own
    excess = np.var(np.log(own), ddof=1) - np.mean(polygamma(1, dof / 2))
    if excess <= 0:
        return np.full(len(groups), pooled)
    half = brentq(lambda x: polygamma(1, x) - excess, 1e-6, 1e9, xtol=1e-14)
    return (2 * half * pooled + dof * own) / (2 * half + dof)


def _score_by_definition(value, mean_in, var_in, mean_out, var_out, mode):
    out = norm(mean_out, np.sqrt(var_out))
    if mode == "online":
        return norm(mean_in, np.sqrt(var_in)).logpdf(value) - out.logpdf(value)
    if mode == "offline":
        return -out.logsf(value) / np.log(10)
    return -out.logpdf(value)


def _leave_pair_out_by_definition(signals, membership, mode, variance):
    """Drop the pair, and start from nothing, for each pair of complements."""
    scores = np.empty(signals.shape)
    n_shadows, n_records = signals.shape
    for pair in range(n_shadows // 2):
        rest = np.delete(np.arange(n_shadows), [2 * pair, 2 * pair + 1])
        sides = []
        for side in (membership[rest], ~membership[rest]):
            groups = [signals[rest][side[:, i], i] for i in range(n_records)]
            means = [g.mean() for g in groups]
            sides += [means, _variances_by_definition(groups, variance)]
        for shadow in (2 * pair, 2 * pair + 1):
            for i in range(n_records):
                reference = [moment[i] for moment in sides]
                scores[shadow, i] = _score_by_definition(
                    signals[shadow, i], *reference, mode
                )
    return scores


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("scales", [(1, 1), (0.2, 4)])
def test_leaving_a_pair_out_is_to_start_without_it(mode, variance, scales):
    rng = np.random.default_rng(0)
    membership = _complementary(rng, 10, 23)
    signals = rng.normal(size=(10, 23)) * rng.uniform(*scales, 23) + membership
    scores, _ = _scores_and_margins(signals, membership, mode, variance)
    expected = _leave_pair_out_by_definition(signals, membership, mode, variance)
    assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("variance", VARIANCES)
def test_scores_at_a_target_are_those_of_the_definition(mode, variance):
    rng = np.random.default_rng(1)
    membership = rng.random((12, 30)) < 0.5
    membership[:4] = [[True], [True], [False], [False]]
    signals = rng.normal(size=(12, 30)) * rng.uniform(0.3, 3, 30)
    values = rng.normal(size=30)
    scores = target_scores(
        values,
        Reference(signals, membership),
        LikelihoodTest(mode, variance),
        list(gen_batches(30, 8)),
    )
    moments = []
    for side in (membership, ~membership):
        groups = [signals[side[:, i], i] for i in range(30)]
        moments += [
            [g.mean() for g in groups],
            _variances_by_definition(groups, variance),
        ]
    expected = [
        _score_by_definition(values[i], *(m[i] for m in moments), mode)
        for i in range(30)
    ]
    assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)


def test_offline_scores_tell_far_tails_apart():
    # 1 - cdf is exactly 0 for both.
    signals = np.tile([[-1.0], [1.0]], (4, 2))
    membership = np.zeros(signals.shape, dtype=bool)
    scores = target_scores(
        np.array([20.0, 30.0]),
        Reference(signals, membership),
        LikelihoodTest("offline", "record"),
        [slice(0, 2)],
    )
    assert np.isfinite(scores).all()
    assert scores[1] > scores[0] > 50


def test_models_that_are_no_complements_are_paired_in_order():
    rng = np.random.default_rng(2)
    membership = np.array([1, 1, 0, 1, 0, 0, 1, 1], dtype=bool)[:, np.newaxis]
    signals = rng.normal(size=(8, 1))
    scores, _ = _scores_and_margins(signals, membership, "online", "record")
    in_, out = np.flatnonzero(membership), np.flatnonzero(~membership)
    for a, b in zip(in_, out, strict=False):
        rest_in = signals[np.setdiff1d(in_, a), 0]
        rest_out = signals[np.setdiff1d(out, b), 0]
        for shadow in (a, b):
            expected = norm.logpdf(
                signals[shadow, 0], rest_in.mean(), rest_in.std(ddof=1)
            )
            expected -= norm.logpdf(
                signals[shadow, 0], rest_out.mean(), rest_out.std(ddof=1)
            )
            assert_allclose(scores[shadow, 0], expected, rtol=1e-12)
    # The two on the longer side that have no partner are no targets.
    assert_array_equal(np.flatnonzero(np.isnan(scores[:, 0])), in_[3:])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n_shadows", [8, 16, 32])
def test_success_is_a_coin_flip_where_signals_say_nothing(mode, n_shadows):
    rng = np.random.default_rng(3)
    membership = _complementary(rng, n_shadows, 4000)
    # Skewed signals, of a scale of their own for each record.
    signals = rng.gumbel(size=membership.shape) * rng.uniform(0.5, 2, 4000)
    for variance in VARIANCES:
        success, _ = attack_success(signals, membership, mode=mode, variance=variance)
        error = success.std() / np.sqrt(success.size)
        assert abs(success.mean() - 0.5) < 4 * error


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("n_shadows", [8, 16, 32])
@pytest.mark.parametrize("gap", [0.0, 0.3, 1.0])
def test_intervals_of_success_cover_at_their_level(variance, n_shadows, gap):
    rng = np.random.default_rng(4)
    membership = _complementary(rng, n_shadows, 2000)
    signals = rng.normal(size=membership.shape) + gap * membership
    success, interval = attack_success(signals, membership, variance=variance)
    truth = success.mean() if gap else 0.5
    covered = (interval[:, 0] <= truth) & (truth <= interval[:, 1])
    assert covered.mean() > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 2000)


def test_success_nears_that_of_the_optimal_test():
    rng = np.random.default_rng(5)
    membership = _complementary(rng, 128, 1000)
    signals = rng.normal(size=membership.shape) + 2 * membership
    success, _ = attack_success(signals, membership)
    # 64 pairs put the threshold a little off; 1,000 records.
    assert_allclose(success.mean(), ndtr(1), atol=5e-3)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("variance", VARIANCES)
def test_signals_without_variance_give_finite_scores(mode, variance):
    rng = np.random.default_rng(6)
    membership = _complementary(rng, 12, 4)
    signals = np.where(membership, [0, 1.0, 5, 0], 0.0)
    signals[:, 3] = rng.normal(size=12)
    scores, _ = _scores_and_margins(signals, membership, mode, variance)
    assert np.isfinite(scores).all()
    success, interval = attack_success(
        signals, membership, mode=mode, variance=variance
    )
    assert success[0] == 0.5
    if mode == "online":
        assert success[1] == success[2] == 1.0
    assert (interval[:, 0] <= success).all()


@pytest.mark.parametrize("complementary", [True, False])
def test_hits_are_counted_on_each_side_and_ties_count_half(complementary):
    rng = np.random.default_rng(8)
    membership = _complementary(rng, 14, 40)
    if not complementary:
        membership = rng.permuted(membership, axis=0)
        membership[:, 0] = np.arange(14) < 5
    signals = rng.integers(0, 3, size=(14, 40)) + membership.astype(float)
    signals[:, 1] = 0
    for mode in MODES:
        _, margins = _scores_and_margins(signals, membership, mode, "auto")
        rates = []
        for side, right in ((membership, margins > 0), (~membership, margins < 0)):
            tried = side & ~np.isnan(margins)
            hits = (tried & right).sum(axis=0) + (tried & (margins == 0)).sum(
                axis=0
            ) / 2
            rates.append(hits / tried.sum(axis=0))
        success, _ = attack_success(signals, membership, mode=mode)
        assert_allclose(success, np.mean(rates, axis=0), rtol=1e-12)
        attack = LiRAAttack.from_signals(signals, membership, mode=mode)
        hits = attack.shadow_hits()
        expected = np.where(membership, margins > 0, margins < 0) + (margins == 0) / 2
        expected[np.isnan(margins)] = np.nan
        assert_array_equal(hits, expected)


def test_complements_are_paired_as_any_models_are():
    rng = np.random.default_rng(9)
    membership, signals = _complementary(rng, 12, 30), rng.normal(size=(12, 30))
    in_, out = pair_shadows(signals, membership)
    for record in range(30):
        member = membership[:, record]
        assert_array_equal(in_[:, record], signals[member, record])
        assert_array_equal(out[:, record], signals[~member, record])
    assert_array_equal(in_order_of_shadows((in_, out), membership), signals)


def test_fewer_than_three_pairs_give_no_success():
    rng = np.random.default_rng(7)
    membership = _complementary(rng, 4, 5)
    success, interval = attack_success(rng.normal(size=(4, 5)), membership)
    assert np.isnan(success).all()
    assert np.isnan(interval).all()


def test_opposite_rule_bounds_a_success_below_one_half():
    hits, trials = np.array([[2.0, 8], [3, 7]]), np.full((2, 2), 10.0)
    _, interval = success_interval(hits, trials)
    assert_allclose(interval[0, 1], interval[1, 1])
    assert interval[0, 1] > 0.85
    assert interval[0, 0] < 0.15


@given(seed=st.integers(0, 2**16), scale=st.floats(0.1, 10), shift=st.floats(-5, 5))
@settings(deadline=None, max_examples=25)
def test_online_scores_do_not_depend_on_the_units_of_the_signals(seed, scale, shift):
    rng = np.random.default_rng(seed)
    membership = _complementary(rng, 8, 6)
    signals = rng.normal(size=(8, 6))
    for variance in VARIANCES:
        before, _ = _scores_and_margins(signals, membership, "online", variance)
        after, _ = _scores_and_margins(
            scale * signals + shift, membership, "online", variance
        )
        # Shifting by 50 standard deviations costs two digits of the squares.
        assert_allclose(after, before, rtol=1e-8, atol=1e-8)


@given(seed=st.integers(0, 2**16))
@settings(deadline=None, max_examples=25)
def test_swapping_the_sides_turns_online_scores_around(seed):
    rng = np.random.default_rng(seed)
    membership = _complementary(rng, 8, 6)
    signals = rng.normal(size=(8, 6))
    scores, _ = _scores_and_margins(signals, membership, "online", "auto")
    swapped, _ = _scores_and_margins(signals, ~membership, "online", "auto")
    # A score near 0 is the difference of two squares.
    assert_allclose(swapped, -scores, rtol=1e-12, atol=1e-12)


@given(seed=st.integers(0, 2**16))
@settings(deadline=None, max_examples=25)
def test_records_may_come_in_any_order_and_batches(seed):
    rng = np.random.default_rng(seed)
    membership = _complementary(rng, 8, 9)
    signals = rng.normal(size=(8, 9)) * rng.uniform(0.1, 5, 9)
    order = rng.permutation(9)
    scores, _ = _scores_and_margins(signals, membership, "online", "auto", 9)
    moved, _ = _scores_and_margins(
        signals[:, order], membership[:, order], "online", "auto", 2
    )
    assert_allclose(moved, scores[:, order], rtol=1e-9, atol=1e-12)
