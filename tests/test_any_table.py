"""Whatever is in a small table, each model's audit is a report or a one-line fault."""

import csv
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_models import choose_small_kind

from skpriv import cli, report

CELLS = (
    st.floats(-1e140, 1e140).map(repr),
    st.integers(0, 2).map(str),
    st.integers(0, 999).map(str),
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["", "1", "2.5"]),
    st.sampled_from(["?", "1", "2.5", "3", "unknown"]),
    st.sampled_from(["01/02/2024", "13/02/2024", "20240229", "2024-02-29", "x"]),
    st.integers(0, 99999).map(lambda value: f"{value / 100}%"),
)


@st.composite
def tables(draw):
    n = draw(st.integers(2, 24))
    columns = [
        draw(st.lists(draw(st.sampled_from(CELLS)), min_size=n, max_size=n))
        for _ in range(draw(st.integers(2, 4)))
    ]
    names = [*(f"c{i}" for i in range(len(columns) - 1)), "y"]
    return [names, *map(list, zip(*columns, strict=True))]


@pytest.fixture(autouse=True)
def _small_models(monkeypatch):
    monkeypatch.setattr(cli, "choose_kind", choose_small_kind)


@pytest.mark.parametrize("model", dict.fromkeys(kind.name for kind in report.KINDS))
@given(table=tables())
@settings(
    deadline=None,
    max_examples=6,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_table_is_audited_or_refused_in_one_line(table, model, tmp_path, capsys):
    path, scores, summary = (tmp_path / name for name in ("t.csv", "s.csv", "r.json"))
    path.write_text("".join(",".join(row) + "\n" for row in table))
    outputs = ["--scores", str(scores), "--json", str(summary)]
    options = ["--model", model, "-k", "2", "--shadows", "8"]
    code = cli.main(["audit", str(path), "--label", "y", *outputs, *options])
    out, err = capsys.readouterr()
    if code == 2:
        assert out == ""
        assert err.count("\n") == 1
        return
    assert (code, err) == (0, "")
    assert all(len(line) <= 88 for line in out.splitlines())
    report = json.loads(summary.read_text())
    with open(scores, newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == report["data"]["records"] == len(table) - 1
    for name, score in report["scores"].items():
        assert sum(row[name] == "" for row in rows) == score["missing"]
