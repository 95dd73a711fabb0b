"""Cells of the tables of a report that is filed, and lists of names in its text."""

from skpriv.report import _page_words as words
from skpriv.report._blocks import Figure, Glyph, Name, Told
from skpriv.report._words import NO_REASON

MOST_ROWS = 100  # of groups, classes and columns
_FROM_GUESSING = (0.5, 1.0)


def known(estimate):
    """Whether an estimate has a value."""
    return estimate is not None and estimate["value"] is not None


def name_of(record):
    """Name a record by its identifier, or its place in the data."""
    return Name(record["record"] if record.get("id") is None else record["id"])


def value_cell(value):
    """Show a value of a record."""
    if isinstance(value, str):
        return Name(value)
    if isinstance(value, int | float):
        return Figure(f"{value:.10g}", value)
    return "" if value is None else Name(value)


def percentage(value, unknown=words.UNKNOWN):
    """Show a proportion."""
    return Figure(unknown if value is None else words.percent(value), value)


def decimal(value):
    """Show a number that is no proportion."""
    return Figure(words.decimal(value), value)


def limits_cell(estimate):
    """Show the ends of an interval."""
    return Figure(words.limits(estimate), estimate["low"])


def told_with_limits(estimate):
    """Tell a proportion with the ends of its interval."""
    if not known(estimate):
        return words.UNKNOWN
    if estimate["low"] is None:
        return words.percent(estimate["value"])
    return f"{words.percent(estimate['value'])} ({words.limits(estimate)})"


def interval_glyph(estimate, marked=False):
    """Draw the interval of a risk."""
    ends = (estimate["low"], estimate["value"], estimate["high"])
    return Glyph("interval", ends, _FROM_GUESSING, marked) if None not in ends else ""


def reasons_cell(texts):
    """List why a record is exposed."""
    if not texts:
        return NO_REASON
    parts = []
    for text in texts:
        parts += ["; ", Told(text)]
    return tuple(parts[1:])


def listed(names):
    """Return names with commas between them."""
    parts = []
    for name in names:
        parts += [", ", Name(name)]
    return parts[1:]


def say_more(rows, noun, nouns=None):
    """Say how many rows a table leaves out, if any."""
    n_more = len(rows) - MOST_ROWS
    if n_more > 0:
        noun = noun if n_more == 1 else nouns or f"{noun}s"
        yield f"And {n_more:,} more {noun}, in the summary (JSON)."
