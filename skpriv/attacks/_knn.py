"""k-NN shadows without refitting: one search of neighbours for all of them."""

import numpy as np
import scipy.sparse as sp
from scipy.stats import binom
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from skpriv.attacks._signals import signals_from_probabilities, votes
from skpriv.utils._threads import njit, prange

_MISSED = 1e-9
_MOST_PATTERNS = 100_000


@njit(cache=True, parallel=True)
def nearest_member_votes(neighbors, members, y, n_neighbors, counts):
    """Count the votes of the k nearest neighbours that are in a subset.

    Parameters
    ----------
    neighbors : ndarray of shape (n_rows, n_listed)
        Records by distance from each row, nearest first.
    members : ndarray of shape (n_records,), dtype bool
        The subset.
    y : ndarray of shape (n_records,)
        Labels, as columns of `counts`.
    n_neighbors : int
    counts : ndarray of shape (n_rows, n_classes)
        Overwritten with the votes.

    Returns
    -------
    n_votes : ndarray of shape (n_rows,)
        Fewer than `n_neighbors` where the list holds too few members.
    """
    counts[:] = 0
    n_votes = np.zeros(neighbors.shape[0], dtype=np.intp)
    for row in prange(neighbors.shape[0]):
        found = 0
        for record in neighbors[row]:
            # Added up, not branched on: membership is a coin toss, which no processor
            # foresees.
            member = np.intp(members[record])
            counts[row, y[record]] += member
            found += member
            if found == n_neighbors:
                break
        n_votes[row] = found
    return n_votes


def takes_fast_path(attack, estimator):
    """Tell whether an attack's shadows need no fitting.

    Parameters
    ----------
    attack : ShadowAttack
    estimator : classifier
        What the shadows would be.

    Returns
    -------
    fast : bool
        For k-NN whose votes are equal and that is asked about the records alone.
    """
    return (
        type(estimator) is KNeighborsClassifier
        and estimator.weights == "uniform"
        and estimator.metric != "precomputed"
        and attack.augmentations is None
        and not attack.store_models
    )


class NearestNeighborShadows:
    """All k-NNs on subsets of the same records.

    The list of a row's neighbours, among all records, is searched once, and long
    enough that a random half holds the k nearest in all but one in a billion cases;
    those are searched for again, among the half. Records at equal distance are
    taken in the order of that list.

    Parameters
    ----------
    estimator : KNeighborsClassifier
    X : {array-like, sparse matrix} of shape (n_records, n_features)
    y : ndarray of shape (n_records,)
        Labels, as integers from 0.
    queries : Queries
    n_jobs : int or None
        Jobs for the search, where `estimator` does not say.
    """

    def __init__(self, estimator, X, y, queries, *, n_jobs=None):
        self._model = clone(estimator).fit(X, y)
        if self._model.n_jobs is None:
            self._model.set_params(n_jobs=n_jobs)
        self._X = X if sp.issparse(X) else np.asarray(X)
        self._y = y
        n_listed = _length_of_list(estimator.n_neighbors, y.size)
        self._neighbors = self._model.kneighbors(X, n_listed, return_distance=False)
        self._neighbors = self._neighbors.astype(np.int32)
        self._queries = queries
        # Few votes make few patterns, and the logarithms are what takes time.
        base, n_classes = estimator.n_neighbors + 1, queries.classes.size
        self._places = float(base) ** np.arange(n_classes)
        self._by_pattern = None
        if base**n_classes * n_classes <= _MOST_PATTERNS:
            counts = np.arange(base**n_classes)[:, np.newaxis] // self._places % base
            self._by_pattern = self._signals_of_votes(
                np.repeat(counts, n_classes, axis=0),
                np.tile(np.arange(n_classes), len(counts)),
            )

    def signals(self, members):
        """Signals of all records at the k-NN of a subset.

        Parameters
        ----------
        members : ndarray of shape (n_records,), dtype bool

        Returns
        -------
        signals : ndarray of shape (n_records,), dtype float32
        saturated : ndarray of shape (n_records,), dtype bool
        """
        k = self._model.n_neighbors
        if members.sum() < k:
            raise ValueError(
                f"n_neighbors is {k}, but a shadow has only {members.sum()} records "
                "to be trained on; it wants no more than half of the records."
            )
        counts = np.empty((self._y.size, self._places.size))
        found = nearest_member_votes(self._neighbors, members, self._y, k, counts)
        rows = np.flatnonzero(found < k)
        if rows.size:
            counts[rows] = self._search_again(rows, members, counts.shape[1])
        if self._by_pattern is None:
            return self._signals_of_votes(counts, self._y)
        patterns = (counts @ self._places).astype(np.intp) * self._places.size + self._y
        return tuple(values[patterns] for values in self._by_pattern)

    def _signals_of_votes(self, counts, y):
        signals, saturated = signals_from_probabilities(
            counts / self._model.n_neighbors,
            y,
            *votes(self._model, self._queries.smoothing, np.float64),
            self._queries.kind,
        )
        return signals.astype(np.float32), saturated

    def _search_again(self, rows, members, n_classes):
        model = self._model
        records = np.flatnonzero(members)
        search = NearestNeighbors(
            n_neighbors=model.n_neighbors,
            algorithm=model.algorithm,
            leaf_size=model.leaf_size,
            metric=model.metric,
            p=model.p,
            metric_params=model.metric_params,
            n_jobs=model.n_jobs,
        ).fit(self._X[records])
        nearest = search.kneighbors(self._X[rows], return_distance=False)
        labels = self._y[records[nearest]]
        return np.stack([(labels == c).sum(axis=1) for c in range(n_classes)], axis=1)


def _length_of_list(n_neighbors, n_records):
    n_listed = n_neighbors
    while binom.cdf(n_neighbors - 1, n_listed, 0.5) > _MISSED:
        n_listed += 1
    return min(n_listed, n_records)
