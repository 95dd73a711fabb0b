"""Random halves of the records, on which models are trained to compare."""

import numpy as np
from sklearn.utils import check_random_state


def complementary_halves(y, n_pairs, random_state=None):
    """Draw halves of the records, each followed by its complement.

    Parameters
    ----------
    y : ndarray of shape (n_records,)
        Labels. Each half contains half of the records of each label, give or take
        one, and half of all records, give or take one.
    n_pairs : int
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    membership : ndarray of shape (2 * n_pairs, n_records), dtype bool
        Each record is in exactly one half of each pair.
    """
    rng = check_random_state(random_state)
    codes = np.unique(y, return_inverse=True)[1]
    # Codes of fewer bytes are sorted faster.
    codes = codes.astype(np.min_scalar_type(codes.max()))
    membership = np.zeros((2 * n_pairs, y.size), dtype=bool)
    for pair in range(n_pairs):
        order = rng.permutation(y.size)
        order = order[np.argsort(codes[order], kind="stable")]
        # Every other record in the order of the labels: the odd record of a label
        # with an odd number of them goes to either half in turn.
        membership[2 * pair, order[rng.randint(2) :: 2]] = True
    membership[1::2] = ~membership[::2]
    return membership
