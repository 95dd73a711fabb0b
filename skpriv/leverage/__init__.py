"""Leverage: how strongly each record pulls the model towards its own label."""

from skpriv.utils import _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    {"_influence": ["InfluenceStatistics"], "_scorer": ["GLSScorer"]},
    submodules=["gaussian"],
)
