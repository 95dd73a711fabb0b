"""The records that early stopping holds out of training."""

from numbers import Integral

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import check_random_state

_LARGEST_SEED = np.iinfo(np.int32).max


def holds_out(model):
    """Tell whether a model holds records out of training.

    Parameters
    ----------
    model : estimator

    Returns
    -------
    holds_out : bool
    """
    return bool(getattr(model, "early_stopping", False))


def remember_split(model):
    """Make sure that the records that a model will hold out can be told afterwards.

    Parameters
    ----------
    model : estimator
        Not fitted. If it holds records out, and its random state is no integer, it is
        given one that is drawn from there.
    """
    if holds_out(model) and not isinstance(model.random_state, Integral):
        random_state = check_random_state(model.random_state)
        model.random_state = int(random_state.randint(_LARGEST_SEED))


def held_out(model, y):
    """Tell which records a model of stochastic gradient descent held out.

    Parameters
    ----------
    model : SGDClassifier or SGDRegressor
    y : ndarray of shape (n_records,)
        The labels that it was fitted on.

    Returns
    -------
    mask : ndarray of bool, of shape (n_records,)

    Raises
    ------
    ValueError
        If that is not known.
    """
    mask = np.zeros(len(y), dtype=bool)
    if not holds_out(model):
        return mask
    if not isinstance(model.random_state, Integral):
        raise ValueError(
            f"estimator is a fitted {type(model).__name__} with early_stopping=True, "
            "which held records out of training, and random_state="
            f"{model.random_state!r}, from which these cannot be found; random_state "
            "must be an integer, or early_stopping False."
        )
    splitter = StratifiedShuffleSplit if is_classifier(model) else ShuffleSplit
    split = splitter(
        test_size=model.validation_fraction, random_state=model.random_state
    )
    _, validation = next(split.split(np.zeros((len(y), 1)), y))
    mask[validation] = True
    return mask
