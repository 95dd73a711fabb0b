"""The command skpriv where a release depends on it: conditions and comparisons."""

import json

import pytest

from skpriv import cli

AUDIT = ["audit", "--shadows", "8", "--measures", "never"]


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The reports of two audits of the bundled data."""
    folder = tmp_path_factory.mktemp("reports")
    paths = []
    for model in ("logistic", "ridge"):
        paths.append(str(folder / f"{model}.json"))
        options = ["--model", model, "--json", paths[-1], "--quiet"]
        assert cli.main([*AUDIT, *options]) == 0
    return paths


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def test_condition_decides_the_exit_code_and_the_report_is_written(capsys, tmp_path):
    path = tmp_path / "report.json"
    options = ["--json", str(path), "--fail-if"]
    assert cli.main([*AUDIT, *options, "at_risk < 0"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "569 records" in out
    number = read(path)["risk"]["at_risk"]["records"]
    path.unlink()
    conditions = ["at_risk >= 0", "--fail-if", "auc > 0.99", "--fail-if", "tpr@0.1%>0"]
    assert cli.main([*AUDIT, "--quiet", *options, *conditions]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    met, unknown = err.splitlines()
    assert met.startswith("skpriv audit: at_risk >= 0 records: met; ")
    assert f"{number} of 569 records are at risk" in met
    assert "tpr@0.1% > 0: cannot be decided" in unknown
    assert read(path)["risk"]["at_risk"]["records"] == number


def test_condition_that_is_not_understood_is_a_fault(capsys):
    assert cli.main([*AUDIT, "--fail-if", "at_risk = 1"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "argument --fail-if: 'at_risk = 1' must be a figure, one of >," in err


def test_comparison_is_printed_and_written(reports, capsys, tmp_path):
    path = tmp_path / "comparison.json"
    assert cli.main(["compare", *reports, "--top", "3", "--json", str(path)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "569 records in both, matched by place in the data" in out
    assert "Mean risk by diagnosis" in out
    found = read(path)
    assert found["matched"] == 569
    first, last = (read(report) for report in reports)
    mean = next(f for f in found["figures"] if f["name"] == "mean risk")
    assert mean["before"] == first["risk"]["mean"]
    assert mean["after"] == last["risk"]["mean"]
    assert path.stat().st_mode & 0o077 == 0


def test_comparison_with_itself_has_no_change(reports, capsys):
    assert cli.main(["compare", reports[0], reports[0]]) == 0
    out = capsys.readouterr().out
    assert "Newly at risk: 0 records" in out
    assert "*\n" not in out


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "other.json: No such file or directory"),
        ("not JSON", "other.json: is not a JSON file"),
        ("{}", "other.json: is not the JSON of an audit"),
        ('{"schema": 99}', "has schema version 99"),
    ],
)
def test_comparison_of_something_else_is_a_fault(
    reports, capsys, tmp_path, content, fault
):
    other, path = tmp_path / "other.json", tmp_path / "comparison.json"
    if content is not None:
        other.write_text(content)
    arguments = ["compare", reports[0], str(other), "--json", str(path)]
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("skpriv compare: error: ")
    assert fault in err
    assert not path.exists()
    assert {p.name for p in tmp_path.iterdir()} <= {"other.json"}


def test_comparison_does_not_overwrite_an_audit(reports, capsys):
    before = read(reports[0])
    assert cli.main(["compare", *reports, "--json", reports[0]]) == 2
    assert "is the input, and would be overwritten" in capsys.readouterr().err
    assert read(reports[0]) == before


def test_interruption_has_its_exit_code_and_leaves_no_file(
    reports, capsys, tmp_path, monkeypatch
):
    def interrupt(*summaries):
        raise KeyboardInterrupt

    monkeypatch.setattr("skpriv.report._compare._match", interrupt)
    arguments = ["compare", *reports, "--json", str(tmp_path / "comparison.json")]
    assert cli.main(arguments) == 130
    assert capsys.readouterr().err == "skpriv: interrupted\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("when", "tried"), [("always", True), ("never", False)])
def test_measures_are_tried_when_asked(capsys, tmp_path, when, tried):
    path = tmp_path / "report.json"
    options = ["--shadows", "8", "--measures", when, "--json", str(path)]
    assert cli.main(["audit", *options]) == 0
    out = capsys.readouterr().out
    assert ("What would help" in out) is tried
    measures = read(path)["measures"]
    assert (measures is not None) is tried
    if tried:
        assert "stronger penalty" in [entry["name"] for entry in measures["tried"]]
