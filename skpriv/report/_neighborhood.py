"""How the most exposed records lie among their nearest neighbours."""

from typing import NamedTuple

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array

from skpriv.datasets import table_encoder
from skpriv.report._performance import is_neighbors
from skpriv.report._subject import usable
from skpriv.utils._pipelines import parts_of

# A search costs queries times records times features. More takes seconds.
_MOST_OPERATIONS = 1e10
_FEWEST_QUERIES = 200


class Neighborhood(NamedTuple):
    """What is near some of the records. NaN for the others.

    Attributes
    ----------
    n_neighbors : int
    labels : ndarray of shape (n_records, n_neighbors)
        The labels of the nearest neighbours, as indices or quantities.
    distance : ndarray of shape (n_records,)
        The distance to the last of them.
    usual_distances : ndarray of shape (n_reference,)
        The distances of records drawn at random, in order.
    """

    n_neighbors: int
    labels: np.ndarray
    distance: np.ndarray
    usual_distances: np.ndarray


def comparable_rows(subject, fitted):
    """Return numbers on which records can be compared.

    Parameters
    ----------
    subject : Subject
    fitted : estimator
        The audited model.

    Returns
    -------
    rows : {ndarray, sparse matrix} of shape (n_records, n_features) or None
        The features of a k-nearest-neighbour model; of other models the columns on a
        common scale, if there are any; else what the last step of a Pipeline sees.
    """
    if subject.features is not None:
        return subject.features
    transformers, model, _ = parts_of(fitted)
    used = [column for column in subject.columns if column.left_out is None]
    try:
        if used and not is_neighbors(model):
            return table_encoder(used).fit_transform(usable(subject.frame))
        rows = subject.X
        for transformer in transformers:
            rows = transformer.transform(rows)
        rows = rows if hasattr(rows, "tocsr") else np.asarray(rows)
        if rows.ndim > 2:
            rows = rows.reshape(len(rows), -1)
        return check_array(rows, accept_sparse="csr", dtype=np.float64)
    except (TypeError, ValueError):
        return None  # rows that are not numbers cannot be compared


def look_around(rows, labels, order, *, n_neighbors=5, seed=0):
    """Find the neighbours of the most exposed records, and of some at random.

    Parameters
    ----------
    rows : {ndarray, sparse matrix} of shape (n_records, n_features)
    labels : ndarray of shape (n_records,)
        Numbers.
    order : ndarray of shape (n_records,)
        The records, most exposed first. As many of them are looked at as take seconds.
    n_neighbors : int, default=5
    seed : int, default=0
        Draws the records that the others are compared with.

    Returns
    -------
    neighborhood : Neighborhood
    """
    n_records, n_features = rows.shape
    k = min(n_neighbors, n_records - 1)
    affordable = int(_MOST_OPERATIONS / (n_records * n_features) / 2)
    n_queries = min(n_records, max(_FEWEST_QUERIES, affordable))
    drawn = np.random.RandomState(seed).permutation(n_records)[:n_queries]
    queries = np.union1d(order[:n_queries], drawn)
    search = NearestNeighbors(n_neighbors=k + 1).fit(rows)
    distances, found = search.kneighbors(rows[queries])
    distances, found = _without_itself(distances, found, queries)
    near = np.full((n_records, k), np.nan)
    near[queries] = labels[found]
    distance = np.full(n_records, np.nan)
    distance[queries] = distances[:, -1]
    return Neighborhood(k, near, distance, np.sort(distance[drawn]))


def _without_itself(distances, found, queries):
    own = found == queries[:, np.newaxis]
    # Among many copies, the record itself may not be found; then the last is left out.
    own[~own.any(axis=1), -1] = True
    shape = len(queries), -1
    return distances[~own].reshape(shape), found[~own].reshape(shape)
