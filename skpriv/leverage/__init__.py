"""Leverage: how strongly each record's label affects the model's prediction for it."""

from skpriv.utils import _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    {"_influence": ["InfluenceStatistics"], "_scorer": ["GLSScorer"]},
    submodules=["gaussian"],
)
