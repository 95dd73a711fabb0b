"""Membership inference: tell whether a record was in a model's training data."""

from skpriv.utils import _lazy

# Imported on first use, so that a worker process that only trains shadow models
# starts fast.
__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    {
        "_leverage": ["LeverageAttack"],
        "_lira": ["LiRAAttack"],
        "_loss": ["LossAttack"],
        "_rmia": ["RMIAAttack"],
        "_waka": ["WaKAAttack"],
    },
)
