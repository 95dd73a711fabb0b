"""Metrics for membership inference attacks, and the agreement of two scores."""

from skpriv.metrics._agreement import score_agreement
from skpriv.metrics._equivalent import equivalent_shadows
from skpriv.metrics._roc import attack_report, tpr_at_fpr
from skpriv.metrics._scorers import (
    agreement_scorer,
    membership_scorer,
    neg_membership_scorer,
)

__all__ = [
    "agreement_scorer",
    "attack_report",
    "equivalent_shadows",
    "membership_scorer",
    "neg_membership_scorer",
    "score_agreement",
    "tpr_at_fpr",
]
