"""Kernels for k-NN Shapley values of regression targets."""

import numpy as np
from numba import njit

from skpriv.neighbors._tie_groups import group_start
from skpriv.utils._threads import for_rows


@njit(cache=True)
def _order_ties_by_target(records, tied, length, targets):
    """Sort each tie group by target: an order that does not depend on the rows'."""
    end = length
    while end > 0:
        start = group_start(tied, end)
        if end - start > 1:
            group = records[start:end].copy()
            order = np.argsort(targets[group], kind="mergesort")
            for i in range(order.size):
                records[start + i] = group[order[i]]
        end = start


@njit(cache=True)
def _shapley_values(ordered, target, k, values):
    """Fill in the value of each rank, given the targets in order of distance."""
    n = ordered.size
    total = np.sum(ordered)
    if n <= k:
        for i in range(n):
            values[i] = -ordered[i] / k * (total / k - 2 * target)
        return
    last = ordered[n - 1]
    others = (k - 1) / (n - 1) * (total - last)
    values[n - 1] = -last / n * ((last + others) / k - 2 * target)
    # Ranks count from 1 here: a pair of ranks i and i + 1, the sum of the targets
    # before it, and a weighted sum of those beyond it.
    before, beyond = total - last, 0.0
    for i in range(n - 1, 0, -1):
        near, far = ordered[i - 1], ordered[i]
        before -= near
        reach = min(k, i)
        seen = near + far + beyond * i / reach
        if i > 1:
            seen += min(k - 1, i - 1) / (i - 1) * before
        step = (far - near) / k * reach / i * (seen / k - 2 * target)
        values[i - 1] = values[i] + step
        if i > 1:
            beyond += far * min(k, i) * min(k - 1, i - 1) / (i * (i - 1))


def record_values(ranking, targets, query_targets, k):
    """Compute the Shapley value of each record for each query.

    The utility of a subset is minus the squared difference of the query's target and
    the sum of the k nearest targets over k; of no record, minus the squared target.

    Parameters
    ----------
    ranking : Ranking
        Of all records. Tie groups are put in order of their targets, in place; records
        at the same distance with the same target then have the same value.
    targets : ndarray of shape (n_records,)
    query_targets : ndarray of shape (n_queries,)
    k : int

    Returns
    -------
    values : ndarray of shape (n_queries, n_records)
        For the records at these positions of the ranking.
    """
    values = np.zeros(ranking.records.shape)
    args = ranking, targets, query_targets, k
    for_rows(_record_values, len(values), *args, values)
    return values


@njit(cache=True, nogil=True)
def _record_values(start_row, stop_row, ranking, targets, query_targets, k, values):
    for q in range(start_row, stop_row):
        records, length = ranking.records[q], ranking.lengths[q]
        _order_ties_by_target(records, ranking.tied[q], length, targets)
        _shapley_values(targets[records[:length]], query_targets[q], k, values[q])


@njit(cache=True)
def _own_first(ranking, q, targets, target):
    """Return the targets in order of distance from a query that is nearest itself."""
    records, length = ranking.records[q], ranking.lengths[q]
    _order_ties_by_target(records, ranking.tied[q], length, targets)
    ordered = np.empty(length + 1)
    ordered[0] = target
    for i in range(length):
        ordered[i + 1] = targets[records[i]]
    return ordered


def self_values(ranking, targets, query_targets, k):
    """Compute the Shapley value of each query for itself.

    Parameters and utility are as for `record_values`, but that the query's own record
    is left out of the ranking.

    Returns
    -------
    values : ndarray of shape (n_queries,)
    """
    own = np.empty(ranking.lengths.size)
    for_rows(_self_values, own.size, ranking, targets, query_targets, k, own)
    return own


@njit(cache=True, nogil=True)
def _self_values(start_row, stop_row, ranking, targets, query_targets, k, own):
    for q in range(start_row, stop_row):
        ordered = _own_first(ranking, q, targets, query_targets[q])
        values = np.empty(ordered.size)
        _shapley_values(ordered, query_targets[q], k, values)
        own[q] = values[0]


def self_influence(ranking, targets, query_targets, k):
    """Compute the change of each query's value for itself when a record is removed.

    Parameters and utility are as for `self_values`; each removal takes one pass.

    Returns
    -------
    changes : ndarray of shape (n_queries, n_records)
        For the records at these positions of the ranking.
    """
    changes = np.zeros(ranking.records.shape)
    args = ranking, targets, query_targets, k
    for_rows(_self_influence, len(changes), *args, changes)
    return changes


@njit(cache=True, nogil=True)
def _self_influence(start_row, stop_row, ranking, targets, query_targets, k, changes):
    for q in range(start_row, stop_row):
        ordered = _own_first(ranking, q, targets, query_targets[q])
        values = np.empty(ordered.size)
        _shapley_values(ordered, query_targets[q], k, values)
        whole = values[0]
        left = ordered[:-1].copy()  # all but the record at position i + 1
        for i in range(ranking.lengths[q] - 1, -1, -1):
            _shapley_values(left, query_targets[q], k, values)
            changes[q, i] = values[0] - whole
            left[i] = ordered[i + 1]
