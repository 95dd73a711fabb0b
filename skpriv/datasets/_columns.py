"""Tell the kinds of a table's columns apart, and which say nothing."""

import re
from dataclasses import dataclass

import numpy as np

from skpriv.datasets._errors import TableError
from skpriv.utils._optional import import_optional

MAX_CATEGORIES = 50
MISSING = "(missing)"

# Squares of larger numbers overflow when they are scaled.
_LARGEST_NUMBER = 1e150
# In fewer records, values that all differ are no sign of an identifier.
_FEWEST_FOR_IDENTIFIER = 10
_IDENTIFIER_NAME = re.compile(r"(^|[\W_])(id|uuid|guid|index)$|^unnamed: 0$", re.I)
_ISO_DATE = r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?"


@dataclass(frozen=True)
class Column:
    """What is known of a column.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "date"}
    n_missing : int
        The number of records without a value.
    n_distinct : int
        The number of different values, missing ones apart.
    left_out : str or None
        Why the column is not used; None if it is.
    """

    name: str
    kind: str
    n_missing: int
    n_distinct: int
    left_out: str | None


def describe_columns(table):
    """Tell the kind of every column, and why some are left out.

    Booleans and text are categories. Text in which every value is an ISO date
    ("2024-02-29", "2024-02-29 13:05:00+01:00") is a date, and so are durations. Left
    out are columns that say nothing (constant, empty) and columns that name the
    record instead of describing it: text that differs in more than half of the
    records and in more than 50 of them, and, from 10 records on, whole numbers that
    all differ and count through or are called an id.

    Parameters
    ----------
    table : DataFrame of shape (n_records, n_columns)

    Returns
    -------
    columns : list of Column

    Raises
    ------
    TableError
        If a number is infinite or too large to be scaled.
    """
    table = table.reset_index(drop=True)
    return [_describe(table[name]) for name in table.columns]


def finite_numbers(name, values):
    """Return numbers as floats that can be scaled.

    Parameters
    ----------
    name : str
        The column's.
    values : Series
        Of numbers, none missing, under their places in the table.

    Returns
    -------
    values : Series of float64

    Raises
    ------
    TableError
        If one is infinite or too large.
    """
    try:
        values = values.astype(float)
    except OverflowError:
        # A column of Python's whole numbers, one of them beyond any float.
        values = values.map(
            lambda value: float(value) if abs(value) < 1e300 else np.inf
        )
    unusable = ~(np.abs(values.to_numpy()) <= _LARGEST_NUMBER)
    if unusable.any():
        record = values.index[unusable.argmax()] + 1
        raise TableError(
            f"column {name!r} has a number that is infinite or above "
            f"{_LARGEST_NUMBER:g} in record {record}; correct it or leave the column "
            "out"
        )
    return values


def _describe(column):
    kind = _kind(column)
    n_missing = int(column.isna().sum())
    values = column.dropna()
    if kind == "category":
        values = values.astype(object).map(str)
    if kind == "number":
        values = finite_numbers(column.name, values)
    n_distinct = int(values.nunique())
    left_out = None
    if n_distinct == 0:
        left_out = "empty"
    elif n_distinct == 1 and n_missing == 0:
        left_out = "constant"
    elif _names_record(kind, values, n_distinct, column):
        left_out = "identifier"
    return Column(column.name, kind, n_missing, n_distinct, left_out)


def _kind(column):
    pandas = import_optional("pandas", extra="report")
    types = pandas.api.types
    if types.is_bool_dtype(column):
        return "category"
    if types.is_numeric_dtype(column):
        return "number"
    if types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column):
        return "date"
    content = types.infer_dtype(column, skipna=True)
    if content in {"integer", "floating", "mixed-integer-float", "decimal"}:
        return "number"
    if content in {"date", "datetime"}:
        return "date"
    if content == "string" and _are_iso_dates(column.dropna()):
        return "date"
    return "category"


def _are_iso_dates(values):
    pandas = import_optional("pandas", extra="report")
    for part in (values[:100], values):
        if not part.astype(str).str.fullmatch(_ISO_DATE).all():
            return False
    parsed = pandas.to_datetime(values, format="ISO8601", utc=True, errors="coerce")
    return bool(parsed.notna().all())


def _names_record(kind, values, n_distinct, column):
    n_records = len(column)
    if kind == "category":
        return n_distinct > max(MAX_CATEGORIES, n_records / 2)
    if kind == "date" or n_distinct < max(n_records, _FEWEST_FOR_IDENTIFIER):
        return False
    if (values % 1 != 0).any():
        return False
    counts_through = values.max() - values.min() == n_records - 1
    return bool(counts_through or _IDENTIFIER_NAME.search(column.name))
