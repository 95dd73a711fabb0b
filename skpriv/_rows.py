"""Rows of any kind: selected by position, and compared by their values.

Attacks pass rows to the model as they are, whatever it takes: arrays, sparse matrices,
DataFrames, texts, or the containers of skorch. Numbers are made of them only to tell
which row is which record.
"""

import datetime
import math
from collections.abc import Mapping
from numbers import Integral, Number, Real

import joblib
import numpy as np
import scipy.sparse as sp

from skpriv.utils._optional import import_optional
from skpriv.utils._text import count

_UNKNOWN, _MISSING = -1, -2
# Objects of these types are equal if their values are. Others may be equal only to
# themselves, and are compared by their content.
_EQUAL_BY_VALUE = (
    str,
    bytes,
    Number,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    np.generic,
)
# Beyond this a float64 does not tell integers apart.
_LARGEST_EXACT = 2**53


def as_rows(X):
    """Return `X` in a form whose rows can be picked.

    Parameters
    ----------
    X : array-like, sparse matrix, DataFrame, Series, or object with ``shape``
        A list may hold texts, dicts or whatever else the model takes.

    Returns
    -------
    X : {ndarray, CSR matrix, DataFrame} or `X` itself
        Its first axis has one entry per row.
    """
    if sp.issparse(X):
        return X.tocsr()
    if hasattr(X, "shape"):
        return X
    if _is_torch_dataset(X):
        return import_optional("skorch.helper", extra="torch").SliceDataset(X)
    try:
        return np.asarray(X)
    except ValueError:  # lists of several lengths
        rows = np.empty(len(X), dtype=object)
        rows[:] = list(X)
        return rows


def _is_torch_dataset(X):
    return any(
        kind.__module__.startswith("torch.utils.data") for kind in type(X).__mro__
    )


class RowEncoder:
    """Turn rows into numbers that are equal just where the rows are.

    Numbers stay as they are, so that rounding can be tolerated. Any other value is
    numbered by its first occurrence in ``fit``.
    """

    def fit(self, X):
        """Learn the values of each column.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_records, ...)

        Returns
        -------
        self : RowEncoder
        """
        self._codes = None
        if not _all_numbers(X):
            self._codes = [_code_values(column) for column in _columns(X)]
        return self

    def transform(self, X):
        """Encode rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, ...)
            Of the form that was passed to ``fit``.

        Returns
        -------
        rows : {ndarray, CSR matrix} of shape (n_rows, n_columns)
            A value that no record has in its column is -1 there, and a missing one
            that is no NaN is -2.
        """
        if sp.issparse(X):
            return sp.csr_array(X)
        if self._codes is None and _all_numbers(X):
            rows = np.asarray(X)
            rows = rows if rows.dtype == np.float32 else rows.astype(np.float64)
            return rows.reshape(len(rows), math.prod(rows.shape[1:]))
        columns = _columns(X)
        codes = [None] * len(columns) if self._codes is None else self._codes
        if len(columns) != len(codes):
            raise ValueError(
                f"X has {count(len(columns), 'column')}, but it had {len(codes)} in "
                "fit."
            )
        return np.column_stack(
            [
                column.astype(np.float64)
                if code is None
                else _encode(column, code).astype(np.float64)
                for column, code in zip(columns, codes, strict=True)
            ]
        )


def _all_numbers(X):
    if sp.issparse(X):
        return True
    return (
        isinstance(X, np.ndarray)
        and X.dtype.kind in "biuf"
        and not _has_large_integers(X)
    )


def _has_columns(X):
    return hasattr(X, "columns") or isinstance(X, Mapping)


def _columns(X):
    """Return the columns of rows as arrays, of numbers or of objects."""
    if _has_columns(X):
        names = X.columns if hasattr(X, "columns") else X
        return [
            part for name in names for part in _columns_of_array(np.asarray(X[name]))
        ]
    if hasattr(X, "__array__"):
        return _columns_of_array(np.asarray(X))
    return _columns_of_items([X[i] for i in range(len(X))])


def _columns_of_array(array):
    columns = array.reshape(len(array), math.prod(array.shape[1:])).T
    return [_as_numbers(column) for column in columns]


def _columns_of_items(items):
    """Columns of rows that are arrays, if they have one shape, else of objects."""
    try:
        return _columns_of_array(np.stack([np.asarray(item) for item in items]))
    except (TypeError, ValueError):
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return [array]


def _as_numbers(column):
    """Return a column of numbers, NaN where they are missing, or the column itself."""
    if column.dtype.kind != "O":
        return column
    values = [np.nan if _is_missing(value) else value for value in column]
    if not all(isinstance(value, Real) for value in values):
        return column
    if any(isinstance(v, Integral) and abs(v) > _LARGEST_EXACT for v in values):
        return column
    return np.array(values, dtype=np.float64)


def _has_large_integers(array):
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or not array.size:
        return False
    return max(-int(array.min()), int(array.max())) > _LARGEST_EXACT


def _is_missing(value):
    """Whether a value is None, NaN, or the NA or NaT of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and value != value


def _code_values(column):
    """Return the number of each value in a column; None if it holds numbers."""
    if column.dtype.kind in "biuf" and not _has_large_integers(column):
        return None
    codes = {}
    for key in _keys(column):
        codes.setdefault(key, len(codes))
    return codes


def _encode(column, codes):
    return np.array(
        [_MISSING if key is None else codes.get(key, _UNKNOWN) for key in _keys(column)]
    )


def _keys(column):
    """Yield what each value of a column is compared by; None if it is missing."""
    if column.dtype.kind in "mM":
        column = column.astype(f"{column.dtype.kind}8[ns]").astype(np.int64)
    for value in column.tolist():
        if _is_missing(value):
            yield None
        elif isinstance(value, _EQUAL_BY_VALUE):
            yield value
        else:
            yield joblib.hash(value)
