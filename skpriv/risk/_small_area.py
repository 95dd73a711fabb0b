"""Small-area estimation of each record's attack success from a few shadow models.

Statisticians call it small-area estimation when thousands of areas have a noisy
measurement each, and what is known about all of them is used for each one. Here a
record is an area, its measurement comes from a few shadows, and cheap scores are what
is known.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from skpriv.risk._moments import moments
from skpriv.risk._posterior import (
    Half,
    Part,
    Separation,
    Shrinkage,
    combine,
    prior_of,
    residual_shape,
    window_means,
)
from skpriv.risk._stack import (
    Fitted,
    default_members,
    out_of_fold_predictions,
    ranks,
    stack,
)

# Smallest variance of a record's signals, relative to the median of all records.
_SMALLEST_VARIANCE = 1e-3
_LARGEST_SUCCESS = 1 - 1e-6
# The largest that is looked at when asked what can be noticed, in 30 bisections.
_LARGEST_SEPARATION, _N_BISECTIONS = 16.0, 30
# A theory that no shadow has confirmed is trusted less.
_TRUST_WITHOUT_SHADOWS = 0.7


class RiskEstimate(NamedTuple):
    """Estimated attack success.

    Attributes
    ----------
    success : ndarray of shape (n_records,)
    interval : ndarray of shape (n_records, 2)
    separation : Separation
        Distance of the means of the signals with and without the record, in standard
        deviations of the signals.
    weights : ndarray of shape (n_covariates + 2,)
        How much of the variation of the prediction comes from each covariate; from
        the exposure at the shadows; and from the boosting on all covariates. They add
        up to 1, or are all 0. NaN with a regressor.
    exposure : ndarray of shape (n_records,)
        The covariate that comes from the shadows.
    shrinkage : Shrinkage or None
        What each record's measurement was weighed against; None without shadows.
    """

    success: np.ndarray
    interval: np.ndarray
    separation: Separation
    weights: np.ndarray
    exposure: np.ndarray
    shrinkage: Shrinkage | None = None


def estimate_risk(
    in_, out, covariates, successes=(), *, y=None, regressor=None, confidence_level=0.95
):
    """Estimate each record's attack success from all records.

    Parameters
    ----------
    in_, out : ndarray of shape (n_pairs, n_records)
        Signals at the shadow of each pair that was trained with the record, and at the
        one that was not; NaN where there is none. The even pairs are one half of the
        shadows, and the odd ones the other.
    covariates : ndarray of shape (n_records, n_covariates) or \
            (2, n_records, n_covariates)
        Higher: more exposed. NaN where they are missing. If there are two sets, they
        serve to predict what the even and the odd pairs measure.
    successes : sequence of int, default=()
        Columns of `covariates` that estimate attack success itself.
    y : ndarray of shape (n_records,), default=None
        For regression models, whose signals are predictions: the targets.
    regressor : regressor, default=None
        Used in place of the stack.
    confidence_level : float, default=0.95

    Returns
    -------
    estimate : RiskEstimate
    """
    # Folds follow the signals, not the order in which records happen to stand.
    order = np.argsort(np.nansum(in_, axis=0) + np.nansum(out, axis=0), kind="stable")
    in_, out = in_[:, order], out[:, order]
    y = None if y is None else y[order]
    in_, out, y, exponent = _in_own_units(in_, out, y)
    covariates = np.broadcast_to(covariates, (2, *np.shape(covariates)[-2:]))[:, order]
    kept = np.flatnonzero(_varies(covariates))
    successes = [j for j, column in enumerate(kept) if column in successes]
    measured = [
        _measured_half(in_, out, covariates[half][:, kept], y, half) for half in (0, 1)
    ]
    log_variances, (of_half, of_all) = shrunk_log_variances(*measured)
    halves, weights, spreads = zip(
        *(
            _predicted_half(half, log_variance, of_half, successes, regressor)
            for half, log_variance in zip(measured, log_variances, strict=True)
        ),
        strict=True,
    )
    weight_of_theory = np.mean(weights, axis=0)[-1] if successes else 0.0
    prior = prior_of(weight_of_theory)
    separation, shrinkage = combine(halves, of_all, prior)
    success, interval = to_success(*separation[:2], confidence_level)
    back = np.argsort(order, kind="stable")
    return RiskEstimate(
        success[back],
        interval[back],
        separation.of(back),
        _shares(
            np.mean(spreads, axis=0), kept, covariates.shape[2], successes, regressor
        ),
        np.ldexp(_exposure(in_, out, y)[1][back], exponent),
        shrinkage.of(back),
    )


def _in_own_units(in_, out, y):
    """Divide signals, and targets in their units, by a power of two, which is exact.

    The exponent of that power is returned last.
    """
    _, exponent = np.frexp(max(np.nanmax(np.abs(in_)), np.nanmax(np.abs(out))))
    in_, out = np.ldexp(in_, -exponent), np.ldexp(out, -exponent)
    return in_, out, None if y is None else np.ldexp(y, -exponent), exponent


def _varies(covariates):
    """Tell which covariates are not the same for all records, or missing."""
    low = np.where(np.isnan(covariates), np.inf, covariates).min(axis=(0, 1))
    high = np.where(np.isnan(covariates), -np.inf, covariates).max(axis=(0, 1))
    return low < high


def _shares(spreads, kept, n_covariates, successes, regressor):
    """Shares of the members in the spread, in the order of the covariates."""
    if regressor is not None:
        return np.full(n_covariates + 2, np.nan)
    n_kept = len(kept)
    result = np.zeros(n_covariates + 2)
    result[kept] = spreads[:n_kept]
    result[n_covariates] = spreads[n_kept]
    if len(spreads) - bool(successes) == n_kept + 3:
        result[-1] = spreads[n_kept + 1]
    if successes:
        result[kept[successes]] += spreads[-1] / len(successes)
    total = result.sum()
    return result / total if total > 0 else np.zeros_like(result)


class _Measured(NamedTuple):
    """What one half of the shadows measures, and what is known from elsewhere."""

    covariates: np.ndarray
    # The exposure taken from the odd and from the even pairs of the other half.
    covariates_without: list
    successes: np.ndarray
    gap: np.ndarray
    gaps: np.ndarray
    log_variance: np.ndarray


def _measured_half(in_, out, covariates, y, half):
    own, other = slice(half, None, 2), slice(1 - half, None, 2)
    # From the same shadows, the noise of the exposure would be in the gap as well.
    sign, exposure = _exposure(in_[other], out[other], y)
    parts = [
        _exposure(in_[other][1 - parity :: 2], out[other][1 - parity :: 2], y)[1]
        for parity in (0, 1)
    ]
    gap, _, variance = moments(in_[own], out[own])
    known = [ranks(column) for column in covariates.T]
    return _Measured(
        np.column_stack([*known, ranks(exposure)]),
        [np.column_stack([*known, ranks(part)]) for part in parts],
        covariates,
        sign * gap,
        sign * (in_[own] - out[own]),
        _log_variance(variance, gap),
    )


def _exposure(in_, out, y):
    """Sign by which signals are multiplied, and how badly records are predicted."""
    mean = moments(in_, out).out
    if y is None:
        return 1.0, -mean
    return np.where(y < mean, -1.0, 1.0), np.abs(y - mean)


def _log_variance(variance, gap):
    positive = variance[variance > 0]
    if positive.size:
        floor = _SMALLEST_VARIANCE * np.median(positive)
    else:
        floor = (_SMALLEST_VARIANCE * np.nanmax(np.abs(gap))) ** 2 or 1.0
    return np.log(np.maximum(variance, floor))


def shrunk_log_variances(first, second):
    """Shrink the logarithms of variances towards a regression on the covariates.

    Parameters
    ----------
    first, second : _Measured
        The halves of the shadows.

    Returns
    -------
    log_variances : tuple of two ndarray of shape (n_records,)
    unknown : tuple of two float
        Variance of what is left unknown of a logarithm: from one half of the shadows,
        and from both.
    """
    levels, biases = [], []
    for half in (first, second):
        members = default_members(half.covariates, increasing=False)
        (predictions,) = out_of_fold_predictions(
            members, half.covariates, half.log_variance
        )
        level = predictions @ stack(predictions, half.log_variance)
        ratio = np.exp(half.log_variance - level)
        order = np.argsort(level, kind="stable")
        levels.append(level)
        biases.append(-np.log(window_means(ratio, order, 0.2)))
    rests = [
        half.log_variance - level
        for half, level in zip((first, second), levels, strict=True)
    ]
    # What two halves have in common is not noise.
    common = max(np.nanmean(rests[0] * rests[1]), 0.0)
    noise = np.nanmean((rests[0] - rests[1]) ** 2) / 2
    share = common / (common + noise) if common else 0.0
    log_variances = tuple(
        level - bias - common / 2 + share * np.nan_to_num(rest)
        for level, rest, bias in zip(levels, rests, biases, strict=True)
    )
    return log_variances, (
        share * noise,
        common * noise / max(2 * common + noise, 1e-300),
    )


def _predicted_half(half, log_variance, unknown, successes, regressor):
    """Predict the standardised gaps of one half of the shadows."""
    scale = np.exp(-log_variance / 2 + unknown / 8)
    target = half.gap * scale
    if regressor is None:
        members = default_members(half.covariates)
    else:
        members = [Fitted(regressor)]
    predictions = out_of_fold_predictions(
        members, half.covariates, target, *half.covariates_without
    )
    if regressor is not None:
        weights = np.ones(1)
    else:
        if successes:
            theory = _separation(half.successes[:, successes])
            theory = np.broadcast_to(theory[:, np.newaxis], (*predictions.shape[:2], 1))
            predictions = np.concatenate([predictions, theory], axis=2)
        # A theory of the model predicts the target itself, without any regression.
        start = np.eye(predictions.shape[2])[-1] if successes else None
        weights = stack(predictions[0], target, start)
    prediction, *without = predictions @ weights
    measured = Half(half.gaps * scale, prediction, np.stack(without))
    return measured, weights, weights * predictions[0].std(axis=0)


def _separation(successes):
    """Mean separation that follows of successes; that of all where all are missing."""
    separations = 2 * ndtri(np.clip(successes, 0.5, _LARGEST_SUCCESS))
    known = np.isfinite(separations)
    total = np.where(known, separations, 0.0).sum(axis=1)
    number = known.sum(axis=1)
    return np.where(number, total / np.maximum(number, 1), total.sum() / known.sum())


def to_success(mean, variance, confidence_level=0.95):
    """Attack success of an uncertain separation, and its interval.

    Parameters
    ----------
    mean, variance : ndarray of shape (n_records,)
        Of the separation, whose distribution is taken to be normal.
    confidence_level : float, default=0.95

    Returns
    -------
    success : ndarray of shape (n_records,)
        Its mean, at least 0.5. It is below 1, as is the interval: no estimate is
        certain.
    interval : ndarray of shape (n_records, 2)
    """
    success = ndtr(mean / 2 / np.sqrt(1 + variance / 4))
    reach = ndtri((1 + confidence_level) / 2) * np.sqrt(variance)
    low, high = ndtr((mean - reach) / 2), ndtr((mean + reach) / 2)
    interval = np.stack([np.minimum(low, success), np.maximum(high, success)], axis=1)
    return (
        np.clip(success, 0.5, _LARGEST_SUCCESS),
        np.clip(interval, 0.5, _LARGEST_SUCCESS),
    )


def detectable_separation(shrinkage, probability, success):
    """Find the measured separation at which the success of each record is noticed.

    Parameters
    ----------
    shrinkage : Shrinkage
    probability : float
        Largest probability that the success is at most `success`.
    success : float

    Returns
    -------
    separation : ndarray of shape (n_records,)
        NaN for records that are not measured.
    """
    least = 2 * ndtri(success)
    low = np.zeros(len(shrinkage.predicted))
    high = np.full(len(low), _LARGEST_SEPARATION)
    for _ in range(_N_BISECTIONS):
        middle = (low + high) / 2
        noticed = shrinkage.posterior(middle).probability_at_most(least) <= probability
        low, high = np.where(noticed, low, middle), np.where(noticed, middle, high)
    return np.where(np.isfinite(shrinkage.noise), high, np.nan)


def predicted_risk(success, confidence_level=0.95):
    """Take a theory's attack success for an estimate, without any shadow.

    Parameters
    ----------
    success : ndarray of shape (n_records,)
        NaN where it is not known.
    confidence_level : float, default=0.95

    Returns
    -------
    estimate : RiskEstimate
        The residual of the theory is what it was for models whose shadows were
        trained.
    """
    mean = 2 * ndtri(np.clip(success, 0.5, _LARGEST_SUCCESS))
    known = np.isfinite(mean)
    prior = prior_of(_TRUST_WITHOUT_SHADOWS)
    variance = np.full(len(mean), np.nan)
    scale = prior.median * prior.inflation
    variance[known] = scale * residual_shape(mean[known])
    estimated, interval = to_success(mean, variance, confidence_level)
    nothing = np.zeros_like(mean)
    separation = Separation.mixture_of([Part(nothing + 1, mean, variance, nothing)])
    return RiskEstimate(estimated, interval, separation, np.ones(1), None)
