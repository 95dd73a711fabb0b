"""What a reader of tables decided, for a person to check."""

from typing import NamedTuple


class Note(NamedTuple):
    """A decision about a column that the data alone do not settle.

    Attributes
    ----------
    column : str or None
        The name of the column; None for the whole file.
    reason : str
        What was decided, and why.
    option : str
        The option of ``skpriv audit`` that decides otherwise, COL standing for the
        column; empty if there is none. The parameters of `read_table`, `clean_table`
        and `encode_table` have the same names.
    """

    column: str | None
    reason: str
    option: str


def count_records(mask):
    """Say how many records there are, and which one is the first.

    Parameters
    ----------
    mask : ndarray of shape (n_records,), dtype bool
        At least one is true.

    Returns
    -------
    text : str
    """
    count = int(mask.sum())
    first = int(mask.argmax()) + 1
    return f"record {first}" if count == 1 else f"{count:,} records (first: {first})"


def quote_values(values, most=3):
    """List a few values.

    Parameters
    ----------
    values : sequence of str
    most : int, default=3
        How many to show.

    Returns
    -------
    text : str
    """
    shown = ", ".join(repr(str(value)[:40]) for value in values[:most])
    return shown + (f" and {len(values) - most} more" if len(values) > most else "")
