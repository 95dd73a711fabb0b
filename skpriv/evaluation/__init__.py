"""Measure how well attacks and scores do."""

from skpriv.evaluation._curves import minimization_curve, onion_effect
from skpriv.evaluation._game import cross_val_membership, membership_game
from skpriv.evaluation._risk import detection_limit, records_at_risk, success_by_group

__all__ = [
    "cross_val_membership",
    "detection_limit",
    "membership_game",
    "minimization_curve",
    "onion_effect",
    "records_at_risk",
    "success_by_group",
]
