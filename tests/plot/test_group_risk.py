import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from skpriv import LiRAAttack
from skpriv.evaluation import success_by_group
from skpriv.plot import GroupRiskDisplay

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def attack():
    attack = LiRAAttack(DecisionTreeClassifier(), n_shadows=12, random_state=0)
    return attack.fit(X, Y)


def labels_of(display):
    (legend,) = display.figure_.legends
    return [text.get_text() for text in legend.texts]


def bars_of(display):
    (bars,) = display.errorbar_.lines[2]
    return np.array([segment[:, 0] for segment in bars.get_segments()])


@pytest.mark.parametrize("as_frame", [False, True])
def test_groups_are_drawn_from_top_to_bottom(attack, as_frame):
    result = success_by_group(attack, Y, as_frame=as_frame)
    display = GroupRiskDisplay.from_predictions(result)
    assert_allclose(display.line_.get_xdata(), result["attack_success"])
    assert_allclose(display.line_.get_ydata(), [0, 1, 2])
    assert display.ax_.yaxis_inverted()
    assert_allclose(bars_of(display), np.column_stack([result["low"], result["high"]]))
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == ["0 (50)", "1 (50)", "2 (50)"]
    assert labels_of(display) == ["Interval, for all groups at once", "Guessing"]


def test_intervals_are_those_of_the_level_and_the_correction(attack):
    display = GroupRiskDisplay.from_estimator(
        attack, Y, confidence_level=0.8, correction="none"
    )
    expected = success_by_group(attack, Y, confidence_level=0.8, correction="none")
    assert_allclose(display.low, expected.low)
    assert labels_of(display) == ["80% interval", "Guessing"]


def test_group_without_an_interval_has_a_hollow_mark(attack):
    groups = np.where(np.arange(150) == 7, "alone", "others")
    display = GroupRiskDisplay.from_estimator(attack, groups)
    assert display.without_interval_.get_ydata() == [0]
    assert display.without_interval_.get_markerfacecolor() == "white"
    assert "Too few records for an interval" in labels_of(display)
    assert GroupRiskDisplay.from_estimator(attack, Y).without_interval_ is None


def test_names_are_shown_as_they_are(attack):
    strange = ["<script>$x^{", "_a\x1b[31m", "long " * 100]
    display = GroupRiskDisplay.from_estimator(attack, np.array(strange)[Y])
    display.figure_.canvas.draw()
    texts = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert texts[0] == r"<script>\$x^{ (50)"
    assert texts[1] == r" _a\x1b[31m (50)"
    assert len(texts[2]) == 32 + len(" (50)")


def test_figure_grows_with_the_number_of_groups(attack):
    few = GroupRiskDisplay.from_estimator(attack, Y)
    many = GroupRiskDisplay.from_estimator(attack, np.arange(150) // 5)
    assert many.figure_.get_figheight() > 2 * few.figure_.get_figheight()


def test_result_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="has no n_records, low, correction"):
        GroupRiskDisplay.from_predictions(
            {"group": [0], "attack_success": [0.5], "high": [0.6]}
        )
