"""Membership inference: tell whether a record was in the training of a model."""

from skpriv.attacks._lira import LiRAAttack

__all__ = ["LiRAAttack"]
