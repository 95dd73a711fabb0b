"""An index with the interface of pynndescent that finds all neighbours."""

import numpy as np
from sklearn.neighbors import NearestNeighbors


class ExactIndex:
    """Exact search, in place of ``pynndescent.NNDescent``.

    Parameters
    ----------
    data : {ndarray, CSR matrix} of shape (n_records, n_features)
    metric : str or callable
    metric_kwds : dict or None
    n_neighbors : int
    n_jobs : int
    random_state : RandomState instance

    Attributes
    ----------
    spoilt : bool
        Whether each query misses one of its neighbours and gets another one twice, as
        may happen in pynndescent.
    n_jobs : int
        As given.
    neighbor_graph : tuple of two ndarrays of shape (n_records, n_neighbors)
        The nearest records of each record, itself among them, and their distances.
    """

    spoilt = False

    def __init__(self, data, *, metric, metric_kwds, n_neighbors, n_jobs, random_state):
        self.n_jobs = n_jobs
        self._nearest = NearestNeighbors(
            algorithm="brute", metric=metric, metric_params=metric_kwds, n_jobs=n_jobs
        ).fit(data)
        self.neighbor_graph = self.query(data, n_neighbors)

    def query(self, query_data, k):
        """Return the nearest records of each row, and their distances."""
        distances, records = self._nearest.kneighbors(query_data, k)
        records = records.astype(np.int32)
        if self.spoilt:
            records[:, 7] = -1
            records[:, 9] = records[:, 3]
        return records, distances.astype(np.float32)
