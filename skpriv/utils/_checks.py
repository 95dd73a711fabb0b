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
