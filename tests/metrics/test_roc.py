import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import ndtr
from scipy.stats import binom, binomtest
from sklearn.metrics import roc_auc_score

from skpriv.metrics import attack_report, tpr_at_fpr
from skpriv.utils._intervals import (
    auc_interval,
    mean_of_two_interval,
    proportion_interval,
)

SCORES = st.lists(st.integers(-3, 3), min_size=1, max_size=12)


def _tpr_by_definition(members, nonmembers, fpr):
    """Try every threshold from the highest down, and keep the last allowed one."""
    n_allowed = int(np.floor(round(fpr * len(nonmembers), 9)))
    if n_allowed == 0:
        return np.nan
    tpr = 0.0
    for threshold in sorted({*members, *nonmembers, -np.inf}, reverse=True):
        if sum(score > threshold for score in nonmembers) <= n_allowed:
            tpr = np.mean([score > threshold for score in members])
    return tpr


@given(members=SCORES, nonmembers=SCORES, fpr=st.sampled_from([0.25, 0.5, 1 / 3, 1.0]))
@settings(deadline=None)
@pytest.mark.filterwarnings("ignore:.*cannot be measured")
def test_true_positive_rate_is_that_of_the_definition(members, nonmembers, fpr):
    y_true = np.repeat([1, 0], [len(members), len(nonmembers)])
    tpr = tpr_at_fpr(y_true, members + nonmembers, fpr=fpr)
    assert_allclose(tpr, _tpr_by_definition(members, nonmembers, fpr))


def test_rate_below_one_nonmember_is_not_a_number():
    y_true, score = np.repeat([1, 0], [5, 10]), np.arange(15.0)
    with pytest.warns(UserWarning, match=r"0\.05 cannot be measured with 10 non-mem"):
        assert np.isnan(tpr_at_fpr(y_true, score, fpr=0.05))
    report = attack_report(y_true, score, fprs=[0.05, 0.1])
    assert np.isnan(report.tpr[0])
    assert np.isnan(report.tpr_interval[0]).all()
    assert not np.isnan(report.tpr[1])


def test_whole_number_of_nonmembers_is_not_lost_to_rounding():
    # 0.29 * 100 is 28.999999999999996.
    y_true = np.repeat([0, 1], [100, 1])
    score = np.append(np.arange(100.0), 70.5)
    assert tpr_at_fpr(y_true, score, fpr=0.29) == 1.0
    assert tpr_at_fpr(y_true, score, fpr=0.28) == 0.0


@pytest.mark.parametrize(("n_hits", "n_trials"), [(0, 9), (3, 9), (9, 9), (40, 1000)])
def test_proportion_interval_is_clopper_and_pearsons(n_hits, n_trials):
    expected = binomtest(n_hits, n_trials).proportion_ci(0.9)
    assert_allclose(proportion_interval(n_hits, n_trials, 0.9), expected, rtol=1e-9)


def test_interval_of_a_mean_of_two_rates_covers():
    n, p, q = 20, 0.7, 0.4
    hits = np.arange(n + 1)
    interval = proportion_interval(hits, n)
    first, second = np.meshgrid(hits, hits, indexing="ij")
    ends = mean_of_two_interval(
        first / n, second / n, interval[first], interval[second]
    )
    truth = (p + q) / 2
    covered = (ends[..., 0] <= truth) & (truth <= ends[..., 1])
    weight = np.outer(binom.pmf(hits, n, p), binom.pmf(hits, n, q))
    assert weight[covered].sum() >= 0.95


@pytest.mark.parametrize("shift", [0.0, 1.0, 2.5])
def test_auc_interval_covers_at_its_level(shift):
    rng = np.random.default_rng(0)
    y_true = np.repeat([1, 0], [30, 40])
    truth, n_covered = ndtr(shift / np.sqrt(2)), 0
    for _ in range(400):
        auc = roc_auc_score(y_true, rng.normal(size=70) + shift * y_true)
        low, high = auc_interval(auc, 30, 40, 0.9)
        n_covered += low <= truth <= high
    # Five standard errors of 400 draws around the level.
    assert abs(n_covered / 400 - 0.9) < 5 * np.sqrt(0.9 * 0.1 / 400)


def test_perfect_attack_has_an_interval_that_is_not_empty():
    report = attack_report([1, 1, 1, 0, 0, 0], [4, 5, 6, 1, 2, 3], fprs=[0.5])
    assert report.auc == 1
    assert report.auc_interval[1] == 1
    assert report.auc_interval[0] < 0.9


def test_useless_scores_show_no_advantage_on_average():
    # The best threshold on all records would show an advantage of about 0.12.
    rng = np.random.default_rng(0)
    y_true = np.repeat([1, 0], 100)
    advantages = [
        attack_report(y_true, rng.normal(size=200)).advantage for _ in range(200)
    ]
    assert abs(np.mean(advantages)) < 0.02


def test_threshold_given_is_the_one_used():
    report = attack_report([1, 1, 0, 0], [0.5, -1, -0.5, 0], threshold=0.0, fprs=[0.5])
    assert report.balanced_accuracy == 0.75
    assert report.advantage == 0.5


@given(seed=st.integers(0, 2**16))
@example(seed=8914)  # a score between the threshold's two neighbours
@settings(deadline=None, max_examples=20)
def test_report_does_not_change_under_monotone_maps_of_the_scores(seed):
    rng = np.random.default_rng(seed)
    y_true = rng.permutation(np.repeat([1, 0], [15, 25]))
    score = rng.integers(-4, 4, 40).astype(float)
    before, after = (attack_report(y_true, s) for s in (score, np.exp(score)))
    for name in before:
        assert_allclose(before[name], after[name], err_msg=name)


def test_report_as_frame_has_one_row_a_measure():
    y_true, score = np.repeat([1, 0], 20), np.arange(40.0)
    frame = attack_report(y_true, score, fprs=[0.1, 0.2], as_frame=True)
    assert list(frame.columns) == ["measure", "fpr", "value", "low", "high"]
    assert list(frame["measure"])[:3] == ["auc", "balanced_accuracy", "advantage"]
    assert list(frame["fpr"])[3:] == [0.1, 0.2]


@pytest.mark.parametrize(
    ("y_true", "message"),
    [
        ([1, 1, 1], "3 members among 3 records"),
        ([0, 2, 1], "values other than 0 and 1"),
    ],
)
def test_membership_that_is_none_is_refused(y_true, message):
    with pytest.raises(ValueError, match=message):
        attack_report(y_true, [0.1, 0.2, 0.3])


def test_missing_score_is_refused():
    with pytest.raises(ValueError, match="y_score contains NaN"):
        tpr_at_fpr([0, 1], [np.nan, 1.0])


@pytest.mark.parametrize(
    "rates", [[0.5, 1.5], [-0.1], [np.nan], [], ["few"], [[0.1], [0.1, 0.2]]], ids=str
)
def test_rates_that_are_no_numbers_from_0_to_1_are_refused(rates):
    message = re.escape(f"must be one or more numbers between 0 and 1; it is {rates!r}")
    with pytest.raises(ValueError, match=f"fpr {message}"):
        tpr_at_fpr([0, 1], [0.0, 1.0], fpr=rates)
    with pytest.raises(ValueError, match=f"fprs {message}"):
        attack_report([0, 1], [0.0, 1.0], fprs=rates)


def test_two_records_have_an_auc_but_no_threshold():
    with pytest.warns(UserWarning, match="accuracy and the advantage of 2 records"):
        report = attack_report([1, 0], [1.0, 0.0], fprs=[1.0])
    assert report.auc == 1
    assert np.isnan(report.balanced_accuracy)
    assert np.isnan(report.advantage_interval).all()
    given = attack_report([1, 0], [1.0, 0.0], fprs=[1.0], threshold=0.5)
    assert given.balanced_accuracy == 1
