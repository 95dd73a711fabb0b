"""Per-record privacy assessment: which training records a model exposes."""

from importlib import import_module

__version__ = "0.1.0.dev0"

_HOME = {
    "GLSScorer": "skpriv.leverage",
    "KNNLeaveOneOutScorer": "skpriv.neighbors",
    "KNNShapleyScorer": "skpriv.neighbors",
    "LeverageAttack": "skpriv.attacks",
    "LiRAAttack": "skpriv.attacks",
    "LossAttack": "skpriv.attacks",
    "RMIAAttack": "skpriv.attacks",
    "WaKAAttack": "skpriv.attacks",
    "WaKAScorer": "skpriv.neighbors",
}

__all__ = [
    "GLSScorer",
    "KNNLeaveOneOutScorer",
    "KNNShapleyScorer",
    "LeverageAttack",
    "LiRAAttack",
    "LossAttack",
    "RMIAAttack",
    "WaKAAttack",
    "WaKAScorer",
    "__version__",
]


def __getattr__(name):
    # Imported on first use, so that `import skpriv` stays light.
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(set(globals()) | set(__all__))
