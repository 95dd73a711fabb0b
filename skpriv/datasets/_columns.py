"""Find the kind of each column of a table, and the columns without information."""

import re
from dataclasses import dataclass, replace

import numpy as np

from skpriv.datasets._errors import TableError
from skpriv.datasets._notes import Note
from skpriv.utils._optional import import_optional

MAX_CATEGORIES = 50
MISSING = "(missing)"

# Squares of larger numbers overflow when they are scaled.
_LARGEST_NUMBER = 1e150
_LARGEST_EXACT = 2**53
# In fewer records, values that all differ are no sign of an identifier.
_FEWEST_FOR_IDENTIFIER = 10
_IDENTIFIER_NAME = re.compile(r"(^|[\W_])(id|uuid|guid|index)$|^unnamed: 0$", re.I)
# Where nearly all of so many records have a whole number of their own, and numbers are
# this large, they may be identifiers; so may those in columns of such names.
_FEWEST_FOR_SUSPICION = 20
_NEARLY_ALL = 0.95
_LARGE = 1000
_SUSPICIOUS_NAME = re.compile(
    r"(^|[\W_])(id|ids|no|nr|num|number|phone|telephone|tel|mobile|fax|ssn|nino|iban|"
    r"account|acct|code|key|zip|zipcode|postcode|plz|passport|customer|patient|client)"
    r"($|[\W_])",
    re.I,
)
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


def describe_columns(table, *, keep=(), ids=()):
    """Tell the kind of every column, and why some are left out.

    Booleans and text are categories. Text in which every value is an ISO date
    ("2024-02-29", "2024-02-29 13:05:00+01:00") is a date, and so are durations. Left
    out are columns without information (constant, empty) and columns that identify the
    record instead of describing it: text that differs in more than half of the
    records and in more than 50 of them, and, from 10 records on, whole numbers that
    all differ and are consecutive or have a name such as "id". Whole numbers that
    floats cannot tell apart, above 2⁵³, are categories.

    Parameters
    ----------
    table : DataFrame of shape (n_records, n_columns)
    keep : sequence of str, default=()
        Columns that are used even if they are constant or look like identifiers.
    ids : sequence of str, default=()
        Columns that are identifiers.

    Returns
    -------
    columns : list of Column

    Raises
    ------
    TableError
        If a number is infinite or too large to be scaled.
    """
    table = table.reset_index(drop=True)
    columns = [_describe(table[name]) for name in table.columns]
    reasons = dict.fromkeys(ids, "identifier")
    for column in columns:
        if column.name in keep and column.left_out != "empty":
            reasons[column.name] = None
    return [
        replace(column, left_out=reasons.get(column.name, column.left_out))
        for column in columns
    ]


def notes_of_columns(table, columns, ids=()):
    """Say which columns are left out, and which of the others may be identifiers.

    Parameters
    ----------
    table : DataFrame of shape (n_records, n_columns)
    columns : list of Column
        What `describe_columns` returned.
    ids : sequence of str, default=()
        Columns that are known to be identifiers.

    Returns
    -------
    notes : list of Note
    """
    notes = []
    for column in columns:
        if column.name in ids:
            continue
        if column.left_out == "empty":
            notes.append(Note(column.name, "left out, as it is empty", ""))
        elif column.left_out == "constant":
            reason = "left out, as all its values are the same"
            notes.append(Note(column.name, reason, "--keep COL"))
        elif column.left_out is not None:
            reason = "left out, as it seems to identify the records"
            notes.append(Note(column.name, reason, "--keep COL"))
        elif _may_name_record(column, table[column.name]):
            reason = (
                f"used as a number, but its {column.n_distinct:,} different whole "
                "numbers may identify the records"
            )
            notes.append(Note(column.name, reason, "--id COL"))
    return notes


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
    if kind == "number":
        n_distinct = int(values.nunique())
        values = finite_numbers(column.name, values)
        if abs(values).max() >= _LARGEST_EXACT and values.nunique() < n_distinct:
            kind, values = "category", column.dropna()
    if kind == "category":
        values = values.astype(object).map(str)
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
    return bool(counts_through or _IDENTIFIER_NAME.search(str(column.name)))


def _may_name_record(column, values):
    if column.kind != "number":
        return False
    known = values.dropna().astype(float)
    if len(known) < _FEWEST_FOR_SUSPICION or (known % 1 != 0).any():
        return False
    if column.n_distinct >= _NEARLY_ALL * len(known):
        return bool(known.abs().median() >= _LARGE or _has_such_name(column.name))
    return column.n_distinct > MAX_CATEGORIES and _has_such_name(column.name)


def _has_such_name(name):
    return bool(_SUSPICIOUS_NAME.search(str(name)))
