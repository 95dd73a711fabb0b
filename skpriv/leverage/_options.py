"""The parameters of a `GLSScorer` that say how a network's curvature is solved for."""

from dataclasses import dataclass, fields

# What these say of a linear model, which is one layer and has a direct solution.
_FOR_LINEAR_MODELS = {
    "layers": ("last", "all", 1),
    "solver": ("auto", "direct"),
    "curvature": ("ggn",),
    "damping": ("auto",),
    "device": ("auto", "cpu"),
}


@dataclass(frozen=True)
class NetworkOptions:
    """Parameters of a `GLSScorer` that networks need; they are described there.

    Attributes
    ----------
    layers : {"last", "all"}, int or list of str
    solver : {"auto", "direct", "cg", "sketch"}
    curvature : {"ggn", "hessian"}
    damping : "auto" or float
    n_sketches : int
    tol : float
    max_iter : int
    batch_size : "auto" or int
    device : str
    """

    layers: object
    solver: str
    curvature: str
    damping: object
    n_sketches: int
    tol: float
    max_iter: int
    batch_size: object
    device: str

    @classmethod
    def of(cls, scorer):
        """Read them off a scorer."""
        return cls(*(getattr(scorer, field.name) for field in fields(cls)))


def check_linear_options(options, model):
    """Raise a ValueError if an option asks for what only networks have.

    Parameters
    ----------
    options : NetworkOptions
    model : estimator
        A linear model.
    """
    for name, allowed in _FOR_LINEAR_MODELS.items():
        value = getattr(options, name)
        if value not in allowed:
            raise ValueError(
                f"{name}={value!r} applies to networks, but estimator ends in "
                f"{model!r}, which wants one of {allowed}."
            )
