"""Which scores can be trusted, and what is said of the others."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

# Scores are exact at an optimum, and off by about the relative change of the curvature
# in the Newton step that is left. Beyond this they are not given.
LARGEST_STEP = 0.1


def overall_step(terms):
    """Return the median step of some records, weighed by their leverages.

    Scores hold the curvature of all records, and it changes with their logits: by
    about this much, relatively, as records count in it by their leverages. It is the
    median, since a few records may have directions of their own, which they may
    follow to infinity without a change to the others.

    Parameters
    ----------
    terms : RecordTerms

    Returns
    -------
    step : float
        0 if no record has a leverage.
    """
    known = np.isfinite(terms.leverage) & np.isfinite(terms.step)
    if not known.any():
        return 0.0
    order = np.argsort(terms.step[known])
    weights = np.abs(terms.leverage[known])[order].cumsum()
    middle = np.searchsorted(weights, weights[-1] / 2)
    return float(terms.step[known][order][middle])


def trusted(terms, exact):
    """Tell which records have a score.

    Parameters
    ----------
    terms : RecordTerms
    exact : bool
        Whether scores hold at any weights, as leverages of least squares do.

    Returns
    -------
    known : ndarray of bool, of shape (n_records,)
    """
    converged = ~np.isnan(terms.step) if exact else terms.step <= LARGEST_STEP
    if terms.solution is not None:
        converged &= terms.solution.converged
    return converged & ~terms.undetermined


def _solved(terms):
    if terms.solution is None:
        return np.ones(terms.step.shape, dtype=bool)
    return terms.solution.converged


def warn_of_missing(parts, exact):
    """Warn of records that are not scored at an optimum, and say why.

    Parameters
    ----------
    parts : list of RecordTerms
    exact : bool
        Whether scores hold at any weights.
    """
    step = np.concatenate([terms.step for terms in parts])
    undetermined = np.concatenate([terms.undetermined for terms in parts])
    saddle = np.isnan(step)
    unsolved = ~np.concatenate([_solved(terms) for terms in parts])
    missing = "have no score (NaN)"
    reasons = [
        (
            saddle,
            missing,
            "the model is at no minimum of its objective, whose curvature is negative "
            "in some direction. More training mends this and, for a network, more "
            "damping or curvature='ggn'",
        ),
        (
            undetermined & ~saddle,
            missing,
            "neither training rows nor penalty hold the model's prediction for them "
            "(they differ where no training row does, or are separated from other "
            "classes, which puts the optimum at infinity)",
        ),
        (
            unsolved & ~saddle,
            missing,
            "conjugate gradients did not reach the residual that tol asks for; a "
            "larger max_iter, tol or damping mends this, or solver='direct'",
        ),
        (
            (step > LARGEST_STEP) & ~undetermined,
            "have the leverage of the optimum, not of this model" if exact else missing,
            "the model has not converged, or has no finite optimum (classes that can "
            "be separated, without a penalty). One Newton step would still move their "
            f"logits by more than {LARGEST_STEP} (for squared losses, in standard "
            "deviations of the target). A smaller tol with a larger max_iter, scaled "
            "features, or a penalty mend this",
        ),
    ]
    for records, consequence, reason in reasons:
        if records.any():
            warnings.warn(
                f"{records.sum()} of {records.size} records {consequence}: {reason}.",
                ConvergenceWarning,
                stacklevel=3,
            )
