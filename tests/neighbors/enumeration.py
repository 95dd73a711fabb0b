"""Slow, obvious twins: every subset, every coalition, every order of tied records.

An order is a list of records, nearest first. `matches` says, by record, whether its
label is the query's.
"""

from itertools import chain, permutations, product
from math import comb

import numpy as np


def orders(distances, records):
    """All orders of some records by distance, one for each way to break ties."""
    groups = [
        [r for r in records if distances[r] == d]
        for d in sorted({distances[r] for r in records})
    ]
    return [list(chain(*o)) for o in product(*(permutations(g) for g in groups))]


def subsets(n):
    """All subsets of n records, as a boolean matrix."""
    return (np.arange(2**n)[:, None] >> np.arange(n)) & 1 == 1


def votes(chosen, ordered_matches, k):
    """Matches among the k nearest of each subset; columns are in order."""
    nearest = chosen & (np.cumsum(chosen, axis=1) <= k)
    return (nearest & np.asarray(ordered_matches, dtype=bool)).sum(axis=1)


def loss_pmf(order, matches, k, q, always=()):
    """Distribution of the loss over random subsets that hold `always`."""
    chosen = subsets(len(order))
    forced = np.isin(order, always)
    chosen = chosen[(chosen | ~forced).all(axis=1)]
    size = chosen[:, ~forced].sum(axis=1)
    probability = q**size * (1 - q) ** ((~forced).sum() - size)
    lost = k - votes(chosen, [matches[r] for r in order], k)
    return np.bincount(lost, probability, minlength=k + 1)


def mean_over_orders(distances, records, value):
    return np.mean([value(order) for order in orders(distances, records)], axis=0)


def shift(order, matches, record, k, q):
    """q |F_with - F_without| on each of the k steps of the loss."""
    without = [r for r in order if r != record]
    inside = loss_pmf(order, matches, k, q, always=[record])
    outside = loss_pmf(without, matches, k, q)
    return q * np.abs(np.cumsum(inside - outside))[:k]


def integral(steps, low, high):
    """Integrate a step function on [0, 1] from low to high."""
    k = len(steps)
    edges = np.arange(k + 1) / k
    overlap = np.minimum(edges[1:], high) - np.maximum(edges[:-1], low)
    return np.sum(steps * np.maximum(overlap, 0))


def waka(order, matches, record, k, q, variant, threshold):
    steps = shift(order, matches, record, k, q)
    whole = integral(steps, 0, 1)
    if variant == "waka":
        return whole
    if matches[record]:
        return integral(steps, threshold if variant == "removal" else 0, 1)
    return -whole if variant == "removal" else -integral(steps, 0, threshold)


def t_waka(order, matches, record, k, q, loss):
    steps = shift(order, matches, record, k, q)
    return integral(steps, loss, 1) - integral(steps, 0, loss)


def shapley(order, utility):
    """Shapley value of each record in the order, given the utility of all subsets."""
    n = len(order)
    chosen = subsets(n)
    values = np.empty(n)
    for i in range(n):
        without = np.flatnonzero(~chosen[:, i])
        size = chosen[without].sum(axis=1)
        weight = 1 / (n * np.array([comb(n - 1, s) for s in size]))
        values[i] = weight @ (utility[without | (1 << i)] - utility[without])
    return values


def shapley_classification(order, matches, record, k):
    ordered = [matches[r] for r in order]
    utility = votes(subsets(len(order)), ordered, k) / k
    return shapley(order, utility)[order.index(record)]


def shapley_regression(order, targets, target, record, k):
    chosen = subsets(len(order))
    nearest = chosen & (np.cumsum(chosen, axis=1) <= k)
    utility = -((nearest @ np.array([targets[r] for r in order]) / k - target) ** 2)
    return shapley(order, utility)[order.index(record)]


def leave_one_out(order, matches, record, k):
    def utility(rest):
        return sum(matches[r] for r in rest[:k]) / k

    return utility(order) - utility([r for r in order if r != record])
