"""Kernels for values that are linear in the matches of a ranking.

k-NN Shapley, leave-one-out and WaKA without a threshold are one formula. Number the
ranks of a query from 0. Adding a record at rank i to a subset pushes out the record
at a later rank j, if that is the subset's k-th nearest; the utility moves by 1/k
where just one of the two matches the query's label. So, with ``weights[j]`` for the
probability (over the method's subsets) that j is pushed out by a given nearer record,
over k, and ``unfilled`` for the probability that fewer than k others are there, over k,

    value(i) = unfilled + sum of weights[j] over mismatches j > i    if i matches,
    value(i) =          - sum of weights[j] over matches j > i       if it does not.

A record's own value (it is the query, and strictly the nearest) is the first line with
i = 0. Tied records are exchangeable: each has the mean over the orders of its group.
Records beyond a ranking's end count as one more tie group, whose matches are known
from the classes' sizes.
"""

import numpy as np

from skpriv.utils._threads import njit, prange

N_SHARES = 16  # of the queries: sums of shares do not depend on the threads at work


@njit(cache=True)
def _group_start(tied, end):
    """Return where the tie group that ends before `end` begins."""
    start = end - 1
    while tied[start]:
        start -= 1
    return start


@njit(cache=True)
def _count_matches(records, labels, label, start, end):
    matches = 0
    for i in range(start, end):
        matches += labels[records[i]] == label
    return matches


@njit(cache=True, parallel=True)
def self_values(
    records, tied, lengths, labels, query_labels, n_others, n_matches, weights, sums
):
    """Value of each query for itself, less the part for unfilled neighbourhoods.

    Parameters
    ----------
    records : ndarray of shape (n_queries, width), dtype int32
    tied : ndarray of shape (n_queries, width), dtype bool
    lengths : ndarray of shape (n_queries,)
        Rankings of the others, the query's own record left out.
    labels : ndarray of shape (n_records,)
    query_labels : ndarray of shape (n_queries,)
    n_others, n_matches : ndarray of shape (n_queries,)
        How many others there are, ranked or not, and how many of them match.
    weights : ndarray of shape (n_ranks,)
    sums : ndarray of shape (n_ranks + 1,)
        ``sums[j]`` is the sum of the weights before j.

    Returns
    -------
    values : ndarray of shape (n_queries,)
    """
    values = np.empty(lengths.size)
    for q in prange(lengths.size):
        label, length = query_labels[q], lengths[q]
        total, matches = 0.0, 0
        start = 0
        while start < length:
            end = start + 1
            while end < length and tied[q, end]:
                end += 1
            found = _count_matches(records[q], labels, label, start, end)
            matches += found
            share = (end - start - found) / (end - start)
            if share > 0:
                for j in range(start, end):
                    total += share * weights[j + 1]
            start = end
        unranked = n_others[q] - length
        if unranked > 0:
            share = (unranked - n_matches[q] + matches) / unranked
            total += share * (sums[n_others[q] + 1] - sums[length + 1])
        values[q] = total
    return values


@njit(cache=True, parallel=True)
def self_influence(
    records, tied, lengths, labels, query_labels, n_others, n_matches, weights
):
    """Change of each query's own value when a ranked record is removed.

    The part for unfilled neighbourhoods, which changes alike for all, is left out.

    Parameters
    ----------
    records, tied, lengths, labels, query_labels, n_others, n_matches, weights
        As for `self_values`.

    Returns
    -------
    changes : ndarray of shape (n_queries, width)
        For the records at these places of the ranking.
    """
    changes = np.zeros(records.shape)
    for q in prange(lengths.size):
        label, length = query_labels[q], lengths[q]
        later = 0.0
        unranked = n_others[q] - length
        if unranked > 0:
            ranked = _count_matches(records[q], labels, label, 0, length)
            share = (unranked - n_matches[q] + ranked) / unranked
            later = share * (weights[length] - weights[n_others[q]])
        end = length
        while end > 0:
            start = _group_start(tied[q], end)
            size = end - start
            mismatches = size - _count_matches(records[q], labels, label, start, end)
            fewer = 0.0
            for j in range(start, end - 1):
                fewer += weights[j + 1]
            before = mismatches / size * (fewer + weights[end])
            for i in range(start, end):
                change = later - before
                if size > 1:
                    left = mismatches - (labels[records[q, i]] != label)
                    change += left / (size - 1) * fewer
                changes[q, i] = change
            later += mismatches / size * (weights[start] - weights[end])
            end = start
    return changes


@njit(cache=True)
def _query_values(
    records, tied, length, labels, label, n_records, n_matches, weights, sums,
    ranked_sums, unfilled, mismatch_sign, values,
):  # fmt: skip
    """Fill in the values of ranked records; return those of unranked ones.

    The latter are the value of a match and of a mismatch.
    """
    matching = mismatching = 0.0  # weight of the later ranks, by match
    rest_match = rest_mismatch = 0.0
    rest = n_records - length
    if rest > 0:
        matches = n_matches - _count_matches(records, labels, label, 0, length)
        weight = sums[n_records] - sums[length]
        # Of two records of a group, one is the nearer in half of all orders; at the
        # t-th place of g, a given other one is nearer with probability t/g.
        nearer = ranked_sums[n_records] - ranked_sums[length] - length * weight
        nearer /= rest * max(rest - 1, 1)
        rest_match = unfilled + nearer * (rest - matches)
        rest_mismatch = mismatch_sign * nearer * matches
        matching = matches / rest * weight
        mismatching = (rest - matches) / rest * weight
    end = length
    while end > 0:
        start = end - 1
        if not tied[start]:
            # Labels come at random: a branch on them would stall the pipeline.
            matched = np.float64(labels[records[start]] == label)
            as_match, as_mismatch = unfilled + mismatching, mismatch_sign * matching
            values[start] = matched * as_match + (1 - matched) * as_mismatch
            matching += matched * weights[start]
            mismatching += (1 - matched) * weights[start]
        else:
            start = _group_start(tied, end)
            size = end - start
            matches = _count_matches(records, labels, label, start, end)
            weight = nearer = 0.0
            for place in range(size):
                weight += weights[start + place]
                nearer += place * weights[start + place]
            nearer /= size * (size - 1)
            for i in range(start, end):
                if labels[records[i]] == label:
                    values[i] = unfilled + mismatching + nearer * (size - matches)
                else:
                    values[i] = mismatch_sign * (matching + nearer * matches)
            matching += matches / size * weight
            mismatching += (size - matches) / size * weight
        end = start
    return rest_match, rest_mismatch


@njit(cache=True, parallel=True)
def record_values(
    records, tied, lengths, labels, query_labels, n_matches, weights, sums,
    ranked_sums, unfilled, mismatch_sign,
):  # fmt: skip
    """Value of each ranked record for each query.

    Parameters
    ----------
    records : ndarray of shape (n_queries, width), dtype int32
    tied : ndarray of shape (n_queries, width), dtype bool
    lengths : ndarray of shape (n_queries,)
        Rankings of all records.
    labels : ndarray of shape (n_records,)
    query_labels : ndarray of shape (n_queries,)
    n_matches : ndarray of shape (n_queries,)
        How many records match, ranked or not.
    weights : ndarray of shape (n_ranks,)
    sums, ranked_sums : ndarray of shape (n_ranks + 1,)
        At j, the sums of ``weights[i]`` and of ``i * weights[i]`` over i < j.
    unfilled : float
    mismatch_sign : float
        -1 for the value of a mismatch; 1 for its magnitude.

    Returns
    -------
    values : ndarray of shape (n_queries, width)
        For the records at these places of the ranking.
    rest : ndarray of shape (n_queries, 2)
        For records beyond it: a mismatch, a match.
    """
    values = np.zeros(records.shape)
    rest = np.empty((lengths.size, 2))
    for q in prange(lengths.size):
        rest[q, 1], rest[q, 0] = _query_values(
            records[q], tied[q], lengths[q], labels, query_labels[q], labels.size,
            n_matches[q], weights, sums, ranked_sums, unfilled, mismatch_sign,
            values[q],
        )  # fmt: skip
    return values, rest


@njit(cache=True, parallel=True)
def add_record_values(
    records, tied, lengths, labels, query_labels, n_matches, weights, sums,
    ranked_sums, unfilled, mismatch_sign, share_rest, totals, rest,
):  # fmt: skip
    """Add each record's values over the queries; see `record_values`.

    Parameters
    ----------
    share_rest : bool
        Whether records beyond a ranking have their value, or none.
    totals : ndarray of shape (N_SHARES, n_records)
        Added to: values of ranked records, less what `rest` holds for them.
    rest : ndarray of shape (N_SHARES, n_labels + 1, 2)
        Added to, by the query's label (the last is for labels of no record): the
        values of a mismatch and of a match beyond the ranking.
    """
    n_queries = lengths.size
    for share in prange(N_SHARES):
        values = np.empty(records.shape[1])
        for q in range(share, n_queries, N_SHARES):
            label, length = query_labels[q], lengths[q]
            match, mismatch = _query_values(
                records[q], tied[q], length, labels, label, labels.size,
                n_matches[q], weights, sums, ranked_sums, unfilled, mismatch_sign,
                values,
            )  # fmt: skip
            if share_rest and length < labels.size:
                rest[share, label, 0] += mismatch
                rest[share, label, 1] += match
                for i in range(length):
                    matched = labels[records[q, i]] == label
                    values[i] -= match if matched else mismatch
            for i in range(length):
                totals[share, records[q, i]] += values[i]
