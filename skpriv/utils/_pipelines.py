"""Pipelines: the model at the end, what stands before it, and its fit parameters."""

from typing import NamedTuple

from sklearn import get_config
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline


class Parts(NamedTuple):
    """An estimator, split into its parts.

    Attributes
    ----------
    transformers : list of Pipeline
        To be applied in turn. Empty for a model with nothing before it.
    model : estimator
        Neither a Pipeline nor a `FrozenEstimator`.
    frozen : bool
        Whether the model is in a `FrozenEstimator`.
    """

    transformers: list
    model: object
    frozen: bool


def parts_of(estimator):
    """Split an estimator into its transformers and the model at the end.

    Parameters
    ----------
    estimator : estimator
        A model, a Pipeline that ends in one, or either in a `FrozenEstimator`.

    Returns
    -------
    parts : Parts
    """
    transformers, frozen = [], False
    while isinstance(estimator, Pipeline | FrozenEstimator):
        if isinstance(estimator, FrozenEstimator):
            estimator, frozen = estimator.estimator, True
            continue
        if len(estimator.steps) > 1:
            transformers.append(estimator[:-1])
        estimator = estimator.steps[-1][1]
    return Parts(transformers, estimator, frozen)


def last_step(estimator):
    """Return the estimator at the end of nested Pipelines, frozen if it is so.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    last : estimator
        `estimator` itself if it is no Pipeline.
    """
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def transform_before_last(estimator, X):
    """Return rows as the last step of nested, fitted Pipelines sees them.

    Parameters
    ----------
    estimator : estimator
    X : array-like, sparse matrix or DataFrame

    Returns
    -------
    X : array-like, sparse matrix or DataFrame
        `X` itself if `estimator` is no Pipeline.
    """
    while isinstance(estimator, Pipeline):
        if len(estimator.steps) > 1:
            X = estimator[:-1].transform(X)
        estimator = estimator.steps[-1][1]
    return X


def score_rows(estimator, X, y):
    """Score rows with their labels, which a Pipeline would not pass on.

    Parameters
    ----------
    estimator : estimator
        A fitted scorer, or a Pipeline that ends in one.
    X : array-like, sparse matrix or DataFrame
    y : array-like

    Returns
    -------
    scores : ndarray of shape (n_samples,)
    """
    X = transform_before_last(estimator, X)
    return last_step(estimator).score_samples(X, y)


def replace_last_step(estimator, change):
    """Copy an estimator with the end of its Pipelines changed.

    Parameters
    ----------
    estimator : estimator
    change : callable
        Takes the last step, and returns the estimator to put in its place.

    Returns
    -------
    copy : estimator
        ``change(estimator)`` if `estimator` is no Pipeline.
    """
    if not isinstance(estimator, Pipeline):
        return change(estimator)
    name, last = estimator.steps[-1]
    return clone(estimator).set_params(**{name: replace_last_step(last, change)})


def fit_params_of_last_step(estimator, **params):
    """Name parameters of ``fit`` so that they reach the last step of Pipelines.

    Parameters
    ----------
    estimator : estimator
    **params
        Parameters of the last step's ``fit``. Those that are None are left out.

    Returns
    -------
    params : dict
        Prefixed by the names of the steps, unless metadata routing is enabled, which
        finds the way by itself.
    """
    params = {name: value for name, value in params.items() if value is not None}
    if get_config()["enable_metadata_routing"]:
        return params
    path = []
    while isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        path.append(name)
    return {"__".join([*path, name]): value for name, value in params.items()}
