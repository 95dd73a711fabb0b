"""Shadows of each record in pairs, of which one was trained with it and one without.

Records are columns, and pairs rows: ``inside[p]`` and ``outside[p]``. A design of
complementary halves makes such pairs of a half and its complement. Rows beyond the last
pair, on the longer side of a record that is in more shadows than not or the reverse,
have no partner; the shorter side holds NaN there.
"""

import numpy as np


def pair_shadows(signals, membership, n_rows=None):
    """Signals of each record with and without it in training, pair by pair.

    Parameters
    ----------
    signals : ndarray of shape (n_shadows, n_records)
    membership : ndarray of shape (n_shadows, n_records), dtype bool
    n_rows : int, default=None
        As of `most_on_a_side`, which it is by default, of more records than these.

    Returns
    -------
    inside, outside : ndarray of shape (n_rows, n_records), dtype float64
        NaN where a record has fewer shadows on the side than there are rows.
    """
    if n_rows is None:
        n_rows = most_on_a_side(membership)
    first, second = membership[::2], membership[1::2]
    if len(membership) == 2 * n_rows and (first != second).all():
        sides = (signals[::2], signals[1::2]), (signals[1::2], signals[::2])
        return tuple(np.where(first, *side).astype(np.float64) for side in sides)
    paired = np.full((2 * n_rows, signals.shape[1]), np.nan)
    np.put_along_axis(paired, _places(membership, n_rows), signals, axis=0)
    return paired[:n_rows], paired[n_rows:]


def _places(membership, n_rows):
    """Rows that the shadows' signals go to, of both sides one upon the other."""
    n_inside = np.cumsum(membership, axis=0, dtype=np.intp)
    n_outside = np.arange(1, len(membership) + 1)[:, np.newaxis] - n_inside
    return np.where(membership, n_inside, n_outside + n_rows) - 1


def most_on_a_side(membership):
    """Largest number of shadows that a record is in, or not in.

    Parameters
    ----------
    membership : ndarray of shape (n_shadows, n_records), dtype bool

    Returns
    -------
    n_rows : int
    """
    n_inside = np.count_nonzero(membership, axis=0)
    return int(max(n_inside.max(), len(membership) - n_inside.min()))


def in_order_of_shadows(sides, membership):
    """Put values of pairs back in the order of the shadows.

    Parameters
    ----------
    sides : tuple of two ndarray of shape (n_rows, n_records)
        With the record in training, and without it.
    membership : ndarray of shape (n_shadows, n_records), dtype bool

    Returns
    -------
    values : ndarray of shape (n_shadows, n_records)
    """
    places = _places(membership, len(sides[0]))
    return np.take_along_axis(np.concatenate(sides), places, axis=0)
