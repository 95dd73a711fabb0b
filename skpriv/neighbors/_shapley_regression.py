"""Kernels for k-NN Shapley values of regression targets."""

import numpy as np

from skpriv.neighbors._semivalues import _group_start
from skpriv.utils._threads import njit, prange


@njit(cache=True)
def _order_ties_by_target(records, tied, length, targets):
    """Sort each tie group by target: an order that does not depend on the rows'."""
    end = length
    while end > 0:
        start = _group_start(tied, end)
        if end - start > 1:
            order = np.argsort(targets[records[start:end]])
            records[start:end] = records[start:end][order]
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
    # before it, and a weighed one of those beyond it.
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


@njit(cache=True, parallel=True)
def record_values(records, tied, lengths, targets, query_targets, k):
    """Shapley value of each record for each query.

    The utility of a subset is minus the squared difference of the query's target and
    the sum of the k nearest targets over k; of no record, minus the squared target.

    Parameters
    ----------
    records : ndarray of shape (n_queries, n_records), dtype int32
        Rankings of all records. Tie groups are put in order of their targets, in
        place; records alike in distance and target then have the same value.
    tied : ndarray of shape (n_queries, n_records), dtype bool
    lengths : ndarray of shape (n_queries,)
    targets : ndarray of shape (n_records,)
    query_targets : ndarray of shape (n_queries,)
    k : int

    Returns
    -------
    values : ndarray of shape (n_queries, n_records)
        For the records at these places of the ranking.
    """
    values = np.zeros(records.shape)
    for q in prange(lengths.size):
        n = lengths[q]
        _order_ties_by_target(records[q], tied[q], n, targets)
        _shapley_values(targets[records[q, :n]], query_targets[q], k, values[q])
    return values


@njit(cache=True)
def _own_first(records, tied, length, targets, target):
    """Return the targets in order of distance from a query that is nearest itself."""
    _order_ties_by_target(records, tied, length, targets)
    ordered = np.empty(length + 1)
    ordered[0] = target
    ordered[1:] = targets[records[:length]]
    return ordered


@njit(cache=True, parallel=True)
def self_values(records, tied, lengths, targets, query_targets, k):
    """Shapley value of each query for itself, given rankings of the others.

    Parameters and utility are as for `record_values`.

    Returns
    -------
    values : ndarray of shape (n_queries,)
    """
    own = np.empty(lengths.size)
    for q in prange(lengths.size):
        ordered = _own_first(records[q], tied[q], lengths[q], targets, query_targets[q])
        values = np.empty(ordered.size)
        _shapley_values(ordered, query_targets[q], k, values)
        own[q] = values[0]
    return own


@njit(cache=True, parallel=True)
def self_influence(records, tied, lengths, targets, query_targets, k):
    """Change of each query's value for itself when another record is removed.

    Parameters and utility are as for `record_values`; each removal takes one pass.

    Returns
    -------
    changes : ndarray of shape (n_queries, n_records)
        For the records at these places of the ranking.
    """
    changes = np.zeros(records.shape)
    for q in prange(lengths.size):
        ordered = _own_first(records[q], tied[q], lengths[q], targets, query_targets[q])
        values = np.empty(ordered.size)
        _shapley_values(ordered, query_targets[q], k, values)
        whole = values[0]
        left = ordered[:-1].copy()  # all but the record at place i + 1
        for i in range(lengths[q] - 1, -1, -1):
            _shapley_values(left, query_targets[q], k, values)
            changes[q, i] = values[0] - whole
            left[i] = ordered[i + 1]
    return changes
