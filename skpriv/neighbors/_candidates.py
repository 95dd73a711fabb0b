"""Candidates for a query's nearest records, as every search finds them."""

import numpy as np

from skpriv.neighbors import _ranking

# Distances closer than this, relatively, differ by rounding alone.
TIE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-6}


def rank_listed(records, values, exclude, n_ranks, tolerance, errors=None):
    """Rank candidates when there are no others to ask for.

    Parameters
    ----------
    records : ndarray of shape (n_queries, n_candidates)
        -1 where one is missing.
    values : ndarray of shape (n_queries, n_candidates)
        Their (squared) distances.
    exclude : ndarray of shape (n_queries,)
    n_ranks : int
    tolerance : Tolerance
    errors : ndarray of shape (n_queries, n_candidates), default=None
        By how much the rounding of features may change the values; None: not at all.

    Returns
    -------
    ranking : Ranking
    """
    values = values.astype(np.float64, copy=False)
    errors = np.zeros(values.shape) if errors is None else errors
    unbounded = np.full(len(records), np.inf)
    candidates = _ranking.Candidates(records, values, errors, unbounded)
    return _ranking.rank_candidates(candidates, exclude, n_ranks, tolerance)[0]


def without_repeats(records):
    """Mark as missing each candidate that its row lists already.

    Parameters
    ----------
    records : ndarray of shape (n_queries, n_candidates)

    Returns
    -------
    records : ndarray of shape (n_queries, n_candidates), dtype int64
        -1 where a candidate is missing.
    """
    order = np.argsort(records, axis=1, kind="stable")
    ordered = np.take_along_axis(records, order, axis=1)
    repeated = np.zeros(records.shape, dtype=bool)
    np.put_along_axis(repeated, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return np.where(repeated, -1, records).astype(np.int64)


def first_cut(ranking, records, exclude, n_records):
    """Return the lowest rank where a tie group begins that may be listed in part.

    Parameters
    ----------
    ranking : Ranking
        Of the listed records.
    records : ndarray of shape (n_queries, n_candidates)
        -1 where one is missing.
    exclude : ndarray of shape (n_queries,)
    n_records : int
        How many records there are, listed or not.

    Returns
    -------
    rank : int
        `n_records` if all groups are whole.
    """
    n_listed = (records >= 0).sum(axis=1)
    excluded = (records == exclude[:, None]).any(axis=1) & (exclude >= 0)
    last = ranking.lengths - 1
    queries = np.arange(last.size)
    cut = (last >= 0) & ranking.tied[queries, last]
    cut &= (ranking.lengths == n_listed - excluded) & (n_listed < n_records)
    columns = np.arange(ranking.tied.shape[1])
    begins = ~ranking.tied[cut] & (columns <= last[cut, None])
    starts = np.where(begins, columns, 0).max(axis=1)
    return int(starts.min(initial=n_records))
