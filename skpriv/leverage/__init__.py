"""Leverage: how far each record pulls the model towards its own label."""

from skpriv.leverage import gaussian
from skpriv.leverage._influence import InfluenceStatistics
from skpriv.leverage._scorer import GLSScorer

__all__ = ["GLSScorer", "InfluenceStatistics", "gaussian"]
