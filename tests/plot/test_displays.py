"""What all Displays have in common."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba
from sklearn.utils import Bunch

import skpriv.plot
from skpriv.plot import (
    AttackRocDisplay,
    GroupRiskDisplay,
    MinimizationDisplay,
    OnionEffectDisplay,
    RiskDisplay,
    ScoreAgreementDisplay,
    TradeoffDisplay,
)

RNG = np.random.default_rng(0)
ROC = {
    "fpr": np.array([0.01, 0.1, 1.0]),
    "tpr": np.array([0.05, 0.3, 1.0]),
    "low": np.array([0.01, 0.2, 0.9]),
    "high": np.array([0.1, 0.4, 1.0]),
    "auc": 0.7,
}
GROUPS = Bunch(
    group=np.array(["a", "b"]),
    n_records=np.array([1200, 1]),
    attack_success=np.array([0.6, 0.9]),
    low=np.array([0.55, np.nan]),
    high=np.array([0.65, np.nan]),
    correction="bonferroni",
)
CURVE = Bunch(
    n_records=np.array([10, 5]),
    macro_f1=np.array([0.9, np.nan]),
    class_balance=np.array([1.0, 0.5]),
)
EFFECT = Bunch(
    removed=np.arange(3),
    before=np.array([0.2, 0.1]),
    after=np.array([0.1, 0.4]),
    mean_change=0.1,
    mean_change_error=0.2,
)
DISPLAYS = {
    "AttackRocDisplay": lambda **k: AttackRocDisplay(**ROC).plot(**k),
    "GroupRiskDisplay": lambda **k: GroupRiskDisplay.from_predictions(GROUPS, **k),
    "MinimizationDisplay": lambda **k: MinimizationDisplay(
        curves={"removed": CURVE}
    ).plot(**k),
    "OnionEffectDisplay": lambda **k: OnionEffectDisplay.from_predictions(EFFECT, **k),
    "RiskDisplay": lambda **k: RiskDisplay.from_predictions([0.5, 0.9], **k),
    "ScoreAgreementDisplay": lambda **k: ScoreAgreementDisplay.from_predictions(
        RNG.random(50), np.arange(50.0), **k
    ),
    "TradeoffDisplay": lambda **k: TradeoffDisplay.from_predictions([0.1, 0.5], **k),
}


def lines_of(display):
    lines = getattr(display, "lines_", None)
    return [display.line_] if lines is None else lines


def legend_of(display):
    legends = [*display.figure_.legends, display.ax_.get_legend()]
    return [text.get_text() for legend in legends if legend for text in legend.texts]


def test_every_display_is_tested():
    assert sorted(DISPLAYS) == skpriv.plot.__all__


@pytest.mark.parametrize("name", sorted(DISPLAYS))
def test_display_draws_on_a_new_figure_or_on_given_axes(name):
    display = DISPLAYS[name]()
    assert type(display).__name__ == name
    assert display.figure_ is display.ax_.figure
    display.figure_.canvas.draw()
    figure, ax = plt.subplots()
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert display.figure_ is figure
    figure.canvas.draw()
    assert display.ax_.get_xlabel()
    assert display.ax_.get_ylabel()
    assert legend_of(display)
    # The figure of the caller has a legend within the axes only.
    assert not figure.legends


@pytest.mark.parametrize("name", sorted(DISPLAYS))
def test_lines_are_drawn_as_the_caller_says(name):
    for keywords in ({"color": "green", "linewidth": 3}, {"c": "green", "lw": 3}):
        for line in lines_of(DISPLAYS[name](**keywords)):
            assert to_rgba(line.get_color()) == to_rgba("green")
            assert line.get_linewidth() == 3


@pytest.mark.parametrize("name", sorted(DISPLAYS))
def test_name_is_in_the_legend_as_it_is_written(name):
    display = DISPLAYS[name]()
    if name == "TradeoffDisplay":
        # The name is that of what was measured.
        point = Bunch(
            fpr=np.array([0.5]),
            fnr=np.array([0.4]),
            low=np.array([0.3]),
            high=np.array([0.6]),
        )
        display.measured = [point, point]
    display.plot(name="$a_b$\n<b>")
    display.figure_.canvas.draw()
    assert any(r"\$a_b\$\n<b>" in text for text in legend_of(display))


@pytest.mark.parametrize("name", sorted(DISPLAYS))
def test_displays_on_the_same_axes_differ_in_colour_and_in_dashes(name):
    first = DISPLAYS[name]()
    lines = lines_of(first)
    lines = [line for line in lines if line.axes is first.ax_]
    second = DISPLAYS[name](ax=first.ax_)
    lines += lines_of(second)
    looks = {(line.get_color(), line.get_marker()) for line in lines}
    if name != "GroupRiskDisplay":
        looks = {(line.get_color(), str(line._dash_pattern)) for line in lines}
    assert len(looks) == len(lines)
    assert legend_of(second).count("Guessing") <= 1


@pytest.mark.parametrize("name", sorted(DISPLAYS))
def test_missing_matplotlib_is_one_line_that_names_the_extra(name, monkeypatch):
    def missing(module):
        raise ModuleNotFoundError(f"No module named {module!r}", name="matplotlib")

    monkeypatch.setattr("skpriv.utils._optional.import_module", missing)
    with pytest.raises(ImportError) as error:
        DISPLAYS[name]()
    expected = "matplotlib is needed for this: pip install 'skpriv[plot]'"
    assert str(error.value) == expected
