"""Tell whether a label column holds classes or a quantity, and turn it into numbers."""

import numpy as np

from skpriv.datasets._columns import finite_numbers
from skpriv.datasets._errors import TableError
from skpriv.datasets._notes import Note, count_records
from skpriv.utils._optional import import_optional

# More different numbers than this are taken for a quantity, not for classes.
_MOST_FRACTIONS = 20
_MOST_WHOLE_NUMBERS = 100
_SURELY_CLASSES = 5


def label_values(column, task=None):
    """Turn a label column into classes and their codes, or into a quantity.

    Numbers are a quantity where more than 100 of them differ (more than 20 if some
    are no whole numbers), or more than half of the records have one of their own.

    Parameters
    ----------
    column : Series of shape (n_records,)

    Returns
    -------
    values : ndarray of shape (n_records,), dtype intp or float64
        The class of each record, or the quantity.
    classes : list of str or None
        The names of the classes, in the order of their values; None: a quantity.

    Raises
    ------
    TableError
        If a label is missing, all are the same, or they are text of which more than
        half of the records have a value of their own.
    """
    types = import_optional("pandas", extra="report").api.types
    name = column.name
    missing = column.isna().to_numpy()
    if missing.any():
        raise TableError(
            f"label column {name!r} has no value in "
            f"{count_records(missing)}; every record needs a "
            "label"
        )
    is_number = types.is_numeric_dtype(column) and not types.is_bool_dtype(column)
    if is_number:
        values = finite_numbers(name, column.reset_index(drop=True)).to_numpy()
    else:
        values = column.astype(object).map(str).to_numpy(dtype=str)
    classes, codes = np.unique(values, return_inverse=True)
    if len(classes) == 1:
        raise TableError(
            f"label column {name!r} has one value only, {_name(classes[0])!r}; "
            "an audit needs at least two"
        )
    hardly_classes = len(classes) > max(2, len(column) / 2)
    if task == "regression" and not is_number:
        raise TableError(
            f"label column {name!r} holds text, {_name(classes[0])!r} for example; a "
            "quantity must be numbers"
        )
    if task is None and is_number:
        is_quantity = hardly_classes or len(classes) > _most_classes(classes)
        task = "regression" if is_quantity else "classification"
    if task == "regression":
        return values, None
    if hardly_classes:
        raise TableError(
            f"label column {name!r} has {len(classes)} different values in "
            f"{len(column)} records, which are hardly classes; name another column"
        )
    return codes.astype(np.intp), [_name(value) for value in classes]


def notes_of_label(column, classes):
    """Say how a label of numbers was taken, where it might be the other.

    Parameters
    ----------
    column : Series of shape (n_records,)
    classes : list of str or None
        As `label_values` returned them, without being told the task.

    Returns
    -------
    notes : list of Note
    """
    types = import_optional("pandas", extra="report").api.types
    if not types.is_numeric_dtype(column) or types.is_bool_dtype(column):
        return []
    n_distinct = column.nunique()
    if classes is None:
        if (column.astype(float) % 1 != 0).any() or n_distinct > len(column) / 2:
            return []
        reason = f"{n_distinct} different whole numbers are taken as a quantity"
        return [Note(column.name, reason, "--classes")]
    if n_distinct <= _SURELY_CLASSES:
        return []
    reason = f"{n_distinct} different numbers are taken as classes"
    return [Note(column.name, reason, "--quantity")]


def _most_classes(numbers):
    whole = bool((numbers % 1 == 0).all())
    return _MOST_WHOLE_NUMBERS if whole else _MOST_FRACTIONS


def _name(value):
    if isinstance(value, str):
        return str(value)
    return f"{value:.0f}" if value % 1 == 0 else repr(float(value))
