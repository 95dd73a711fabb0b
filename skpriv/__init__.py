"""Per-record privacy assessment: which training records a model exposes."""

from skpriv import attacks, neighbors
from skpriv.utils import _lazy

__version__ = "0.1.0.dev0"

# Imported on first use, so that `import skpriv` stays light.
__getattr__, __dir__, _names = _lazy.attach(
    __name__,
    {
        "attacks": attacks.__all__,
        "leverage": ["GLSScorer"],
        "neighbors": neighbors.__all__,
        "report": ["audit"],
        "risk": ["RiskEstimator"],
    },
)
__all__ = [*_names, "__version__"]
