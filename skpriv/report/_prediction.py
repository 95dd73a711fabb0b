"""How well models predict records that were left out."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from skpriv.utils._training import fit_clone

_N_FOLDS = 5


@dataclass(frozen=True)
class LeftOutPredictions:
    """Predictions for records by models that were fitted without them.

    Attributes
    ----------
    predicted : ndarray of shape (n_records,)
    n_folds : int or None
        In how many parts the records were left out; None: one by one.
    agreement : ndarray of shape (n_records,) or None
        For k-nearest neighbours of classes, the share of a record's neighbours that
        have its label.
    """

    predicted: np.ndarray
    n_folds: int | None
    agreement: np.ndarray | None = None


def is_neighbors(estimator):
    """Whether an estimator is a k-nearest-neighbour model.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    is_neighbors : bool
    """
    return isinstance(estimator, KNeighborsClassifier | KNeighborsRegressor)


def predict_left_out(estimator, X, y, seed=None):
    """Predict each record by a model that was fitted without it.

    k-nearest neighbours leave out one record at a time, which takes no further fit.
    Other models are fitted five times, each time without a fifth of the records.

    Parameters
    ----------
    estimator : estimator
        Its copies are fitted.
    X : ndarray of shape (n_records, n_features)
    y : ndarray of shape (n_records,)
        At least two different labels.
    seed : int, default=None
        Seed of the random states of the copies.

    Returns
    -------
    predictions : LeftOutPredictions
    """
    if is_neighbors(estimator):
        return _predict_by_others(estimator, X, y)
    return LeftOutPredictions(_predict_fifths(estimator, X, y, seed), _N_FOLDS)


def _predict_by_others(neighbors, X, y):
    """Let each record be predicted by its neighbours, or by all others if fewer."""
    n_neighbors = min(neighbors.n_neighbors, len(y) - 1)
    model = clone(neighbors).set_params(n_neighbors=n_neighbors).fit(X, y)
    # Without a query, a record is not its own neighbour.
    if not is_classifier(model):
        return LeftOutPredictions(model.predict(None), None)
    shares = model.predict_proba(None)
    predicted = model.classes_[shares.argmax(axis=1)]
    own = shares[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return LeftOutPredictions(predicted, None, own)


def _predict_fifths(estimator, X, y, seed):
    # Records are dealt out in the order of their labels, so that the labels of all
    # fifths are alike.
    fold = np.empty(len(y), dtype=np.intp)
    fold[np.argsort(y, kind="stable")] = np.arange(len(y)) % _N_FOLDS
    predicted = np.empty(len(y), dtype=y.dtype if is_classifier(estimator) else float)
    for left_out in (fold == number for number in np.unique(fold)):
        known = y[~left_out]
        if is_classifier(estimator) and (known == known[0]).all():
            # Many classifiers cannot be fitted on one class.
            predicted[left_out] = known[0]
        else:
            model = fit_clone(estimator, X[~left_out], known, seed=seed)
            predicted[left_out] = model.predict(X[left_out])
    return predicted
