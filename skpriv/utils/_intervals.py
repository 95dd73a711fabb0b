"""Confidence intervals of proportions, of the mean of two estimates, and of an AUC."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import beta


def proportion_interval(n_hits, n_trials, confidence_level=0.95):
    """Clopper and Pearson's interval of a proportion.

    Parameters
    ----------
    n_hits, n_trials : array-like
        Numbers of hits and of trials, which are broadcast. The number of hits need
        not be an integer: the interval is given by quantiles of beta distributions,
        which are defined for any positive real number.
    confidence_level : float, default=0.95

    Returns
    -------
    interval : ndarray of shape (..., 2)
        The lower and the upper end; 0 and 1 if there are no trials.
    """
    n_hits, n_trials = np.broadcast_arrays(
        np.asarray(n_hits, dtype=np.float64), np.asarray(n_trials, dtype=np.float64)
    )
    # Quantiles are slow, and many records share the same counts.
    counts, which = np.unique(n_hits + 1j * n_trials, return_inverse=True)
    hits, misses = counts.real, counts.imag - counts.real
    tail = (1 - confidence_level) / 2
    low, high = np.zeros(counts.shape), np.ones(counts.shape)
    some, short = hits > 0, misses > 0
    low[some] = beta.ppf(tail, hits[some], misses[some] + 1)
    high[short] = beta.ppf(1 - tail, hits[short] + 1, misses[short])
    return np.stack([low, high], axis=-1)[which.reshape(n_hits.shape)]


def mean_of_two_interval(first, second, first_interval, second_interval):
    """Confidence interval of the mean of two estimates, from the interval of each.

    The distances from the estimates to the ends of their intervals are added in
    quadrature (Newcombe's hybrid, also known as MOVER). The interval is therefore
    asymmetric where those of the estimates are, and stays within their range.

    Parameters
    ----------
    first, second : array-like of shape (...)
    first_interval, second_interval : array-like of shape (..., 2)

    Returns
    -------
    interval : ndarray of shape (..., 2)

    References
    ----------
    Zou and Donner, "Construction of confidence limits about effect measures: a
    general approach", Statistics in Medicine 27, 2008.
    """
    estimates = np.stack([first, second], axis=-1)[..., np.newaxis]
    intervals = np.stack([first_interval, second_interval], axis=-2)
    reach = np.sqrt(((intervals - estimates) ** 2).sum(axis=-2)) / 2
    return estimates.mean(axis=-2) + reach * np.array([-1.0, 1.0])


def auc_interval(auc, n_members, n_nonmembers, confidence_level=0.95):
    """Confidence interval of an area under the ROC curve.

    A score interval (Newcombe's method 5): the variance is computed at each candidate
    area rather than at the observed one, so that the interval has positive width at
    an observed area of 0 or 1.

    Parameters
    ----------
    auc : float
    n_members, n_nonmembers : int
    confidence_level : float, default=0.95

    Returns
    -------
    interval : ndarray of shape (2,)

    References
    ----------
    Newcombe, "Confidence intervals for an effect size measure based on the
    Mann-Whitney statistic. Part 2", Statistics in Medicine 25, 2006.
    """
    z = ndtri((1 + confidence_level) / 2)
    size = (n_members + n_nonmembers) / 2 - 1

    def excess(area):
        spread = 1 + size * ((1 - area) / (2 - area) + area / (1 + area))
        variance = area * (1 - area) * spread / (n_members * n_nonmembers)
        return (area - auc) ** 2 - z**2 * variance

    # The variance is zero at an area of exactly 0 or 1: start next to it.
    inner = min(max(auc, 1e-9), 1 - 1e-9)
    low = 0.0 if auc == 0 else brentq(excess, 0, inner, xtol=1e-14)
    high = 1.0 if auc == 1 else brentq(excess, inner, 1, xtol=1e-14)
    return np.array([low, high])
