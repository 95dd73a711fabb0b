"""What is audited: the records as the model takes them, and as people know them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_consistent_length, column_or_1d

from skpriv._rows import as_rows
from skpriv.datasets import Column, Note, TableError, describe_columns
from skpriv.utils._optional import import_optional

MISSING = "(missing)"
# With more columns, some value of nearly every record is rare by chance.
_MOST_COLUMNS = 300
_MOST_GROUPS = 200
# A column of more different numbers than this is cut into groups of like size.
_MOST_NUMBERS, _N_BANDS = 20, 5
_LARGEST_NUMBER = 1e150


@dataclass(frozen=True)
class Subject:
    """Records, and what is known of them.

    Attributes
    ----------
    X : {ndarray, sparse matrix, DataFrame} of shape (n_records, ...)
        As the model takes them.
    y : ndarray of shape (n_records,)
        The labels as the model takes them.
    labels : ndarray of shape (n_records,)
        The labels as people know them.
    index : ndarray of shape (n_records,)
        The name of each row.
    frame : DataFrame of shape (n_records, n_columns) or None
        The columns as people know them; None for texts, images and sparse matrices.
    columns : list of Column
        What is known of the columns of `frame`.
    features : ndarray of shape (n_records, n_features) or None
        Numbers on a common scale, on which records can be compared, if they are known.
    ids : list of str or None
    groups : dict of str to ndarray of shape (n_records,)
        For each column, the group of each record.
    label : str or None
        The name of the label.
    source : str
        Where the records are from.
    notes : list of Note
        What should be checked.
    data_hash : str or None
        None: that of the rows is computed.
    encode : callable or None
        Makes `X` of `frame`. None: `X` has the columns of `frame`.
    """

    X: Any
    y: np.ndarray
    labels: np.ndarray
    index: np.ndarray
    frame: Any = None
    columns: list[Column] = field(default_factory=list)
    features: np.ndarray | None = None
    ids: list[str] | None = None
    groups: dict[str, np.ndarray] = field(default_factory=dict)
    label: str | None = None
    source: str = "data given in Python"
    notes: list[Note] = field(default_factory=list)
    data_hash: str | None = None
    encode: Callable | None = None

    def __len__(self):
        return len(self.y)


def make_subject(X, y, *, groups=None, ids=None):
    """Describe records that were given in Python.

    Parameters
    ----------
    X : array-like, sparse matrix, DataFrame or list of texts
    y : array-like of shape (n_records,)
    groups : str, list of str, dict, DataFrame or array-like, default=None
    ids : str or array-like of shape (n_records,), default=None

    Returns
    -------
    subject : Subject

    Raises
    ------
    ValueError
        If the lengths differ, or a column does not exist.
    """
    label = getattr(y, "name", None)
    if y is None:
        raise ValueError("y must hold the labels of the records; got None.")
    index = getattr(X, "index", None)
    X, y = as_rows(X), column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    frame = frame_of(X)
    columns = known_columns(frame)
    named = None if ids is None else _one_per_record(ids, "ids", frame, len(y))
    is_index = hasattr(index, "to_numpy")
    return Subject(
        X=X,
        y=y,
        labels=y,
        index=index.to_numpy() if is_index else np.arange(len(y)),
        frame=frame,
        columns=columns,
        ids=None if named is None else [str(name) for name in named],
        groups=make_groups(groups, frame, len(y)),
        label=None if label is None else str(label),
    )


def frame_of(X):
    """Return rows as a DataFrame of pandas, if they have columns.

    Parameters
    ----------
    X : {ndarray, sparse matrix, DataFrame} or other rows

    Returns
    -------
    frame : DataFrame or None
        With names of columns that are texts and all differ, and the rows numbered.
    """
    pandas = import_optional("pandas", extra="report")
    if isinstance(X, pandas.DataFrame):
        frame = X.reset_index(drop=True)
    elif hasattr(X, "columns") and not sp.issparse(X):
        frame = pandas.DataFrame({name: np.asarray(X[name]) for name in X.columns})
    elif isinstance(X, np.ndarray) and X.ndim == 2:
        frame = pandas.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    else:
        return None
    frame.columns = _distinct([str(name) for name in frame.columns])
    return frame


def _distinct(names):
    seen, result = {}, []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result


def known_columns(frame):
    """Describe the columns whose values may be rare.

    Parameters
    ----------
    frame : DataFrame or None

    Returns
    -------
    columns : list of Column
        Empty if there are too many.
    """
    if frame is None or frame.shape[1] > _MOST_COLUMNS:
        return []
    columns = []
    for name in frame.columns:
        try:
            columns += describe_columns(usable(frame[[name]]))
        except (TableError, TypeError):  # values that cannot be compared
            continue
    return columns


def usable(frame):
    """Take numbers that are infinite, or too large to be scaled, for missing ones.

    Parameters
    ----------
    frame : DataFrame

    Returns
    -------
    frame : DataFrame
    """
    numbers = frame.select_dtypes("number").astype(float)
    too_large = numbers.abs() > _LARGEST_NUMBER
    if not too_large.to_numpy().any():
        return frame
    return frame.assign(**numbers.mask(too_large))


def make_groups(groups, frame, n_records):
    """Return the group of each record, for each column of groups.

    Parameters
    ----------
    groups : str, list of str, dict, DataFrame or array-like, or None
        Names of columns of `frame`; or a column; or columns by name.
    frame : DataFrame or None
    n_records : int

    Returns
    -------
    groups : dict of str to ndarray of shape (n_records,), dtype object
    """
    if groups is None:
        return {}
    if isinstance(groups, str):
        groups = [groups]
    if isinstance(groups, list | tuple) and all(isinstance(g, str) for g in groups):
        known = [] if frame is None else list(frame.columns)
        # A list of names that is as long as the data may be a column of them.
        if all(name in known for name in groups):
            groups = {name: frame[name] for name in groups}
        elif len(groups) != n_records:
            missing = next(name for name in groups if name not in known)
            raise ValueError(f"groups must name columns of X; it has no {missing!r}.")
    if hasattr(groups, "columns"):
        groups = {name: groups[name] for name in groups.columns}
    if not isinstance(groups, Mapping):
        groups = {getattr(groups, "name", None) or "group": groups}
    return {
        str(name): _group_names(values, str(name), n_records)
        for name, values in groups.items()
    }


def _group_names(values, name, n_records):
    pandas = import_optional("pandas", extra="report")
    values = np.asarray(values)
    if values.shape != (n_records,):
        raise ValueError(
            f"groups[{name!r}] must have shape ({n_records},), one group per record; "
            f"got {values.shape}."
        )
    column = pandas.Series(values)
    is_number = pandas.api.types.is_numeric_dtype(column) and column.dtype != bool
    if is_number and column.nunique() > _MOST_NUMBERS:
        column = _in_bands(column)
    names = column.astype(object).map(_name_of_group).where(column.notna(), MISSING)
    if names.nunique() > _MOST_GROUPS:
        raise ValueError(
            f"groups[{name!r}] must have at most {_MOST_GROUPS} different groups; got "
            f"{names.nunique():,}."
        )
    return names.to_numpy(dtype=object)


def _in_bands(column):
    """Cut numbers into bands of like size, named by their smallest and largest."""
    pandas = import_optional("pandas", extra="report")
    codes = pandas.qcut(column, _N_BANDS, labels=False, duplicates="drop")
    ends = column.groupby(codes).agg(["min", "max"])
    names = {c: f"{low:.6g} to {high:.6g}" for c, low, high in ends.itertuples()}
    return codes.map(names)


def _name_of_group(value):
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _one_per_record(values, name, frame, n_records):
    if isinstance(values, str):
        if frame is None or values not in frame.columns:
            raise ValueError(f"{name} must name a column of X; it has no {values!r}.")
        values = frame[values]
    values = np.asarray(values)
    if values.shape != (n_records,):
        raise ValueError(
            f"{name} must have shape ({n_records},), one per record; got "
            f"{values.shape}."
        )
    return values.tolist()
