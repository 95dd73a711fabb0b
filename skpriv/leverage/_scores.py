"""Quantities per record that scores are made of, and whether they can be trusted."""

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from enum import IntFlag

import numpy as np
from scipy.special import ndtr
from sklearn.exceptions import ConvergenceWarning

from skpriv.utils._text import count

# Scores are exact at an optimum, and off by about the relative change of the curvature
# in the Newton step that remains. Beyond this they are NaN.
LARGEST_STEP = 0.1


class Status(IntFlag):
    """Reasons why a record may have no score; a record can have several of them."""

    VALID = 0
    NOT_CONVERGED = 1
    NOT_SOLVED = 2
    NOT_ESTIMABLE = 4
    NOT_A_MINIMUM = 8
    OTHER_RECORDS = 16


_EXPLANATIONS = {
    Status.OTHER_RECORDS: (
        "the model is further from the optimum for these records than its solver "
        "would leave it, so it was fitted on other rows or with other weights. Pass to "
        "fit the rows and weights that the model was fitted on"
    ),
    Status.NOT_A_MINIMUM: (
        "the model is not at a minimum of its objective, whose curvature is negative "
        "in some direction. Train it longer or, for a network, use more damping or "
        "curvature='ggn'"
    ),
    Status.NOT_ESTIMABLE: (
        "their predictions are not estimable: neither the training rows nor the "
        "penalty determine them (the records vary in a direction in which the training "
        "rows do not, or are separated from other classes, so that the optimum is at "
        "infinity)"
    ),
    Status.NOT_SOLVED: (
        "conjugate gradients did not reach the residual that tol asks for. Use a "
        "larger max_iter, tol or damping, or solver='direct'"
    ),
    Status.NOT_CONVERGED: (
        "the model has not converged, or has no finite optimum (classes that can be "
        "separated, without a penalty). One Newton step would still move their logits "
        f"by more than {LARGEST_STEP} (for squared losses, in standard deviations of "
        "the target). Use a smaller tol with a larger max_iter, scaled features, or a "
        "penalty"
    ),
}


def is_valid(status, *, at_any_weights=False):
    """Tell which records have a score.

    Parameters
    ----------
    status : ndarray of Status
    at_any_weights : bool, default=False
        Whether scores are the same at any weights of the model, as leverages of least
        squares are, so that they are valid although the model has not converged.

    Returns
    -------
    valid : ndarray of bool
    """
    ignored = Status.NOT_CONVERGED if at_any_weights else Status.VALID
    return (status & ~ignored) == Status.VALID


def has_converged(status):
    """Tell for which records the model, and the solver, have converged."""
    return (status & ~Status.NOT_ESTIMABLE) == Status.VALID


def warn_of_missing(status, *, at_any_weights=False):
    """Warn of records without a valid score, and say why.

    Parameters
    ----------
    status : ndarray of Status
    at_any_weights : bool, default=False
        As of `is_valid`.
    """
    counted = np.zeros(status.shape, dtype=bool)
    for reason, explanation in _EXPLANATIONS.items():
        records = (status & reason).astype(bool) & ~counted
        counted |= records
        verb = "has" if records.sum() == 1 else "have"
        consequence = f"{verb} no score (NaN)"
        if at_any_weights and reason == Status.NOT_CONVERGED:
            consequence = f"{verb} the leverage of the optimum, not of this model"
        if records.any():
            warnings.warn(
                f"{records.sum()} of {count(records.size, 'record')} {consequence}: "
                f"{explanation}.",
                ConvergenceWarning,
                stacklevel=3,
            )


@dataclass
class RecordTerms:
    """Quantities per record, of shape (n_records,) unless said otherwise.

    Those that do not exist for a model, or were not asked for, are None.

    Attributes
    ----------
    status : ndarray of Status
        Why a record has no score. `NOT_CONVERGED` is left to `assess`.
    leverage, logit_leverage : ndarray
        Sensitivity of a record's prediction, or of its logits, to its own label,
        summed over the outputs (averaged for squared loss).
    self_influence : ndarray
        First-order rise of a record's loss when it is removed.
    hat : ndarray of shape (n_records, n_outputs) or None
        Curvature of each record's loss times the quadratic form of its features in
        the inverse of the total: the diagonal of the hat matrix. None if outputs share
        one loss.
    confidence_shift : ndarray or None
        Half the first-order change of a record's confidence, or of its prediction by
        a regressor or any other model of one output, between a model fitted on a
        random half of the data with it and one without it, up to a factor. If
        the penalty is added to the sum of losses, a half-sample model is fitted with
        all of it: its Hessian is half of that of all records with the penalty doubled.
        If it is added to their mean, the penalty is not doubled. NaN with an L1
        penalty.
    confidence_variance : ndarray or None
        Variance of the same over random halves, up to the factor's square.
    newton_step : ndarray or None
        Size of the change of its logits in a Newton step from the fitted model. None
        for models that are scored at whatever weights they have.
    n_iter : ndarray of int or None
        Largest number of iterations among the linear systems solved for a record.
        None if there were no iterations.
    residuals : ndarray or None
        Largest relative residual of these systems.
    """

    status: np.ndarray
    leverage: np.ndarray
    logit_leverage: np.ndarray
    self_influence: np.ndarray
    hat: np.ndarray | None = None
    confidence_shift: np.ndarray | None = None
    confidence_variance: np.ndarray | None = None
    newton_step: np.ndarray | None = None
    n_iter: np.ndarray | None = None
    residuals: np.ndarray | None = None

    @classmethod
    def concatenate(cls, parts):
        """Join the terms of successive batches of records."""
        columns = ([getattr(part, f.name) for part in parts] for f in fields(cls))
        return cls(*(None if c[0] is None else np.concatenate(c) for c in columns))

    @classmethod
    def without_minimum(cls, n_records, **known):
        """Terms of records at a model that is not at a minimum: all unknown.

        Parameters
        ----------
        n_records : int
        **known
            Terms that are known nevertheless.

        Returns
        -------
        terms : RecordTerms
        """
        status = np.full(n_records, Status.NOT_A_MINIMUM)
        unknown = np.full(n_records, np.nan)
        return cls(status, unknown, unknown, unknown, **known)


class Sensitivities(ABC):
    """How predictions of a fitted model depend on labels, to first order.

    Attributes
    ----------
    quadratic : bool
        Whether leverage is the same at any weights, so that it does not matter
        whether the model has converged.
    solver : {"direct", "cg", "sketch"}
    damping : float, dict of str to float or None
        The damping, by the name of the parameter if it differs between parameters;
        None for models that have none.
    n_polish_steps : int
        Number of Newton steps from the fitted model to the weights that are scored.
    """

    quadratic = False
    n_polish_steps = 0
    solver = "direct"
    damping = None

    @abstractmethod
    def terms(self, X, y, sample_weight):
        """Compute the terms of records, whether the model was fitted on them or not.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_rows, ...)
            As of `Adapter.rows`.
        y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        sample_weight : ndarray of shape (n_rows,)

        Returns
        -------
        terms : RecordTerms
        """

    def influence(self, X, y, sample_weight):
        """Compute the classical influence statistics of the training records.

        Parameters
        ----------
        X, y, sample_weight
            The rows that the model was fitted on, as in `terms`.

        Returns
        -------
        influence : InfluenceStatistics or None
            None if they are not defined for the model.
        """
        return


def assess(terms, least_step=None):
    """Set the status of records at a model that has not converged.

    Scores contain the curvature of all records, which changes with the logits of all.
    No record's Newton step is therefore taken to be smaller than that of the model.

    Parameters
    ----------
    terms : RecordTerms
    least_step : float, default=None
        The Newton step of the model. None takes `model_step` of these records.

    Returns
    -------
    terms : RecordTerms
    """
    if terms.newton_step is None:
        return terms
    least_step = model_step(terms) if least_step is None else least_step
    step = np.maximum(terms.newton_step, least_step)
    late = np.where(step <= LARGEST_STEP, Status.VALID, Status.NOT_CONVERGED)
    return replace(terms, newton_step=step, status=terms.status | late)


def has_nearly_converged(terms):
    """Tell whether the model has converged as a whole, but not for all records.

    Parameters
    ----------
    terms : RecordTerms
        As of `assess`.

    Returns
    -------
    nearly : bool
    """
    if terms.newton_step is None or not (terms.status & Status.NOT_CONVERGED).any():
        return False
    return np.fmin.reduce(terms.newton_step, initial=np.inf) <= LARGEST_STEP


def model_step(terms):
    """Return the median Newton step of some records, weighted by their leverages.

    Records count in the curvature by their leverages, and it changes by about this
    much, relatively, in a Newton step. It is the median, since a few records may have
    directions of their own, which they may follow to infinity without a change to the
    others.

    Parameters
    ----------
    terms : RecordTerms

    Returns
    -------
    step : float
        0 if no record has a leverage.
    """
    known = np.isfinite(terms.leverage) & np.isfinite(terms.newton_step)
    if not known.any():
        return 0.0
    order = np.argsort(terms.newton_step[known])
    weights = np.abs(terms.leverage[known])[order].cumsum()
    middle = np.searchsorted(weights, weights[-1] / 2)
    return float(terms.newton_step[known][order][middle])


def attack_power(shift, variance, members):
    """Predict the success of LiRA against each record, without a shadow model.

    Parameters
    ----------
    shift : ndarray of shape (n_records,)
        Half the gap between the record's mean confidence with it and without it.
    variance : ndarray of shape (n_records,)
        Variance of its confidence over shadow models fitted on random halves.
    members : bool
        Whether the records belong to the rows that `variance` was computed from. A
        record's own presence then contributes ``shift**2`` to it, which is not noise
        to an attack that compares models with and without it, and is subtracted.

    Returns
    -------
    success : ndarray of shape (n_records,)
        Probability that the likelihood ratio test is right, if half of the records
        are members: Φ(d / 2), d the gap over the standard deviation.
    """
    if members:
        variance = np.maximum(variance - shift**2, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        success = ndtr(shift / np.sqrt(variance))
    return np.where(shift == 0, 0.5, success)


def score_of(terms, variant, space, members):
    """Compute the variant of the score that a `GLSScorer` was asked for.

    Parameters
    ----------
    terms : RecordTerms
    variant : {"leverage", "self_influence", "attack_power"}
    space : {"probability", "logit"}
    members : bool
        Whether the model was fitted on the records.

    Returns
    -------
    scores : ndarray of shape (n_records,)
        Whether valid or not.
    """
    if variant == "self_influence":
        return terms.self_influence
    if variant == "attack_power":
        shift, variance = terms.confidence_shift, terms.confidence_variance
        return attack_power(shift, variance, members)
    return terms.leverage if space == "probability" else terms.logit_leverage
