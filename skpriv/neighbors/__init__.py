"""Attribution in nearest-neighbour models."""

from skpriv.utils import _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    {
        "_leave_one_out": ["KNNLeaveOneOutScorer"],
        "_shapley": ["KNNShapleyScorer"],
        "_waka": ["WaKAScorer"],
    },
)
