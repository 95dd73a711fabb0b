"""k-NN shadows without refitting: a single search of neighbours serves all of them."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import njit
from scipy.stats import binom
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from skpriv.attacks._shadows._signals import signals_from_probabilities, votes
from skpriv.attacks._shadows._training import FinishedShadow, Shadows
from skpriv.utils._text import count
from skpriv.utils._threads import for_rows

_MISSED = 1e-9
_MOST_PATTERNS = 100_000


class Neighbors(NamedTuple):
    """The neighbours of some rows among the records.

    Attributes
    ----------
    records : ndarray of shape (n_rows, n_listed)
        Records by distance from each row, nearest first.
    codes : ndarray of shape (n_records,)
        Labels of the records, as integers from 0.
    """

    records: np.ndarray
    codes: np.ndarray


def nearest_member_votes(neighbors, members, n_neighbors, counts):
    """Count the votes of the k nearest neighbours that are in a subset.

    Parameters
    ----------
    neighbors : Neighbors
        The labels are columns of `counts`.
    members : ndarray of shape (n_records,), dtype bool
        The subset.
    n_neighbors : int
    counts : ndarray of shape (n_rows, n_classes)
        Overwritten with the votes.

    Returns
    -------
    n_votes : ndarray of shape (n_rows,)
        Less than `n_neighbors` where the list contains too few members.
    """
    n_votes = np.empty(len(counts), dtype=np.intp)
    args = neighbors, members, n_neighbors, counts, n_votes
    for_rows(_nearest_member_votes, len(counts), *args)
    return n_votes


@njit(cache=True, nogil=True)
def _nearest_member_votes(
    start_row, stop_row, neighbors, members, n_neighbors, counts, n_votes
):
    counts[start_row:stop_row] = 0
    for row in range(start_row, stop_row):
        found = 0
        for record in neighbors.records[row]:
            # Added instead of tested: membership is random, so the processor could
            # not predict a branch.
            member = np.intp(members[record])
            counts[row, neighbors.codes[record]] += member
            found += member
            if found == n_neighbors:
                break
        n_votes[row] = found


def can_count(estimator, queries):
    """Tell whether shadows need not be trained.

    Parameters
    ----------
    estimator : classifier
    queries : Queries

    Returns
    -------
    possible : bool
        True for a k-NN whose neighbours have equal votes, if the records
        themselves are the only queries.
    """
    return (
        type(estimator) is KNeighborsClassifier
        and estimator.weights == "uniform"
        and estimator.metric != "precomputed"
        and queries.augmentations is None
    )


class NearestNeighborShadows(Shadows):
    """Shadows that are k-NN classifiers, which are counted and not trained.

    The list of each row's neighbours among all records is searched once. It is long
    enough for a random half to contain the k nearest in all but one in a billion
    cases, for which the half is searched again. Records at equal distance are taken
    in the order of that list. See `Shadows` for the parameters.
    """

    def __init__(self, estimator, records, design, queries, *, n_jobs=None):
        super().__init__(estimator, records, design, queries, n_jobs=n_jobs)
        queries.check_method(estimator)
        X, codes = records
        self._model = clone(estimator).fit(X, codes)
        if self._model.n_jobs is None:
            self._model.set_params(n_jobs=n_jobs)
        self._X = X if sp.issparse(X) else np.asarray(X)
        n_listed = _length_of_list(estimator.n_neighbors, codes.size)
        nearest = self._model.kneighbors(X, n_listed, return_distance=False)
        self._neighbors = Neighbors(nearest.astype(np.int32), codes)
        # With few votes there are few distinct counts. Their logarithms, which take
        # most of the time, are computed once.
        base, n_classes = estimator.n_neighbors + 1, queries.task.classes.size
        self._place_values = float(base) ** np.arange(n_classes)
        self._by_pattern = None
        if base**n_classes * n_classes <= _MOST_PATTERNS:
            patterns = np.arange(base**n_classes)[:, np.newaxis]
            counts = patterns // self._place_values % base
            self._by_pattern = self._signals_of_votes(
                np.repeat(counts, n_classes, axis=0),
                np.tile(np.arange(n_classes), len(counts)),
            )

    def signals(self, which):
        """Count the votes of shadows, and yield each of them; see `Shadows.signals`."""
        for shadow in which:
            results = self._signals_of_members(self.design.membership[shadow])
            yield FinishedShadow(shadow, *results)

    def signals_of_all(self, model):
        """Count the votes of the k-NN of all records; see `Shadows.signals_of_all`."""
        return self._signals_of_members(np.ones_like(self.design.membership[0]))[0]

    def _signals_of_members(self, members):
        k, codes = self._model.n_neighbors, self._neighbors.codes
        if members.sum() < k:
            raise ValueError(
                f"n_neighbors is {k}, but a shadow has only "
                f"{count(members.sum(), 'record')} "
                "to be trained on; it must be at most half of the number of records."
            )
        counts = np.empty((codes.size, self._place_values.size))
        found = nearest_member_votes(self._neighbors, members, k, counts)
        rows = np.flatnonzero(found < k)
        if rows.size:
            counts[rows] = self._search_again(rows, members, counts.shape[1])
        if self._by_pattern is None:
            return self._signals_of_votes(counts, codes)
        patterns = (counts @ self._place_values).astype(np.intp)
        patterns = patterns * self._place_values.size + codes
        return tuple(values[patterns] for values in self._by_pattern)

    def _signals_of_votes(self, counts, codes):
        signals, saturated = signals_from_probabilities(
            counts / self._model.n_neighbors,
            codes,
            *votes(self._model, self.queries.smoothing, np.float64),
            self.queries.kind,
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
        labels = self._neighbors.codes[records[nearest]]
        return np.stack([(labels == c).sum(axis=1) for c in range(n_classes)], axis=1)


def _length_of_list(n_neighbors, n_records):
    n_listed = n_neighbors
    while binom.cdf(n_neighbors - 1, n_listed, 0.5) > _MISSED:
        n_listed += 1
    return min(n_listed, n_records)
