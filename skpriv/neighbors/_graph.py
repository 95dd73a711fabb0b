"""Distances that are given: matrices, and sparse graphs of neighbours."""

import numpy as np
import scipy.sparse as sp

from skpriv._records import RecordIndex
from skpriv.neighbors import _ranking
from skpriv.neighbors._candidates import TIE, first_cut, rank_listed, without_repeats
from skpriv.neighbors._exact import MOST_QUERIES_AT_ONCE, as_points, empty_ranking
from skpriv.utils._batches import row_batches
from skpriv.utils._labels import check_same_kind_of_label


class DistanceSearch:
    """Rank by a matrix of distances from each query to each record."""

    name = "precomputed"

    def rank(self, X, exclude, n_ranks):
        """Yield the rankings of all queries; see `MetricSearch.rank`.

        Here `X` has shape (n_queries, n_records).
        """
        n_queries, n_records = X.shape
        no_points = as_points(np.empty((0, 0)), np.empty(0))
        tolerance = _ranking.Tolerance(TIE[X.dtype], 0.0)
        for batch in row_batches(
            n_queries, bytes_per_row=16 * n_records, most_rows=MOST_QUERIES_AT_ONCE
        ):
            values = np.ascontiguousarray(X[batch], dtype=np.float64)
            ranking = empty_ranking(*values.shape)
            exact = _ranking.Rounding(*np.zeros((2, len(values))))
            _ranking.rank_rows(
                values,
                exact,
                no_points,
                no_points,
                exclude[batch],
                n_ranks,
                tolerance,
                ranking,
            )
            yield np.arange(n_queries)[batch], ranking


class GraphSearch:
    """Rank by a sparse graph of distances, such as `KNeighborsTransformer` makes.

    Records that the graph does not list cannot be ranked: a row's ranking is as long
    as its list of neighbours.
    """

    name = "precomputed"

    def rank(self, X, exclude, n_ranks):
        """Yield the rankings of all queries; see `MetricSearch.rank`.

        Here `X` is a CSR matrix of shape (n_queries, n_records).
        """
        n_queries, n_records = X.shape
        self.first_cut = n_records
        lengths = np.diff(X.indptr)
        width = max(lengths.max(), 1)
        tolerance = _ranking.Tolerance(TIE[X.dtype], 0.0)
        for batch in row_batches(n_queries, bytes_per_row=40 * width, most_rows=None):
            listed = np.arange(width) < lengths[batch, None]
            part = slice(X.indptr[batch.start], X.indptr[batch.stop])
            records = np.full(listed.shape, -1, dtype=np.int64)
            records[listed] = X.indices[part]
            values = np.zeros(listed.shape, dtype=X.dtype)
            values[listed] = X.data[part]
            records = without_repeats(records)
            ranking = rank_listed(records, values, exclude[batch], n_ranks, tolerance)
            cut = first_cut(ranking, records, exclude[batch], n_records)
            self.first_cut = min(self.first_cut, cut)
            yield np.arange(n_queries)[batch], ranking


def clean_graph(X):
    """Drop the entries of a graph that are no records, and all but the nearest repeat.

    Parameters
    ----------
    X : CSR array of shape (n_queries, n_records)

    Returns
    -------
    X : CSR array of shape (n_queries, n_records)
    """
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = np.lexsort((X.data, X.indices, rows))
    rows, records = rows[order], X.indices[order]
    keep = (records >= 0) & (records < X.shape[1])
    keep[1:] &= (rows[1:] != rows[:-1]) | (records[1:] != records[:-1])
    if keep.all():
        return X
    counts = np.bincount(rows[keep], minlength=X.shape[0])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return sp.csr_array((X.data[order][keep], records[keep], indptr), shape=X.shape)


def n_other_neighbors(X):
    """Count the records that each row of a training graph lists, itself apart.

    Parameters
    ----------
    X : CSR array of shape (n_records, n_records)

    Returns
    -------
    counts : ndarray of shape (n_records,)
    """
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    own = np.bincount(rows[X.indices == rows], minlength=X.shape[0]) > 0
    return np.diff(X.indptr) - own


class GraphRecordIndex(RecordIndex):
    """Find the training record that a row of a sparse graph is.

    A row is a record that the graph lists at distance zero.

    Parameters
    ----------
    X : CSR array of shape (n_records, n_records)
    y : ndarray of shape (n_records,)
    """

    def find(self, X, y=None):
        same = X.shape == self.X.shape and (X is self.X or (X != self.X).nnz == 0)
        if same and (y is None or np.array_equal(y, self.y)):
            return np.arange(X.shape[0])
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        zero = X.data == 0
        rows, candidates = rows[zero], X.indices[zero]
        if y is not None:
            check_same_kind_of_label(y, self.y)
            alike = y[rows] == self.y[candidates]
            rows, candidates = rows[alike], candidates[alike]
        none = self.y.size
        records = np.full(X.shape[0], none)
        np.minimum.at(records, rows, candidates)
        return np.where(records < none, records, -1)
