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
