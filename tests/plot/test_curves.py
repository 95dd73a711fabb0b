import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from skpriv import WaKAScorer
from skpriv.evaluation import minimization_curve, onion_effect
from skpriv.plot import MinimizationDisplay, OnionEffectDisplay

X, Y = load_iris(return_X_y=True)
SCORES = np.random.default_rng(0).random(75)
GAME = (GaussianNB(), X[::2], Y[::2], SCORES, X[1::2], Y[1::2])


@pytest.mark.parametrize("action", ["remove", "add"])
def test_quality_and_balance_are_drawn_by_the_number_of_records(action):
    display = MinimizationDisplay.from_estimator(
        *GAME, fractions=[0.2, 0.6], action=action, random_state=0
    )
    first, second = display.axes_
    assert display.ax_ is first
    for number, order in enumerate(("highest", "lowest", "random")):
        curve = minimization_curve(
            *GAME, fractions=[0.2, 0.6], action=action, order=order, random_state=0
        )
        rising = np.argsort(curve.n_records)
        for measure, ax, line in (
            ("macro_f1", first, display.lines_[number]),
            ("class_balance", second, display.lines_[number + 3]),
        ):
            assert line.axes is ax
            assert_array_equal(line.get_xdata(), curve.n_records[rising])
            assert_allclose(line.get_ydata(), curve[measure][rising])
    (legend,) = display.figure_.legends
    done = "added" if action == "add" else "removed"
    assert [text.get_text() for text in legend.texts] == [
        f"{what} {done}"
        for what in ("Highest scores", "Lowest scores", "Random records")
    ]


def test_one_axes_shows_the_quality_and_two_show_both():
    curves = {"all": minimization_curve(*GAME, fractions=[0.0, 0.5])}
    figure, axes = plt.subplots(2, 1)
    assert len(MinimizationDisplay.from_predictions(curves, ax=axes[0]).lines_) == 1
    both = MinimizationDisplay.from_predictions(curves, ax=axes)
    assert both.axes_ == list(axes)
    assert both.figure_ is figure
    with pytest.raises(ValueError, match=r"one matplotlib Axes, or two, .* got 3"):
        MinimizationDisplay.from_predictions(curves, ax=plt.subplots(1, 3)[1])


def test_curves_without_names_are_refused():
    curve = minimization_curve(*GAME, fractions=[0.5])
    for curves in (curve, [curve], {}):
        with pytest.raises(ValueError, match="must be a dict of names and results"):
            MinimizationDisplay.from_predictions(curves)


def test_exposure_is_drawn_from_the_lowest_to_the_highest_before_and_after():
    display = OnionEffectDisplay.from_estimator(WaKAScorer(3), X, Y, fraction=0.2)
    effect = onion_effect(WaKAScorer(3), X, Y, fraction=0.2)
    before, after = display.lines_
    assert_allclose(before.get_ydata(), np.sort(effect.before))
    assert_allclose(after.get_ydata(), np.sort(effect.after))
    assert_allclose(before.get_xdata(), 100 * (np.arange(120) + 0.5) / 120)
    labels = [text.get_text() for text in display.ax_.get_legend().texts]
    assert labels[0] == "Before: with all records in training"
    assert labels[1].startswith("After: without the 30 most exposed\n")
    assert f"{effect.mean_change:+.2g}" in labels[1]
