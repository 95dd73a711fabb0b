"""Convert columns of text to numbers, dates or booleans, according to their values."""

from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from skpriv.datasets._dates import has_day_first, read_dates
from skpriv.datasets._errors import TableError, check_column
from skpriv.datasets._notes import Note, count_records
from skpriv.datasets._numbers import may_be_codes, read_numbers, read_plain_numbers
from skpriv.datasets._text_notes import (
    note_blanks,
    note_codes,
    note_dates,
    note_missing,
    note_numbers,
    note_text,
)
from skpriv.datasets._texts import TextColumn
from skpriv.utils._optional import import_optional

_LARGEST_EXACT = 2**53
_FIRST_DAY, _LAST_DAY = 19000101, 21001231


def clean_table(
    table,
    *,
    label=None,
    decimal=None,
    day_first=None,
    missing=(),
    text=(),
    number=(),
    prefer=".",
):
    """Turn columns of text into numbers, dates and truth values, where they are such.

    Columns of other types stay as they are. In a column of numbers or dates, marks for
    a missing value ("?", "-", "unknown" and the like) become missing; in a column of
    text they stay, and only an empty cell is missing.

    Parameters
    ----------
    table : DataFrame of shape (n_records, n_columns)
    label : str, default=None
        The label column, in which marks may be classes.
    decimal : {".", ","}, default=None
        The decimal mark of columns in which it cannot be told from the mark for
        thousands. None: the one that the other columns have, else `prefer`.
    day_first : bool, default=None
        Whether the day stands before the month in columns that do not tell. None:
        as in the other columns, else where they are separated by dots.
    missing : sequence of str, default=()
        Texts that stand for a missing value in every column, the label included.
    text, number : sequence of str, default=()
        Columns to be taken as text, and as numbers.
    prefer : {".", ","}, default="."
        The decimal mark where neither `decimal` nor another column decides.

    Returns
    -------
    table : DataFrame of shape (n_records, n_columns)
        ``table.attrs["notes"]`` is a list of `Note`: what was decided, and the option
        that decides otherwise.

    Raises
    ------
    TableError
        If a column is not there, or one of `number` holds no number.
    """
    for name in (*text, *number, *([] if label is None else [label])):
        check_column(name, list(table.columns))
    pandas = import_optional("pandas", extra="report")
    records = table.reset_index(drop=True)
    roles = dict.fromkeys(text, "text") | dict.fromkeys(number, "number")
    roles.setdefault(label, "label")
    hints = _Hints(
        *(decimal, day_first, prefer, frozenset(missing)),
        decimal_is_given=decimal is not None,
        order_is_given=day_first is not None,
    )

    def read(name, hints):
        return _read(records[name], roles.get(name), hints)

    columns = {name: read(name, hints) for name in records.columns}
    hints = hints.completed([c for c in columns.values() if not c.is_unclear])
    for name, column in columns.items():
        if column.is_unclear:
            columns[name] = read(name, hints)
    values = {name: column.values.array for name, column in columns.items()}
    cleaned = pandas.DataFrame(values, index=table.index)
    cleaned.attrs["notes"] = [n for column in columns.values() for n in column.notes]
    return cleaned


@dataclass(frozen=True)
class _Hints:
    """What decides where a column does not."""

    decimal: str | None
    day_first: bool | None
    prefer: str
    missing: frozenset
    decimal_is_given: bool
    order_is_given: bool

    def completed(self, columns):
        decimals = {column.decimal for column in columns} - {None}
        orders = {column.day_first for column in columns} - {None}
        hints = self
        if self.decimal is None and len(decimals) == 1:
            hints = replace(hints, decimal=decimals.pop())
        if self.day_first is None and len(orders) == 1:
            hints = replace(hints, day_first=orders.pop())
        return hints

    def decimal_for(self, texts):
        if self.decimal is not None:
            return self.decimal
        if self.prefer == "." or any("," in text for text in texts):
            return self.prefer
        # Fixed decimals would show in whole numbers too: 5.900 beside 100 is 5900.
        return "," if any(text.strip().isdigit() for text in texts) else "."


@dataclass(frozen=True)
class _Cleaned:
    """A column, and what it tells about the others."""

    values: object
    notes: list = field(default_factory=list)
    decimal: str | None = None
    day_first: bool | None = None
    is_unclear: bool = False


def _read(column, role, hints):
    pandas = import_optional("pandas", extra="report")
    if pandas.api.types.is_object_dtype(column):
        if not column.map(lambda value: isinstance(value, str)).any():
            return _read_typed(column.infer_objects(), role, hints)
        kinds = {type(value) for value in column.dropna()}
        if datetime in kinds and kinds <= {datetime, str}:
            return _read_dates_and_texts(column, role, hints)
        column = column.map(_as_written, na_action="ignore").astype("str")
    if not isinstance(column.dtype, pandas.StringDtype):
        return _read_typed(column, role, hints)
    texts = column.astype("str")
    texts = texts.mask(texts.isin(hints.missing | {""}))
    blanks = []
    if role == "label":
        written, texts = texts, texts.mask(texts.str.isspace()).str.strip()
        blanks = note_blanks(written, texts)
    if role == "text" or texts.isna().all():
        return _Cleaned(texts)
    present = texts.dropna()
    plain = read_plain_numbers(present)
    if plain is not None:
        values = pandas.Series(plain.values, index=present.index, name=texts.name)
        cleaned = _Cleaned(values.reindex(texts.index), decimal=plain.decimal)
        return _read_days_of_digits(cleaned, role)
    if texts.isin(["True", "False"]).all():
        return _Cleaned(texts == "True")
    cleaned = _read_texts(TextColumn(texts, role), hints)
    return replace(cleaned, notes=blanks + cleaned.notes)


def _read_dates_and_texts(column, role, hints):
    """Dates of a sheet, some of which are text."""
    pandas = import_optional("pandas", extra="report")
    is_text = column.map(lambda value: isinstance(value, str))
    texts = _read(column.where(is_text), role, hints)
    if pandas.api.types.is_datetime64_dtype(texts.values):
        dates = column.mask(is_text).astype("datetime64[us]")
        return replace(texts, values=texts.values.fillna(dates))
    values = column.map(str, na_action="ignore").astype("str")
    if role == "text":
        return _Cleaned(values)
    where = count_records(column.notna().to_numpy() & ~is_text.to_numpy())
    notes = [Note(column.name, f"kept as text, though there are dates in {where}", "")]
    return _Cleaned(values, notes)


def _read_typed(column, role, hints):
    if hints.missing:
        is_missing = column.astype(object).map(_as_written).isin(hints.missing)
        column = column.mask(is_missing) if is_missing.any() else column
    return _read_days_of_digits(_Cleaned(column), role)


def _as_written(value):
    # A sheet shows 12.0 as 12.
    is_whole = isinstance(value, float) and value % 1 == 0
    return str(int(value)) if is_whole else str(value)


def _read_days_of_digits(cleaned, role):
    """Whole numbers that are all dates, as 20240131, as dates."""
    pandas = import_optional("pandas", extra="report")
    days = cleaned.values.dropna()
    is_number = pandas.api.types.is_numeric_dtype(days) and days.dtype.kind in "iuf"
    if role is not None or not is_number:
        return cleaned
    if days.min() < _FIRST_DAY or days.max() > _LAST_DAY or days.nunique() <= 2:
        return cleaned
    # A column with missing values is one of floats.
    if (days % 1 != 0).any():
        return cleaned
    texts = days.astype("int64").astype(str)
    dates = pandas.to_datetime(texts, format="%Y%m%d", errors="coerce")
    if dates.isna().any():
        return cleaned
    notes = note_dates(days.name, "%Y%m%d", is_unclear=False)
    return _Cleaned(dates.reindex(cleaned.values.index), notes)


def _read_texts(column, hints):
    if column.candidates:
        for read in (_read_as_numbers, _read_as_dates):
            cleaned = read(column, hints)
            if cleaned is not None:
                return cleaned
    if column.role == "number":
        raise TableError(f"column {column.name!r} holds no number")
    return _Cleaned(column.texts, note_text(column))


def _read_as_numbers(column, hints):
    pandas = import_optional("pandas", extra="report")
    numbers = read_numbers(column.candidates, hints.decimal_for(column.candidates))
    known = numbers.known
    if not column.fit(known, len(np.unique(numbers.values[known]))):
        return None
    texts = column.counts.index.to_series()
    if column.role != "number" and may_be_codes(texts, numbers.values):
        return _Cleaned(column.texts, note_codes(column))
    values = pandas.Series(numbers.values, index=column.counts.index)
    values = column.texts.map(values).astype(float)
    if ((values % 1 == 0) & (values.abs() < _LARGEST_EXACT)).all():
        values = values.astype("int64")
    if not (numbers.grouping or numbers.unit):
        days = _read_days_of_digits(_Cleaned(values), column.role)
        if days.notes:
            notes = note_missing(column, column.slips(known), "date")
            return _Cleaned(days.values, days.notes + notes)
    points = hints.prefer == "."
    notes = note_numbers(column, numbers, hints.decimal_is_given, points)
    notes += note_missing(column, column.slips(known), "number")
    decimal = None if numbers.is_unclear else numbers.decimal
    return _Cleaned(values, notes, decimal, is_unclear=numbers.is_unclear)


def _read_as_dates(column, hints):
    pandas = import_optional("pandas", extra="report")
    if column.role is not None:
        return None
    if not column.fit(column.counts.index.str.contains("[0-9]"), np.inf):
        return None
    dates, form, other = read_dates(pandas.Series(column.candidates), hints.day_first)
    known = dates.notna().to_numpy()
    if not known.any() or not column.fit(known, dates.nunique()):
        return None
    dates.index = column.counts.index
    values = column.texts.map(dates)
    is_unclear = other is not None
    notes = note_dates(column.name, form, is_unclear and not hints.order_is_given)
    notes += note_missing(column, column.slips(known), "date")
    order = None if is_unclear else has_day_first(form)
    return _Cleaned(values, notes, day_first=order, is_unclear=is_unclear)
