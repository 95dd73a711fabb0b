"""Values of training records, given rankings of them for queries.

Each method of the scorers uses one method of such an object:

- ``self_values(rankings, y, records)``: the value of each query for itself;
- ``total(rankings, y)``: the values of each record, summed over the queries;
- ``matrix(rankings, y)``: the value of each record for each query;
- ``influence(rankings, y)``: the change of each record's value for itself when another
  record is removed.

`rankings` yields queries and their `Ranking`, as a search does; `y` holds the labels of
all queries, as numbers, and `records` the training records that they are, or -1.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from skpriv.neighbors import _semivalues
from skpriv.neighbors._tie_groups import Votes
from skpriv.utils._sklearn import align_sparse_api


class Value:
    """Base of the values, with what follows from those of ranked records.

    A subclass provides ``self_values`` and

    - ``_ranked_values(rankings, y)``, which yields queries, their ranking, and the
      values of the ranked records, of shape (n_queries, width);
    - ``_ranked_changes(rankings, y)``, the same for the changes of the queries' own
      values, where the queries are all training records.

    Parameters
    ----------
    labels : ndarray of shape (n_records,)
        Labels or targets of the training records.
    """

    def __init__(self, labels):
        self._labels = labels

    def total(self, rankings, y):
        totals = np.zeros(self._labels.size)
        for _, ranking, values in self._ranked_values(rankings, y):
            positions = _listed(ranking)
            totals += np.bincount(
                ranking.records[positions], values[positions], totals.size
            )
        return totals

    def matrix(self, rankings, y):
        return _sparse_rows(
            self._ranked_values(rankings, y), (y.size, self._labels.size)
        )

    def influence(self, rankings, y):
        return _sparse_rows(self._ranked_changes(rankings, y), (y.size, y.size))


class LabelValue(Value):
    """Base of the values that depend on which records have a query's label.

    Parameters
    ----------
    labels : ndarray of shape (n_records,), dtype int32
        Labels of the training records, numbered from 0.
    """

    def __init__(self, labels):
        super().__init__(labels)
        self._counts = np.append(np.bincount(labels), 0)  # the last is for label -1

    def _votes(self, y, records=None):
        """Count the records beside each query, and those that have its label."""
        member = np.zeros(y.size, dtype=bool) if records is None else records >= 0
        n_matches = self._counts[y] - (member & (y >= 0))
        return Votes(self._labels, y, self._labels.size - member, n_matches)


class RankWeights(NamedTuple):
    """Weights by which a linear value is defined; see `_semivalues`.

    Attributes
    ----------
    by_rank : ndarray of shape (n_ranks,)
        Weight of the event that the record at this rank is displaced.
    unfilled : callable
        Weight of the event that a neighbourhood is not full, given the number of
        records including the one that is added.
    """

    by_rank: np.ndarray
    unfilled: callable


class LinearValue(LabelValue):
    """Value that is linear in the matches of a ranking.

    Parameters
    ----------
    labels : ndarray of shape (n_records,), dtype int32
    weights : RankWeights
        For one rank more than there are records, which a new query needs.
    mismatch_sign : float, default=-1.0
        1.0 for the magnitude of the value of a record that does not match.
    share_rest : bool, default=False
        Whether records beyond a ranking have a value.
    """

    def __init__(self, labels, weights, *, mismatch_sign=-1.0, share_rest=False):
        super().__init__(labels)
        self._unfilled = weights.unfilled
        self._share_rest = share_rest
        by_rank, ranks = weights.by_rank, np.arange(weights.by_rank.size)
        self._weights = _semivalues.Weights(
            by_rank,
            np.concatenate([[0.0], np.cumsum(by_rank)]),
            np.concatenate([[0.0], np.cumsum(ranks * by_rank)]),
            float(weights.unfilled(labels.size)),
            mismatch_sign,
        )

    def self_values(self, rankings, y, records):
        votes = self._votes(y, records)
        n = self._labels.size
        values = np.where(records >= 0, self._unfilled(n), self._unfilled(n + 1))
        for queries, ranking in rankings:
            values[queries] += _semivalues.self_values(
                ranking, votes.of(queries), self._weights
            )
        return values

    def total(self, rankings, y):
        votes = self._votes(y)
        totals = np.zeros((_semivalues.N_SHARES, self._labels.size))
        rest = np.zeros((_semivalues.N_SHARES, self._counts.size, 2))
        for queries, ranking in rankings:
            _semivalues.add_record_values(
                ranking,
                votes.of(queries),
                self._weights,
                self._share_rest,
                totals,
                rest,
            )
        rest = rest.sum(axis=0)
        by_label = rest[:, 0].sum() - rest[:-1, 0] + rest[:-1, 1]
        return totals.sum(axis=0) + by_label[self._labels]

    def matrix(self, rankings, y):
        if not self._share_rest:
            return super().matrix(rankings, y)
        votes = self._votes(y)
        matrix = np.empty((y.size, self._labels.size))
        for queries, ranking in rankings:
            values, rest = _semivalues.record_values(
                ranking, votes.of(queries), self._weights
            )
            matches = self._labels == y[queries, None]
            matrix[queries] = np.where(matches, rest[:, 1:], rest[:, :1])
            rows, positions = _listed(ranking)
            records = ranking.records[rows, positions]
            matrix[queries[rows], records] = values[rows, positions]
        return matrix

    def _ranked_values(self, rankings, y):
        votes = self._votes(y)
        for queries, ranking in rankings:
            values, _ = _semivalues.record_values(
                ranking, votes.of(queries), self._weights
            )
            yield queries, ranking, values

    def _ranked_changes(self, rankings, y):
        n = y.size
        votes = self._votes(y, np.arange(n))
        unfilled = self._unfilled(n - 1) - self._unfilled(n) if n > 1 else 0.0
        for queries, ranking in rankings:
            changes = _semivalues.self_influence(
                ranking, votes.of(queries), self._weights
            )
            changes += unfilled
            yield queries, ranking, changes


def _listed(ranking):
    """Return the rows and positions of a ranking that hold a record."""
    width = ranking.records.shape[1]
    return np.nonzero(np.arange(width) < ranking.lengths[:, None])


def _sparse_rows(parts, shape):
    """Build a CSR matrix from queries, their rankings, and values of ranked records."""
    entries = []
    for queries, ranking, values in parts:
        rows, positions = _listed(ranking)
        records = ranking.records[rows, positions]
        entries.append((values[rows, positions], queries[rows], records))
    values, rows, columns = map(np.concatenate, zip(*entries, strict=True))
    matrix = sp.csr_array((values, (rows, columns)), shape=shape)
    matrix.eliminate_zeros()
    return align_sparse_api(matrix)
