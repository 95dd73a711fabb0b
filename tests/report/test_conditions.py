"""Conditions on which a release fails."""

import re

import pytest

from skpriv.report._conditions import NAMES, ConditionError, evaluate, parse_condition


def a_summary():
    def estimate(value):
        return {"value": value, "low": value, "high": value}

    return {
        "data": {"records": 1200},
        "risk": {
            "mean": estimate(0.53),
            "at_risk": {"records": 12, "part": 12 / 1200},
            "highest": {"record": 7, "estimate": estimate(0.94)},
            "not_measured": 0,
        },
        "attack": {
            "auc": estimate(0.56),
            "tpr": [
                {"fpr": 0.001, "estimate": estimate(None)},
                {"fpr": 0.01, "estimate": estimate(0.02)},
            ],
            "epsilon": {"value": 1.25, "confidence_level": 0.95},
        },
    }


@pytest.mark.parametrize(
    ("text", "failed", "said"),
    [
        ("at_risk > 1%", False, "12 of 1,200 records are at risk (1%)"),
        ("at_risk >= 1%", True, "at_risk >= 1%: met; 12 of 1,200 records"),
        ("at_risk > 0.5%", True, "met"),
        ("at_risk>0.01", False, "not met"),
        ("at_risk > 0.009", True, "(0.01)"),
        ("at_risk > 11", True, "at_risk > 11 records: met"),
        ("AT_RISK > 12", False, "12 of 1,200 records are at risk (12 records)"),
        ("at_risk < 13", True, "met"),
        ("  at_risk  >  0 ", True, "met"),
        ("risk > 52.9%", True, "the mean risk of the records is 53%"),
        ("risk > .53", False, "0.53"),
        ("risk <= 0.53", True, "0.53"),
        ("highest > 90 %", True, "the highest risk of a record is 94%"),
        ("auc > 0.6", False, "the AUC is 0.56"),
        ("tpr@1% > 1%", True, "false positive rate of 1% is 2%"),
        ("tpr@1.0% > 3%", False, "is 2%"),
        ("epsilon > 1", True, "the lower bound on ε is 1.25"),
        ("epsilon < 1.25", False, "1.25"),
    ],
)
def test_figure_is_compared(text, failed, said):
    outcome = evaluate(parse_condition(text), a_summary())
    assert outcome.failed is failed
    assert said in outcome.sentence
    assert outcome.sentence.endswith(".")


def test_figure_that_is_not_known_fails():
    outcome = evaluate(parse_condition("tpr@0.1% > 5%"), a_summary())
    assert outcome.failed
    assert "tpr@0.1% > 5%: cannot be decided, because there are too few" in outcome[1]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_decided_without_figures(name):
    summary = {"data": {"records": 3}, "risk": None, "attack": None}
    for sign in ("<", ">"):
        outcome = evaluate(parse_condition(f"{name} {sign} 1"), summary)
        assert outcome.failed
        assert "cannot be decided" in outcome.sentence


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "must be a figure, one of >, >=, <, <=, and a number"),
        ("at_risk", "must be a figure"),
        ("at_risk > ", "must be a figure"),
        ("at_risk == 1%", "must be a figure"),
        ("at_risk > -1%", "must be a figure"),
        ("at_risk > 1.2.3", "must be a figure"),
        ("at_risk > 1% or risk > 2%", "must be a figure"),
        ("at_risk > nan", "must be a figure"),
        ("accuracy < 80%", "the figures are at_risk, risk, highest, auc, tpr@0.1%"),
        ("tpr > 5%", "the figures are"),
        ("tpr@5% > 5%", "the figures are"),
        ("tpr@.% > 5%", "the figures are"),
        ("auc@1% > 5%", "the figures are"),
        ("at_risk > 101%", "a percentage from 0% to 100%"),
        ("at_risk > 1.5", "a number from 0 to 1"),
        ("risk > 53", "a number from 0 to 1"),
        ("epsilon > 1%", "epsilon must not be a percentage"),
    ],
)
def test_what_is_no_condition_is_a_fault(text, fault):
    with pytest.raises(ConditionError, match=re.escape(fault)) as caught:
        parse_condition(text)
    assert repr(text) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_records_that_were_not_measured_have_not_passed():
    summary = a_summary()
    summary["risk"]["not_measured"] = 1
    outcome = evaluate(parse_condition("at_risk > 12"), summary)
    assert outcome.failed
    assert "12, and 1 not measured, of 1,200 records are at risk" in outcome.sentence
    assert evaluate(parse_condition("highest > 99%"), summary).failed
    assert not evaluate(parse_condition("risk > 60%"), summary).failed
