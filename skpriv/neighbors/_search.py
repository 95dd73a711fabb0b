"""Search for neighbours: training records in order of their distance to queries.

Each search has one method, ``rank(X, exclude, n_ranks)``, which yields rankings of some
queries at a time, so that memory stays bounded. No ranking depends on the order of the
training rows: the last tie group is given whole, and near-ties of Euclidean distances,
which a matrix product or float32 cannot tell apart, are computed again from differences
of features in float64. Other metrics are used as scikit-learn computes them.
"""

import scipy.sparse as sp

from skpriv.neighbors._approximate import ApproximateSearch
from skpriv.neighbors._exact import (
    NEARLY_ALL,
    EuclideanSearch,
    MetricSearch,
    NanEuclideanSearch,
)
from skpriv.neighbors._graph import DistanceSearch, GraphSearch
from skpriv.utils._metrics import is_euclidean

# With more multiplications than this, "auto" is approximate.
_BRUTE_FORCE_LIMIT = 1e13
_TREE_FEATURES = 15  # scikit-learn's own limit for trees


def make_search(X, n_ranks, *, search, metric, metric_params, n_jobs, random_state):
    """Choose and build the search for training rows.

    Parameters
    ----------
    X : {ndarray, CSR matrix}
        Training rows, or distances between them for ``metric="precomputed"``.
    n_ranks : int
        How many ranks will be needed.
    search : {"auto", "exact", "approximate"}
    metric : str or callable
    metric_params : dict or None
    n_jobs : int or None
    random_state : int, RandomState instance or None

    Returns
    -------
    search : object with a method ``rank``
    """
    if metric == "precomputed":
        return GraphSearch() if sp.issparse(X) else DistanceSearch()
    if choose_search(X.shape, sp.issparse(X), n_ranks, search) == "approximate":
        return ApproximateSearch(
            X, n_ranks, metric, metric_params, n_jobs, random_state
        )
    if is_euclidean(metric, metric_params):
        return EuclideanSearch(X, n_jobs)
    if metric == "nan_euclidean":
        return NanEuclideanSearch(X, n_jobs)
    return MetricSearch(X, metric, metric_params, n_jobs)


def choose_search(shape, sparse, n_ranks, search):
    """Choose between exact and approximate search.

    Parameters
    ----------
    shape : tuple
        Number of records and of features.
    sparse : bool
    n_ranks : int
    search : {"auto", "exact", "approximate"}

    Returns
    -------
    search : {"exact", "approximate"}
    """
    n_records, n_features = shape
    if search == "auto":
        heavy = n_records**2 * n_features > _BRUTE_FORCE_LIMIT
        trees = n_features <= _TREE_FEATURES and not sparse
        search = "approximate" if heavy and not trees else "exact"
    nearly_all = (n_ranks + 2) * NEARLY_ALL >= n_records
    return "exact" if nearly_all else search
