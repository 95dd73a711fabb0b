"""What changed from one audit to another."""

import copy
import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skpriv import audit
from skpriv.report import _compare
from skpriv.report._compare import ComparisonError, compare, read_summary
from skpriv.report._compare_text import format_comparison
from skpriv.report._summarise import SCHEMA


def estimate(value, reach=0.05):
    return {"value": value, "low": value - reach, "high": value + reach}


def a_summary(risks, ids=None, labels=None, at_risk=(), **changes):
    n_records = len(risks)
    records = {
        "record": list(range(1, n_records + 1)),
        **({} if ids is None else {"id": ids}),
        "label": ["a"] * n_records if labels is None else labels,
        "risk": risks,
        "risk_low": [None if risk is None else risk - 0.05 for risk in risks],
        "risk_high": [None if risk is None else risk + 0.05 for risk in risks],
        "at_risk": [place in at_risk for place in range(n_records)],
        "reasons": [""] * n_records,
    }
    summary = {
        "schema": 1,
        "made": {"date": "2026-12-01T10:00:00Z", "data_hash": "sha256:0"},
        "data": {"source": "people.csv", "records": n_records, "label": "income"},
        "model": {
            "name": "Model",
            "text": "Model(C=1)",
            "task": "classification",
            "performance": {"measure": "accuracy", "estimate": estimate(0.8)},
        },
        "risk": {
            "n_shadows": 16,
            "mean": estimate(0.6),
            "at_risk": {"records": len(at_risk), "part": len(at_risk) / n_records},
            "highest": {"record": 1, "estimate": estimate(0.9)},
        },
        "attack": {
            "auc": estimate(0.55),
            "tpr": [{"fpr": 0.001, "estimate": None}],
            "epsilon": {"value": 0.5, "confidence_level": 0.95},
        },
        "groups": [
            {
                "column": "class",
                "groups": [
                    {"name": "a", "records": n_records, "estimate": estimate(0.6)},
                    {"name": "b", "records": 1, "estimate": None},
                ],
            }
        ],
        "records": records,
    }
    for path, value in changes.items():
        part, _, key = path.partition("__")
        summary[part] = {**summary[part], key: value} if key else value
    return summary


def test_version_is_that_of_the_audits():
    assert _compare._SCHEMA_OF_AUDITS == SCHEMA


def test_records_are_matched_by_identifier():
    before = a_summary([0.5, 0.6, 0.7], ids=["x", "y", "z"], at_risk=[2])
    after = a_summary([0.8, 0.5, 0.55], ids=["y", "x", "w"], at_risk=[0])
    found = compare(before, after)
    assert found["matched_by"] == "id"
    assert [found[key] for key in ("matched", "only_before", "only_after")] == [2, 1, 1]
    first, second = found["records"]
    assert (first["record"], second["record"]) == ("y", "x")
    assert first["before"]["value"] == 0.6
    assert first["change"] == pytest.approx(0.2)
    assert first["beyond"] is True
    assert second["beyond"] is False
    assert found["new_at_risk"] == ["y"]
    assert found["no_longer_at_risk"] == []


def test_records_without_identifiers_are_matched_by_name():
    found = compare(a_summary([0.5, 0.9], at_risk=[1]), a_summary([0.5, 0.6]))
    assert found["matched_by"] == "record"
    assert [r["record"] for r in found["records"]] == [2, 1]
    assert found["no_longer_at_risk"] == [2]
    assert found["notes"] == []


def test_intervals_that_overlap_are_no_change():
    found = compare(a_summary([0.6, 0.6]), a_summary([0.69, 0.71]))
    assert [r["beyond"] for r in found["records"]] == [True, False]
    assert found["records"][0]["record"] == 2


def test_risk_that_is_not_known_has_no_change():
    found = compare(a_summary([None, 0.6]), a_summary([0.6, 0.6]))
    entry = next(r for r in found["records"] if r["record"] == 1)
    assert entry["change"] is None
    assert entry["beyond"] is None


def test_figures_and_groups_are_side_by_side():
    before = a_summary([0.5, 0.6])
    after = a_summary([0.5, 0.6], at_risk=[1], risk__mean=estimate(0.75))
    after["groups"][0]["groups"][1]["estimate"] = estimate(0.5)
    found = compare(before, after)
    figures = {figure["name"]: figure for figure in found["figures"]}
    assert list(figures) == [
        "accuracy",
        "records at risk",
        "part of the records at risk",
        "mean risk",
        "highest risk",
        "AUC",
        "TPR at 0.1% FPR",
        "lower bound on ε",
    ]
    assert figures["mean risk"]["change"] == pytest.approx(0.15)
    assert figures["mean risk"]["beyond"] is True
    assert figures["records at risk"]["change"] == 1
    assert figures["TPR at 0.1% FPR"]["change"] is None
    (column,) = found["groups"]
    a, b = column["groups"]
    assert (a["name"], a["change"], a["beyond"]) == ("a", 0, False)
    assert b["before"] is None
    assert b["change"] is None


def test_other_data_without_identifiers_are_noted():
    after = a_summary([0.5, 0.6], made__data_hash="sha256:1")
    (note,) = compare(a_summary([0.5, 0.6]), after)["notes"]
    assert "--id" in note


def test_repeated_identifiers_are_noted_and_not_compared():
    before = a_summary([0.5, 0.6, 0.7], ids=["x", "x", "z"])
    found = compare(before, before)
    assert found["matched"] == 1
    assert found["notes"] == ["2 records share an identifier, and are not compared"]


def test_another_label_is_noted_if_identifiers_match():
    after = a_summary([0.5, 0.6], ids=["x", "y"], labels=["a", "b"])
    found = compare(a_summary([0.5, 0.6], ids=["x", "y"]), after)
    assert found["notes"] == ["1 of 2 records have another label"]


@pytest.mark.parametrize(
    ("after", "fault"),
    [
        (
            a_summary([0.5, 0.6], labels=["a", "b"]),
            "1 of 2 records with the same",
        ),
        (a_summary([0.5], model__task="regression"), "the task of the first is 'class"),
        (a_summary([0.5], data__label="age"), "the label of the first is 'income'"),
        (a_summary([0.5], schema=2), "has schema version 2, but this version of"),
        ({"schema": 1}, "is not the complete JSON of an audit"),
        ({}, "is not the JSON of an audit"),
        ([], "is not the JSON of an audit"),
    ],
)
def test_what_cannot_be_compared_is_a_fault(after, fault):
    with pytest.raises(ComparisonError, match=fault) as caught:
        compare(a_summary([0.5, 0.6]), after)
    assert "\n" not in str(caught.value)


def test_no_record_in_common_is_a_fault():
    before, after = a_summary([0.5], ids=["x"]), a_summary([0.5], ids=["y"])
    with pytest.raises(ComparisonError, match="no record in common"):
        compare(before, after)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"{", "is not a JSON file"),
        (b"\xff", "is not a JSON file"),
        (b"[" * 100_000, "is not a JSON file"),
        (b"[1]", "is not the JSON of an audit"),
        (b'{"skpriv": "0.1"}', "is not the JSON of an audit"),
        (b'{"schema": 7}', "has schema version 7"),
    ],
)
def test_file_that_is_no_audit_is_a_fault(tmp_path, content, fault):
    path = tmp_path / "before.json"
    path.write_bytes(content)
    with pytest.raises(ComparisonError, match=fault) as caught:
        read_summary(path)
    assert str(caught.value).startswith(str(path))


def test_missing_file_is_a_fault(tmp_path):
    with pytest.raises(ComparisonError, match="No such file or directory"):
        read_summary(tmp_path / "before.json")


def test_real_audits_are_compared(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    summaries = []
    for c in (100.0, 0.01):
        result = audit(LogisticRegression(C=c), X, y, n_shadows=8, measures=False)
        result.to_json(tmp_path / "audit.json")
        summaries.append(read_summary(tmp_path / "audit.json"))
    found = compare(*summaries)
    assert found["matched"] == 60
    mean = next(f for f in found["figures"] if f["name"] == "mean risk")
    assert mean["change"] < 0
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    same = compare(summaries[0], summaries[0])
    assert all(r["change"] == 0 and not r["beyond"] for r in same["records"])
    assert same["new_at_risk"] == same["no_longer_at_risk"] == []


def test_text_tells_what_changed_within_the_width():
    risks = [0.5 + place / 60 for place in range(25)]
    ids = [f"person {place}" * 9 for place in range(25)]
    before = a_summary(risks, ids=ids, at_risk=range(12))
    after = copy.deepcopy(a_summary([0.5] * 25, ids=ids, at_risk=range(11, 13)))
    after["data"]["source"] = "new\x1b[31m.csv"
    text = format_comparison(compare(before, after), n_top=3)
    assert all(len(line) <= 88 for line in text.splitlines())
    assert "\x1b" not in text
    assert "Newly at risk: 1 record: person 12" in text
    assert "No longer at risk: 11 records: " in text
    assert "and 8 more" in text
    assert "-40.0 points  *" in text
    assert "accuracy" in text
    assert "Mean risk by class" in text
    assert "have nothing in common" in text


def test_text_of_nothing_known_has_no_numbers():
    before = a_summary([None, None], attack=None, groups=[])
    before["model"]["performance"] = None
    before["risk"] = {
        "mean": None,
        "highest": None,
        "at_risk": before["risk"]["at_risk"],
    }
    text = format_comparison(compare(before, before))
    assert any(line.split() == ["mean", "risk", *"---"] for line in text.splitlines())
    assert "person" not in text
    assert "Newly at risk: 0 records" in text
