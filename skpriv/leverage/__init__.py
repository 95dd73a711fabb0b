"""Leverage: how strongly each record's label affects the model's prediction for it."""

from skpriv.leverage import gaussian
from skpriv.leverage._influence import InfluenceStatistics
from skpriv.leverage._scorer import GLSScorer

__all__ = ["GLSScorer", "InfluenceStatistics", "gaussian"]
