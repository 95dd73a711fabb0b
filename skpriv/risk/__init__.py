"""Each record's attack success, from a few shadow models and cheap scores."""

from skpriv.utils import _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__, {"_estimator": ["RiskEstimator"]}
)
