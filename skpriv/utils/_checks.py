"""Checks of parameters that scikit-learn has no constraint for."""

import numpy as np


def check_rates(values, name):
    """Check that a parameter is one or more numbers between 0 and 1.

    Parameters
    ----------
    values : object
    name : str
        Name of the parameter.

    Returns
    -------
    rates : ndarray of shape (n_rates,), dtype float64

    Raises
    ------
    ValueError
        If it is anything else.
    """
    try:
        rates = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        rates = np.empty(0)
    if rates.ndim != 1 or not rates.size or not ((rates >= 0) & (rates <= 1)).all():
        raise ValueError(
            f"{name} must be one or more numbers between 0 and 1; it is {values!r}."
        )
    return rates


def check_scale(values, name):
    """Check that the squares of some numbers neither overflow nor vanish.

    Parameters
    ----------
    values : ndarray of any shape
    name : str
        Name of the parameter.

    Raises
    ------
    ValueError
        If the largest absolute value is neither 0 nor between 1e-100 and 1e100.
    """
    largest = float(np.abs(values).max(initial=0.0))
    if largest and not 1e-100 <= largest <= 1e100:
        raise ValueError(
            f"{name} must have a largest absolute value between 1e-100 and 1e100, or "
            f"all zeros, so that its squares neither overflow nor become 0; got "
            f"{largest:.3g}. Multiply it by a constant."
        )


def check_rows_can_be_read(X):
    """Check that features are not of a kind that would be read as something else.

    Parameters
    ----------
    X : object

    Raises
    ------
    ValueError
        If values are masked: scikit-learn reads them as if they were not.
    TypeError
        If `X` is a query that has not been run.
    """
    check_not_masked(X, "X")
    if type(X).__name__ == "LazyFrame" and hasattr(X, "collect"):
        raise TypeError("X is a LazyFrame, which holds no rows yet; pass X.collect().")


def check_not_masked(values, name):
    """Check that no value of an array is masked.

    Parameters
    ----------
    values : object
    name : str
        Name of the parameter.

    Raises
    ------
    ValueError
        If one is.
    """
    if isinstance(values, np.ma.MaskedArray) and (masked := np.ma.count_masked(values)):
        raise ValueError(
            f"{name} must have no masked values, but {masked} of {values.size} are "
            f"masked, and would be read as if they were not; fill them by "
            f"{name}.filled(...), or leave out their rows."
        )


def check_no_dates(X):
    """Check that a frame has no columns of dates, times or durations.

    Parameters
    ----------
    X : object
        Anything but a frame is left to other checks.

    Raises
    ------
    TypeError
        If it has some.
    """
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
    dates = [
        column
        for column, dtype in zip(X.columns, X.dtypes, strict=True)
        if getattr(dtype, "kind", "") in ("m", "M")
        or str(dtype).startswith(("Date", "Time", "Duration"))
    ]
    if dates:
        raise TypeError(
            f"X must have columns of numbers only, but {dates} are dates, times or "
            "durations; turn them into numbers, such as days since a date."
        )
