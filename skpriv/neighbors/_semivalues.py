"""Kernels for values that are linear in the matches of a ranking.

k-NN Shapley, leave-one-out and WaKA without a threshold are one formula. Number the
ranks of a query from 0. When a record at rank i joins a subset, it displaces the record
at a later rank j if that is the subset's k-th nearest; the utility changes by 1/k if
exactly one of the two matches the query's label. Let ``weights[j]`` be 1/k times the
probability, over the subsets of the method, that a given nearer record displaces the
one at rank j, and let ``unfilled`` be 1/k times the probability that the subset has
fewer than k other records. Then

    value(i) = unfilled + sum of weights[j] over mismatches j > i    if i matches,
    value(i) =          - sum of weights[j] over matches j > i       if it does not.

A record's own value, where the record is the query and strictly its nearest neighbour,
is the first line with i = 0. Tied records are exchangeable: each gets the mean over the
orders of its group. Records beyond the end of a ranking count as one more tie group,
whose number of matches is known from the class sizes.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from skpriv.neighbors._tie_groups import count_matches, group_end, group_start
from skpriv.utils._threads import for_rows

N_SHARES = 16  # Fixed, so that sums do not depend on the number of threads.


class Weights(NamedTuple):
    """Weights of the ranks.

    Attributes
    ----------
    by_rank : ndarray of shape (n_ranks,)
        Weight of the event that the record at this rank is displaced.
    sums, ranked_sums : ndarray of shape (n_ranks + 1,)
        At j, the sums of ``by_rank[i]`` and of ``i * by_rank[i]`` over i < j.
    unfilled : float
        Weight of the event that the subset has fewer than k other records.
    mismatch_sign : float
        -1 for the value of a record that does not match; 1 for its magnitude.
    """

    by_rank: np.ndarray
    sums: np.ndarray
    ranked_sums: np.ndarray
    unfilled: float
    mismatch_sign: float


def self_values(ranking, votes, weights):
    """Compute the value of each query for itself, without the unfilled part.

    Parameters
    ----------
    ranking : Ranking
        The other records; the query's own record is left out.
    votes : Votes
    weights : Weights

    Returns
    -------
    values : ndarray of shape (n_queries,)
    """
    values = np.empty(ranking.lengths.size)
    for_rows(_self_values, values.size, ranking, votes, weights, values)
    return values


@njit(cache=True, nogil=True)
def _self_values(start_row, stop_row, ranking, votes, weights, values):
    by_rank, sums = weights.by_rank, weights.sums
    for q in range(start_row, stop_row):
        records, tied = ranking.records[q], ranking.tied[q]
        label, n_others = votes.query_labels[q], votes.n_others[q]
        length = ranking.lengths[q]
        total, matches = 0.0, 0
        start = 0
        while start < length:
            end = group_end(tied, start, length)
            found = count_matches(records, votes.labels, label, start, end)
            matches += found
            share = (end - start - found) / (end - start)
            if share > 0:
                for j in range(start, end):
                    total += share * by_rank[j + 1]
            start = end
        unranked = n_others - length
        if unranked > 0:
            share = (unranked - votes.n_matches[q] + matches) / unranked
            total += share * (sums[n_others + 1] - sums[length + 1])
        values[q] = total


def self_influence(ranking, votes, weights):
    """Compute the change of each query's own value when a ranked record is removed.

    The change of the unfilled part, which is the same for all records, is left out.

    Parameters
    ----------
    ranking, votes, weights
        As for `self_values`.

    Returns
    -------
    changes : ndarray of shape (n_queries, width)
        For the records at these positions of the ranking.
    """
    changes = np.zeros(ranking.records.shape)
    for_rows(_self_influence, len(changes), ranking, votes, weights, changes)
    return changes


@njit(cache=True, nogil=True)
def _self_influence(start_row, stop_row, ranking, votes, weights, changes):
    by_rank, labels = weights.by_rank, votes.labels
    for q in range(start_row, stop_row):
        records, tied = ranking.records[q], ranking.tied[q]
        label, n_others = votes.query_labels[q], votes.n_others[q]
        length = ranking.lengths[q]
        later = 0.0
        unranked = n_others - length
        if unranked > 0:
            ranked = count_matches(records, labels, label, 0, length)
            share = (unranked - votes.n_matches[q] + ranked) / unranked
            later = share * (by_rank[length] - by_rank[n_others])
        end = length
        while end > 0:
            start = group_start(tied, end)
            size = end - start
            mismatches = size - count_matches(records, labels, label, start, end)
            fewer = 0.0
            for j in range(start, end - 1):
                fewer += by_rank[j + 1]
            before = mismatches / size * (fewer + by_rank[end])
            for i in range(start, end):
                change = later - before
                if size > 1:
                    left = mismatches - (labels[records[i]] != label)
                    change += left / (size - 1) * fewer
                changes[q, i] = change
            later += mismatches / size * (by_rank[start] - by_rank[end])
            end = start


@njit(cache=True)
def _unranked(n_unranked, matches, length, n_records, weights):
    """Treat the records beyond a ranking as one tie group.

    Returns their weight by match and by mismatch, and the value of a match and of a
    mismatch among them.
    """
    weight = weights.sums[n_records] - weights.sums[length]
    # Of two records of a group, one is the nearer in half of all orders; for the one
    # at position t of g, a given other one is nearer with probability t/g.
    nearer = weights.ranked_sums[n_records] - weights.ranked_sums[length]
    nearer -= length * weight
    nearer /= n_unranked * max(n_unranked - 1, 1)
    mismatches = n_unranked - matches
    return (
        matches / n_unranked * weight,
        mismatches / n_unranked * weight,
        weights.unfilled + nearer * mismatches,
        weights.mismatch_sign * nearer * matches,
    )


@njit(cache=True)
def _query_values(ranking, votes, weights, q, values):
    """Fill in the values of a query's ranked records; return those of unranked ones.

    The latter are the value of a match and of a mismatch.
    """
    records, tied, length = ranking.records[q], ranking.tied[q], ranking.lengths[q]
    labels, label, n_records = votes.labels, votes.query_labels[q], votes.n_others[q]
    by_rank, unfilled = weights.by_rank, weights.unfilled
    sign = weights.mismatch_sign
    matching = mismatching = 0.0  # weight of the later ranks, by match
    rest_match = rest_mismatch = 0.0
    if n_records > length:
        matches = votes.n_matches[q] - count_matches(records, labels, label, 0, length)
        matching, mismatching, rest_match, rest_mismatch = _unranked(
            n_records - length, matches, length, n_records, weights
        )
    end = length
    while end > 0:
        start = end - 1
        if not tied[start]:
            # Labels come at random: a branch on them would stall the pipeline.
            matched = np.float64(labels[records[start]] == label)
            as_match, as_mismatch = unfilled + mismatching, sign * matching
            values[start] = matched * as_match + (1 - matched) * as_mismatch
            matching += matched * by_rank[start]
            mismatching += (1 - matched) * by_rank[start]
        else:
            start = group_start(tied, end)
            size = end - start
            matches = count_matches(records, labels, label, start, end)
            weight = nearer = 0.0
            for position in range(size):
                weight += by_rank[start + position]
                nearer += position * by_rank[start + position]
            nearer /= size * (size - 1)
            for i in range(start, end):
                if labels[records[i]] == label:
                    values[i] = unfilled + mismatching + nearer * (size - matches)
                else:
                    values[i] = sign * (matching + nearer * matches)
            matching += matches / size * weight
            mismatching += (size - matches) / size * weight
        end = start
    return rest_match, rest_mismatch


def record_values(ranking, votes, weights):
    """Compute the value of each ranked record for each query.

    Parameters
    ----------
    ranking : Ranking
        Here of all records.
    votes : Votes
    weights : Weights

    Returns
    -------
    values : ndarray of shape (n_queries, width)
        For the records at these positions of the ranking.
    rest : ndarray of shape (n_queries, 2)
        For the records beyond it: a mismatch, a match.
    """
    values = np.zeros(ranking.records.shape)
    rest = np.empty((ranking.lengths.size, 2))
    for_rows(_record_values, len(values), ranking, votes, weights, values, rest)
    return values, rest


@njit(cache=True, nogil=True)
def _record_values(start_row, stop_row, ranking, votes, weights, values, rest):
    for q in range(start_row, stop_row):
        rest[q, 1], rest[q, 0] = _query_values(ranking, votes, weights, q, values[q])


def add_record_values(ranking, votes, weights, share_rest, totals, rest):
    """Add each record's values over the queries; see `record_values`.

    Parameters
    ----------
    ranking, votes, weights
        As for `record_values`.
    share_rest : bool
        Whether records beyond the ranking have a value.
    totals : ndarray of shape (N_SHARES, n_records)
        Added to: values of ranked records, less what `rest` holds for them.
    rest : ndarray of shape (N_SHARES, n_labels + 1, 2)
        Added to, by the query's label (the last one is for labels that no record
        has): the values of a mismatch and of a match beyond the ranking.
    """
    args = ranking, votes, weights, share_rest, totals, rest
    for_rows(_add_record_values, N_SHARES, *args)


@njit(cache=True, nogil=True)
def _add_record_values(
    start_share, stop_share, ranking, votes, weights, share_rest, totals, rest
):
    n_queries, n_records = ranking.lengths.size, votes.labels.size
    values = np.empty(ranking.records.shape[1])
    for share in range(start_share, stop_share):
        for q in range(share, n_queries, N_SHARES):
            match, mismatch = _query_values(ranking, votes, weights, q, values)
            records, length = ranking.records[q], ranking.lengths[q]
            label = votes.query_labels[q]
            if share_rest and length < n_records:
                rest[share, label, 0] += mismatch
                rest[share, label, 1] += match
                for i in range(length):
                    matched = votes.labels[records[i]] == label
                    values[i] -= match if matched else mismatch
            for i in range(length):
                totals[share, records[i]] += values[i]
