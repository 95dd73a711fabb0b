"""Every example runs, and says what its text says."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda p: p.stem)
def test_example_runs(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_more_neighbours_hide_records_better(capsys):
    runpy.run_path(str(EXAMPLES / "choose_neighbors.py"), run_name="__main__")
    table = capsys.readouterr().out.splitlines()[1:7]
    success = [float(line.split()[1]) for line in table]
    assert success == sorted(success, reverse=True)
    assert success[0] > 0.6
