"""Turn a label column into classes."""

import numpy as np

from skpriv.datasets._columns import finite_numbers
from skpriv.datasets._errors import TableError
from skpriv.utils._optional import import_optional

# More different numbers than this are taken for a quantity, not for classes.
_MOST_FRACTIONS = 20
_MOST_WHOLE_NUMBERS = 100


def class_codes(column):
    """Turn a label column into classes and their codes.

    Parameters
    ----------
    column : Series of shape (n_records,)

    Returns
    -------
    codes : ndarray of shape (n_records,), dtype intp
        The class of each record.
    classes : list of str
        The names of the classes, in the order of their values.

    Raises
    ------
    TableError
        If a label is missing, there is one class only, or the column is no set of
        classes: a quantity, or a value of its own for more than half of the records.
    """
    types = import_optional("pandas", extra="report").api.types
    name = column.name
    missing = column.isna().to_numpy()
    if missing.any():
        raise TableError(
            f"label column {name!r} has no value in {missing.sum()} records (the "
            f"first is record {missing.argmax() + 1}); every record needs a label"
        )
    is_number = types.is_numeric_dtype(column) and not types.is_bool_dtype(column)
    if is_number:
        values = finite_numbers(name, column.reset_index(drop=True)).to_numpy()
        _check_not_quantity(name, values)
    else:
        values = column.astype(object).map(str).to_numpy(dtype=str)
    classes, codes = np.unique(values, return_inverse=True)
    if len(classes) == 1:
        raise TableError(
            f"label column {name!r} has one class only, {_name(classes[0])!r}; "
            "an audit needs at least two"
        )
    if len(classes) > max(2, len(column) / 2):
        raise TableError(
            f"label column {name!r} has {len(classes)} different values in "
            f"{len(column)} records, which are hardly classes; name another column"
        )
    return codes.astype(np.intp), [_name(value) for value in classes]


def _check_not_quantity(name, values):
    n_distinct = len(np.unique(values))
    whole = bool((values % 1 == 0).all())
    if n_distinct > (_MOST_WHOLE_NUMBERS if whole else _MOST_FRACTIONS):
        raise TableError(
            f"label column {name!r} is a quantity ({n_distinct} different numbers), "
            "and an audit needs classes; cut it into a few ranges first, for example "
            "with pandas.cut"
        )


def _name(value):
    if isinstance(value, str):
        return str(value)
    return f"{value:.0f}" if value % 1 == 0 else repr(float(value))
