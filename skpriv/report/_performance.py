"""How well a model predicts records that it has not seen."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from sklearn.base import clone, is_regressor
from sklearn.model_selection import check_cv
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from skpriv.utils._intervals import proportion_interval
from skpriv.utils._sklearn import safe_indexing
from skpriv.utils._training import fit_clone

_N_FOLDS = 5
_CONFIDENCE_LEVEL = 0.95


class Performance(NamedTuple):
    """Predictions for records that the model was not fitted on.

    Attributes
    ----------
    y : ndarray of shape (n_predicted,)
        Their labels.
    predicted : ndarray of shape (n_predicted,)
    folds : int or None
        In how many parts the records were left out; None: one by one, or test data.
    is_test : bool
        Whether the records are test data, rather than records left out.
    training : float or None
        Accuracy or R² of the model on the records that it was fitted on.
    """

    y: np.ndarray
    predicted: np.ndarray
    folds: int | None
    is_test: bool
    training: float | None


def is_neighbors(estimator):
    """Tell whether an estimator is a k-nearest-neighbour model.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    is_neighbors : bool
    """
    return isinstance(estimator, KNeighborsClassifier | KNeighborsRegressor)


def predict_left_out(estimator, X, y, *, cv=None, seed=None, advance=lambda: None):
    """Predict each record by a model that was fitted without it.

    k-nearest neighbours leave out one record at a time, which takes no further fit.
    Other models are fitted five times, each time without a fifth of the records.

    Parameters
    ----------
    estimator : estimator
        Its copies are fitted.
    X : {ndarray, sparse matrix, DataFrame} of shape (n_records, ...)
    y : ndarray of shape (n_records,)
        At least two different labels.
    cv : int, splitter or None, default=None
        How the records are left out.
    seed : int, default=None
        Seed of the random states of the copies.
    advance : callable
        Called after each fit.

    Returns
    -------
    predicted : ndarray of shape (n_records,)
    folds : int or None
        Number of parts; None: one by one.
    """
    if cv is None and is_neighbors(estimator):
        return _predict_by_others(estimator, X, y), None
    folds = list(_folds(cv, X, y, not is_regressor(estimator)))
    predicted = np.empty(len(y), dtype=float if is_regressor(estimator) else y.dtype)
    for train, test in folds:
        predicted[test] = _predict_fold(estimator, X, y, train, test, seed)
        advance()
    return predicted, len(folds)


def n_folds(estimator, cv, X, y):
    """Return how many copies `predict_left_out` fits."""
    if cv is None:
        return 0 if is_neighbors(estimator) else min(_N_FOLDS, len(y))
    return check_cv(cv, y, classifier=not is_regressor(estimator)).get_n_splits(X, y)


def _folds(cv, X, y, classifier):
    if cv is not None:
        yield from check_cv(cv, y, classifier=classifier).split(X, y)
        return
    # Records are dealt out in the order of their labels, so that the labels of all
    # fifths are alike.
    fold = np.empty(len(y), dtype=np.intp)
    fold[np.argsort(y, kind="stable")] = np.arange(len(y)) % _N_FOLDS
    for number in np.unique(fold):
        yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)


def _predict_fold(estimator, X, y, train, test, seed):
    known = y[train]
    if not is_regressor(estimator) and (known == known[0]).all():
        # Many classifiers cannot be fitted on one class.
        return known[0]
    model = fit_clone(estimator, safe_indexing(X, train), known, seed=seed)
    return np.asarray(model.predict(safe_indexing(X, test))).reshape(-1)


def _predict_by_others(neighbors, X, y):
    """Let each record be predicted by its neighbours, or by all others if fewer."""
    n_neighbors = min(neighbors.n_neighbors, len(y) - 1)
    model = clone(neighbors).set_params(n_neighbors=n_neighbors).fit(X, y)
    # Without a query, a record is not its own neighbour.
    return model.predict(None)


def accuracy(y, predicted):
    """Share of right predictions, and its interval.

    Parameters
    ----------
    y, predicted : ndarray of shape (n_records,)

    Returns
    -------
    estimate : tuple of three float
        The value, and the ends of its interval.
    """
    right = int(np.count_nonzero(y == predicted))
    low, high = proportion_interval(right, len(y), _CONFIDENCE_LEVEL)
    return right / len(y), float(low), float(high)


def r2(y, predicted):
    """Part of the variance that is explained, and its interval.

    Parameters
    ----------
    y, predicted : ndarray of shape (n_records,)

    Returns
    -------
    estimate : tuple of three float
        The value, and the ends of its interval, by the delta method.
    """
    missed, spread = (y - predicted) ** 2, (y - y.mean()) ** 2
    if not spread.any():
        return np.nan, np.nan, np.nan
    rest = missed.mean() / spread.mean()
    error = np.std((missed - rest * spread) / spread.mean()) / np.sqrt(len(y))
    reach = ndtri((1 + _CONFIDENCE_LEVEL) / 2) * error
    return 1 - rest, 1 - rest - reach, min(1 - rest + reach, 1.0)
