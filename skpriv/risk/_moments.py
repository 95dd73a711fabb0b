"""Means and variances of the signals of each record, over some of the shadow models."""

from typing import NamedTuple

import numpy as np


class Moments(NamedTuple):
    """Statistics of the signals of each record at some of the shadows.

    Attributes
    ----------
    gap : ndarray of shape (n_records,)
        Mean signal at the shadows trained with the record, minus that at the others.
        NaN where there is none on a side.
    out : ndarray of shape (n_records,)
        Mean signal at the shadows trained without the record; NaN if there is none.
    variance : ndarray of shape (n_records,)
        Variance within a side, pooled over both; NaN without two signals on a side.
    """

    gap: np.ndarray
    out: np.ndarray
    variance: np.ndarray


def moments(in_, out):
    """Compute the moments of signals with and without the record.

    Parameters
    ----------
    in_, out : ndarray of shape (n_pairs, n_records)
        Signals at the shadow of each pair that was trained with the record, and at the
        one that was not. NaN where a shadow has no partner.

    Returns
    -------
    moments : Moments
    """
    mean_in, squares_in, n_in = _side(in_)
    mean_out, squares_out, n_out = _side(out)
    degrees = np.maximum(n_in - 1, 0) + np.maximum(n_out - 1, 0)
    with np.errstate(invalid="ignore"):
        variance = (squares_in + squares_out) / degrees
    return Moments(mean_in - mean_out, mean_out, variance)


def _side(signals):
    """Return the mean, the sum of squared deviations and the number of signals."""
    known = np.isfinite(signals)
    n_known = np.count_nonzero(known, axis=0)
    with np.errstate(invalid="ignore"):
        mean = np.where(known, signals, 0.0).sum(axis=0) / n_known
    deviations = np.where(known, signals - mean, 0.0)
    return mean, np.einsum("pi,pi->i", deviations, deviations), n_known
