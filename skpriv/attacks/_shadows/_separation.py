"""Attack success from the separation of two means, rather than from counted hits.

If a record's signals are normal with the same variance at models trained with it and
without it, at a distance of d standard deviations, the best test is right with
probability Φ(d / 2). Means and variances are less noisy than the hits of tests.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, nctdtrinc, ndtr

# Beyond this value of Student's t, only the uncertainty of the variance matters, and
# the noncentral t distribution is slow to compute.
_LARGE_T = 100.0


class Separation(NamedTuple):
    """Distance of the mean signals with and without each record in training.

    Attributes
    ----------
    d : ndarray of shape (n_records,)
        In within-side standard deviations; positive if training on the record raises
        its signal, or moves the prediction towards the label. 0 if all signals are
        equal. NaN if it is not known: see `separations`.
    n_in, n_out : ndarray of shape (n_records,)
        Number of signals on each side.
    varies : ndarray of shape (n_records,), dtype bool
        Whether the signals of the record vary within a side.
    """

    d: np.ndarray
    n_in: np.ndarray
    n_out: np.ndarray
    varies: np.ndarray


def separations(reference, batches, smallest_variance):
    """Estimate the separation of each record from its means and its pooled variance.

    Parameters
    ----------
    reference : Reference
    batches : list of slice
        Batches of records, to bound the memory.
    smallest_variance : float
        The resolution of the signals; see `LikelihoodTest`.

    Returns
    -------
    separation : Separation
        ``d`` is NaN where a side has fewer than two signals, and where signals do not
        vary within the sides, but differ between them. It is NaN for all records if
        there are no more than two different signals, such as right and wrong.
    """
    signals = reference.signals
    low, high = signals.min(), signals.max()
    results, two_valued = [], low < high
    for batch in batches:
        part = reference.of(batch)
        results.append(_separation(part, smallest_variance))
        if two_valued:
            two_valued = bool(((part.signals == low) | (part.signals == high)).all())
    separation = Separation(*map(np.concatenate, zip(*results, strict=True)))
    return separation._replace(d=separation.d * np.nan) if two_valued else separation


def _separation(reference, smallest_variance):
    values = reference.directed_signals().astype(np.float64)
    n_in, mean_in, squares_in = _side(values, reference.membership)
    n_out, mean_out, squares_out = _side(values, ~reference.membership)
    gap = mean_in - mean_out
    variance = (squares_in + squares_out) / np.maximum(n_in + n_out - 2, 1)
    varies = variance > smallest_variance
    d = np.full(gap.size, np.nan)
    np.divide(gap, np.sqrt(variance), out=d, where=varies)
    d[~varies & (gap**2 <= smallest_variance)] = 0.0
    d[np.minimum(n_in, n_out) < 2] = np.nan
    return Separation(d, n_in, n_out, varies)


def _side(values, side):
    n = np.count_nonzero(side, axis=0)
    mean = np.einsum("ij,ij->j", values, side) / np.maximum(n, 1)
    gaps = values - mean
    gaps *= side
    return n, mean, np.einsum("ij,ij->j", gaps, gaps)


def success_of_separation(separation, confidence_level=0.95):
    """Success of the best test at each separation, and its interval.

    The interval is exact for normal signals, up to 1e-4: the estimate of
    √(n_in n_out / (n_in + n_out)) d has a noncentral t distribution, whose
    noncentrality is the true value.

    Parameters
    ----------
    separation : Separation
    confidence_level : float, default=0.95

    Returns
    -------
    success : ndarray of shape (n_records,)
    interval : ndarray of shape (n_records, 2)
        NaN where the success is, and where the signals do not vary.
    """
    d, n_in, n_out, varies = separation
    interval = np.full((d.size, 2), np.nan)
    known = np.flatnonzero(varies & ~np.isnan(d))
    n_in, n_out = n_in[known], n_out[known]
    unit = np.sqrt(1 / n_in + 1 / n_out)
    tails = (1 + confidence_level) / 2, (1 - confidence_level) / 2
    for end, p in enumerate(tails):
        noncentrality = _noncentrality(n_in + n_out - 2, p, d[known] / unit)
        interval[known, end] = ndtr(noncentrality * unit / 2)
    return ndtr(d / 2), interval


def _noncentrality(dof, p, t):
    """Noncentrality at which t is the p-quantile of Student's distribution."""
    found = np.empty(t.size)
    large = np.abs(t) > _LARGE_T
    found[~large] = nctdtrinc(dof[~large].astype(float), p, t[~large])
    dof, t = dof[large], t[large]
    found[large] = t * np.sqrt(chdtri(dof, np.where(t > 0, p, 1 - p)) / dof)
    return found
