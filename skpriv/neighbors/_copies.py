"""Kernels that turn rankings of distinct rows into rankings of all records."""

import numpy as np
from numba import njit

from skpriv.neighbors._tie_groups import Ranking
from skpriv.utils._threads import for_rows


@njit(cache=True)
def _copies_of(place, excluded, starts):
    return starts[place + 1] - starts[place] - (place == excluded)


@njit(cache=True)
def expanded_lengths(ranking, rows, excluded, starts, n_ranks):
    """Count the records in rankings of distinct rows; see `expand`.

    Returns
    -------
    lengths : ndarray of shape (n_queries,), dtype int64
    """
    lengths = np.zeros(rows.size, dtype=np.int64)
    for q in range(rows.size):
        places, tied = ranking.records[rows[q]], ranking.tied[rows[q]]
        kept = 0
        for i in range(ranking.lengths[rows[q]]):
            if not tied[i] and kept >= n_ranks:
                break
            kept += _copies_of(places[i], excluded[q], starts)
        lengths[q] = kept
    return lengths


def expand(ranking, rows, excluded, copies, exclude, lengths):
    """Put the copies of each distinct row in its place.

    Parameters
    ----------
    ranking : Ranking
        Of distinct rows.
    rows : ndarray of shape (n_queries,)
        Which row of the ranking is each query's.
    excluded : ndarray of shape (n_queries,)
        The distinct row of `exclude`, or -1.
    copies : tuple of ndarray
        Where the copies of each distinct row begin, and the records in that order.
    exclude : ndarray of shape (n_queries,)
        A record to leave out of each query's ranking, or -1.
    lengths : ndarray of shape (n_queries,)
        From `expanded_lengths`.

    Returns
    -------
    ranking : Ranking
    """
    records = np.empty((rows.size, lengths.max()), dtype=np.int32)
    expanded = Ranking(records, np.zeros(records.shape, dtype=bool), lengths)
    args = ranking, rows, excluded, copies, exclude, expanded
    for_rows(_expand, rows.size, *args)
    return expanded


@njit(cache=True, nogil=True)
def _expand(start_row, stop_row, ranking, rows, excluded, copies, exclude, expanded):
    starts, members = copies
    records, tied, lengths = expanded
    for q in range(start_row, stop_row):
        kept = i = 0
        join = False
        while kept < lengths[q]:
            place = ranking.records[rows[q], i]
            join = join and ranking.tied[rows[q], i]
            for c in range(starts[place], starts[place + 1]):
                if members[c] != exclude[q]:
                    records[q, kept] = members[c]
                    tied[q, kept] = join
                    kept += 1
                    join = True
            i += 1
