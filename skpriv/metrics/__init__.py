"""Metrics for membership inference attacks, and the agreement of two scores."""

from skpriv.metrics._agreement import score_agreement
from skpriv.metrics._attack_roc import attack_roc
from skpriv.metrics._epsilon import epsilon_lower_bound
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
    "attack_roc",
    "epsilon_lower_bound",
    "equivalent_shadows",
    "membership_scorer",
    "neg_membership_scorer",
    "score_agreement",
    "tpr_at_fpr",
]
