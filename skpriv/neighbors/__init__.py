"""Attribution in nearest-neighbour models."""

from skpriv.neighbors._leave_one_out import KNNLeaveOneOutScorer
from skpriv.neighbors._shapley import KNNShapleyScorer
from skpriv.neighbors._waka import WaKAScorer

__all__ = ["KNNLeaveOneOutScorer", "KNNShapleyScorer", "WaKAScorer"]
