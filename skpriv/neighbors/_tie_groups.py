"""Data that the kernels share: rankings, the votes in them, and their tie groups."""

from typing import NamedTuple

import numpy as np
from numba import njit


class Ranking(NamedTuple):
    """Training records in order of their distance to each query.

    Attributes
    ----------
    records : ndarray of shape (n_queries, width), dtype int32
        Nearest first; only the first `lengths` entries of a row are meaningful.
    tied : ndarray of shape (n_queries, width), dtype bool
        Whether a record is at the same distance as the one before it.
    lengths : ndarray of shape (n_queries,), dtype int64
        Number of ranked records.
    """

    records: np.ndarray
    tied: np.ndarray
    lengths: np.ndarray


class Votes(NamedTuple):
    """Labels of the records, which are their votes, and of the queries.

    Attributes
    ----------
    labels : ndarray of shape (n_records,), dtype int32
        Label of each training record.
    query_labels : ndarray of shape (n_queries,), dtype int32
        Label of each query; -1 is a label that no record has.
    n_others : ndarray of shape (n_queries,), dtype int64
        Number of records other than the query itself, ranked or not.
    n_matches : ndarray of shape (n_queries,), dtype int64
        How many of them have the query's label.
    """

    labels: np.ndarray
    query_labels: np.ndarray
    n_others: np.ndarray
    n_matches: np.ndarray

    def of(self, queries):
        """Return the votes of some of the queries."""
        return self._replace(
            query_labels=self.query_labels[queries],
            n_others=self.n_others[queries],
            n_matches=self.n_matches[queries],
        )


@njit(cache=True)
def group_start(tied, end):
    """Return where the tie group that ends before `end` begins."""
    start = end - 1
    while tied[start]:
        start -= 1
    return start


@njit(cache=True)
def group_end(tied, start, length):
    """Return where the tie group that begins at `start` ends."""
    end = start + 1
    while end < length and tied[end]:
        end += 1
    return end


@njit(cache=True)
def count_matches(records, labels, label, start, end):
    """Count the records at ranks from start to end that have a label."""
    matches = 0
    for i in range(start, end):
        matches += labels[records[i]] == label
    return matches
