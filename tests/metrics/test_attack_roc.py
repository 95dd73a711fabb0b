import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr, ndtri
from sklearn.metrics import roc_auc_score

from skpriv.metrics import attack_report, attack_roc, tpr_at_fpr


def scores(n_members, n_nonmembers, shift=1.5, seed=0):
    rng = np.random.default_rng(seed)
    y_true = np.repeat([1, 0], [n_members, n_nonmembers])
    return y_true, rng.normal(size=y_true.size) + shift * y_true


@pytest.mark.parametrize("n_nonmembers", [1, 2, 50, 1000])
def test_curve_is_the_rate_at_each_false_positive_rate(n_nonmembers):
    y_true, y_score = scores(30, n_nonmembers)
    roc = attack_roc(y_true, y_score)
    assert roc.fpr[0] == 1 / n_nonmembers
    assert roc.fpr[-1] == roc.tpr[-1] == 1
    assert 1 <= roc.fpr.size <= 200
    assert_array_equal(roc.tpr, tpr_at_fpr(y_true, y_score, fpr=roc.fpr))
    assert roc.auc == roc_auc_score(y_true, y_score)
    assert (roc.low <= roc.tpr).all()
    assert (roc.high >= roc.tpr).all()
    assert roc.n_targets == 1


def test_number_of_points_is_limited():
    roc = attack_roc(*scores(30, 1000), max_points=10)
    assert roc.fpr.size <= 10
    assert (np.diff(roc.fpr) > 0).all()


@pytest.mark.parametrize("decimals", [None, 0])
def test_band_contains_the_true_rate_at_its_level(decimals):
    covered = []
    for seed in range(150):
        y_true, y_score = scores(80, 100, seed=seed)
        roc = attack_roc(
            y_true,
            y_score if decimals is None else y_score.round(decimals),
            confidence_level=0.9,
            max_points=10,
        )
        truth = ndtr(1.5 + ndtri(roc.fpr))
        # Rounded scores give no point between the steps of the curve: the true rate is
        # at most that without rounding.
        covered.append(
            (roc.low <= truth) & ((truth <= roc.high) | (decimals is not None))
        )
    # Three standard errors of 150 draws.
    assert (np.mean(covered, axis=0) >= 0.9 - 3 * np.sqrt(0.09 / 150)).all()


def test_band_is_wider_than_an_interval_at_a_given_threshold():
    y_true, y_score = scores(300, 300)
    roc = attack_roc(y_true, y_score)
    report = attack_report(y_true, y_score, fprs=roc.fpr)
    inner = roc.fpr < 0.9
    assert (roc.low <= report.tpr_interval[:, 0])[inner].all()
    assert (roc.high >= report.tpr_interval[:, 1])[inner].all()


def test_curve_of_several_targets_is_their_mean_and_its_band_their_range():
    targets = [scores(20, 20, seed=seed) for seed in range(9)]
    y_true, y_score = map(np.array, zip(*targets, strict=True))
    roc = attack_roc(y_true, y_score, confidence_level=0.5)
    each = [attack_roc(*target) for target in targets]
    tpr = np.array([curve.tpr for curve in each])
    assert_allclose(roc.tpr, tpr.mean(axis=0))
    assert_allclose([roc.low, roc.high], np.quantile(tpr, [0.25, 0.75], axis=0))
    assert_allclose(roc.auc, np.mean([curve.auc for curve in each]))
    assert roc.n_targets == 9


def test_records_without_a_score_are_left_out():
    y_true, y_score = scores(20, 20)
    y_true, y_score = np.stack([y_true] * 2), np.stack([y_score] * 2)
    y_score[:, ::4] = np.nan
    roc = attack_roc(y_true, y_score)
    kept = ~np.isnan(y_score[0])
    assert_array_equal(roc.tpr, attack_roc(y_true[0, kept], y_score[0, kept]).tpr)


def test_shapes_that_differ_are_refused():
    with pytest.raises(ValueError, match=r"same shape; got \(2, 2\) and \(1, 2\)"):
        attack_roc([[0, 1], [0, 1]], [[0.0, 1.0]])


def test_ties_are_straight_lines_of_the_curve():
    rng = np.random.default_rng(0)
    member = np.arange(400) % 2
    score = (rng.random(400) < 0.06 + 0.06 * member).astype(float)
    roc = attack_roc(member, score, max_points=400)
    # The area below all corners, from (0, 0) to the first rate by a line.
    fpr, tpr = np.append(0, roc.fpr), np.append(0, roc.tpr)
    assert_allclose(np.trapezoid(tpr, fpr), roc_auc_score(member, score), atol=0.01)
    assert (roc.tpr >= 0.9 * roc.fpr).all()
