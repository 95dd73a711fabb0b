"""A score is worth as many shadow models as rank the records as well."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import norm, spearmanr

from skpriv.attacks._shadows._success import attack_success
from skpriv.metrics import equivalent_shadows

RNG = np.random.default_rng(0)
MEMBERSHIP = np.empty((256, 400), dtype=bool)
MEMBERSHIP[::2] = RNG.random((128, 400)) < 0.5
MEMBERSHIP[1::2] = ~MEMBERSHIP[::2]
SEPARATION = RNG.exponential(size=400)
SIGNALS = RNG.normal(size=MEMBERSHIP.shape) + SEPARATION * MEMBERSHIP


def test_success_from_other_shadows_is_worth_about_as_many():
    other = np.random.default_rng(1)
    worths = []
    for n_shadows in (16, 64):
        members = MEMBERSHIP[other.permutation(128)[: n_shadows // 2] * 2]
        members = np.stack([members, ~members], axis=1).reshape(n_shadows, 400)
        signals = other.normal(size=members.shape) + SEPARATION * members
        success, _ = attack_success(signals, members)
        worths.append(equivalent_shadows(success, SIGNALS, MEMBERSHIP))
    few, many = worths
    assert few.relation == many.relation == "about"
    assert 8 <= few.n_shadows < 28
    assert 40 < many.n_shadows < 110
    assert few.spearman < many.spearman


def test_truth_is_worth_more_than_there_are_and_noise_less():
    truth = equivalent_shadows(norm.cdf(SEPARATION / 2), SIGNALS, MEMBERSHIP)
    assert (truth.relation, truth.n_shadows) == ("more than", 128)
    noise = equivalent_shadows(RNG.normal(size=400), SIGNALS, MEMBERSHIP)
    assert (noise.relation, noise.n_shadows) == ("less than", 8)
    assert_array_equal(truth.lira_n_shadows, [8, 16, 32, 64, 128])
    assert_array_equal(truth.lira_spearman, noise.lira_spearman)
    assert (np.diff(truth.lira_spearman) > 0).all()


def test_correlations_are_means_over_both_halves():
    halves = np.arange(256) // 2 % 2 == 0, np.arange(256) // 2 % 2 == 1
    found = equivalent_shadows(SEPARATION, SIGNALS, MEMBERSHIP, variance="pooled")
    of_score, of_lira = [], []
    for truth, half in (halves, halves[::-1]):
        measured = attack_success(SIGNALS[truth], MEMBERSHIP[truth], variance="pooled")
        first = np.flatnonzero(half)[:32]
        counted = attack_success(SIGNALS[first], MEMBERSHIP[first], variance="pooled")
        of_score.append(spearmanr(SEPARATION, measured[0]).statistic)
        of_lira.append(spearmanr(counted[0], measured[0]).statistic)
    assert found.spearman == pytest.approx(np.mean(of_score), rel=1e-3)
    assert found.lira_spearman[2] == pytest.approx(np.mean(of_lira), rel=1e-3)


def test_predictions_of_regressors_come_with_their_labels():
    sign = np.where(np.arange(400) % 2, 1.0, -1.0)
    found = equivalent_shadows(
        SEPARATION, sign * SIGNALS, MEMBERSHIP, y=10 * sign, variance="pooled"
    )
    assert found.relation == "more than"


def test_constant_score_is_worth_nothing_that_is_known():
    found = equivalent_shadows(np.ones(400), SIGNALS, MEMBERSHIP)
    assert np.isnan(found.n_shadows)
    assert np.isnan(found.spearman)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"scores": np.ones(3)}, r"scores must have shape \(400,\)"),
        ({"y": np.ones(3)}, r"y must have shape \(400,\)"),
        ({"membership": MEMBERSHIP[:, :3]}, "membership must consist of 0 and 1"),
        (
            {"signals": SIGNALS[:14], "membership": MEMBERSHIP[:14]},
            "at least 16 shadow models, got 14",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_named(changed, message):
    given = {"scores": SEPARATION, "signals": SIGNALS, "membership": MEMBERSHIP}
    with pytest.raises(ValueError, match=message):
        equivalent_shadows(**{**given, **changed})
