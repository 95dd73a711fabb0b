"""Train copies of an estimator, with every random state seeded."""

import sys
from contextlib import contextmanager
from functools import wraps

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from skpriv.utils._sklearn import set_random_states

_LARGEST_SEED = np.iinfo(np.int32).max


def draw_seeds(n_seeds, random_state):
    """Draw one seed per model, so that no model depends on the others' order.

    Parameters
    ----------
    n_seeds : int
    random_state : RandomState instance

    Returns
    -------
    seeds : list of int
    """
    return [int(seed) for seed in random_state.randint(_LARGEST_SEED, size=n_seeds)]


def fit_clone(estimator, X, y, *, seed=None, **fit_params):
    """Fit a copy of an estimator.

    Parameters
    ----------
    estimator : estimator
    X, y
        The rows to train on, and their labels.
    seed : int, default=None
        Seed of all random states in the copy, and of torch. None leaves them as they
        are.
    **fit_params
        Passed to ``fit``.

    Returns
    -------
    fitted : estimator

    Raises
    ------
    ValueError
        If the copy has a network that would not be trained from scratch; see
        `check_untrained`.
    """
    check_untrained(estimator)
    with seeded_torch(seed):
        return seeded_clone(estimator, seed).fit(X, y, **fit_params)


def seeded_clone(estimator, seed):
    """Copy an estimator, and seed all of its random states.

    Parameters
    ----------
    estimator : estimator
    seed : int or None
        None leaves the random states as they are.

    Returns
    -------
    copy : estimator
        Not fitted.
    """
    copy = clone(estimator)
    if seed is not None:
        set_random_states(copy, np.random.RandomState(seed))
    return copy


@contextmanager
def seeded_torch(seed):
    """Seed torch, whose networks have no random state, and restore it afterwards.

    Parameters
    ----------
    seed : int or None
        Nothing is done if it is None, or if torch has not been imported: then no
        network can draw from it.
    """
    torch = sys.modules.get("torch")
    if torch is None or seed is None:
        yield
        return
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


@contextmanager
def recorded_rows(model):
    """Record the rows that a model is fitted on.

    Within a Pipeline these are not known otherwise: they come from ``fit_transform`` of
    the steps before it, which may differ from ``transform``.

    Parameters
    ----------
    model : estimator
        Its ``fit`` is replaced until the context is left.

    Yields
    ------
    rows : list
        The rows of each call of ``fit``.
    """
    rows, fit = [], model.fit

    @wraps(fit)
    def recording_fit(X, *args, **kwargs):
        rows.append(X)
        return fit(X, *args, **kwargs)

    model.fit = recording_fit
    try:
        yield rows
    finally:
        del model.fit


def check_untrained(estimator):
    """Raise if copies of an estimator would not be trained from scratch.

    skorch trains a module object in place, and its copies keep the weights. A copy
    would then know records that it must not have seen.

    Parameters
    ----------
    estimator : estimator
        To be copied and fitted on a part of the records.

    Raises
    ------
    ValueError
        If it has an initialized network whose module was given as an object.
    """
    torch = sys.modules.get("torch")
    if torch is None or isinstance(estimator, FrozenEstimator):
        return
    parts = {"": estimator, **estimator.get_params(deep=True)}
    frozen = tuple(
        f"{name}__" for name, part in parts.items() if isinstance(part, FrozenEstimator)
    )
    for name, part in parts.items():
        # A network that was loaded from a file has no history either.
        if getattr(part, "initialized_", False) and not name.startswith(frozen):
            module = part.module
            if isinstance(module, torch.nn.Module):
                raise ValueError(
                    f"estimator has a {type(part).__name__} whose module is an object "
                    "that is initialized already, so that every copy would start from "
                    "its weights; its module must be a class or a function that makes "
                    "a new one, or the network must not be initialized."
                )
