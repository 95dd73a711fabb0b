"""Encode a table's columns as features for a model that measures distances."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from skpriv.datasets._columns import (
    MAX_CATEGORIES,
    MISSING,
    Column,
    describe_columns,
    notes_of_columns,
)
from skpriv.datasets._errors import TableError, check_column
from skpriv.datasets._label import label_values, notes_of_label
from skpriv.datasets._notes import Note
from skpriv.utils._optional import import_optional


@dataclass(frozen=True)
class EncodedTable:
    """A table as a model sees it.

    Attributes
    ----------
    X : ndarray of shape (n_records, n_features), dtype float64
    y : ndarray of shape (n_records,), dtype intp or float64
        The class of each record, a place in `classes`, or the quantity.
    classes : list of str or None
        Their names; None if the label is a quantity.
    label : str
        The name of the label column.
    columns : list of Column
        The other columns, including those that are left out, but not those dropped.
    encoder : ColumnTransformer
        Fitted; turns another table with these columns into features.
    notes : list of Note
        What was decided about the columns, for a person to check.
    ids : list of str or None
        What identifies each record: the values of the first column of `ids`.
    frame : DataFrame or None
        The table before it was encoded.
    """

    X: np.ndarray
    y: np.ndarray
    classes: list[str] | None
    label: str
    columns: list[Column]
    encoder: ColumnTransformer
    notes: list[Note] = field(default_factory=list)
    ids: list[str] | None = None
    frame: Any = None

    @property
    def task(self):
        """The task that the label implies: "classification" or "regression"."""
        return "regression" if self.classes is None else "classification"


def encode_table(table, label, drop=(), *, ids=(), keep=(), task=None):
    """Split a table into encoded features and labels.

    Parameters
    ----------
    table : DataFrame of shape (n_records, n_columns)
    label : str
        The column of the classes, or of a quantity.
    drop : sequence of str, default=()
        Columns to leave out.
    ids : sequence of str, default=()
        Columns that identify the records, which are left out. The report refers to the
        records by the first of them.
    keep : sequence of str, default=()
        Columns to use even if they are constant or look like identifiers.
    task : {"classification", "regression"}, default=None
        Whether the label holds classes or a quantity. None: decided by its values.

    Returns
    -------
    encoded : EncodedTable
        Its notes begin with those of `read_table`, in ``table.attrs["notes"]``.

    Raises
    ------
    TableError
        If a column does not exist, the label column cannot be used as a label, or no
        other column can be used as a feature.
    """
    names = list(table.columns)
    for name in (label, *drop, *ids, *keep):
        check_column(name, names)
    for name in (*drop, *ids):
        if name == label:
            raise TableError(f"the label column {label!r} cannot be left out")
        if name in keep:
            raise TableError(f"column {name!r} cannot be both kept and left out")
    y, classes = label_values(table[label], task)
    features = table.drop(columns=[label, *drop])
    columns = describe_columns(features, keep=keep, ids=ids)
    used = [column for column in columns if column.left_out is None]
    if not used:
        why = ", ".join(f"{column.name!r} is {column.left_out}" for column in columns)
        raise TableError(
            f"no column but the label {label!r} can be used" + (why and f": {why}")
        )
    encoder = table_encoder(columns)
    X = encoder.fit_transform(features)
    notes = [n for n in table.attrs.get("notes", []) if n.column not in {*drop, *ids}]
    notes += notes_of_columns(features, columns, ids)
    notes += notes_of_label(table[label], classes) if task is None else []
    named = table[ids[0]].astype(object).map(str).tolist() if ids else None
    return EncodedTable(X, y, classes, label, columns, encoder, notes, named, table)


def table_encoder(columns):
    """Return an encoder for a table with these columns.

    Numbers and dates are scaled to zero mean and unit variance. Where one is missing
    it takes the median, and a feature of 0 and 1 says so. A category becomes one
    feature of 0 and 1 for each value, "missing" being a value; of more than 50 values
    the 49 most frequent have one each and the others share one. A value that comes up
    after fitting is one of the others, or, where there are none, 0 in all features.

    Parameters
    ----------
    columns : sequence of Column

    Returns
    -------
    encoder : ColumnTransformer
        Not fitted. It takes a DataFrame and returns float64 features.
    """
    numbers = make_pipeline(_converter(_as_numbers), *_scale_and_impute())
    dates = make_pipeline(_converter(_as_days), *_scale_and_impute())
    categories = make_pipeline(
        _converter(_as_text),
        OneHotEncoder(
            max_categories=MAX_CATEGORIES,
            handle_unknown="infrequent_if_exist",
            sparse_output=False,
        ),
    )
    by_kind = {"number": numbers, "date": dates, "category": categories}
    parts = []
    for kind, part in by_kind.items():
        names = [c.name for c in columns if c.kind == kind and c.left_out is None]
        if names:
            parts.append((kind, part, names))
    return ColumnTransformer(parts, sparse_threshold=0, verbose_feature_names_out=False)


def _converter(function):
    return FunctionTransformer(function, feature_names_out="one-to-one")


def _scale_and_impute():
    # Scaled first, because scaling would make the rare 1 of an indicator very large.
    return StandardScaler(), SimpleImputer(strategy="median", add_indicator=True)


def _as_numbers(table):
    return table.astype(float)


def _as_days(table):
    pandas = import_optional("pandas", extra="report")
    day = pandas.Timedelta(days=1)
    # Nanoseconds, finer than any use here, would end in the year 2262.
    start = pandas.Timestamp("1970-01-01", tz="UTC").as_unit("us")

    def days(column):
        if pandas.api.types.is_timedelta64_dtype(column):
            return column / day
        dates = pandas.to_datetime(column, utc=True, format="ISO8601")
        return (dates.dt.as_unit("us") - start) / day

    return table.apply(days)


def _as_text(table):
    text = table.apply(lambda column: column.astype(object).map(str))
    return text.astype(object).mask(table.isna(), MISSING)
