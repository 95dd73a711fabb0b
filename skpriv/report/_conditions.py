"""Conditions on which a release fails, such as ``at_risk > 1%``.

The names are those of figures in an audit's summary. The module imports nothing heavy,
so that the command checks a condition before it does any work.
"""

import operator
import re
from collections.abc import Callable
from typing import NamedTuple

from skpriv.utils._text import count

_OPERATORS = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_CONDITION = re.compile(
    r"\s*(?P<name>[a-z_]+)(@(?P<rate>[\d.]+)\s*%)?\s*(?P<operator>>=|<=|>|<)\s*"
    r"(?P<number>\d+\.?\d*|\.\d+)\s*(?P<percent>%)?\s*",
    re.I | re.A,
)
_RATES = ("0.1", "1")
NAMES = ("at_risk", "risk", "highest", "auc", *(f"tpr@{r}%" for r in _RATES), "epsilon")
_FORM = (
    'must be a figure, one of >, >=, <, <=, and a number, such as "at_risk > 1%"; the '
    f"figures are {', '.join(NAMES)}"
)


class ConditionError(ValueError):
    """A condition cannot be understood; the message is one line that says why."""


class Condition(NamedTuple):
    """A condition on a figure of an audit.

    Attributes
    ----------
    name : str
        One of `NAMES`.
    operator : str
        One of ">", ">=", "<" and "<=".
    value : float
        What the figure is compared with. A proportion is between 0 and 1.
    unit : {"percent", "fraction", "records", "number"}
        How the value was written. "records": a number of records.
    """

    name: str
    operator: str
    value: float
    unit: str

    def __str__(self):
        return f"{self.name} {self.operator} {_show(self.value, self.unit)}"


class Outcome(NamedTuple):
    """Whether a condition is met, and the sentence that says so.

    Attributes
    ----------
    failed : bool
        True if the condition is met or cannot be decided.
    sentence : str
    """

    failed: bool
    sentence: str


def parse_condition(text):
    """Understand a condition.

    Parameters
    ----------
    text : str
        A name of `NAMES`, an operator, and a number. A percentage and a fraction are
        the same: 1% and 0.01. Records at risk are counted if the number is whole and
        is no percentage: ``at_risk > 10``.

    Returns
    -------
    condition : Condition

    Raises
    ------
    ConditionError
    """
    match = _CONDITION.fullmatch(text)
    name = _name(match) if match else None
    if name not in NAMES:
        raise ConditionError(f"{text!r} {_FORM}")
    number, percent = match["number"], bool(match["percent"])
    value, unit = float(number), "fraction"
    if percent:
        # Divided once, so that 1% equals the proportion 1 / 100.
        value, unit = value / 100, "percent"
    if name == "epsilon":
        if percent:
            raise ConditionError(f"{text!r}: epsilon must not be a percentage")
        unit = "number"
    elif name == "at_risk" and not percent and number.isdecimal():
        unit = "records"
    elif value > 1:
        raise ConditionError(
            f"{text!r}: {name} is a proportion, and must be compared with a number "
            "from 0 to 1 or a percentage from 0% to 100%"
        )
    return Condition(name, match["operator"], value, unit)


def _name(match):
    name = match["name"].lower()
    if match["rate"] is None:
        return name
    rates = {float(rate): rate for rate in _RATES}
    try:
        return f"{name}@{rates[float(match['rate'])]}%"
    except (KeyError, ValueError):
        return None


def evaluate(condition, summary):
    """Decide a condition by the figures of an audit.

    Parameters
    ----------
    condition : Condition
    summary : dict
        Of an audit.

    Returns
    -------
    outcome : Outcome
        A figure that is not known cannot pass.
    """
    figure = _FIGURES[condition.name]
    found = figure.read(summary, condition)
    if found is None:
        return Outcome(
            True, f"{condition}: cannot be decided, because {figure.missing}."
        )
    failed = _OPERATORS[condition.operator](found, condition.value)
    shown = figure.words.format(_show(found, condition.unit), **_counts(summary))
    return Outcome(failed, f"{condition}: {'met' if failed else 'not met'}; {shown}.")


def _show(value, unit):
    if unit == "records":
        return count(int(value), "record")
    if unit == "percent":
        return f"{value * 100:.4g}%"
    return f"{value:.4g}"


def _counts(summary):
    return {
        "at_risk": _told_at_risk(summary),
        "records": count(summary["data"]["records"], "record"),
    }


def _told_at_risk(summary):
    listed = _dig(summary, "risk", "at_risk", "records")
    if listed is None or not summary["risk"]["not_measured"]:
        return listed
    return f"{listed}, and {summary['risk']['not_measured']} not measured,"


class _Figure(NamedTuple):
    read: Callable
    words: str
    missing: str


def _at(*path):
    return lambda summary, condition: _dig(summary, *path)


def _dig(tree, *path):
    for step in path:
        if tree is None:
            return None
        tree = tree[step]
    return tree


def _at_risk(summary, condition):
    listed = _dig(summary, "risk", "at_risk", "records")
    if listed is None:
        return None
    # A record that could not be measured has not passed.
    number = listed + summary["risk"]["not_measured"]
    return (
        number if condition.unit == "records" else number / summary["data"]["records"]
    )


def _highest(summary, condition):
    if _dig(summary, "risk", "not_measured"):
        return None
    return _dig(summary, "risk", "highest", "estimate", "value")


def _tpr_at(fpr):
    def read(summary, condition):
        for entry in _dig(summary, "attack", "tpr") or ():
            if abs(entry["fpr"] - fpr) < fpr * 1e-6:
                return _dig(entry, "estimate", "value")
        return None

    return read


_NO_ATTACK = "the attack could not be measured on these records"
_FIGURES = {
    "at_risk": _Figure(
        _at_risk,
        "{at_risk} of {records} are at risk ({})",
        "the risk of these records could not be measured",
    ),
    "risk": _Figure(
        _at("risk", "mean", "value"),
        "the mean risk of the records is {}",
        "the risk of these records could not be measured",
    ),
    "highest": _Figure(
        _highest,
        "the highest risk of a record is {}",
        "the risk of some records could not be measured",
    ),
    "auc": _Figure(_at("attack", "auc", "value"), "the AUC is {}", _NO_ATTACK),
    **{
        f"tpr@{rate}%": _Figure(
            _tpr_at(float(rate) / 100),
            f"the true positive rate at a false positive rate of {rate}% is {{}}",
            "there are too few records to measure so low a false positive rate",
        )
        for rate in _RATES
    },
    "epsilon": _Figure(
        _at("attack", "epsilon", "value"), "the lower bound on ε is {}", _NO_ATTACK
    ),
}
