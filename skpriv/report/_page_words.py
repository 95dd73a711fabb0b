"""How the figures of a report that is filed are told to someone who files it.

Probabilities are told as natural frequencies ("94 of 100") beside percentages. What is
not known is None, and is told as such.
"""

from datetime import datetime

UNKNOWN = "not known"


def percent(part):
    """Tell a proportion as a percentage, never as 0% or 100% unless it is."""
    if part is None:
        return UNKNOWN
    if 0 < part < 0.001:
        return f"{100 * part:.1g}%"
    return f"{part:.1%}" if part == 1 or part < 0.9995 else ">99.9%"


def limits(estimate, tell=percent):
    """Tell the ends of an interval."""
    if estimate is None or estimate["low"] is None or estimate["high"] is None:
        return UNKNOWN
    return f"{tell(estimate['low'])} to {tell(estimate['high'])}"


def with_limits(estimate, confidence_level, tell=percent):
    """Tell an estimate with its interval."""
    if estimate is None or estimate["value"] is None:
        return UNKNOWN
    text = tell(estimate["value"])
    if estimate["low"] is None:
        return text
    return f"{text} ({confidence_level:.0%} interval: {limits(estimate, tell)})"


def of_100(part):
    """Tell how many of 100 guesses are right."""
    number = round(100 * part)
    if number == 100:
        return "more than 99 of 100"
    return f"{number} of 100"


def range_of_100(estimate):
    """Tell an interval as numbers of guesses, of 100."""
    low, high = round(100 * estimate["low"]), round(100 * estimate["high"])
    return "more than 99" if low == high == 100 else f"{low} to {high}"


def share(number, total):
    """Tell how many of how many, as a percentage too."""
    if not total:
        return f"{number:,} of {total:,}"
    return f"{number:,} of {total:,} ({percent(number / total)})"


def frequency(part):
    """Tell a small proportion as so many of 100, of 1,000, and so on."""
    base = 100
    while 0 < part * base < 2.5 and base < 1_000_000:
        base *= 10
    return f"{part * base:.0f} in {base:,}"


def round_percent(part):
    """Tell a proportion that someone chose, such as 0.1%."""
    return f"{100 * part:.6g}%"


def one_in(part):
    """Tell a small proportion that someone chose, such as 0.1 %, as one in so many."""
    return f"1 in {round(1 / part):,}"


def decimal(value):
    """Tell a number that is no proportion."""
    return UNKNOWN if value is None else f"{value:.4g}"


def day(date):
    """Tell a day as in "1 December 2026"; a date that is no ISO date stays as it is."""
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        return date
    return f"{moment.day} {moment:%B %Y}"


def moment(date):
    """Tell a date with its time of day."""
    try:
        when = datetime.fromisoformat(date)
    except ValueError:
        return date
    return f"{day(date)}, {when:%H:%M} {when.tzname() or ''}".rstrip()


def duration(seconds):
    """Tell how long something took."""
    if seconds is None:
        return UNKNOWN
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes"
