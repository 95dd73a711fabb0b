"""Kernels that put training records in order of their distance to a query.

A `Ranking` holds the records of each query, nearest first, and whether each is tied
with the one before it. Distances matter for nothing else, so no other kernel sees them.

Records are tied when their distances differ by no more than rounding can explain.
Ties form chains in sorted order, which makes them the same for any order of the
training rows.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from skpriv.neighbors._tie_groups import Ranking
from skpriv.utils._threads import for_rows

_DIGIT = np.uint32(12)
_BUCKETS = np.uint32(1 << 12)
_LOW_DIGIT = np.uint32(_BUCKETS - 1)
_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_SHORT_RUN = 24


class Points(NamedTuple):
    """Rows, either dense or in the three arrays of a CSR matrix.

    `eps` has shape (n_features,): the machine epsilon to which each feature is rounded.
    """

    dense: np.ndarray
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    eps: np.ndarray


class Tolerance(NamedTuple):
    """Values ``v`` and ``v + gap`` are tied when ``gap <= rtol * v + atol``."""

    rtol: float
    atol: float


class Rounding(NamedTuple):
    """Bounds on the rounding errors of squared distances.

    Attributes
    ----------
    errors : ndarray of shape (n_queries,)
        Bound on the error of each value. Near-ties are computed again from the rows
        unless it is 0.
    feature_errors : ndarray of shape (n_queries,)
        The rounding of features changes the gap of two values near ``v`` by at most
        ``feature_error * sqrt(v)``.
    """

    errors: np.ndarray
    feature_errors: np.ndarray


class _Query(NamedTuple):
    """One query: what is needed to compute values in doubt again."""

    index: int
    error: float
    feature_error: float
    queries: Points
    points: Points


class Candidates(NamedTuple):
    """Records that may be the nearest ones of each query.

    Attributes
    ----------
    records : ndarray of shape (n_queries, n_candidates)
        -1 where one is missing.
    values : ndarray of shape (n_queries, n_candidates), dtype float64
        Their (squared) distances.
    errors : ndarray of shape (n_queries, n_candidates)
        By how much the rounding of features may change them.
    nearest_other : ndarray of shape (n_queries,)
        Lower bound on the values of all other records.
    """

    records: np.ndarray
    values: np.ndarray
    errors: np.ndarray
    nearest_other: np.ndarray


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
def _dense_squared_distance(a, b, a_eps, b_eps):
    total = error = 0.0
    for f in range(a.size):
        difference = a[f] - b[f]
        total += difference * difference
        error += abs(difference) * (a_eps[f] * abs(a[f]) + b_eps[f] * abs(b[f]))
    return total, error


@njit(cache=True)
def _sparse_squared_distance(A, i, B, j):
    total = error = 0.0
    p, p_end = A.indptr[i], A.indptr[i + 1]
    s, s_end = B.indptr[j], B.indptr[j + 1]
    while p < p_end or s < s_end:
        a = b = 0.0
        f = 0
        first_of_a = s == s_end or (p < p_end and A.indices[p] <= B.indices[s])
        first_of_b = p == p_end or (s < s_end and B.indices[s] <= A.indices[p])
        if first_of_a:
            a = A.data[p]
            f = A.indices[p]
            p += 1
        if first_of_b:
            b = B.data[s]
            f = B.indices[s]
            s += 1
        total += (a - b) ** 2
        error += abs(a - b) * (A.eps[f] * abs(a) + B.eps[f] * abs(b))
    return total, error


@njit(cache=True)
def _squared_distance(A, i, B, j):
    """Squared distance of two rows, and bound on how much rounding changes it.

    Features are right to half a unit in the last place; each changes the square by
    the difference times that rounding.
    """
    if A.indptr.size:
        return _sparse_squared_distance(A, i, B, j)
    return _dense_squared_distance(A.dense[i], B.dense[j], A.eps, B.eps)


@njit(cache=True)
def _reorder(column, order):
    copy = column.copy()
    for i in range(order.size):
        column[i] = copy[order[i]]


@njit(cache=True)
def _sort_run(values, errors, records, begin, end):
    """Sort the records from begin to end by their values, all in place."""
    if end - begin > _SHORT_RUN:
        order = np.argsort(values[begin:end], kind="mergesort")
        _reorder(values[begin:end], order)
        _reorder(errors[begin:end], order)
        _reorder(records[begin:end], order)
        return
    for i in range(begin + 1, end):
        value, error, record = values[i], errors[i], records[i]
        j = i
        while j > begin and values[j - 1] > value:
            values[j], errors[j] = values[j - 1], errors[j - 1]
            records[j] = records[j - 1]
            j -= 1
        values[j], errors[j], records[j] = value, error, record


@njit(cache=True)
def _mark_ties(values, errors, tied, begin, end, tolerance):
    rtol, atol = tolerance
    for i in range(begin + 1, end):
        largest = rtol * values[i] + atol + errors[i - 1] + errors[i]
        tied[i] = values[i] - values[i - 1] <= largest


@njit(cache=True)
def _radix_argsort(keys, counts, packed, records):
    """Sort keys of two digits in position; leave in `records` where each came from."""
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
        position = counts[0, bucket]
        counts[0, bucket] = position + np.uint32(1)
        packed[position] = (np.uint64(keys[i]) << _HALF) | np.uint64(i)
    for entry in packed:
        key = np.uint32(entry >> _HALF)
        bucket = key >> _DIGIT
        position = counts[1, bucket]
        counts[1, bucket] = position + np.uint32(1)
        keys[position] = key
        records[position] = np.int32(entry & _LOW_HALF)


@njit(cache=True, fastmath={"reassoc", "nnan", "nsz"})
def _extremes(values):
    smallest, largest = values[0], values[0]
    for value in values:
        smallest = min(smallest, value)
        largest = max(largest, value)
    return smallest, largest


class _Scratch(NamedTuple):
    scaled: np.ndarray
    keys: np.ndarray
    packed: np.ndarray
    counts: np.ndarray
    values: np.ndarray
    errors: np.ndarray


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


@njit(cache=True)
def _resolve_run(scratch, records, tied, begin, end, query, tolerance):
    """Sort a run of nearly equal values, computed again where they are in doubt."""
    values, errors = scratch.values, scratch.errors
    error, feature_error = query.error, query.feature_error
    for i in range(begin, end):
        errors[i] = 0.0
    _sort_run(values, errors, records, begin, end)
    first = begin
    while first < end:
        last = first + 1
        while last < end and error > 0:
            value = values[last]
            doubt = 2 * error + tolerance.rtol * value + feature_error * np.sqrt(value)
            if value - values[last - 1] > doubt:
                break
            last += 1
        if error == 0:
            last = end
        elif last - first > 1:
            for i in range(first, last):
                values[i], errors[i] = _squared_distance(
                    query.queries, query.index, query.points, records[i]
                )
            _sort_run(values, errors, records, first, last)
        _mark_ties(values, errors, tied, first, last, tolerance)
        first = last


@njit(cache=True)
def _resolve_pair(values, records, i, query, tolerance):
    """Sort a pair of neighbours in a ranking; tell whether that leaves no doubt."""
    near, far = max(values[records[i]], 0.0), max(values[records[i + 1]], 0.0)
    if far < near:
        near, far = far, near
        records[i], records[i + 1] = records[i + 1], records[i]
    doubt = 2 * query.error + tolerance.rtol * far + tolerance.atol
    return far - near > doubt + query.feature_error * np.sqrt(far)


@njit(cache=True)
def _keep(records, tied, n, exclude, n_ranks):
    """Drop one record, then all beyond the tie group that holds rank n_ranks.

    Returns how many are left, at the front of both arrays, and how many of the n
    records were examined.
    """
    if exclude < 0 and n_ranks >= n:
        return n, n
    kept = 0
    join = False
    for i in range(n):
        if not tied[i]:
            if kept >= n_ranks:
                return kept, i
            join = False
        if records[i] != exclude:
            records[kept] = records[i]
            tied[kept] = join
            kept += 1
            join = True
    return kept, n


@njit(cache=True)
def _rank_row(values, scratch, records, tied, query, tolerance):
    """Sort all records of a query by their values, and mark their ties."""
    scaled, keys, packed, counts, run, _ = scratch
    error, feature_error = query.error, query.feature_error
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

    # Compare in full what the keys leave in doubt. A bound of feature_error *
    # sqrt(value) is at most linear in the value, and the gap of keys two steps apart is
    # right to a factor 4.
    root = np.sqrt(largest) if largest > 0 else 1.0
    doubt = 4 * (2 * error + tolerance.atol + feature_error * root / 2) * scale
    slope = 4 * (tolerance.rtol + feature_error / (2 * root))
    step = np.uint32(1) << cut
    begin = 0
    for i in range(1, n + 1):
        if i < n and (
            keys[i] - keys[i - 1] <= step
            or scaled[i] - scaled[i - 1] <= doubt + slope * scaled[i]
        ):
            continue
        if i - begin == 2:
            resolved = _resolve_pair(values, records, begin, query, tolerance)
        else:
            resolved = i - begin == 1
        if not resolved:
            for r in range(begin, i):
                run[r] = max(values[records[r]], 0.0)
            _resolve_run(scratch, records, tied, begin, i, query, tolerance)
        begin = i


def rank_rows(values, rounding, queries, points, exclude, n_ranks, tolerance, ranking):
    """Rank all records for each query, given their distances.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_records)
        Distances; or squared Euclidean distances, wrong by at most
        ``rounding.errors``, in which case those below 0 count as 0.
    rounding : Rounding
    queries, points : Points
        The queries and the records.
    exclude : ndarray of shape (n_queries,)
        A record to leave out of each query's ranking, or -1.
    n_ranks : int
        How many ranks are needed; the last tie group is kept whole.
    tolerance : Tolerance
    ranking : Ranking
        Output, with a width of n_records.
    """
    args = values, rounding, queries, points, exclude, n_ranks, tolerance, ranking
    for_rows(_rank_rows, len(values), *args)


@njit(cache=True, nogil=True)
def _rank_rows(
    start_row,
    stop_row,
    values,
    rounding,
    queries,
    points,
    exclude,
    n_ranks,
    tolerance,
    ranking,
):
    n = values.shape[1]
    scratch = _scratch(n)
    for q in range(start_row, stop_row):
        error, feature_error = rounding.errors[q], rounding.feature_errors[q]
        query = _Query(q, error, feature_error, queries, points)
        records, tied = ranking.records[q], ranking.tied[q]
        _rank_row(values[q], scratch, records, tied, query, tolerance)
        ranking.lengths[q], _ = _keep(records, tied, n, exclude[q], n_ranks)


def candidate_distances(queries, records, candidates):
    """Compute squared Euclidean distances to candidates, from differences.

    Parameters
    ----------
    queries, records : Points
    candidates : ndarray of shape (n_queries, n_candidates)
        Records; -1 where one is missing.

    Returns
    -------
    distances : ndarray of shape (n_queries, n_candidates)
        Infinite where the candidate is missing.
    errors : ndarray of shape (n_queries, n_candidates)
        By how much the rounding of features may change them.
    """
    distances = np.full(candidates.shape, np.inf)
    errors = np.zeros(candidates.shape)
    args = queries, records, candidates, distances, errors
    for_rows(_candidate_distances, len(candidates), *args)
    return distances, errors


@njit(cache=True, nogil=True)
def _candidate_distances(
    start_row, stop_row, queries, records, candidates, distances, errors
):
    for q in range(start_row, stop_row):
        for c in range(candidates.shape[1]):
            if candidates[q, c] >= 0:
                distances[q, c], errors[q, c] = _squared_distance(
                    queries, q, records, candidates[q, c]
                )


@njit(cache=True)
def _minkowski_error(a, b, a_eps, b_eps, distance, p, weights):
    """Bound how much the rounding of features changes one Minkowski distance."""
    total = largest = 0.0
    for f in range(a.size):
        gap = abs(a[f] - b[f])
        if not gap > 0:  # equal, or missing
            continue
        error = (a_eps[f] * abs(a[f]) + b_eps[f] * abs(b[f])) / 2
        if p == np.inf:
            if gap + error >= distance:
                largest = max(largest, error)
        else:
            total += weights[f] * (gap / distance) ** (p - 1) * error
    return largest if p == np.inf else total


def minkowski_errors(queries, points, candidates, distances, p, weights):
    """Bound how much the rounding of features changes Minkowski distances.

    Parameters
    ----------
    queries, points : Points
        Dense.
    candidates : ndarray of shape (n_queries, n_candidates)
    distances : ndarray of shape (n_queries, n_candidates)
    p : float
    weights : ndarray of shape (n_features,)

    Returns
    -------
    errors : ndarray of shape (n_queries, n_candidates)
    """
    errors = np.zeros(candidates.shape)
    args = queries, points, candidates, distances, p, weights, errors
    for_rows(_minkowski_errors, len(candidates), *args)
    return errors


@njit(cache=True, nogil=True)
def _minkowski_errors(
    start_row, stop_row, queries, points, candidates, distances, p, weights, errors
):
    for q in range(start_row, stop_row):
        for c in range(candidates.shape[1]):
            errors[q, c] = _minkowski_error(
                queries.dense[q],
                points.dense[candidates[q, c]],
                queries.eps,
                points.eps,
                distances[q, c],
                p,
                weights,
            )


def nan_euclidean_distances(queries, points, candidates):
    """Return distances over the features that both rows have, scaled up to all.

    Differences are squared, so that no digits cancel.

    Parameters
    ----------
    queries, points : Points
        Dense.
    candidates : ndarray of shape (n_queries, n_candidates)

    Returns
    -------
    distances : ndarray of shape (n_queries, n_candidates)
        NaN where two rows have no feature in common.
    errors : ndarray of shape (n_queries, n_candidates)
        By how much the rounding of features may change them.
    """
    distances, errors = np.empty(candidates.shape), np.empty(candidates.shape)
    args = queries, points, candidates, distances, errors
    for_rows(_nan_euclidean_distances, len(candidates), *args)
    return distances, errors


@njit(cache=True, nogil=True)
def _nan_euclidean_distances(
    start_row, stop_row, queries, points, candidates, distances, errors
):
    for q in range(start_row, stop_row):
        for c in range(candidates.shape[1]):
            total = error = 0.0
            n_present = 0
            for f in range(queries.dense.shape[1]):
                a, b = queries.dense[q, f], points.dense[candidates[q, c], f]
                if not (np.isnan(a) or np.isnan(b)):
                    n_present += 1
                    total += (a - b) ** 2
                    rounding = queries.eps[f] * abs(a) + points.eps[f] * abs(b)
                    error += abs(a - b) * rounding / 2
            if n_present == 0:
                distances[q, c], errors[q, c] = np.nan, 0.0
                continue
            scale = np.sqrt(queries.dense.shape[1] / n_present)
            distances[q, c] = scale * np.sqrt(total)
            errors[q, c] = scale * error / np.sqrt(total) if total > 0 else 0.0


def mahalanobis_errors(queries, points, candidates, distances, VI):
    """Bound how much rounding changes Mahalanobis distances.

    Parameters
    ----------
    queries, points : Points
        Dense.
    candidates : ndarray of shape (n_queries, n_candidates)
    distances : ndarray of shape (n_queries, n_candidates)
    VI : ndarray of shape (n_features, n_features)
        The inverse of the covariance.

    Returns
    -------
    errors : ndarray of shape (n_queries, n_candidates)
    """
    errors = np.zeros(candidates.shape)
    args = queries, points, candidates, distances, VI, errors
    for_rows(_mahalanobis_errors, len(candidates), *args)
    return errors


@njit(cache=True, nogil=True)
def _mahalanobis_errors(
    start_row, stop_row, queries, points, candidates, distances, VI, errors
):
    n_features = queries.dense.shape[1]
    for q in range(start_row, stop_row):
        for c in range(candidates.shape[1]):
            if not distances[q, c] > 0:
                continue
            a, b = queries.dense[q], points.dense[candidates[q, c]]
            total = 0.0
            for f in range(n_features):
                slope = 0.0
                for g in range(n_features):
                    slope += VI[f, g] * (a[g] - b[g])
                rounding = queries.eps[f] * abs(a[f]) + points.eps[f] * abs(b[f])
                total += abs(slope) * rounding / 2
            errors[q, c] = total / distances[q, c]


def rank_candidates(candidates, exclude, n_ranks, tolerance):
    """Rank the candidates of each query.

    Parameters
    ----------
    candidates : Candidates
    exclude : ndarray of shape (n_queries,)
        A record to leave out of each query's ranking, or -1.
    n_ranks : int
        How many ranks are needed; the last tie group is kept whole.
    tolerance : Tolerance
        Candidates are tied also where their errors explain the gap.

    Returns
    -------
    ranking : Ranking
        With a width of n_candidates.
    complete : ndarray of shape (n_queries,), dtype bool
        Whether no other record can belong among the ranked ones.
    """
    n_queries, n_candidates = candidates.records.shape
    records = np.empty((n_queries, n_candidates), dtype=np.int32)
    tied = np.zeros((n_queries, n_candidates), dtype=np.bool_)
    ranking = Ranking(records, tied, np.empty(n_queries, dtype=np.int64))
    complete = np.empty(n_queries, dtype=np.bool_)
    args = candidates, exclude, n_ranks, tolerance, ranking, complete
    for_rows(_rank_candidates, n_queries, *args)
    return ranking, complete


@njit(cache=True, nogil=True)
def _rank_candidates(
    start_row, stop_row, candidates, exclude, n_ranks, tolerance, ranking, complete
):
    records, tied, lengths = ranking
    n_candidates = records.shape[1]
    values, errors = np.empty(n_candidates), np.empty(n_candidates)
    for q in range(start_row, stop_row):
        n = 0
        for c in range(n_candidates):
            if candidates.records[q, c] >= 0:
                records[q, n] = candidates.records[q, c]
                values[n], errors[n] = candidates.values[q, c], candidates.errors[q, c]
                n += 1
        _sort_run(values, errors, records[q], 0, n)
        _mark_ties(values, errors, tied[q], 0, n, tolerance)
        lengths[q], seen = _keep(records[q], tied[q], n, exclude[q], n_ranks)
        last = max(seen - 1, 0)
        value, error = (values[last], errors[last]) if seen else (0.0, 0.0)
        doubt = tolerance.rtol * value + tolerance.atol + 2 * error
        complete[q] = candidates.nearest_other[q] - value > doubt
