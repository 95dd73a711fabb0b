import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.naive_bayes import GaussianNB

from skpriv import LeverageAttack, LossAttack
from skpriv.leverage.gaussian import membership_score, tradeoff_curve
from skpriv.plot import TradeoffDisplay

LEVERAGE = np.linspace(0.01, 0.99, 99)


def test_curves_are_those_of_the_quantiles_of_the_leverage():
    display = TradeoffDisplay.from_predictions(
        LEVERAGE[::-1], quantiles=[0.5, 1.0], n_outputs=2
    )
    assert_allclose(display.leverage, [0.5, 0.99])
    for line, leverage in zip(display.lines_, display.leverage, strict=True):
        fpr = line.get_xdata()
        assert_allclose(line.get_ydata(), tradeoff_curve(fpr, leverage, 2))
    assert display.errorbars_ == []
    (legend,) = display.figure_.legends
    texts = [text.get_text() for text in legend.texts]
    assert texts == ["Leverage 0.5", "Leverage 0.99", "Guessing"]


def test_leverages_of_a_fitted_attack_are_drawn():
    attack = LeverageAttack().fit(*load_diabetes(return_X_y=True))
    display = TradeoffDisplay.from_estimator(attack, quantiles=[0, 1])
    ends = attack.leverage_.min(), attack.leverage_.max()
    assert_allclose(display.leverage, ends)


def test_record_with_several_quantiles_is_drawn_once():
    assert TradeoffDisplay.from_predictions([0.3, 0.1]).leverage.tolist() == [0.1, 0.3]
    assert TradeoffDisplay.from_predictions([0.3]).leverage.tolist() == [0.3]


def test_points_of_the_optimal_test_lie_on_the_curves():
    rng = np.random.default_rng(0)
    y_true = np.repeat([1, 0], 1500)[:, np.newaxis] * np.ones(99)
    sign = np.where(y_true == 1, -1, 1)
    residuals = rng.normal(size=y_true.shape) * np.sqrt(1 + sign * LEVERAGE)
    y_score = np.stack([membership_score(row, LEVERAGE, 1.0) for row in residuals])
    display = TradeoffDisplay.from_predictions(
        LEVERAGE, y_true, y_score, confidence_level=0.999, name="optimal"
    )
    assert len(display.errorbars_) == display.leverage.size == 4
    for leverage, points in zip(display.leverage, display.measured, strict=True):
        truth = tradeoff_curve(points.fpr, leverage)
        assert ((points.low <= truth) & (truth <= points.high)).all()
        assert np.median(points.high - points.low) < 0.2
    drawn = display.errorbars_[2].lines[0]
    assert_array_equal(drawn.get_ydata(), display.measured[2].fnr)
    texts = [text.get_text() for text in display.figure_.legends[0].texts]
    assert "Measured: optimal,\n99.9% interval" in texts


def test_trials_without_a_score_are_left_out():
    rng = np.random.default_rng(0)
    y_true, y_score = rng.integers(0, 2, (200, 3)), rng.normal(size=(200, 3))
    gaps = y_score.copy()
    gaps[100:, 1] = np.nan
    leverage = [0.1, 0.2, 0.3]
    display = TradeoffDisplay.from_predictions(leverage, y_true, gaps, quantiles=[0.5])
    half = TradeoffDisplay.from_predictions(
        leverage, y_true[:100], y_score[:100], quantiles=[0.5]
    )
    assert_array_equal(display.measured[0].fnr, half.measured[0].fnr)


def test_attack_without_leverage_is_refused():
    attack = LossAttack(GaussianNB()).fit(*load_breast_cancer(return_X_y=True))
    with pytest.raises(TypeError, match="must be a LeverageAttack; got LossAttack"):
        TradeoffDisplay.from_estimator(attack)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1, 1.5],), "leverage must be between 0 and 1"),
        (([0.1, np.nan],), "leverage contains NaN"),
        (([0.1, 0.2], [[1], [0]], [[0.5], [0.1]]), r"shape \(n_trials, 2\)"),
        (([0.1, 0.2], [[1, 0]], None), r"shape \(n_trials, 2\)"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        TradeoffDisplay.from_predictions(*arguments)
