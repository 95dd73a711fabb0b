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


def test_last_layer_ranks_records_about_as_all_layers_do():
    header, *table = output_of("choose_layers")[:5]
    assert header.split()[:2] == ["layers", "solver"]
    agreement = {tuple(line.split()[:2]): float(line.split()[2]) for line in table}
    exact = agreement["all", "direct"]
    assert exact > 0.4
    assert agreement["last", "direct"] == pytest.approx(exact, abs=0.05)
    assert agreement["all", "sketch"] == pytest.approx(exact, abs=0.02)
