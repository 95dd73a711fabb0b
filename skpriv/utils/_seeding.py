"""Random states that are no parameter of an estimator."""

import sys
from contextlib import contextmanager


@contextmanager
def seeded_torch(seed):
    """Seed torch, whose networks have no random state, and restore it after.

    Parameters
    ----------
    seed : int
        Of all that is drawn inside. Nothing is done if torch has not been imported:
        then there is no network to draw anything.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
