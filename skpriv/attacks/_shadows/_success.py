"""How often LiRA is right about each record, with each shadow as the target in turn."""

import numpy as np

from skpriv.attacks._shadows._likelihood import (
    SMALLEST_VARIANCE,
    LikelihoodTest,
    Reference,
    hit_counts,
    leave_pair_out,
    success_interval,
)
from skpriv.attacks._shadows._tasks import resolution
from skpriv.utils._batches import row_batches

# Each record has as many signals as there are shadows.
_MOST_RECORDS = 512


def attack_success(
    signals,
    membership,
    *,
    labels=None,
    mode="online",
    variance="auto",
    confidence_level=0.95,
):
    """Share of models for which LiRA tells correctly whether they saw a record.

    Every model in turn is the target. It and its partner, a model on the other side
    of the record, are left out of the reference.

    Parameters
    ----------
    signals : ndarray of shape (n_shadows, n_records)
    membership : ndarray of shape (n_shadows, n_records), dtype bool
        Which records each model was trained on.
    labels : ndarray of shape (n_records,), default=None
        The labels, if the signals are predictions of a regressor.
    mode, variance
        See :class:`~skpriv.LiRAAttack`.
    confidence_level : float, default=0.95

    Returns
    -------
    success : ndarray of shape (n_records,)
        Mean of the hit rates at the models trained with and without the record. 0.5:
        not exposed. NaN with fewer than three pairs of models.
    interval : ndarray of shape (n_records, 2)
    """
    hits, trials = np.zeros((2, 2, signals.shape[1]))
    reference = Reference(signals, membership, labels)
    test = likelihood_test(mode, variance, labels)
    batches = record_batches(signals.shape[1])
    for batch, _, margins in leave_pair_out(reference, test, batches):
        hits[:, batch], trials[:, batch] = hit_counts(margins)
    return success_interval(hits, trials, confidence_level)


def likelihood_test(mode, variance, labels):
    """Return the test of an attack.

    Parameters
    ----------
    mode, variance
        See :class:`~skpriv.LiRAAttack`.
    labels : ndarray of shape (n_records,) or None
        The labels of the records, if the models are regressors.

    Returns
    -------
    test : LikelihoodTest
    """
    smallest = SMALLEST_VARIANCE if labels is None else resolution(labels) ** 2
    return LikelihoodTest(mode, variance, smallest)


def record_batches(n_records):
    """Return batches of records; see `row_batches`."""
    return row_batches(n_records, most_rows=_MOST_RECORDS)
