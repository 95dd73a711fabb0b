"""Approximate search for neighbours."""

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from skpriv.neighbors import _ranking
from skpriv.neighbors._candidates import TIE, first_cut, rank_listed, without_repeats
from skpriv.neighbors._exact import Frame, squared_tolerance
from skpriv.utils._batches import row_batches
from skpriv.utils._metrics import is_euclidean, plain_metric
from skpriv.utils._threads import start_numba_threads

_FEWEST_IN_INDEX = 30  # with fewer neighbours per row, an index finds too few of them


class ApproximateSearch:
    """Approximate search by nearest-neighbour descent (pynndescent).

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_records, n_features)
    n_ranks : int
        How many ranks will be needed.
    metric : str or callable
    metric_params : dict or None
    n_jobs : int or None
    random_state : int, RandomState instance or None
    """

    name = "approximate"

    def __init__(self, X, n_ranks, metric, metric_params, n_jobs, random_state):
        start_numba_threads()  # before pynndescent's kernels do
        from pynndescent import NNDescent  # takes seconds to import
        from pynndescent.distances import named_distances

        self._n_records = self.first_cut = X.shape[0]
        self._width = min(max(n_ranks + 2, _FEWEST_IN_INDEX), X.shape[0])
        self._frame = None
        if is_euclidean(metric, metric_params):
            metric_params, self._frame = None, Frame(X)
            self._points = self._frame.points(X)
            X = self._frame.centred(X)
            name = "euclidean"
        else:
            name = plain_metric(metric)
        if isinstance(name, str) and name not in named_distances:
            raise ValueError(
                f"metric={metric!r} is not available with search='approximate'; use "
                f"search='exact', or one of {sorted(named_distances)}."
            )
        self._index = NNDescent(
            X,
            metric=name,
            metric_kwds=metric_params,
            n_neighbors=self._width,
            # The result depends on the number of threads: with a seed, which asks for
            # a result that repeats, there is one.
            n_jobs=1 if random_state is not None else effective_n_jobs(n_jobs),
            random_state=check_random_state(random_state),
        )

    def rank(self, X, exclude, n_ranks, known=None):
        """Yield the rankings of all queries; see `MetricSearch.rank`.

        Ties at the edge of what the index returns are cut as it returns them:
        `first_cut` is the lowest rank at which such a tie group begins.
        """
        known = exclude if known is None else known
        self.first_cut = self._n_records
        n_queries = X.shape[0]
        for batch in row_batches(
            n_queries, bytes_per_row=40 * self._width, most_rows=None
        ):
            records, values = self._nearest(X[batch], known[batch])
            records = without_repeats(records)
            tolerance, errors = _ranking.Tolerance(TIE[values.dtype], 0.0), None
            if self._frame is not None:
                rows = self._frame.points(X[batch])
                values, errors = _ranking.candidate_distances(
                    rows, self._points, records
                )
                tolerance = squared_tolerance(TIE[values.dtype])
            ranking = rank_listed(
                records, values, exclude[batch], n_ranks, tolerance, errors
            )
            cut = first_cut(ranking, records, exclude[batch], self._n_records)
            self.first_cut = min(self.first_cut, cut)
            yield np.arange(n_queries)[batch], ranking

    def _nearest(self, X, record):
        """Look records up in the index's own graph, and search for other rows."""
        start_numba_threads()  # an index may have been unpickled in a new process
        records = np.empty((X.shape[0], self._width), dtype=np.int64)
        distances = np.empty(records.shape, dtype=np.float32)
        known = record >= 0
        graph, lengths = self._index.neighbor_graph
        records[known] = graph[record[known]]
        distances[known] = lengths[record[known]]
        if not known.all():
            X = X[~known]
            X = X if self._frame is None else self._frame.centred(X)
            records[~known], distances[~known] = self._index.query(X, k=self._width)
        return records, distances
