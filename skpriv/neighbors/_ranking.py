"""Kernels that put training records in order of their distance to a query.

A ranking is two arrays with a row for each query: the records, nearest first, and
whether each is tied with the one before it. Distances decide nothing else, so no
other kernel sees them.

Records are tied when their distances differ by no more than rounding can explain.
Ties form chains in sorted order, which makes them the same for any order of the
training rows.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, prange

_DIGIT = np.uint32(12)
_BUCKETS = np.uint32(1 << 12)
_LOW_DIGIT = np.uint32(_BUCKETS - 1)
_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_BLOCKS = 64  # shares of the queries, each with its own scratch space
_SHORT_RUN = 24
_FLOAT32_STEP = 2.5e-7  # two units in the last place, relative


class Points(NamedTuple):
    """Rows, either dense or in the three arrays of a CSR matrix."""

    dense: np.ndarray
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
def _dense_squared_distance(a, b):
    total = 0.0
    for f in range(a.size):
        total += (a[f] - b[f]) ** 2
    return total


@njit(cache=True)
def _sparse_squared_distance(A, i, B, j):
    total = 0.0
    p, p_end = A.indptr[i], A.indptr[i + 1]
    s, s_end = B.indptr[j], B.indptr[j + 1]
    while p < p_end or s < s_end:
        if s == s_end or (p < p_end and A.indices[p] < B.indices[s]):
            total += A.data[p] ** 2
            p += 1
        elif p == p_end or B.indices[s] < A.indices[p]:
            total += B.data[s] ** 2
            s += 1
        else:
            total += (A.data[p] - B.data[s]) ** 2
            p += 1
            s += 1
    return total


@njit(cache=True)
def _squared_distance(A, i, B, j):
    if A.indptr.size:
        return _sparse_squared_distance(A, i, B, j)
    return _dense_squared_distance(A.dense[i], B.dense[j])


@njit(cache=True)
def _sort_run(values, records, begin, end):
    """Sort records[begin:end] by their values, both in place."""
    if end - begin > _SHORT_RUN:
        order = np.argsort(values[begin:end], kind="mergesort")
        values[begin:end] = values[begin:end][order]
        records[begin:end] = records[begin:end][order]
        return
    for i in range(begin + 1, end):
        value, record = values[i], records[i]
        j = i
        while j > begin and values[j - 1] > value:
            values[j], records[j] = values[j - 1], records[j - 1]
            j -= 1
        values[j], records[j] = value, record


@njit(cache=True)
def _radix_argsort(keys, counts, packed, records):
    """Sort keys of two digits in place; leave in `records` where each came from."""
    counts[:] = 0
    for key in keys:
        counts[0, key & _LOW_DIGIT] += 1
        counts[1, key >> _DIGIT] += 1
    for digit in range(2):
        start = 0
        for bucket in range(_BUCKETS):
            start, counts[digit, bucket] = start + counts[digit, bucket], start
    for i in range(keys.size):
        bucket = keys[i] & _LOW_DIGIT
        place = counts[0, bucket]
        counts[0, bucket] = place + np.uint32(1)
        packed[place] = (np.uint64(keys[i]) << _HALF) | np.uint64(i)
    for entry in packed:
        key = np.uint32(entry >> _HALF)
        bucket = key >> _DIGIT
        place = counts[1, bucket]
        counts[1, bucket] = place + np.uint32(1)
        keys[place] = key
        records[place] = np.int32(entry & _LOW_HALF)


@njit(cache=True)
def _settle_run(values, records, tied, begin, end, Q, q, X, error, rtol, atol):
    """Sort a run of nearly equal values, exactly where `error` blurs them."""
    _sort_run(values, records, begin, end)
    if error > 0:
        first = begin
        while first < end:
            last = first + 1
            blur = 2 * error + rtol * values[end - 1] + atol
            while last < end and values[last] - values[last - 1] <= blur:
                last += 1
            if last - first > 1:
                for i in range(first, last):
                    values[i] = _squared_distance(Q, q, X, records[i])
                _sort_run(values, records, first, last)
                for i in range(first + 1, last):
                    gap = values[i] - values[i - 1]
                    tied[i] = gap <= rtol * values[i] + atol
            first = last
    else:
        for i in range(begin + 1, end):
            tied[i] = values[i] - values[i - 1] <= rtol * values[i] + atol


@njit(cache=True)
def _keep(records, tied, n, exclude, n_keep):
    """Drop one record, then all beyond the tie group in which rank n_keep falls.

    Returns how many are left, at the front of both arrays, and how many of the n
    were looked at.
    """
    if exclude < 0 and n_keep >= n:
        return n, n
    kept = 0
    join = False
    for i in range(n):
        if not tied[i]:
            if kept >= n_keep:
                return kept, i
            join = False
        if records[i] != exclude:
            records[kept] = records[i]
            tied[kept] = join
            kept += 1
            join = True
    return kept, n


class _Scratch(NamedTuple):
    scaled: np.ndarray
    keys: np.ndarray
    packed: np.ndarray
    counts: np.ndarray
    run: np.ndarray


@njit(cache=True)
def _scratch(n):
    scaled = np.empty(n, dtype=np.float32)
    return _Scratch(
        scaled,
        scaled.view(np.uint32),
        np.empty(n, dtype=np.uint64),
        np.empty((2, _BUCKETS), dtype=np.uint32),
        np.empty(n),
    )


@njit(cache=True, fastmath={"reassoc", "nnan", "nsz"})
def _extremes(values):
    smallest, largest = values[0], values[0]
    for value in values:
        smallest = min(smallest, value)
        largest = max(largest, value)
    return smallest, largest


@njit(cache=True)
def _rank_row(values, scratch, Q, q, X, error, rtol, atol, records, tied):
    """Sort all records by their values; leave them and their ties in two rows."""
    scaled, keys, packed, counts, run = scratch
    n = values.size
    # The bits of positive floats sort like the floats. What exceeds the smallest is
    # cut to two digits; records that this leaves equal, or next to each other, are
    # compared in full below.
    smallest, largest = _extremes(values)
    smallest = max(smallest, 0.0)
    scale = 1.0 / largest if largest > 0 else 1.0
    scaled[0], scaled[n - 1] = smallest * scale, largest * scale
    base, span = keys[0], keys[n - 1] - keys[0]
    cut = np.uint32(0)
    while span >> cut >= np.uint32(1) << (2 * _DIGIT):
        cut += np.uint32(1)
    for j in range(n):
        scaled[j] = max(values[j], 0.0) * scale
    for j in range(n):
        keys[j] = (keys[j] - base) >> cut
    _radix_argsort(keys, counts, packed, records)
    for i in range(n):
        keys[i] = (keys[i] << cut) + base
        tied[i] = False

    blur = (2 * error + atol) * scale
    slope = rtol + _FLOAT32_STEP * (np.uint32(1) << cut)
    begin = 0
    for i in range(1, n + 1):
        if i == n or scaled[i] - scaled[i - 1] > blur + slope * scaled[i]:
            if i - begin > 1:
                for r in range(begin, i):
                    run[r] = max(values[records[r]], 0.0)
                _settle_run(run, records, tied, begin, i, Q, q, X, error, rtol, atol)
            begin = i


@njit(cache=True, parallel=True)
def rank_rows(
    values, errors, Q, X, exclude, n_keep, rtol, atol, records, tied, lengths
):
    """Rank all records for each query, given their distances.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_records)
        Distances; or squared Euclidean distances, wrong by at most `errors`, in
        which case those below 0 count as 0.
    errors : ndarray of shape (n_queries,)
    Q, X : Points
        The queries and the records, from which near-ties are computed again where
        an error is above 0.
    exclude : ndarray of shape (n_queries,)
        A record to leave out of each query's ranking, or -1.
    n_keep : int
        How many ranks are wanted; a tie group that is begun is kept whole.
    rtol, atol : float
        Values ``v`` and ``v + gap`` are tied when ``gap <= rtol * v + atol``.
    records : ndarray of shape (n_queries, n_records), dtype int32
        Output: the records, nearest first. Only the first `lengths` entries of a
        row count.
    tied : ndarray of shape (n_queries, n_records), dtype bool
        Output: whether a record is at the same distance as the one before it.
    lengths : ndarray of shape (n_queries,), dtype int64
        Output.
    """
    n_queries, n = values.shape
    n_blocks = min(n_queries, _BLOCKS)
    for block in prange(n_blocks):
        scratch = _scratch(n)
        for q in range(block, n_queries, n_blocks):
            _rank_row(
                values[q], scratch, Q, q, X, errors[q], rtol, atol, records[q], tied[q]
            )
            lengths[q], _ = _keep(records[q], tied[q], n, exclude[q], n_keep)


@njit(cache=True, parallel=True)
def candidate_distances(Q, X, candidates):
    """Squared Euclidean distance of each query to its candidates, from differences.

    Parameters
    ----------
    Q, X : Points
    candidates : ndarray of shape (n_queries, n_candidates)
        Records; -1 where one is missing.

    Returns
    -------
    distances : ndarray of shape (n_queries, n_candidates)
        Infinite where the candidate is missing.
    """
    distances = np.full(candidates.shape, np.inf)
    for q in prange(candidates.shape[0]):
        for c in range(candidates.shape[1]):
            if candidates[q, c] >= 0:
                distances[q, c] = _squared_distance(Q, q, X, candidates[q, c])
    return distances


@njit(cache=True, parallel=True)
def rank_candidates(candidates, values, exclude, n_keep, horizon, rtol, atol):
    """Rank the candidates of each query.

    Parameters
    ----------
    candidates : ndarray of shape (n_queries, n_candidates)
        Records; -1 where one is missing.
    values : ndarray of shape (n_queries, n_candidates)
        Their (squared) distances.
    exclude : ndarray of shape (n_queries,)
        A record to leave out of each query's ranking, or -1.
    n_keep : int
        How many ranks are wanted; a tie group that is begun is kept whole.
    horizon : ndarray of shape (n_queries,)
        No record that is not a candidate is nearer than this.
    rtol, atol : float
        Values ``v`` and ``v + gap`` are tied when ``gap <= rtol * v + atol``.

    Returns
    -------
    records : ndarray of shape (n_queries, n_candidates), dtype int32
    tied : ndarray of shape (n_queries, n_candidates), dtype bool
    lengths : ndarray of shape (n_queries,)
        As for `rank_rows`.
    complete : ndarray of shape (n_queries,), dtype bool
        Whether no other record can belong among those kept.
    """
    n_queries, n_candidates = candidates.shape
    records = np.empty((n_queries, n_candidates), dtype=np.int32)
    tied = np.zeros((n_queries, n_candidates), dtype=np.bool_)
    lengths = np.empty(n_queries, dtype=np.int64)
    complete = np.empty(n_queries, dtype=np.bool_)
    for q in prange(n_queries):
        sorted_values = np.empty(n_candidates)
        n = 0
        for c in range(n_candidates):
            if candidates[q, c] >= 0:
                records[q, n] = candidates[q, c]
                sorted_values[n] = values[q, c]
                n += 1
        _sort_run(sorted_values, records[q], 0, n)
        for i in range(1, n):
            gap = sorted_values[i] - sorted_values[i - 1]
            tied[q, i] = gap <= rtol * sorted_values[i] + atol
        lengths[q], seen = _keep(records[q], tied[q], n, exclude[q], n_keep)
        last = sorted_values[seen - 1] if seen else 0.0
        complete[q] = horizon[q] - last > rtol * last + atol
    return records, tied, lengths, complete
