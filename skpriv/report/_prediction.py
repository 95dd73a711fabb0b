"""How well models predict records that were left out."""

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.neighbors import NearestNeighbors

_N_FOLDS = 5


def predict_left_out(estimator, X, y):
    """Predict each record by a model fitted without a fifth of them, it among those.

    The fifths are alike in their labels: records are dealt out in the labels' order.

    Parameters
    ----------
    estimator : estimator
        Cloned for each fifth.
    X : ndarray of shape (n_records, n_features)
    y : ndarray of shape (n_records,)
        At least two different labels.

    Returns
    -------
    predicted : ndarray of shape (n_records,)
        Where one class alone is left to fit on, that class.
    """
    fold = np.empty(len(y), dtype=np.intp)
    fold[np.argsort(y, kind="stable")] = np.arange(len(y)) % _N_FOLDS
    predicted = np.empty_like(y)
    for left_out in (fold == number for number in np.unique(fold)):
        known = y[~left_out]
        if is_classifier(estimator) and (known == known[0]).all():
            predicted[left_out] = known[0]
        else:
            model = clone(estimator).fit(X[~left_out], known)
            predicted[left_out] = model.predict(X[left_out])
    return predicted


def classify_by_neighbors(X, y, n_neighbors):
    """Classify each record by its nearest neighbours, itself left out.

    Parameters
    ----------
    X : ndarray of shape (n_records, n_features)
    y : ndarray of shape (n_records,), dtype int
        Classes, numbered from 0.
    n_neighbors : int
        Where there are not as many others, all of them vote.

    Returns
    -------
    predicted : ndarray of shape (n_records,)
        The most frequent class among the neighbours, of equally frequent ones the
        first.
    agreement : ndarray of shape (n_records,)
        The share of the neighbours that have the record's class.
    """
    voters = _nearest_others(X, n_neighbors)
    votes = np.zeros((len(y), y.max() + 1), dtype=np.intp)
    for nearest in voters.T:
        votes[np.arange(len(y)), y[nearest]] += 1
    return votes.argmax(axis=1), votes[np.arange(len(y)), y] / voters.shape[1]


def average_neighbors(X, y, n_neighbors):
    """Predict each record by the mean of its nearest neighbours, itself left out.

    Parameters
    ----------
    X : ndarray of shape (n_records, n_features)
    y : ndarray of shape (n_records,)
        Quantities.
    n_neighbors : int
        Where there are not as many others, all of them count.

    Returns
    -------
    predicted : ndarray of shape (n_records,)
    """
    return y[_nearest_others(X, n_neighbors)].mean(axis=1)


def _nearest_others(X, n_neighbors):
    n_others = min(n_neighbors, len(X) - 1)
    return NearestNeighbors(n_neighbors=n_others).fit(X).kneighbors()[1]
