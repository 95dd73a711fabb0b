"""Kernels for the loss of a k-NN over all subsets of its training records.

A subset S holds each record independently with probability q. Nearly all that one can
ask of it follows from one table of events for each query, with s = 0, ..., k - 1:

- ``match[s]``, ``mismatch[s]``: the k-th nearest record of S is one that matches the
  query's label, or does not, and s of the k - 1 nearer ones match;
- ``unfilled[s]``: S has fewer than k records, and s of them match.

With ``pmf[c, s] = C(c, s) q^s (1-q)^(c-s)``, rank j with c matches before it is that
record with probability ``q * pmf[c, s] * pmf[j - c, k - 1 - s]``. Products of binomial
probabilities neither overflow nor cancel, whatever k and the number of records.

Tied records are exchangeable. If r < k records of S come before a tie group, and at
least m = k - r of S are in it, then the last m of the k nearest are a random sample
from the group.
"""

import numpy as np

from skpriv.neighbors._semivalues import _count_matches, _group_start
from skpriv.utils._threads import njit, prange

# A tie group that is reached with less probability than this is passed over.
_NEGLIGIBLE = 1e-12
_SMALLEST = 1e-300


@njit(cache=True)
def binomial_tables(n, k, q):
    """Tables of binomial probabilities, by recurrences of positive terms.

    Parameters
    ----------
    n : int
        The largest number of trials that will be asked for.
    k : int
    q : float
        The probability of success.

    Returns
    -------
    pmf : ndarray of shape (n_rows, k + 1)
        ``pmf[c, s]``: s successes in c trials.
    tail : ndarray of shape (n_rows, k + 2)
        ``tail[c, m]``: at least m successes in c trials. Once k successes are certain
        to the last bit, the tables end with a row that serves all larger c.
    """
    pmf = np.zeros((n + 1, k + 1))
    tail = np.zeros((n + 1, k + 2))
    pmf[0, 0] = tail[0, 0] = 1.0
    rows = 1
    while rows <= n and pmf[rows - 1].max() > _SMALLEST:
        above, row = pmf[rows - 1], pmf[rows]
        row[0] = (1 - q) * above[0]
        row[1:] = (1 - q) * above[1:] + q * above[:-1]
        tail[rows, 0] = 1.0
        tail[rows, 1:] = (1 - q) * tail[rows - 1, 1:] + q * tail[rows - 1, :-1]
        rows += 1
    return pmf[:rows].copy(), tail[:rows].copy()


@njit(cache=True)
def _row(c, table):
    return min(c, table.shape[0] - 1)


@njit(cache=True)
def _sample_matches(m, matches, mismatches, shares):
    """Fill in the hypergeometric law of the matches in a sample of m from a group."""
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
def _add_events(
    start, before, size, matches, k, pmf, tail, shares, match, mismatch
):  # fmt: skip
    """Add the events in which the k-th nearest lies in one tie group.

    The group begins at rank `start`, with `before` matches in front of it.
    """
    ahead, behind = pmf[_row(before, pmf)], pmf[_row(start - before, pmf)]
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
def _add_events_behind(
    start, before, size, matches, own_match, k, pmf, tail, shares, out
):  # fmt: skip
    """Add the events in which a record pushes out one of its own tie group.

    The pushed-out record is nearer than none but those before the group, lies behind
    the record in the group's order, and differs from it in matching the label. In a
    random order the record precedes the m-th of R others with probability
    m / (R + 1).
    """
    if size == 1:
        return
    q = tail[1, 1]
    ahead, behind = pmf[_row(before, pmf)], pmf[_row(start - before, pmf)]
    reach = tail[_row(size, tail)]
    others = matches - own_match
    for r in range(max(0, k - size + 1), min(k - 1, start) + 1):
        m = k - r
        low, high = _sample_matches(m, others, size - 1 - others, shares)
        for s in range(max(0, r - start + before), min(r, before) + 1):
            weight = ahead[s] * behind[r - s] * reach[m + 1] / (size * q)
            for u in range(low, high + 1):
                if own_match and u < m:
                    out[s + u] += weight * shares[u] * (m - u)
                elif not own_match and u > 0:
                    out[s + u - 1] += weight * shares[u] * u


@njit(cache=True)
def _reachable(start, k, tail):
    return 1 - tail[_row(start, tail), k] > _NEGLIGIBLE


@njit(cache=True, parallel=True)
def subset_events(
    records, tied, lengths, labels, query_labels, n_others, n_matches, k, pmf, tail
):
    """Probabilities of the events by which all of a query's losses are known.

    Parameters
    ----------
    records : ndarray of shape (n_queries, width), dtype int32
    tied : ndarray of shape (n_queries, width), dtype bool
    lengths : ndarray of shape (n_queries,)
        Rankings of the records that subsets are drawn from.
    labels : ndarray of shape (n_records,)
    query_labels : ndarray of shape (n_queries,)
    n_others, n_matches : ndarray of shape (n_queries,)
        How many such records there are, ranked or not, and how many of them match.
    k : int
    pmf, tail : ndarray
        From `binomial_tables`.

    Returns
    -------
    match, mismatch : ndarray of shape (n_queries, k)
        See the module.
    """
    match = np.zeros((lengths.size, k))
    mismatch = np.zeros((lengths.size, k))
    for q in prange(lengths.size):
        shares = np.empty(k + 1)
        label, length = query_labels[q], lengths[q]
        before = start = 0
        while start < length:
            end = start + 1
            while end < length and tied[q, end]:
                end += 1
            found = _count_matches(records[q], labels, label, start, end)
            _add_events(
                start, before, end - start, found, k, pmf, tail, shares,
                match[q], mismatch[q],
            )  # fmt: skip
            before += found
            start = end
        if n_others[q] > length and _reachable(length, k, tail):
            _add_events(
                length, before, n_others[q] - length, n_matches[q] - before, k, pmf,
                tail, shares, match[q], mismatch[q],
            )  # fmt: skip
    return match, mismatch


@njit(cache=True)
def _weighed(start, before, size, matches, k, pmf, tail, shares, events, weights):
    """Weigh the events of one tie group: those that mismatch, those that match."""
    events[:] = 0.0
    _add_events(
        start, before, size, matches, k, pmf, tail, shares, events[1], events[0]
    )
    return np.sum(events[0] * weights[0]), np.sum(events[1] * weights[1])


@njit(cache=True, parallel=True)
def self_level_influence(
    records, tied, lengths, labels, query_labels, n_others, n_matches, unfilled, k,
    pmf, tail, weights,
):  # fmt: skip
    """Change of a query's own weighed events when a ranked record is removed.

    Parameters
    ----------
    records, tied, lengths, labels, query_labels, n_others, n_matches, k, pmf, tail
        As for `subset_events`.
    unfilled : ndarray of shape (n_queries, 2)
        Change of what counts for subsets with fewer than k records, when a mismatch
        or a match is removed.
    weights : ndarray of shape (k,)
        What a mismatch with s nearer matches counts.

    Returns
    -------
    changes : ndarray of shape (n_queries, width)
        For the records at these places of the ranking.
    """
    changes = np.zeros(records.shape)
    both_weights = np.zeros((2, k))
    both_weights[0] = weights
    for q in prange(lengths.size):
        shares, events = np.empty(k + 1), np.empty((2, k))
        label, length = query_labels[q], lengths[q]
        before = _count_matches(records[q], labels, label, 0, length)
        later = np.zeros(2)  # by whether the record removed in front matches
        end, size, found = length, n_others[q] - length, n_matches[q] - before
        if size > 0 and _reachable(length, k, tail):
            now, _ = _weighed(
                length, before, size, found, k, pmf, tail, shares, events, both_weights
            )
            for own in range(2):
                if length > 0 and before >= own and length - before >= 1 - own:
                    later[own] = _weighed(
                        length - 1, before - own, size, found, k, pmf, tail, shares,
                        events, both_weights,
                    )[0] - now  # fmt: skip
        while end > 0:
            start = _group_start(tied[q], end)
            size = end - start
            found = _count_matches(records[q], labels, label, start, end)
            before -= found
            now, _ = _weighed(
                start, before, size, found, k, pmf, tail, shares, events, both_weights
            )
            change = later - now
            for own in range(2):
                if size > 1 and found >= own and size - found >= 1 - own:
                    change[own] += _weighed(
                        start, before, size - 1, found - own, k, pmf, tail, shares,
                        events, both_weights,
                    )[0]  # fmt: skip
                if start > 0 and before >= own and start - before >= 1 - own:
                    later[own] += _weighed(
                        start - 1, before - own, size, found, k, pmf, tail, shares,
                        events, both_weights,
                    )[0] - now  # fmt: skip
            for i in range(start, end):
                matched = int(labels[records[q, i]] == label)
                changes[q, i] = change[matched] + unfilled[q, matched]
            end = start
    return changes


@njit(cache=True, parallel=True)
def record_level_values(
    records, tied, lengths, labels, query_labels, n_matches, unfilled, k, pmf, tail,
    weights,
):  # fmt: skip
    """Value of each ranked record for each query, loss level by loss level.

    Parameters
    ----------
    records, tied, lengths, labels, query_labels, k, pmf, tail
        As for `subset_events`, with rankings of all records.
    n_matches : ndarray of shape (n_queries,)
        How many records match, ranked or not.
    unfilled : ndarray of shape (n_queries,)
        What a match counts for the subsets with fewer than k records.
    weights : ndarray of shape (2, k)
        What it counts that a match pushes out a mismatch (row 0), or a mismatch a
        match (row 1), with s nearer matches.

    Returns
    -------
    values : ndarray of shape (n_queries, width)
        For the records at these places of the ranking.
    """
    values = np.zeros(records.shape)
    for q in prange(lengths.size):
        shares, events = np.empty(k + 1), np.empty((2, k))
        label, length = query_labels[q], lengths[q]
        before = _count_matches(records[q], labels, label, 0, length)
        later = np.zeros(2)  # what a mismatch, a match in front pushes out
        end, size, found = length, labels.size - length, n_matches[q] - before
        if size > 0 and _reachable(length, k, tail):
            if before > 0:
                later[1] = _weighed(
                    length - 1, before - 1, size, found, k, pmf, tail, shares, events,
                    weights,
                )[0]  # fmt: skip
            if before < length:
                later[0] = _weighed(
                    length - 1, before, size, found, k, pmf, tail, shares, events,
                    weights,
                )[1]  # fmt: skip
        while end > 0:
            start = _group_start(tied[q], end)
            size = end - start
            found = _count_matches(records[q], labels, label, start, end)
            before -= found
            own = later.copy()
            own[1] += unfilled[q]
            for matched in range(2):
                if found > 0 if matched else found < size:
                    events[0] = 0.0
                    _add_events_behind(
                        start, before, size, found, matched, k, pmf, tail, shares,
                        events[0],
                    )  # fmt: skip
                    own[matched] += np.sum(events[0] * weights[1 - matched])
            for i in range(start, end):
                values[q, i] = own[int(labels[records[q, i]] == label)]
            if before > 0:
                later[1] += _weighed(
                    start - 1, before - 1, size, found, k, pmf, tail, shares, events,
                    weights,
                )[0]  # fmt: skip
            if before < start:
                later[0] += _weighed(
                    start - 1, before, size, found, k, pmf, tail, shares, events,
                    weights,
                )[1]  # fmt: skip
            end = start
    return values
