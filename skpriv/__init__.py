"""Per-record privacy assessment: which training records a model exposes."""

from skpriv.utils import _lazy

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

# Imported on first use, so that `import skpriv` stays light.
__getattr__, __dir__ = _lazy.attach(__name__, _HOME)
