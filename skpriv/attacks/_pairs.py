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
    places : ndarray of shape (n_shadows, n_records)
        The row that a shadow's signal went to, of `inside` and `outside` one upon
        the other.
    """
    if n_rows is None:
        n_rows = most_on_a_side(membership)
    n_shadows = len(membership)
    if n_shadows == 2 * n_rows and (membership[::2] != membership[1::2]).all():
        return _pair_complements(signals, membership[::2])
    n_inside = np.cumsum(membership, axis=0, dtype=np.intp)
    n_outside = np.arange(1, n_shadows + 1)[:, np.newaxis] - n_inside
    places = np.where(membership, n_inside, n_outside + n_rows) - 1
    paired = np.full((2 * n_rows, signals.shape[1]), np.nan)
    np.put_along_axis(paired, places, signals, axis=0)
    return paired[:n_rows], paired[n_rows:], places


def _pair_complements(signals, first_inside):
    """Pair each two shadows, given which records the first of them is trained on."""
    first, second = signals[::2].astype(float), signals[1::2].astype(float)
    inside = np.where(first_inside, first, second)
    outside = np.where(first_inside, second, first)
    pair = np.arange(len(first))[:, np.newaxis]
    places = np.empty(signals.shape, dtype=np.intp)
    places[::2] = np.where(first_inside, pair, pair + len(first))
    places[1::2] = np.where(first_inside, pair + len(first), pair)
    return inside, outside, places


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


def in_order_of_shadows(sides, places):
    """Put values of pairs back in the order of the shadows.

    Parameters
    ----------
    sides : tuple of two ndarray of shape (n_rows, n_records)
    places : ndarray of shape (n_shadows, n_records)

    Returns
    -------
    values : ndarray of shape (n_shadows, n_records)
    """
    return np.take_along_axis(np.concatenate(sides), places, axis=0)
