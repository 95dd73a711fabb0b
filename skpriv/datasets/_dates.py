"""Dates as people write them."""

import datetime
import re
import warnings

import numpy as np

from skpriv.utils._optional import import_optional

# Formats that pandas does not guess: years of two digits, hours from 1 to 12.
_MORE_FORMATS = (
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%d-%b-%y", "%d %b %y"),
    *("%m/%d/%Y %I:%M %p", "%d.%m.%y %H:%M", "%d/%m/%y %H:%M", "%m/%d/%y %H:%M"),
    *("%m/%Y", "%m.%Y", "%b %Y", "%B %Y", "%b-%Y", "%b-%y"),
    *("%H:%M", "%H:%M:%S", "%I:%M %p"),
)
# Nobody writes the day between the year and the month.
_YEAR_DAY = re.compile("%Y.?%d")
# "2:1" is a ratio or a result; a clock has two digits for the minutes and seconds.
_NO_CLOCK = r":\d(?:\D|$)"
# A format that none of so many values has is not tried on the others.
_SAMPLE = 50
_WORDS = {
    "d": "day",
    "m": "month",
    "b": "month",
    "B": "month",
    "Y": "year",
    "y": "year",
    "H": "hour",
    "I": "hour",
    "M": "minute",
    "S": "second",
    "f": "fraction",
    "a": "weekday",
    "A": "weekday",
    "p": "AM/PM",
    "z": "zone",
    "Z": "zone",
}


def read_dates(texts, day_first=None):
    """Read texts as dates, in the format that fits most of them.

    Parameters
    ----------
    texts : Series of str
        Different ones.
    day_first : bool, default=None
        Whether the day stands before the month where the texts do not tell. None: it
        does between dots.

    Returns
    -------
    dates : Series of datetime64
        NaT for those that are no dates in this format.
    format : str
        "ISO8601" or in the notation of ``strftime``.
    other : str or None
        A format with day and month exchanged that fits as many.
    """
    places = np.linspace(0, len(texts) - 1, min(_SAMPLE, len(texts))).astype(int)
    sample = texts.iloc[np.unique(places)]
    formats = [form for form in _formats(sample) if _parse(sample, form).notna().any()]
    dates = {form: _parse(texts, form) for form in formats or ["ISO8601"]}
    counts = {form: int(read.notna().sum()) for form, read in dates.items()}
    most = max(counts.values())
    best = [form for form, count in counts.items() if count == most]
    fitting = best[0]
    others = [form for form in best if not dates[form].equals(dates[fitting])]
    exchanged = others[0] if others else None
    if exchanged and has_day_first(fitting) != (
        "." in fitting if day_first is None else day_first
    ):
        fitting, exchanged = exchanged, fitting
    return dates[fitting], fitting, exchanged


def _formats(sample):
    guess = import_optional("pandas.tseries.api", extra="report").guess_datetime_format
    found = {"ISO8601": None}
    with warnings.catch_warnings():
        # That the day seems to come first, though month first was asked for.
        warnings.simplefilter("ignore", UserWarning)
        for text in sample:
            for day_first in (False, True):
                found[guess(text.strip(), dayfirst=day_first)] = None
    has_day_and_year = [
        name
        for name in found
        if name and ("%Y" in name or name == "ISO8601") and not _YEAR_DAY.match(name)
    ]
    return [*has_day_and_year, *_MORE_FORMATS]


def has_day_first(form):
    """Tell the order of day and month in a format.

    Parameters
    ----------
    form : str
        "ISO8601" or in the notation of ``strftime``.

    Returns
    -------
    answer : bool or None
        None if the month has a name, the year stands first or there is no day.
    """
    day, month = form.find("%d"), form.find("%m")
    if min(day, month) < 0 or form.lower().startswith("%y"):
        return None
    return day < month


def years_of_two_digits():
    """Return the first and the last year that two digits stand for.

    Returns
    -------
    first, last : int
        The hundred years up to the present one.
    """
    last = datetime.date.today().year
    return last - 99, last


def describe_format(form):
    """Spell a format out.

    Parameters
    ----------
    form : str
        In the notation of ``strftime``.

    Returns
    -------
    text : str
        Such as "day.month.year".
    """
    text = re.sub("%([A-Za-z])(?=%)", r"%\1 ", form)
    return re.sub("%([A-Za-z])", lambda code: _WORDS.get(code[1], code[0]), text)


def _parse(texts, form):
    pandas = import_optional("pandas", extra="report")
    dates = pandas.to_datetime(
        texts.str.strip().mask(texts.str.contains(_NO_CLOCK)),
        format=form,
        errors="coerce",
        utc=True,
    )
    dates = dates.dt.tz_localize(None).dt.as_unit("us")
    if "%y" in form:
        is_later = dates.dt.year > years_of_two_digits()[1]
        dates = dates.mask(is_later, dates - pandas.DateOffset(years=100))
    return dates
