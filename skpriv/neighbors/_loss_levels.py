"""Values and distributions that depend on the level of a k-NN's loss."""

import numpy as np
from scipy import stats

from skpriv.neighbors import _subsets
from skpriv.neighbors._values import LabelValue


def levels_above(loss, n_neighbors):
    """Return the share of each step of the loss that lies above a value.

    If s of the k - 1 nearer votes match, the k-th decides whether the loss is at the
    lower or the upper end of the step from ``1 - (s + 1) / k`` to ``1 - s / k``.

    Parameters
    ----------
    loss : float or ndarray of shape (n_queries,)
    n_neighbors : int

    Returns
    -------
    shares : ndarray of shape (n_neighbors,) or (n_queries, n_neighbors)
        By s.
    """
    upper = n_neighbors - np.arange(n_neighbors)
    return np.clip(upper - n_neighbors * np.asarray(loss)[..., None], 0.0, 1.0)


class SubsetLoss(LabelValue):
    """Loss of the k-NNs that random subsets of the training records make.

    Parameters
    ----------
    labels : ndarray of shape (n_records,), dtype int32
        Labels of the training records, numbered from 0.
    n_neighbors : int
    subset_probability : float
    """

    def __init__(self, labels, n_neighbors, subset_probability):
        super().__init__(labels)
        self._k = n_neighbors
        self._q = subset_probability
        self._subsets = _subsets.random_subsets(
            labels.size, n_neighbors, subset_probability
        )

    def events(self, rankings, y, records):
        """Compute the probabilities of the events by which the loss is known.

        Parameters
        ----------
        rankings : iterable of (queries, Ranking)
            Of the other records.
        y : ndarray of shape (n_queries,)
        records : ndarray of shape (n_queries,)

        Returns
        -------
        match, mismatch, unfilled : ndarray of shape (n_queries, n_neighbors)
            See `_subsets`.
        """
        votes = self._votes(y, records)
        match, mismatch = np.empty((2, y.size, self._k))
        for queries, ranking in rankings:
            match[queries], mismatch[queries] = _subsets.subset_events(
                ranking, votes.of(queries), self._subsets
            )
        return match, mismatch, self._unfilled(votes.n_others, votes.n_matches)

    def _unfilled(self, n_others, n_matches):
        """Probability of subsets with fewer than k records, s of them matching."""
        s = np.arange(self._k)
        pairs, inverse = np.unique(
            np.stack([n_matches, n_others - n_matches]), axis=1, return_inverse=True
        )
        matches, mismatches = pairs[:, :, None]
        events = stats.binom.pmf(s, matches, self._q)
        events *= stats.binom.cdf(s[::-1], mismatches, self._q)
        return events[inverse.reshape(-1)]


class LevelValue(SubsetLoss):
    """Value in which each level of the loss has a weight of its own.

    Parameters
    ----------
    labels : ndarray of shape (n_records,), dtype int32
    n_neighbors : int
    subset_probability : float
    weights : ndarray of shape (2, n_neighbors)
        Weight of the event that a match displaces a mismatch (row 0), or a mismatch a
        match (row 1), by the number of nearer matches.
    """

    def __init__(self, labels, n_neighbors, subset_probability, weights):
        super().__init__(labels, n_neighbors, subset_probability)
        self._weights = weights

    def self_values(self, rankings, y, records):
        _, mismatch, unfilled = self.events(rankings, y, records)
        return (mismatch + unfilled) @ self._weights[0]

    def _ranked_values(self, rankings, y):
        votes = self._votes(y)
        # A match that joins finds one other record, and one match, fewer.
        n_matches = np.maximum(votes.n_matches - 1, 0)
        unfilled = self._unfilled(votes.n_others - 1, n_matches) @ self._weights[0]
        for queries, ranking in rankings:
            values = _subsets.record_level_values(
                ranking,
                votes.of(queries),
                unfilled[queries],
                self._subsets,
                self._weights,
            )
            yield queries, ranking, values

    def _ranked_changes(self, rankings, y):
        votes = self._votes(y, np.arange(y.size))
        n_others, n_matches = votes.n_others, votes.n_matches
        unfilled = self._unfilled(n_others, n_matches) @ self._weights[0]
        fewer = np.maximum(n_others - 1, 0)
        changes = [
            self._unfilled(fewer, np.clip(n_matches - own, 0, fewer)) @ self._weights[0]
            for own in range(2)
        ]
        changes = np.stack(changes, axis=1) - unfilled[:, None]
        for queries, ranking in rankings:
            influence = _subsets.self_level_influence(
                ranking,
                votes.of(queries),
                changes[queries],
                self._subsets,
                self._weights[0],
            )
            yield queries, ranking, influence
