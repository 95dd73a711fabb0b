"""Membership inference: tell whether a record was in the training of a model."""

from skpriv.attacks._leverage import LeverageAttack
from skpriv.attacks._lira import LiRAAttack
from skpriv.attacks._simple import LossAttack, RMIAAttack
from skpriv.attacks._waka import WaKAAttack

__all__ = ["LeverageAttack", "LiRAAttack", "LossAttack", "RMIAAttack", "WaKAAttack"]
