"""Membership inference: tell whether a record was in the training of a model."""

from skpriv.utils import _lazy

_HOME = {
    "LeverageAttack": "skpriv.attacks._leverage",
    "LiRAAttack": "skpriv.attacks._lira",
    "LossAttack": "skpriv.attacks._simple",
    "RMIAAttack": "skpriv.attacks._simple",
    "WaKAAttack": "skpriv.attacks._waka",
}
__all__ = ["LeverageAttack", "LiRAAttack", "LossAttack", "RMIAAttack", "WaKAAttack"]

# Imported on first use, so that a worker which only trains shadows starts fast.
__getattr__, __dir__ = _lazy.attach(__name__, _HOME)
