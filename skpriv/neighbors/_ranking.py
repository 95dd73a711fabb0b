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

from skpriv.utils._threads import njit, prange

_DIGIT = np.uint32(12)
_BUCKETS = np.uint32(1 << 12)
_LOW_DIGIT = np.uint32(_BUCKETS - 1)
_EPS = 2.0**-52
_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_BLOCKS = 64  # shares of the queries, each with its own scratch space
_SHORT_RUN = 24


class Points(NamedTuple):
    """Rows, either dense or in the three arrays of a CSR matrix."""

    dense: np.ndarray
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
def _dense_squared_distance(a, b):
    total = blur = 0.0
    for f in range(a.size):
        difference = a[f] - b[f]
        total += difference * difference
        blur += abs(difference) * (abs(a[f]) + abs(b[f]))
    return total, _EPS * blur


@njit(cache=True)
def _sparse_squared_distance(A, i, B, j):
    total = blur = 0.0
    p, p_end = A.indptr[i], A.indptr[i + 1]
    s, s_end = B.indptr[j], B.indptr[j + 1]
    while p < p_end or s < s_end:
        a = b = 0.0
        first_of_a = s == s_end or (p < p_end and A.indices[p] <= B.indices[s])
        first_of_b = p == p_end or (s < s_end and B.indices[s] <= A.indices[p])
        if first_of_a:
            a = A.data[p]
            p += 1
        if first_of_b:
            b = B.data[s]
            s += 1
        total += (a - b) ** 2
        blur += abs(a - b) * (abs(a) + abs(b))
    return total, _EPS * blur


@njit(cache=True)
def _squared_distance(A, i, B, j):
    """Squared distance of two rows, and how far their features' rounding moves it.

    A feature that is right to half a unit in the last place moves the square by the
    difference times that rounding.
    """
    if A.indptr.size:
        return _sparse_squared_distance(A, i, B, j)
    return _dense_squared_distance(A.dense[i], B.dense[j])


@njit(cache=True)
def _sort_run(values, blurs, records, begin, end):
    """Sort the records from begin to end by their values, all in place."""
    if end - begin > _SHORT_RUN:
        order = np.argsort(values[begin:end], kind="mergesort")
        values[begin:end] = values[begin:end][order]
        blurs[begin:end] = blurs[begin:end][order]
        records[begin:end] = records[begin:end][order]
        return
    for i in range(begin + 1, end):
        value, blur, record = values[i], blurs[i], records[i]
        j = i
        while j > begin and values[j - 1] > value:
            values[j], blurs[j] = values[j - 1], blurs[j - 1]
            records[j] = records[j - 1]
            j -= 1
        values[j], blurs[j], records[j] = value, blur, record


@njit(cache=True)
def _mark_ties(values, blurs, tied, begin, end, rtol, atol):
    for i in range(begin + 1, end):
        blur = rtol * values[i] + atol + blurs[i - 1] + blurs[i]
        tied[i] = values[i] - values[i - 1] <= blur


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
def _settle_run(
    values, blurs, records, tied, begin, end, Q, q, X, error, slack, rtol, atol
):  # fmt: skip
    """Sort a run of nearly equal values, exactly where `error` blurs them."""
    blurs[begin:end] = 0.0
    _sort_run(values, blurs, records, begin, end)
    if error == 0:
        _mark_ties(values, blurs, tied, begin, end, rtol, atol)
        return
    first = begin
    while first < end:
        last = first + 1
        while last < end:
            value = values[last]
            blur = 2 * error + rtol * value + slack * np.sqrt(value)
            if value - values[last - 1] > blur:
                break
            last += 1
        if last - first > 1:
            for i in range(first, last):
                values[i], blurs[i] = _squared_distance(Q, q, X, records[i])
            _sort_run(values, blurs, records, first, last)
            _mark_ties(values, blurs, tied, first, last, rtol, atol)
        first = last


@njit(cache=True)
def _settle_pair(values, records, i, error, slack, rtol, atol):
    """Sort a pair of neighbours in a ranking; tell whether that leaves no doubt."""
    near, far = max(values[records[i]], 0.0), max(values[records[i + 1]], 0.0)
    if far < near:
        near, far = far, near
        records[i], records[i + 1] = records[i + 1], records[i]
    return far - near > 2 * error + rtol * far + atol + slack * np.sqrt(far)


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
    blurs: np.ndarray


@njit(cache=True)
def _scratch(n):
    scaled = np.empty(n, dtype=np.float32)
    return _Scratch(
        scaled,
        scaled.view(np.uint32),
        np.empty(n, dtype=np.uint64),
        np.empty((2, _BUCKETS), dtype=np.uint32),
        np.empty(n),
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
def _rank_row(
    values, scratch, Q, q, X, error, slack, rtol, atol, records, tied
):  # fmt: skip
    """Sort all records by their values; leave them and their ties in two rows."""
    scaled, keys, packed, counts, run, blurs = scratch
    n = values.size
    # The bits of positive floats sort like the floats. What exceeds the smallest is
    # cut to two digits; records that this leaves equal, or next to each other, are
    # compared in full below.
    smallest, largest = _extremes(values)
    smallest, largest = max(smallest, 0.0), max(largest, 0.0)
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

    # Compare in full what the keys leave in doubt. A bound of slack * sqrt(value) is
    # linear in the value, and the gap of keys two steps apart is right to a factor 4.
    root = np.sqrt(largest) if largest > 0 else 1.0
    blur = 4 * (2 * error + atol + slack * root / 2) * scale
    slope = 4 * (rtol + slack / (2 * root))
    step = np.uint32(1) << cut
    begin = 0
    for i in range(1, n + 1):
        if i < n and (
            keys[i] - keys[i - 1] <= step
            or scaled[i] - scaled[i - 1] <= blur + slope * scaled[i]
        ):
            continue
        if i - begin == 2:
            settled = _settle_pair(values, records, begin, error, slack, rtol, atol)
        else:
            settled = i - begin == 1
        if not settled:
            for r in range(begin, i):
                run[r] = max(values[records[r]], 0.0)
            _settle_run(
                run, blurs, records, tied, begin, i, Q, q, X, error, slack, rtol, atol
            )
        begin = i


@njit(cache=True, parallel=True)
def rank_rows(
    values, errors, slacks, Q, X, exclude, n_keep, rtol, atol, records, tied, lengths
):  # fmt: skip
    """Rank all records for each query, given their distances.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_records)
        Distances; or squared Euclidean distances, wrong by at most `errors`, in
        which case those below 0 count as 0.
    errors : ndarray of shape (n_queries,)
    slacks : ndarray of shape (n_queries,)
        The rounding of features moves the gap of two values near ``v`` by at most
        ``slack * sqrt(v)``; of interest where errors are above 0.
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
                values[q], scratch, Q, q, X, errors[q], slacks[q], rtol, atol,
                records[q], tied[q],
            )  # fmt: skip
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
    blurs : ndarray of shape (n_queries, n_candidates)
        How far the rounding of features may move them.
    """
    distances = np.full(candidates.shape, np.inf)
    blurs = np.zeros(candidates.shape)
    for q in prange(candidates.shape[0]):
        for c in range(candidates.shape[1]):
            if candidates[q, c] >= 0:
                distances[q, c], blurs[q, c] = _squared_distance(
                    Q, q, X, candidates[q, c]
                )
    return distances, blurs


@njit(cache=True, parallel=True)
def rank_candidates(
    candidates, values, blurs, exclude, n_keep, horizon, rtol, atol
):  # fmt: skip
    """Rank the candidates of each query.

    Parameters
    ----------
    candidates : ndarray of shape (n_queries, n_candidates)
        Records; -1 where one is missing.
    values : ndarray of shape (n_queries, n_candidates)
        Their (squared) distances.
    blurs : ndarray of shape (n_queries, n_candidates)
        How far the rounding of features may move them.
    exclude : ndarray of shape (n_queries,)
        A record to leave out of each query's ranking, or -1.
    n_keep : int
        How many ranks are wanted; a tie group that is begun is kept whole.
    horizon : ndarray of shape (n_queries,)
        No record that is not a candidate is nearer than this.
    rtol, atol : float
        Values ``v`` and ``v + gap`` are tied when ``gap <= rtol * v + atol``, and the
        blurs of both.

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
        sorted_values, sorted_blurs = np.empty((2, n_candidates))
        n = 0
        for c in range(n_candidates):
            if candidates[q, c] >= 0:
                records[q, n] = candidates[q, c]
                sorted_values[n], sorted_blurs[n] = values[q, c], blurs[q, c]
                n += 1
        _sort_run(sorted_values, sorted_blurs, records[q], 0, n)
        _mark_ties(sorted_values, sorted_blurs, tied[q], 0, n, rtol, atol)
        lengths[q], seen = _keep(records[q], tied[q], n, exclude[q], n_keep)
        last = max(seen - 1, 0)
        value, blur = (sorted_values[last], sorted_blurs[last]) if seen else (0.0, 0.0)
        complete[q] = horizon[q] - value > rtol * value + atol + 2 * blur
    return records, tied, lengths, complete
