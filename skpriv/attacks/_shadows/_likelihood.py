"""Likelihood ratios of membership, with each shadow left out of its own reference.

Records are columns. The shadows of a record are put in pairs, one trained with the
record and one without it; see `_pairs`.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, polygamma
from scipy.stats import norm

from skpriv.attacks._shadows._pairs import most_on_a_side, pair_shadows
from skpriv.utils._intervals import mean_of_two_interval, proportion_interval

MODES = ("online", "offline", "offline-density")
VARIANCES = ("auto", "record", "pooled")

# Log-odds are stored as float32, which does not resolve less of their spread.
SMALLEST_VARIANCE = 1e-12


class Reference(NamedTuple):
    """Shadow models whose signals a target is compared with.

    Attributes
    ----------
    signals : ndarray of shape (n_shadows, n_records)
    membership : ndarray of shape (n_shadows, n_records), dtype bool
        Which records each shadow was trained on.
    labels : ndarray of shape (n_records,) or None
        The labels, if the signals are predictions of them, which training on a record
        moves towards its label. None: training raises the signal of a record.
    """

    signals: np.ndarray
    membership: np.ndarray
    labels: np.ndarray | None = None

    def of(self, records):
        """Return the part that concerns some of the records."""
        labels = None if self.labels is None else self.labels[records]
        return Reference(self.signals[:, records], self.membership[:, records], labels)

    def directed_signals(self):
        """Return signals that training on a record raises, rather than lowers."""
        if self.labels is None:
            return self.signals
        # The mean over all shadows lies between the label and the predictions of models
        # trained without the record, and does not depend on the membership.
        below = self.labels < self.signals.mean(axis=0)
        return np.where(below, -self.signals, self.signals)


class LikelihoodTest(NamedTuple):
    """Which likelihoods are compared, and how their variances are estimated.

    Attributes
    ----------
    mode : {"online", "offline", "offline-density"}
        See `membership_statistic`.
    variance : {"auto", "record", "pooled"}
        See `record_variances`.
    smallest_variance : float
        The resolution of the signals.
    """

    mode: str = "online"
    variance: str = "auto"
    smallest_variance: float = SMALLEST_VARIANCE


class Normal(NamedTuple):
    """Normal densities of signals, one per record."""

    mean: np.ndarray
    variance: np.ndarray


class Moments(NamedTuple):
    """Number, mean and sum of squares about the mean of each record's signals."""

    n: np.ndarray
    mean: np.ndarray
    ss: np.ndarray

    def without(self, values):
        """Moments without one of the values. A NaN removes nothing.

        Parameters
        ----------
        values : ndarray of shape (n_values, n_records)

        Returns
        -------
        moments : Moments, of shape (n_values, n_records)
        """
        counted = ~np.isnan(values)
        gap = values - self.mean
        if counted.all():
            n = self.n - 1
        else:
            n = self.n - counted
            gap[~counted] = 0.0
        rest = np.maximum(n, 1)
        ss = gap**2
        ss *= (rest + 1) / rest
        np.maximum(np.subtract(self.ss, ss, out=ss), 0.0, out=ss)
        gap /= rest
        return Moments(np.broadcast_to(n, ss.shape), self.mean - gap, ss)


def moments(signals):
    """Moments of each column, ignoring NaN.

    Parameters
    ----------
    signals : ndarray of shape (n_shadows, n_records)

    Returns
    -------
    moments : Moments, of shape (n_records,)
    """
    counted = ~np.isnan(signals)
    n = counted.sum(axis=0)
    mean = np.nansum(signals, axis=0) / np.maximum(n, 1)
    gaps = np.where(counted, signals - mean, 0.0)
    return Moments(n, mean, np.einsum("ij,ij->j", gaps, gaps))


class VariancePrior:
    """Prior of a record's variance, estimated from all records (empirical Bayes).

    It has one row for each set of shadows that are left out, and takes in the records
    batch by batch.

    ``pooled`` is the mean of the variances, and ``weight`` the number of observations
    that it counts for. The weight follows from how much more the logarithms of the
    variances spread than they would by chi-squared sampling alone: infinite if they
    do not, small if the variances of the records truly differ.

    References
    ----------
    Smyth, "Linear models and empirical Bayes methods for assessing differential
    expression in microarray experiments", Statistical Applications in Genetics and
    Molecular Biology 3, 2004.
    """

    def __init__(self):
        self._sums = 0.0

    def gather(self, moments):
        """Add the records of a batch.

        Parameters
        ----------
        moments : Moments, of shape (n_rows, n_records)
        """
        dof = np.maximum(moments.n - 1, 0)
        varies = (dof > 0) & (moments.ss > 0)
        known_dof = np.where(varies, dof, 1)
        logs = np.log(np.where(varies, moments.ss / known_dof, 1.0))
        expected = _trigamma_of_halves(known_dof) * varies
        columns = (moments.ss, dof, varies, logs, logs**2, expected)
        self._sums = self._sums + np.array([c.sum(axis=-1) for c in columns], float)

    # Computed once, when all records have been added.
    @cached_property
    def pooled(self):
        """Pooled variances, of shape (n_rows,)."""
        ss, dof = self._sums[:2]
        return np.divide(ss, dof, out=np.full(ss.shape, np.nan), where=dof > 0)

    @cached_property
    def weight(self):
        """Weight of the pooled variances, in observations, of shape (n_rows,)."""
        n, total, squares, expected = self._sums[2:]
        safe = np.maximum(n, 2)
        spread = (squares - total**2 / safe) / (safe - 1)
        excess = spread - expected / safe
        weight = np.full(n.shape, np.inf)
        apart = (n > 2) & (excess > 0)
        weight[apart] = 2 * _inverse_trigamma(excess[apart])
        return weight


def _trigamma_of_halves(dof):
    return polygamma(1, np.arange(1, dof.max() + 1) / 2)[dof - 1]


def _inverse_trigamma(values):
    """Solve trigamma(x) = value by Newton steps on 1/trigamma, which is convex."""
    x = 0.5 + 1 / values
    for _ in range(50):
        trigamma = polygamma(1, x)
        step = trigamma * (1 - trigamma / values) / polygamma(2, x)
        x = x + step
        if (np.abs(step) <= 1e-15 * x).all():
            break
    return x


def record_variances(moments, prior, variance, smallest=SMALLEST_VARIANCE):
    """Variance of each record's signals.

    Parameters
    ----------
    moments : Moments, of shape (n_rows, n_records)
    prior : VariancePrior, of n_rows rows
    variance : {"auto", "record", "pooled"}
        ``"auto"`` is a weighted mean of the record's own and the pooled one.
    smallest : float
        Lower bound of the variances, the resolution of the signals.

    Returns
    -------
    variances : ndarray of shape (n_rows, n_records)
        NaN where a record has too few signals.
    """
    dof = np.maximum(moments.n - 1, 0)
    if variance == "record":
        values = np.full(moments.ss.shape, np.nan)
        np.divide(moments.ss, dof, out=values, where=dof > 0)
    elif variance == "pooled":
        values = np.broadcast_to(prior.pooled[:, np.newaxis], moments.ss.shape)
    else:
        pooled = prior.pooled[:, np.newaxis]
        share = 1 / (1 + dof / prior.weight[:, np.newaxis])
        own = moments.ss / np.maximum(dof, 1)
        values = share * pooled
        np.subtract(1, share, out=share)
        share *= own
        values += share
    values = np.maximum(values, smallest)
    return _blank(values, moments.n <= 0)


def membership_statistic(values, in_, out, mode, labels=None):
    """Compare signals with the densities of models trained with and without the record.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_records)
        The signals of the models under attack.
    in_, out : Normal
        Densities of the record's signal at models trained with it, and without it.
    mode : {"online", "offline", "offline-density"}
        ``"online"``: the log of the ratio of the two densities.
        ``"offline"``: -log10 of the upper tail of the density without the record.
        ``"offline-density"``: minus the log of that density.
    labels : ndarray of shape (n_records,), default=None
        See `Reference`. With labels, the tail of ``"offline"`` is the one on the side
        of the label.

    Returns
    -------
    scores : ndarray of shape (n_rows, n_records)
        Higher: more likely a member.
    margins : ndarray of shape (n_rows, n_records)
        Positive where the record is called a member: by the likelihood ratio or,
        offline, by the test whose false positive rate is one half.
    """
    z_out = (values - out.mean) / np.sqrt(out.variance)
    if mode == "online":
        z_in = (values - in_.mean) / np.sqrt(in_.variance)
        scores = 0.5 * (np.log(out.variance / in_.variance) + z_out**2 - z_in**2)
        return scores, scores
    if mode == "offline":
        if labels is not None:
            z_out = z_out * np.sign(labels - out.mean)
        return log_ndtr(-z_out) / -np.log(10), z_out
    log_density = norm.logpdf(z_out) - 0.5 * np.log(out.variance)
    return -log_density, np.abs(z_out) - norm.ppf(0.75)


def leave_pair_out(reference, test, batches):
    """Attack every shadow with the others, leaving out its partner as well.

    A shadow must not be part of its own reference. Without it alone, its side of the
    reference would have one signal fewer than the other side, which tells the sides
    apart even where the signals carry no information; so its partner is left out too.

    Parameters
    ----------
    reference : Reference
    test : LikelihoodTest
    batches : list of slice
        Batches of records, to bound the memory.

    Yields
    ------
    batch : slice
    scores, margins : tuple of two ndarray of shape (n_rows, n_batch)
        As returned by `membership_statistic`, for the shadows trained with the record
        and for those trained without it. NaN for a shadow without a partner, and
        where fewer than two signals of a side are left.
    """
    priors = VariancePrior(), VariancePrior()
    n_rows = most_on_a_side(reference.membership)
    for batch in batches if test.variance != "record" else ():
        _, left = _without_each_pair(reference.of(batch), n_rows)
        for prior, moments_left in zip(priors, left, strict=True):
            prior.gather(moments_left)
    for batch in batches:
        part = reference.of(batch)
        sides, left = _without_each_pair(part, n_rows)
        in_, out = _densities(left, priors, test)
        few = np.isnan(sides[0] + sides[1]) | (np.minimum(left[0].n, left[1].n) < 2)
        results = [
            membership_statistic(_blank(side, few), in_, out, test.mode, part.labels)
            for side in sides
        ]
        yield batch, *zip(*results, strict=True)


def _without_each_pair(reference, n_rows):
    sides = pair_shadows(reference.signals, reference.membership, n_rows)
    unpaired = np.isnan(sides[0] + sides[1])
    left = [moments(side).without(_blank(side, unpaired)) for side in sides]
    return sides, left


def _densities(sides, priors, test):
    return [
        Normal(
            side.mean,
            record_variances(side, prior, test.variance, test.smallest_variance),
        )
        for prior, side in zip(priors, sides, strict=True)
    ]


def _blank(values, where):
    return np.where(where, np.nan, values) if where.any() else values


def target_scores(values, reference, test, batches, priors=None):
    """Score records at a model under attack, with all shadows as its reference.

    Parameters
    ----------
    values : ndarray of shape (n_records,)
        The model's signals.
    reference : Reference
    test : LikelihoodTest
    batches : list of slice
        Batches of records, to bound the memory.
    priors : tuple of two VariancePrior, default=None
        Priors of the variances with and without the record in training. None: those
        estimated from these records by `variance_priors`.

    Returns
    -------
    scores : ndarray of shape (n_records,)
    """
    if priors is None:
        priors = variance_priors(reference, batches)
    scores = np.empty(values.size)
    for batch in batches:
        part = reference.of(batch)
        in_, out = _densities(_sides(part), priors, test)
        scores[batch] = membership_statistic(
            values[np.newaxis, batch], in_, out, test.mode, part.labels
        )[0]
    return scores


def variance_priors(reference, batches):
    """Estimate the priors of the variances from all records and all shadows.

    Parameters
    ----------
    reference : Reference
    batches : list of slice

    Returns
    -------
    priors : tuple of two VariancePrior
        With and without the record in training.
    """
    priors = VariancePrior(), VariancePrior()
    for batch in batches:
        for prior, side in zip(priors, _sides(reference.of(batch)), strict=True):
            prior.gather(side)
    return priors


def _sides(reference):
    signals, membership, _ = reference
    return [
        _one_row(moments(np.where(side, signals, np.nan)))
        for side in (membership, ~membership)
    ]


def _one_row(values):
    return Moments(*(part[np.newaxis] for part in values))


def hit_counts(margins):
    """Count the hits of the test on each record. A tie is half a hit.

    Parameters
    ----------
    margins : tuple of two ndarray of shape (n_rows, n_records)
        At the shadows trained with the record, and at those trained without it.
        Positive: called a member. NaN: not tried.

    Returns
    -------
    hits, trials : ndarray of shape (2, n_records)
    """
    in_, out = margins
    right = in_ > 0, out < 0
    hits = [
        np.count_nonzero(called, axis=0) + np.count_nonzero(side == 0, axis=0) / 2
        for called, side in zip(right, margins, strict=True)
    ]
    trials = [len(side) - np.count_nonzero(np.isnan(side), axis=0) for side in margins]
    return np.stack(hits), np.stack(trials)


def success_interval(hits, trials, confidence_level=0.95):
    """Attack success of each record, and its interval.

    A record whose signals carry no information has a success of 1/2. The measured
    success falls well below that, much more often than by coin flips, when the rule
    learnt from the other shadows happens to point away from those left out. The
    opposite rule would then have been right as often as this one was wrong, so the
    upper end of the interval is that of the opposite rule. With this, the interval
    has its nominal coverage for records without signal too.

    Parameters
    ----------
    hits, trials : ndarray of shape (2, n_records)
        See `hit_counts`.
    confidence_level : float, default=0.95

    Returns
    -------
    success : ndarray of shape (n_records,)
        Mean of the two hit rates. NaN where a side has no trial.
    interval : ndarray of shape (n_records, 2)
    """
    rates = np.divide(hits, trials, out=np.full(hits.shape, np.nan), where=trials > 0)
    success = rates.mean(axis=0)
    mirrored = np.where(success < 0.5, trials - hits, hits)
    interval = np.empty((success.size, 2))
    for end, counted in enumerate((hits, mirrored)):
        own = proportion_interval(counted, trials, confidence_level)
        known = np.divide(
            counted, trials, out=np.full(hits.shape, 0.5), where=trials > 0
        )
        interval[:, end] = mean_of_two_interval(*known, *own)[:, end]
    interval[np.isnan(success)] = np.nan
    return success, interval
