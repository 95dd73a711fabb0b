"""Pairs of shadow models, one trained with a record and one without it.

Records are columns and pairs are rows: ``in_[p]`` and ``out[p]``. In a design of
complementary halves, each half and its complement are such a pair for every record. If
a record is in more shadows than not, or the reverse, the last shadows of the longer
side have no partner: the shorter side is NaN in their rows.
"""

import numpy as np


def pair_shadows(values, membership, n_rows=None):
    """Split values at the shadows into those with and without the record, by pair.

    Parameters
    ----------
    values : ndarray of shape (n_shadows, n_records)
        Signals, or anything else that each record has at each shadow.
    membership : ndarray of shape (n_shadows, n_records), dtype bool
        Which records each shadow was trained on.
    n_rows : int, default=None
        Number of rows, at least `most_on_a_side` of these records, which is the
        default.

    Returns
    -------
    in_, out : ndarray of shape (n_rows, n_records), dtype float64
        NaN where a record has fewer shadows on that side than there are rows.
    """
    if n_rows is None:
        n_rows = most_on_a_side(membership)
    first, second = membership[::2], membership[1::2]
    if len(membership) == 2 * n_rows and (first != second).all():
        sides = (values[::2], values[1::2]), (values[1::2], values[::2])
        return tuple(np.where(first, *side).astype(np.float64) for side in sides)
    paired = np.full((2 * n_rows, values.shape[1]), np.nan)
    np.put_along_axis(paired, _positions(membership, n_rows), values, axis=0)
    return paired[:n_rows], paired[n_rows:]


def _positions(membership, n_rows):
    """Row of each value when the in side is stacked on top of the out side."""
    n_in = np.cumsum(membership, axis=0, dtype=np.intp)
    n_out = np.arange(1, len(membership) + 1)[:, np.newaxis] - n_in
    return np.where(membership, n_in, n_out + n_rows) - 1


def most_on_a_side(membership):
    """Largest number of shadows that a record is in, or not in.

    Parameters
    ----------
    membership : ndarray of shape (n_shadows, n_records), dtype bool

    Returns
    -------
    n_rows : int
    """
    n_in = np.count_nonzero(membership, axis=0)
    return int(max(n_in.max(), len(membership) - n_in.min()))


def in_order_of_shadows(sides, membership):
    """Undo `pair_shadows`: put values of pairs back in the order of the shadows.

    Parameters
    ----------
    sides : tuple of two ndarray of shape (n_rows, n_records)
        Values with the record in training, and without it.
    membership : ndarray of shape (n_shadows, n_records), dtype bool

    Returns
    -------
    values : ndarray of shape (n_shadows, n_records)
    """
    positions = _positions(membership, len(sides[0]))
    return np.take_along_axis(np.concatenate(sides), positions, axis=0)
