import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ttest_1samp
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from skpriv import LiRAAttack, LossAttack
from skpriv.evaluation import success_by_group
from skpriv.metrics import score_agreement
from skpriv.plot import ScoreAgreementDisplay

RNG = np.random.default_rng(0)
SCORE = RNG.permutation(200).astype(float)
SUCCESS = 0.5 + RNG.random(200) * SCORE / 400


def test_mean_success_is_drawn_by_percentile_of_the_score():
    display = ScoreAgreementDisplay.from_predictions(
        SUCCESS, SCORE, percentiles=[0, 50, 90, 100], confidence_level=0.9
    )
    ordered = SUCCESS[np.argsort(SCORE)]
    groups = ordered[:100], ordered[100:180], ordered[180:]
    assert_allclose(display.line_.get_xdata(), [25, 70, 95])
    assert_allclose(display.line_.get_ydata(), [group.mean() for group in groups])
    for group, low, high in zip(groups, display.low, display.high, strict=True):
        expected = ttest_1samp(group, 0.5).confidence_interval(0.9)
        assert_allclose((low, high), (expected.low, expected.high))
    spearman = score_agreement(SUCCESS, SCORE).spearman
    label = display.ax_.get_legend().texts[0].get_text()
    assert label == f"Score (rank correlation {spearman:z.2f})"


def test_records_with_the_same_score_are_in_the_same_bin():
    score = np.repeat([0.0, 1.0], [150, 50])
    display = ScoreAgreementDisplay.from_predictions(
        SUCCESS, score, percentiles=[0, 25, 50, 75, 100]
    )
    # The middle of 150 ranks is percentile 37.5, and that of the others is 87.5.
    expected = [np.nan, SUCCESS[:150].mean(), np.nan, SUCCESS[150:].mean()]
    assert_allclose(display.success, expected)


def test_success_of_an_attack_has_the_intervals_of_groups():
    X, y = load_iris(return_X_y=True)
    attack = LiRAAttack(DecisionTreeClassifier(), n_shadows=12, random_state=0)
    attack.fit(X, y)
    score = np.arange(150.0)
    score[::5] = np.nan
    display = ScoreAgreementDisplay.from_estimator(
        attack, score, percentiles=[0, 50, 100], name="order"
    )
    groups = np.where(np.isnan(score), "none", np.where(score < 75, "low", "top"))
    expected = success_by_group(attack, groups, correction="none")
    for column in ("low", "high"):
        assert_allclose(getattr(display, column), expected[column][[0, 2]])
    assert_allclose(display.success, expected.attack_success[[0, 2]])
    known = ~np.isnan(score)
    assert_allclose(
        display.spearman,
        score_agreement(attack.attack_success_[known], score[known]).spearman,
    )


def test_bin_of_one_record_has_no_interval():
    display = ScoreAgreementDisplay.from_predictions(
        [0.5, 0.6, 0.7, 1.0], [1, 2, 3, 4], percentiles=[0, 75, 100]
    )
    assert_array_equal(np.isnan(display.low), [False, True])
    assert display.success[1] == 1


def test_constant_score_has_no_correlation_to_show():
    display = ScoreAgreementDisplay.from_predictions(SUCCESS, np.ones(200))
    assert display.ax_.get_legend().texts[0].get_text() == "Score"


def test_attack_that_measures_no_record_is_refused():
    with pytest.raises(TypeError, match="must be a LiRAAttack"):
        ScoreAgreementDisplay.from_estimator(LossAttack(), [0.0])


@pytest.mark.parametrize("percentiles", [(0, 50), (0, 60, 60, 100), 100, (50, 100)])
def test_percentiles_that_do_not_increase_from_0_to_100_are_refused(percentiles):
    with pytest.raises(ValueError, match="percentiles must increase from 0 to 100"):
        ScoreAgreementDisplay.from_predictions(SUCCESS, SCORE, percentiles=percentiles)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (SCORE[:10], r"score must have shape \(200,\)"),
        (np.full(200, np.nan), "must be known for at least 2 records"),
        (np.where(SCORE == 3, np.inf, SCORE), "score contains infinity"),
    ],
)
def test_scores_that_do_not_fit_are_refused(score, message):
    with pytest.raises(ValueError, match=message):
        ScoreAgreementDisplay.from_predictions(SUCCESS, score)
