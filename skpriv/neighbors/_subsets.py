"""Kernels for the loss of a k-NN over all subsets of its training records.

A subset S holds each record independently with probability q. Nearly everything about
its loss at a query follows from one table of events, with s = 0, ..., k - 1:

- ``match[s]``, ``mismatch[s]``: the k-th nearest record of S matches the query's label,
  or does not, and s of the k - 1 nearer ones match;
- ``unfilled[s]``: S has fewer than k records, and s of them match.

With ``pmf[c, s] = C(c, s) q^s (1-q)^(c-s)``, the record at rank j, with c matches
before it, is the k-th nearest with probability ``q * pmf[c, s] * pmf[j - c, k - 1 -
s]``. Products of binomial probabilities neither overflow nor cancel, whatever k and the
number of records.

Tied records are exchangeable. If r < k records of S come before a tie group, and at
least m = k - r of S are in it, then the last m of the k nearest are a random sample
from the group.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from skpriv.neighbors._tie_groups import count_matches, group_end, group_start
from skpriv.utils._threads import for_rows

# A tie group that is reached with less probability than this is skipped.
_NEGLIGIBLE = 1e-12
_SMALLEST = 1e-300


class Subsets(NamedTuple):
    """Random subsets: the votes that count, and tables of binomial probabilities.

    Attributes
    ----------
    k : int
    pmf : ndarray of shape (n_rows, k + 1)
        ``pmf[c, s]``: probability of s successes in c trials.
    tail : ndarray of shape (n_rows, k + 2)
        ``tail[c, m]``: probability of at least m successes in c trials. Once k
        successes are certain to the last bit, the tables end with a row that serves
        all larger c.
    """

    k: int
    pmf: np.ndarray
    tail: np.ndarray


class _Group(NamedTuple):
    """A tie group, and how many of the records before it match."""

    start: int
    before: int
    size: int
    matches: int


@njit(cache=True)
def random_subsets(n, k, q):
    """Tabulate binomial probabilities, by recurrences of positive terms.

    Parameters
    ----------
    n : int
        The largest number of trials that is needed.
    k : int
    q : float
        The probability of success.

    Returns
    -------
    subsets : Subsets
    """
    # Loops, because array expressions take seconds to compile.
    pmf = np.zeros((n + 1, k + 1))
    tail = np.zeros((n + 1, k + 2))
    pmf[0, 0] = tail[0, 0] = largest = 1.0
    rows = 1
    while rows <= n and largest > _SMALLEST:
        pmf[rows, 0] = largest = (1 - q) * pmf[rows - 1, 0]
        tail[rows, 0] = 1.0
        for s in range(1, k + 2):
            tail[rows, s] = (1 - q) * tail[rows - 1, s] + q * tail[rows - 1, s - 1]
            if s <= k:
                pmf[rows, s] = (1 - q) * pmf[rows - 1, s] + q * pmf[rows - 1, s - 1]
                largest = max(largest, pmf[rows, s])
        rows += 1
    return Subsets(k, pmf[:rows].copy(), tail[:rows].copy())


@njit(cache=True)
def _row(c, table):
    return min(c, table.shape[0] - 1)


@njit(cache=True)
def _ahead_and_behind(group, subsets):
    """Probabilities of matches, and of mismatches, of S before a group."""
    pmf = subsets.pmf
    mismatches = group.start - group.before
    return pmf[_row(group.before, pmf)], pmf[_row(mismatches, pmf)]


@njit(cache=True)
def _sample_matches(m, matches, mismatches, shares):
    """Fill in the distribution of the matches in a sample of m from a group.

    It is hypergeometric; returns the least and the largest number of matches.
    """
    low, high = max(0, m - mismatches), min(m, matches)
    shares[: m + 1] = 0.0
    mode = ((m + 1) * (matches + 1)) // (matches + mismatches + 2)
    mode = min(max(mode, low), high)
    shares[mode] = total = 1.0
    for u in range(mode, high):
        ratio = (matches - u) * (m - u) / ((u + 1) * (mismatches - m + u + 1))
        shares[u + 1] = shares[u] * ratio
        total += shares[u + 1]
    for u in range(mode, low, -1):
        ratio = u * (mismatches - m + u) / ((matches - u + 1) * (m - u + 1))
        shares[u - 1] = shares[u] * ratio
        total += shares[u - 1]
    for u in range(low, high + 1):
        shares[u] /= total
    return low, high


@njit(cache=True)
def _add_events(group, subsets, shares, match, mismatch):
    """Add the events in which the k-th nearest record lies in one tie group."""
    k, tail = subsets.k, subsets.tail
    start, before, size, matches = group
    ahead, behind = _ahead_and_behind(group, subsets)
    if size == 1:
        events = match if matches else mismatch
        q = tail[1, 1]
        for s in range(k):
            events[s] += q * ahead[s] * behind[k - 1 - s]
        return
    reach = tail[_row(size, tail)]
    for r in range(max(0, k - size), min(k - 1, start) + 1):
        m = k - r
        low, high = _sample_matches(m, matches, size - matches, shares)
        for s in range(max(0, r - start + before), min(r, before) + 1):
            weight = ahead[s] * behind[r - s] * reach[m] / m
            for u in range(low, high + 1):
                if u > 0:
                    match[s + u - 1] += weight * shares[u] * u
                if u < m:
                    mismatch[s + u] += weight * shares[u] * (m - u)


@njit(cache=True)
def _add_events_behind(group, own_match, subsets, shares, events):
    """Add the events in which a record displaces one of its own tie group.

    The displaced record lies behind the record in the group's order, and just one of
    the two matches the label. In a random order the record precedes the m-th of R
    others with probability m / (R + 1).
    """
    k, tail = subsets.k, subsets.tail
    start, before, size, matches = group
    if size == 1:
        return
    q = tail[1, 1]
    ahead, behind = _ahead_and_behind(group, subsets)
    reach = tail[_row(size, tail)]
    others = matches - own_match
    for r in range(max(0, k - size + 1), min(k - 1, start) + 1):
        m = k - r
        low, high = _sample_matches(m, others, size - 1 - others, shares)
        for s in range(max(0, r - start + before), min(r, before) + 1):
            weight = ahead[s] * behind[r - s] * reach[m + 1] / (size * q)
            for u in range(low, high + 1):
                if own_match and u < m:
                    events[s + u] += weight * shares[u] * (m - u)
                elif not own_match and u > 0:
                    events[s + u - 1] += weight * shares[u] * u


@njit(cache=True)
def _reachable(start, subsets):
    return 1 - subsets.tail[_row(start, subsets.tail), subsets.k] > _NEGLIGIBLE


def subset_events(ranking, votes, subsets):
    """Compute the probabilities of the events that determine a query's loss.

    Parameters
    ----------
    ranking : Ranking
        The records that subsets are drawn from.
    votes : Votes
    subsets : Subsets

    Returns
    -------
    match, mismatch : ndarray of shape (n_queries, k)
        See the module docstring.
    """
    match = np.zeros((ranking.lengths.size, subsets.k))
    mismatch = np.zeros((ranking.lengths.size, subsets.k))
    for_rows(_subset_events, len(match), ranking, votes, subsets, match, mismatch)
    return match, mismatch


@njit(cache=True, nogil=True)
def _subset_events(start_row, stop_row, ranking, votes, subsets, match, mismatch):
    shares = np.empty(subsets.k + 1)
    for q in range(start_row, stop_row):
        records, tied = ranking.records[q], ranking.tied[q]
        label, length = votes.query_labels[q], ranking.lengths[q]
        before = start = 0
        while start < length:
            end = group_end(tied, start, length)
            found = count_matches(records, votes.labels, label, start, end)
            group = _Group(start, before, end - start, found)
            _add_events(group, subsets, shares, match[q], mismatch[q])
            before += found
            start = end
        size = votes.n_others[q] - length
        if size > 0 and _reachable(length, subsets):
            group = _Group(length, before, size, votes.n_matches[q] - before)
            _add_events(group, subsets, shares, match[q], mismatch[q])


class _Scratch(NamedTuple):
    shares: np.ndarray
    events: np.ndarray


@njit(cache=True)
def _scratch(k):
    return _Scratch(np.empty(k + 1), np.empty((2, k)))


@njit(cache=True)
def _weigh(events, weights):
    total = 0.0
    for s in range(events.size):
        total += events[s] * weights[s]
    return total


@njit(cache=True)
def _weighted(group, subsets, weights, scratch):
    """Weigh the events of one tie group: those that mismatch, those that match."""
    shares, events = scratch
    events[:] = 0.0
    _add_events(group, subsets, shares, events[1], events[0])
    return _weigh(events[0], weights[0]), _weigh(events[1], weights[1])


@njit(cache=True)
def _last_group(ranking, votes, q):
    """Return the records beyond a query's ranking, as one tie group."""
    length = ranking.lengths[q]
    before = count_matches(
        ranking.records[q], votes.labels, votes.query_labels[q], 0, length
    )
    size = votes.n_others[q] - length
    return _Group(length, before, size, votes.n_matches[q] - before)


@njit(cache=True)
def _previous_group(group, ranking, votes, q):
    """Return the tie group before another one."""
    end = group.start
    start = group_start(ranking.tied[q], end)
    matches = count_matches(
        ranking.records[q], votes.labels, votes.query_labels[q], start, end
    )
    return _Group(start, group.before - matches, end - start, matches)


@njit(cache=True)
def _holds(own, matches, size):
    """Tell whether there is a match (own = 1) or a mismatch (0) among some records."""
    return matches >= own and size - matches >= 1 - own


@njit(cache=True)
def _add_changes(group, now, subsets, weights, scratch, later):
    """Add how a group's weighted events change when a record before it is removed."""
    start, before, size, matches = group
    for own in range(2):
        if start > 0 and _holds(own, before, start):
            moved = _Group(start - 1, before - own, size, matches)
            later[own] += _weighted(moved, subsets, weights, scratch)[0] - now


def self_level_influence(ranking, votes, unfilled, subsets, weights):
    """Compute the change of each query's own value when a ranked record is removed.

    Parameters
    ----------
    ranking, votes, subsets
        As for `subset_events`.
    unfilled : ndarray of shape (n_queries, 2)
        Change of the part of subsets with fewer than k records, when a mismatch or a
        match is removed.
    weights : ndarray of shape (k,)
        Weight of the event that a mismatch is displaced, by the number of nearer
        matches.

    Returns
    -------
    changes : ndarray of shape (n_queries, width)
        For the records at these positions of the ranking.
    """
    changes = np.zeros(ranking.records.shape)
    both = np.stack([weights, np.zeros(subsets.k)])
    args = ranking, votes, unfilled, subsets, both
    for_rows(_self_level_influence, len(changes), *args, changes)
    return changes


@njit(cache=True, nogil=True)
def _self_level_influence(
    start_row, stop_row, ranking, votes, unfilled, subsets, both, changes
):
    scratch = _scratch(subsets.k)
    for q in range(start_row, stop_row):
        later = np.zeros(2)  # by whether the record removed in front matches
        group = _last_group(ranking, votes, q)
        if group.size > 0 and _reachable(group.start, subsets):
            now, _ = _weighted(group, subsets, both, scratch)
            _add_changes(group, now, subsets, both, scratch, later)
        while group.start > 0:
            group = _previous_group(group, ranking, votes, q)
            start, before, size, matches = group
            now, _ = _weighted(group, subsets, both, scratch)
            change = later - now
            for own in range(2):
                if size > 1 and _holds(own, matches, size):
                    left = _Group(start, before, size - 1, matches - own)
                    change[own] += _weighted(left, subsets, both, scratch)[0]
            _add_changes(group, now, subsets, both, scratch, later)
            for i in range(start, start + size):
                label = votes.labels[ranking.records[q, i]]
                matched = int(label == votes.query_labels[q])
                changes[q, i] = change[matched] + unfilled[q, matched]


@njit(cache=True)
def _add_displaced(group, subsets, weights, scratch, later):
    """Add the weight of what a mismatch or a match in front displaces in a group."""
    start, before, size, matches = group
    if before > 0:
        seen = _Group(start - 1, before - 1, size, matches)
        later[1] += _weighted(seen, subsets, weights, scratch)[0]
    if before < start:
        seen = _Group(start - 1, before, size, matches)
        later[0] += _weighted(seen, subsets, weights, scratch)[1]


def record_level_values(ranking, votes, unfilled, subsets, weights):
    """Compute the value of each ranked record for each query, by levels of the loss.

    Parameters
    ----------
    ranking, votes, subsets
        As for `subset_events`, with all records.
    unfilled : ndarray of shape (n_queries,)
        Weight of a match in subsets with fewer than k records.
    weights : ndarray of shape (2, k)
        Weight of the event that a match displaces a mismatch (row 0), or a mismatch a
        match (row 1), by the number of nearer matches.

    Returns
    -------
    values : ndarray of shape (n_queries, width)
        For the records at these positions of the ranking.
    """
    values = np.zeros(ranking.records.shape)
    args = ranking, votes, unfilled, subsets, weights
    for_rows(_record_level_values, len(values), *args, values)
    return values


@njit(cache=True, nogil=True)
def _record_level_values(
    start_row, stop_row, ranking, votes, unfilled, subsets, weights, values
):
    scratch = _scratch(subsets.k)
    shares, events = scratch
    for q in range(start_row, stop_row):
        later = np.zeros(2)  # what a mismatch, a match in front displaces
        group = _last_group(ranking, votes, q)
        if group.size > 0 and _reachable(group.start, subsets):
            _add_displaced(group, subsets, weights, scratch, later)
        while group.start > 0:
            group = _previous_group(group, ranking, votes, q)
            own = later.copy()
            own[1] += unfilled[q]
            for matched in range(2):
                if _holds(matched, group.matches, group.size):
                    events[0] = 0.0
                    _add_events_behind(group, matched, subsets, shares, events[0])
                    own[matched] += _weigh(events[0], weights[1 - matched])
            for i in range(group.start, group.start + group.size):
                label = votes.labels[ranking.records[q, i]]
                values[q, i] = own[int(label == votes.query_labels[q])]
            _add_displaced(group, subsets, weights, scratch, later)
