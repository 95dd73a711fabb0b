"""Notes on how columns of text were read.

They are part of the report, which shows no data of the records, so the only values that
they quote are marks for a missing one.
"""

from shlex import quote

import numpy as np

from skpriv.datasets._dates import describe_format, has_day_first, years_of_two_digits
from skpriv.datasets._notes import Note, count_records, quote_values
from skpriv.datasets._numbers import read_numbers
from skpriv.datasets._texts import FEW

_AS_TEXT = "--text COL"
_AS_NUMBERS = "--number COL"
# From this part on, a column of text is said to be mostly numbers.
_NOTEWORTHY_PART = 0.5


def note_numbers(column, numbers, decimal_is_given, points_are_decimals):
    """Note the notation in which a column is read as numbers, if it is not plain.

    Parameters
    ----------
    column : TextColumn
    numbers : Numbers
        The numbers that its candidates were read as.
    decimal_is_given : bool
        Whether the user gave the decimal mark.
    points_are_decimals : bool
        Whether points alone are taken for decimal marks without a note.

    Returns
    -------
    notes : list of Note
        At most one.
    """
    parts = []
    if numbers.decimal == ",":
        parts.append("',' for decimals")
    if numbers.grouping:
        parts.append(f"{quote_values(sorted(numbers.grouping))} for thousands")
    if numbers.unit:
        parts.append(f"the unit {numbers.unit}")
    is_unclear = numbers.is_unclear and not decimal_is_given
    if is_unclear and not parts:
        if points_are_decimals:
            return []
        parts.append("'.' for decimals")
    if any(text.strip().startswith("(") for text in column.candidates):
        parts.append("brackets for negative ones")
    if not parts:
        return []
    reason = f"read as numbers with {' and '.join(parts)}"
    if not is_unclear:
        return [Note(column.name, reason, _AS_TEXT)]
    reason += "; the column does not show whether these are decimals or thousands"
    other = "," if numbers.decimal == "." else "."
    return [Note(column.name, reason, f"--decimal {other}")]


def note_dates(name, form, is_unclear):
    """Note the format in which a column is read as dates, if it is not ISO's.

    Parameters
    ----------
    name : str
    form : str
    is_unclear : bool
        Whether day and month may be exchanged.

    Returns
    -------
    notes : list of Note
        At most one.
    """
    if form == "ISO8601":
        return []
    reason = f"read as dates: {describe_format(form)}"
    if "%y" in form:
        first, last = years_of_two_digits()
        reason += f", with years from {first} to {last}"
    if not is_unclear:
        return [Note(name, reason, _AS_TEXT)]
    reason += "; the column does not show whether the day or the month comes first"
    exchange = "--month-first" if has_day_first(form) else "--day-first"
    return [Note(name, reason, exchange)]


def note_missing(column, slips, kind):
    """Note what is taken as missing in a column of numbers or dates.

    Parameters
    ----------
    column : TextColumn
    slips : sequence of str
        Values that are neither of the kind nor marks for a missing one.
    kind : {"number", "date"}

    Returns
    -------
    notes : list of Note
    """
    reasons = [
        f"{mark!r} is taken as a missing {kind}, in {column.records_with([mark])}"
        for mark in column.marks
    ]
    if slips:
        where = column.records_with(slips)
        reasons.append(f"values that are not {kind}s are taken as missing, in {where}")
    return [Note(column.name, reason, _AS_TEXT) for reason in reasons]


def note_blanks(written, stripped):
    """Note that blanks around labels were removed, if some differ in nothing else.

    Parameters
    ----------
    written, stripped : Series of str
        The labels with and without the blanks.

    Returns
    -------
    notes : list of Note
        At most one.
    """
    written = written.where(stripped.notna())
    if written.nunique() == stripped.nunique():
        return []
    has_blanks = (written != stripped) & stripped.notna()
    where = count_records(has_blanks.to_numpy(dtype=bool))
    reason = f"blanks around the label are removed, in {where}"
    return [Note(stripped.name, reason, _AS_TEXT)]


def note_codes(column):
    """Note that whole numbers are kept as text.

    Parameters
    ----------
    column : TextColumn

    Returns
    -------
    notes : list of Note
    """
    reason = (
        "kept as text: as numbers they would lose a plus, leading zeros or last digits"
    )
    return [Note(column.name, reason, _AS_NUMBERS)]


def note_text(column):
    """Note values of a column of text that might be missing or numbers.

    Parameters
    ----------
    column : TextColumn

    Returns
    -------
    notes : list of Note
        Empty for a label whose classes have names.
    """
    if not column.candidates:
        return []
    numbers = read_numbers(column.candidates)
    if column.role == "label" and not numbers.known.all():
        # Of classes that have names, one may well be "None" or "?".
        return []
    notes = []
    for mark in column.marks:
        where = column.records_with([mark])
        reason = f"{mark!r} is kept as a value of its own, in {where}"
        notes.append(Note(column.name, reason, f"--missing {quote(mark)}"))
    part = column.part(numbers.known)
    slips = column.slips(numbers.known)
    n_different = len(np.unique(numbers.values[numbers.known]))
    is_one_word = len(slips) == 1 and column.counts[slips[0]] > 1 and n_different > 2
    if slips and part >= _NOTEWORTHY_PART and (n_different > FEW or is_one_word):
        where = column.records_with(slips)
        reason = (
            f"kept as text, though {part:.0%} are numbers; other values are in {where}"
        )
        notes.append(Note(column.name, reason, _AS_NUMBERS))
    return notes
