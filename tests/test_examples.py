"""Every example runs, and says what its text says."""

import runpy
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


# The examples run in one process, so that each runs once.
pytestmark = pytest.mark.xdist_group("examples")


@cache
def output_of(name):
    """Run an example, once for all tests, and return the lines that it prints."""
    with redirect_stdout(StringIO()) as printed:
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    return printed.getvalue().splitlines()


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_example_runs(name):
    assert output_of(name)


def test_more_neighbours_hide_records_better():
    table = output_of("choose_neighbors")[1:7]
    success = [float(line.split()[1]) for line in table]
    assert success == sorted(success, reverse=True)
    assert success[0] > 0.6


def number_at_the_end(line):
    return float(line.split()[-1])


def test_forest_exposes_some_records_and_the_pictures_say_which():
    at_risk, auc, correlation, epsilon = output_of("plot_risk")
    assert 0 < int(at_risk.split()[3]) < 300
    assert number_at_the_end(auc) > 0.6
    assert number_at_the_end(correlation) > 0.3
    assert float(epsilon.split()[-4]) > 1


def test_records_beneath_the_most_exposed_become_exposed():
    *_, exposure = output_of("plot_removal")
    before, after = (float(word) for word in exposure.split() if word[0] == "0")
    assert after > 2 * before


def test_points_lie_on_the_curves_of_the_theory():
    for line in output_of("plot_tradeoff"):
        assert number_at_the_end(line) < 0.08


def test_last_layer_ranks_records_about_as_all_layers_do():
    header, *table = output_of("choose_layers")[:5]
    assert header.split()[:2] == ["layers", "solver"]
    agreement = {tuple(line.split()[:2]): float(line.split()[2]) for line in table}
    exact = agreement["all", "direct"]
    assert exact > 0.4
    assert agreement["last", "direct"] == pytest.approx(exact, abs=0.05)
    assert agreement["all", "sketch"] == pytest.approx(exact, abs=0.02)
