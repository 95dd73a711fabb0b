"""What has to be known of networks before they are trained again."""

import sys

from sklearn.frozen import FrozenEstimator


def check_untrained(estimator):
    """Raise if a network would begin its training with what it learnt before.

    skorch trains a module that it is given as an object in place, and copies of it keep
    the weights: of records, too, that a copy is meant not to have seen.

    Parameters
    ----------
    estimator : estimator
        About to be copied and fitted on a part of the records.

    Raises
    ------
    ValueError
        If a network that is initialized has a module that was given as an object.
    """
    torch = sys.modules.get("torch")
    if torch is None or isinstance(estimator, FrozenEstimator):
        return
    parts = {"": estimator, **estimator.get_params(deep=True)}
    frozen = tuple(
        f"{name}__" for name, part in parts.items() if isinstance(part, FrozenEstimator)
    )
    for name, part in parts.items():
        # What was loaded from a file has no history either.
        if getattr(part, "initialized_", False) and not name.startswith(frozen):
            module = part.module
            if isinstance(module, torch.nn.Module):
                raise ValueError(
                    f"estimator has a {type(part).__name__} whose module is an object "
                    "in use already, so that every copy would begin with what it "
                    "knows of all records; its module wants to be a class or a "
                    "function that makes a new one, or the net not to be initialized."
                )
