"""What a fitted model says of each record, and the scores made of it."""

from dataclasses import dataclass, fields

import numpy as np
from scipy.special import ndtr


@dataclass
class SolverReport:
    """How iterations went that scores rest on; all of shape (n_records,).

    Attributes
    ----------
    residuals : ndarray
        Largest relative residual of the systems solved for a record.
    n_iter : ndarray of int
        Most iterations among them.
    converged : ndarray of bool
        Whether all of them were solved.
    """

    residuals: np.ndarray
    n_iter: np.ndarray
    converged: np.ndarray

    @classmethod
    def concatenate(cls, parts):
        """Join the reports on successive batches of records."""
        columns = ([getattr(part, f.name) for part in parts] for f in fields(cls))
        return cls(*map(np.concatenate, columns))


@dataclass
class RecordTerms:
    """Quantities of each record, of shape (n_records,) unless said otherwise.

    Attributes
    ----------
    leverage, logit_leverage : ndarray
        Sensitivity of a record's prediction, or of its logits, to its own label,
        summed over the outputs (averaged for squared loss).
    hat : ndarray of shape (n_records, n_outputs) or None
        Curvature of each record's loss times the quadratic form of its features in
        the inverse of the total: the hat matrix's diagonal. None for softmax.
    self_influence : ndarray
        First-order rise of a record's loss when it is removed.
    shift : ndarray
        Half the first-order change of a record's confidence between a model fitted
        on a random half of the data with it and one without it, up to a factor. A
        half meets the whole of a penalty next to the sum of losses: its Hessian is
        half of that of all records, their penalty counted twice.
    variance : ndarray or None
        Variance of that confidence over random halves, up to the factor's square.
    step : ndarray
        Size of the change of its logits in a Newton step from the fitted model.
    undetermined : ndarray of bool
        Whether its prediction depends on directions that the training data and the
        penalty do not hold.
    solution : SolverReport or None
        How the iterations went, for models that need some.
    """

    leverage: np.ndarray
    logit_leverage: np.ndarray
    hat: np.ndarray | None
    self_influence: np.ndarray
    shift: np.ndarray
    variance: np.ndarray | None
    step: np.ndarray
    undetermined: np.ndarray
    solution: SolverReport | None = None

    @classmethod
    def concatenate(cls, parts):
        """Join the terms of successive batches of records."""
        columns = [[getattr(part, f.name) for part in parts] for f in fields(cls)]
        *arrays, reports = columns
        joined = [None if c[0] is None else np.concatenate(c) for c in arrays]
        if reports[0] is not None:
            joined.append(SolverReport.concatenate(reports))
        return cls(*joined)

    @classmethod
    def unknown(cls, n_records):
        """Terms of records of which a model can say nothing."""
        nothing = np.full(n_records, np.nan)
        never = np.zeros(n_records, dtype=bool)
        return cls(*[nothing] * 2, None, *[nothing] * 4, never)


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
        record's own coming and going then contributes ``shift**2`` to it, which is no
        noise to an attack that knows on which side it is, and is taken out.

    Returns
    -------
    success : ndarray of shape (n_records,)
        Probability that the likelihood ratio test is right, members and others being
        equally likely: Φ(d / 2), d the gap over the standard deviation.
    """
    if members:
        variance = np.maximum(variance - shift**2, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        success = ndtr(shift / np.sqrt(variance))
    return np.where(shift == 0, 0.5, success)


def score_of(terms, score, space, members):
    """Pick or make the score that a `GLSScorer` was asked for."""
    if score == "self_influence":
        return terms.self_influence
    if score == "attack_power":
        return attack_power(terms.shift, terms.variance, members)
    return terms.leverage if space == "probability" else terms.logit_leverage
