"""The text of a report, for a terminal."""

import copy

import pytest

from skpriv.report import format_report
from skpriv.report._words import verdict


def estimate(value, reach=0.01):
    return {"value": value, "low": value - reach, "high": value + reach}


def reason(kind, text, column=None):
    return {"kind": kind, "text": text, "column": column, "share": 0.1}


@pytest.fixture
def summary():
    column = {"n_missing": 0, "n_distinct": 9, "left_out": None}
    found = {
        "schema": 1,
        "made": {"options": {"rank_by": "risk"}},
        "data": {
            "source": "people.csv",
            "records": 2500,
            "features": 7,
            "label": "ill",
            "classes": {"no": 1500, "yes": 1000},
            "quantity": None,
            "notes": [],
            "columns": [
                {"name": "age", "kind": "number", **column, "n_missing": 3},
                {"name": "job", "kind": "category", **column},
                {"name": "town", "kind": "category", **column},
                {"name": "since", "kind": "date", **column},
                {"name": "id", "kind": "number", **column, "left_out": "identifier"},
            ],
        },
        "model": {
            "name": "k-nearest neighbours",
            "performance": {
                "measure": "accuracy",
                "on": "records left out",
                "folds": None,
                "estimate": estimate(0.875),
                "training": 0.99,
                "baseline": {"value": 0.6, "class": "no"},
            },
        },
        "risk": {
            "n_shadows": 16,
            "confidence_level": 0.95,
            "mean": estimate(0.523),
            "at_risk": {"false_discovery_rate": 0.05, "records": 12, "part": 0.0048},
            "highest": {"record": 1234, "estimate": estimate(0.94)},
            "not_measured": 0,
            "detection_limit": 0.62,
        },
        "measures": None,
        "attack": {
            "auc": estimate(0.5432),
            "tpr": [
                {"fpr": 0.001, "estimate": dict.fromkeys(("value", "low", "high"))},
                {"fpr": 0.01, "estimate": estimate(0.0345)},
            ],
            "epsilon": {"value": 0.71, "confidence_level": 0.95},
        },
        "groups": [
            {
                "column": "sex",
                "groups": [
                    {
                        "name": "m",
                        "records": 1500,
                        "estimate": estimate(0.55),
                        "at_risk": 9,
                        "too_small": False,
                    },
                    {
                        "name": "x",
                        "records": 2,
                        "estimate": None,
                        "at_risk": 1,
                        "too_small": True,
                    },
                ],
            }
        ],
        "scores": {
            "waka_5": {
                "title": "WaKA, k = 5",
                "meaning": "what it says",
                "missing": 0,
                "weight": 0.25,
            }
        },
        "most_exposed": [
            {
                "record": 1234,
                "id": None,
                "label": "yes",
                "risk": estimate(0.94),
                "at_risk": True,
                "reasons": [
                    reason("rare_value", "few have this value of 'job'", "job"),
                    reason("unlike_all", "unlike all others"),
                ],
            },
            {
                "record": 77,
                "id": None,
                "label": "no",
                "risk": estimate(0.71),
                "at_risk": False,
                "reasons": [],
            },
        ],
        "unmeasurable": None,
    }
    found["verdict"] = verdict(found)
    return found


def told_again(summary):
    return format_report({**summary, "verdict": verdict(summary)})


def flat(text):
    return " ".join(text.split())


def row_with(text, word):
    line, *_ = (line for line in text.splitlines() if word in line)
    return line.split()


def test_the_answer_is_three_sentences_and_comes_with_the_limit(summary):
    assert len(summary["verdict"]) == 3
    text = flat(format_report(summary))
    assert "is right in 52 of 100 guesses on average (52.3%, 51.3% to 53.3%)" in text
    assert "guessing blindly is right in 50" in text
    assert "12 of 2,500 records (0.5%) are at risk" in text
    assert "At most 5 of 100 records in such a list are expected to be there by" in text
    assert (
        "has an even chance of being listed if attacks on it are right in 62 of" in text
    )
    assert (
        "About the most exposed record (record 1234), 94 of 100 guesses would be right "
        "(94.0%, 93.0% to 95.0%)." in text
    )


def test_none_at_risk_is_followed_by_what_could_have_been_found(summary):
    summary["risk"]["at_risk"] |= {"records": 0, "part": 0.0}
    text = flat(told_again(summary))
    assert "None of the 2,500 records was found to be at risk" in text
    assert "even chance of being listed if attacks on it are right in 62 of" in text
    summary["risk"]["detection_limit"] = 0.999
    assert "hardly ever lists a record that looks ordinary by its scores" in flat(
        told_again(summary)
    )
    summary["risk"]["detection_limit"] = None
    assert "is not known." in flat(told_again(summary))


def test_nothing_that_can_be_said_is_said(summary):
    summary["risk"] |= {"mean": None, "highest": None}
    summary |= {"unmeasurable": "there are too few", "attack": None, "scores": {}}
    summary |= {"groups": []}
    summary["model"]["performance"] = None
    text = flat(told_again(summary))
    assert "Nothing can be said about the risk: there are too few." in text
    assert "That is not a sign that no record is exposed." in text
    assert "most exposed" not in text
    assert "Records that stand out: 1234: few have this value of 'job'; unlike" in text
    assert "LiRA" not in text
    for record in summary["most_exposed"]:
        record["reasons"] = []
    assert "stand out" not in told_again(summary)


def test_no_word_promises_safety(summary):
    for word in ("safe", "anonymous", "secure", "harmless"):
        assert word not in format_report(summary).lower()


def test_records_that_cannot_be_measured_are_told(summary):
    summary["risk"]["not_measured"] = 1
    summary["most_exposed"][0] |= {"risk": None, "at_risk": False}
    text = told_again(summary)
    assert "The risk of 1 record cannot be measured" in flat(text)
    assert row_with(text, "  1234") == ["1234", "yes", "unknown", "-", "-", "-"]


def test_most_exposed_records_are_listed_with_their_risk_and_the_reasons(summary):
    text = format_report(summary)
    assert "The 2 most exposed records, by risk" in text
    assert row_with(text, "  1234") == ["1234", "yes", "94.0%", "93.0%", "95.0%", "yes"]
    assert row_with(text, "  77 ") == ["77", "no", "71.0%", "70.0%", "72.0%", "no"]
    assert "1234: few have this value of 'job'; unlike all others" in text
    assert "77: nothing about the record by itself stands out" in text


def test_values_are_shown_where_they_are_in_the_summary(summary):
    assert "[juggler]" not in format_report(summary)
    summary["most_exposed"][0]["reasons"][0]["value"] = "juggler"
    assert "few have this value of 'job' [juggler]; unlike" in format_report(summary)


def test_records_are_named_by_their_ids(summary):
    for record, name in zip(summary["most_exposed"], ("Ann", "Bob"), strict=True):
        record["id"] = name
    text = told_again(summary)
    assert row_with(text, "  Ann")[0] == "Ann"
    assert "About the most exposed record (Ann)," in flat(text)
    assert "Bob: nothing" in text


def test_ranking_by_a_score_is_told(summary):
    summary["made"]["options"]["rank_by"] = "waka_5"
    text = format_report(summary)
    assert "The 2 most exposed records, by WaKA, k = 5" in text


def test_data_and_model_are_told(summary):
    text = flat(format_report(summary))
    assert "people.csv: 2,500 records" in text
    assert "ill: no 1,500 (60.0%), yes 1,000 (40.0%)" in text
    assert "7, from 4 columns: 1 number, 2 categories, 1 date" in text
    assert "missing values in age" in text
    assert "left out as identifier: id" in text
    assert "predicts 87.5% of the labels correctly when each record is left out" in text
    assert "always answering no would be correct for 60.0%" in text
    assert "On its training records it predicts 99.0%." in text


def test_a_quantity_has_no_classes(summary):
    summary["data"] |= {"classes": None, "quantity": {"minimum": -1.5, "maximum": 1e6}}
    summary["model"]["performance"] |= {
        "measure": "r2",
        "folds": 5,
        "baseline": None,
        "training": None,
    }
    summary["most_exposed"][0]["label"] = 1234.5
    text = flat(format_report(summary))
    assert "ill: from -1.5 to 1e+06" in text
    assert "It explains 87.5% of the variance of the label when one of 5 parts" in text
    assert "On its training" not in text
    assert "1234.5" in text


def test_test_data_are_told(summary):
    summary["model"]["performance"]["on"] = "test data"
    assert "correctly of the test data" not in format_report(summary)
    assert "labels of the test data correctly" in flat(format_report(summary))


def test_groups_are_told_and_those_that_are_too_small(summary):
    text = format_report(summary)
    assert "Risk by sex" in text
    assert row_with(text, "  m ") == ["m", "1,500", "55.0%", "54.0%", "56.0%", "9"]
    assert row_with(text, "  x ") == ["x", "2", "too", "few", "-", "-", "1"]
    assert "hold for all groups at once. Too few records to say: x." in flat(text)


def test_many_groups_are_cut_short(summary):
    (column,) = summary["groups"]
    column["groups"] = [{**column["groups"][0], "name": f"g{i}"} for i in range(30)]
    text = format_report(summary)
    assert "Risk by sex (the 10 most exposed of 30)" in text
    assert "g9 " in text
    assert "g10" not in text


def test_an_attack_is_told(summary):
    text = format_report(summary)
    assert row_with(text, "  AUC")[1:] == ["54.3%", "53.3%", "55.3%"]
    assert row_with(text, "TPR at 1.0% FPR")[4:] == ["3.5%", "2.5%", "4.5%"]
    assert row_with(text, "TPR at 0.1% FPR")[4:] == ["-", "-", "-"]
    assert "(LiRA) on 16 shadow models" in text
    assert "-: there are too few records to tell." in flat(text)
    assert "with an epsilon below 0.71 would not have allowed" in flat(text)
    summary["attack"]["epsilon"]["value"] = 0.0
    assert "epsilon" not in format_report(summary)


def test_scores_are_explained(summary):
    text = flat(format_report(summary))
    assert "WaKA, k = 5: what it says. It carries 25% of the estimate." in text
    assert "not known" not in text
    summary["scores"]["waka_5"] |= {"weight": None, "missing": 3}
    text = flat(format_report(summary))
    assert "what it says. Of 3 records it is not known." in text


def test_notes_are_to_be_checked(summary):
    assert "Please check" not in format_report(summary)
    note = {"columns": ["age"], "reason": "left out", "option": "--keep age"}
    summary["data"]["notes"] = [note] * 25
    text = format_report(summary)
    assert "- age: left out (--keep age)" in text
    assert "and 5 more" in text


def test_lines_are_narrow_and_nothing_trails(summary):
    summary = copy.deepcopy(summary)
    summary["data"]["columns"] *= 40
    long = "a very long " * 10
    summary["most_exposed"][0] |= {"record": 123_456_789, "label": long, "id": long}
    summary["most_exposed"][1]["id"] = "x" * 500
    summary["groups"][0]["column"] = long
    summary["groups"][0]["groups"][0]["name"] = long
    for line in told_again(summary).splitlines():
        assert len(line) <= 88
        assert line == line.rstrip()


def test_a_label_cannot_command_the_terminal(summary):
    summary["most_exposed"][0] |= {"label": "\x1b[31mred\nline", "id": "\x1b[2J"}
    summary["most_exposed"][1]["id"] = "\u202eright to left"
    summary["data"]["source"] = "\x1b[2J.csv"
    summary["groups"][0]["column"] = "\x1b[2J"
    summary["most_exposed"][0]["reasons"][0]["text"] = "\x1b[2J"
    text = told_again(summary)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\\x1b[31mred\\nline" in text


def test_measures_are_a_table_with_what_each_changed(summary):
    def found(at_risk):
        performance = {"value": 0.875, "low": 0.865, "high": 0.885}
        risks = {"mean_risk": 0.5321, "highest": 0.9876}
        return {"performance": performance, "at_risk": at_risk, "records": 2500} | risks

    tried = [
        {
            "name": "larger leaves",
            "change": "leaves = 9",
            "after": found(7),
            "note": None,
        },
        {"name": "left out", "change": "all", "after": found(8), "note": "2 are new"},
    ]
    failed = {"name": "merged", "change": "in 'job'", "reason": "no such value"}
    summary["measures"] = {"before": found(12), "tried": tried, "not_tried": [failed]}
    lines = format_report(summary).splitlines()
    start = lines.index("What would help, tried on this model and these records")
    assert [line.split() for line in lines[start + 1 : start + 5]] == [
        ["measure", "accuracy", "at", "risk", "of", "mean", "risk", "highest"],
        ["as", "audited", "87.5%", "12", "2,500", "53.2%", "98.8%"],
        ["larger", "leaves", "87.5%", "7", "2,500", "53.2%", "98.8%"],
        ["left", "out", "87.5%", "8", "2,500", "53.2%", "98.8%"],
    ]
    assert lines[start + 5 : start + 8] == [
        "  larger leaves: leaves = 9.",
        "  left out: all; 2 are new.",
        "  merged: in 'job'. It could not be tried: no such value.",
    ]
    assert "differential privacy" in lines[start + 8]
