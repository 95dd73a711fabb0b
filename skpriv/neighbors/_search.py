"""Neighbour search: training records in order of their distance to queries.

Each search has one method, ``rank(X, exclude, n_ranks)``, which yields a `Ranking`
for a part of the queries at a time, so that memory stays bounded. No ranking depends
on the order of the training rows: a tie group that is begun is given whole, and
near-ties of Euclidean distances, which a matrix product or float32 would blur, are
computed again from differences of features in float64. Other metrics are taken as
scikit-learn computes them.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state, gen_batches, gen_even_slices
from sklearn.utils.extmath import row_norms, safe_sparse_dot
from threadpoolctl import threadpool_limits

from skpriv.neighbors import _ranking
from skpriv.utils._sklearn import effective_n_threads, get_chunk_n_rows
from skpriv.utils._threads import start_numba_threads

_EPS = np.finfo(np.float64).eps
# Distances closer than this, relatively, differ by rounding alone.
_TIE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-6}
# Metrics that are 1 minus a product of unit vectors round absolutely.
_ROUNDS_ABSOLUTELY = {"cosine", "correlation"}
_MOST_QUERIES_AT_ONCE = 128
# Above this many multiplications, approximate search is what "auto" takes.
_BRUTE_FORCE_LIMIT = 1e13
_TREE_FEATURES = 15  # scikit-learn's own limit for trees
# Where a share of 1/8 of the records is ranked, ranking all is as fast.
_NEARLY_ALL = 8
_FEWEST_IN_INDEX = 30  # with fewer neighbours a row, an index finds too few of them
_PYNNDESCENT_NAMES = {"cityblock": "manhattan", "infinity": "chebyshev"}


class Ranking(NamedTuple):
    """Records in order of distance, for some of the queries.

    The arrays may be overwritten when the next ranking is asked for.

    Attributes
    ----------
    queries : ndarray of shape (n_rows,)
        Which queries these are.
    records : ndarray of shape (n_rows, width), dtype int32
        Nearest first; only the first `lengths` entries of a row count.
    tied : ndarray of shape (n_rows, width), dtype bool
        Whether a record is at the same distance as the one before it.
    lengths : ndarray of shape (n_rows,)
    """

    queries: np.ndarray
    records: np.ndarray
    tied: np.ndarray
    lengths: np.ndarray


def make_search(X, n_ranks, *, search, metric, metric_params, n_jobs, random_state):
    """Choose and build the search for training rows.

    Parameters
    ----------
    X : {ndarray, CSR matrix}
        Training rows, or distances between them for ``metric="precomputed"``.
    n_ranks : int
        How many ranks will be asked for.
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
    n_records, n_features = X.shape
    nearly_all = (n_ranks + 2) * _NEARLY_ALL >= n_records
    if search == "auto":
        heavy = n_records**2 * n_features > _BRUTE_FORCE_LIMIT
        trees = n_features <= _TREE_FEATURES and not sp.issparse(X)
        search = "approximate" if heavy and not trees else "exact"
    if search == "approximate" and not nearly_all:
        return ApproximateSearch(
            X, n_ranks, metric, metric_params, n_jobs, random_state
        )
    if _is_euclidean(metric, metric_params):
        return EuclideanSearch(X, n_jobs)
    return MetricSearch(X, metric, metric_params, n_jobs)


def _is_euclidean(metric, metric_params):
    if metric == "minkowski":
        params = metric_params or {}
        return params.get("p", 2) == 2 and params.get("w") is None
    return metric in ("euclidean", "l2", "sqeuclidean")


def _points(X):
    """Lay rows out for the kernels."""
    if sp.issparse(X):
        X = X.copy()
        X.sum_duplicates()  # sorts the indices too, in place
        indices, indptr = (part.astype(np.int64) for part in (X.indices, X.indptr))
        return _ranking.Points(np.empty((0, 0)), X.data, indices, indptr)
    no_index = np.empty(0, dtype=np.int64)
    return _ranking.Points(np.ascontiguousarray(X), np.empty(0), no_index, no_index)


def _n_wanted(exclude, n_ranks, n_records):
    """Count the candidates that show n_ranks ranks and where their last tie ends."""
    return min(n_ranks + 1 + int((exclude >= 0).any()), n_records)


class MetricSearch:
    """Exact search under any metric of scikit-learn.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_records, n_features)
    metric : str or callable
    metric_params : dict or None
    n_jobs : int or None
    """

    name = "exact"
    _rtol = _TIE[np.dtype(np.float64)]

    def __init__(self, X, metric, metric_params, n_jobs):
        params = dict(metric_params or {})
        self._index = NearestNeighbors(
            metric=metric, p=params.pop("p", 2), metric_params=params, n_jobs=n_jobs
        ).fit(X)
        self._n_records = X.shape[0]
        self._metric = metric
        self._atol = 1e-12 if metric in _ROUNDS_ABSOLUTELY else 0.0

    def rank(self, X, exclude, n_ranks):
        """Yield a `Ranking` for each part of the queries.

        Parameters
        ----------
        X : {ndarray, CSR matrix} of shape (n_queries, n_features)
        exclude : ndarray of shape (n_queries,)
            The record to leave out of each query's ranking, or -1.
        n_ranks : int
            How many ranks are wanted, at least; all if there are fewer.
        """
        queries = np.arange(X.shape[0])
        wanted = _n_wanted(exclude, n_ranks, self._n_records)
        if wanted * _NEARLY_ALL >= self._n_records:
            yield from self._rank_all(X, queries, exclude, n_ranks)
            return
        for batch in gen_batches(queries.size, get_chunk_n_rows(40 * wanted)):
            candidates, values, blurs, horizon = self._nearest(X[batch], wanted)
            *ranking, complete = _ranking.rank_candidates(
                candidates, values, blurs, exclude[batch], n_ranks, horizon,
                self._rtol, self._atol,
            )  # fmt: skip
            if complete.all():
                yield Ranking(queries[batch], *ranking)
                continue
            yield Ranking(
                queries[batch][complete], *(part[complete] for part in ranking)
            )
            yield from self._rank_all(X, queries[batch][~complete], exclude, n_ranks)

    def _nearest(self, X, wanted):
        """Return candidates, what to sort them by, its blur, and a bound of others."""
        candidates, distances = self._neighbors(X, wanted)
        horizon = distances[:, -1].copy()
        return candidates, distances, np.zeros_like(distances), horizon

    def _neighbors(self, X, wanted):
        distances, candidates = self._index.kneighbors(X, wanted)
        if np.isnan(distances).any():
            undefined = np.isnan(distances).any(axis=1).sum()
            raise ValueError(
                f"metric={self._metric!r} gives no distance (NaN) for some records to "
                f"{undefined} of {len(distances)} rows; take another metric."
            )
        return candidates, distances

    def _rank_all(self, X, queries, exclude, n_ranks):
        """Rank all records for some of the queries."""
        rows = max(1, get_chunk_n_rows(40 * self._n_records))
        for batch in gen_batches(queries.size, rows):
            part = queries[batch]
            candidates, distances = self._neighbors(X[part], self._n_records)
            ranking = _rank_listed(
                candidates, distances, np.zeros_like(distances), exclude[part],
                n_ranks, self._rtol, self._atol,
            )  # fmt: skip
            yield Ranking(part, *ranking)


class EuclideanSearch(MetricSearch):
    """Exact search by Euclidean distance, dense or sparse.

    Matrix products find the neighbours; distances that they leave in doubt are
    computed again, record by record, from differences.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_records, n_features)
    n_jobs : int or None
    """

    # Squared distances: twice the relative tolerance.
    _rtol = 2 * _TIE[np.dtype(np.float64)]

    def __init__(self, X, n_jobs):
        self._frame = _Frame(X)
        X_scaled = self._frame.scaled(X)
        self._X = _points(X_scaled)
        self._largest = row_norms(X_scaled).max()
        X = self._frame.centred(X)
        super().__init__(X, "euclidean", None, n_jobs)
        norms = row_norms(X, squared=True)
        self._longest = np.sqrt(norms.max())
        self._rounding = (X.shape[1] + 8) * _EPS
        self._transposed = _augmented(X, 1.0, norms, 1.0).T

    def _errors(self, norms):
        """Bound the error of squared distances that come from a product."""
        return self._rounding * (np.sqrt(norms) + self._longest) ** 2

    def _nearest(self, X, wanted):
        centred = self._frame.centred(X)
        distances, candidates = self._index.kneighbors(centred, wanted)
        errors = self._errors(row_norms(centred, squared=True))
        queries = _points(self._frame.scaled(X))
        values, blurs = _ranking.candidate_distances(queries, self._X, candidates)
        return candidates, values, blurs, distances[:, -1] ** 2 - 2 * errors

    def _rank_all(self, X, queries, exclude, n_ranks):
        rows = min(get_chunk_n_rows(16 * self._n_records), _MOST_QUERIES_AT_ONCE)
        rows = min(max(rows, 1), queries.size)
        values = np.empty((rows, self._n_records))
        records = np.empty((rows, self._n_records), dtype=np.int32)
        tied = np.empty((rows, self._n_records), dtype=bool)
        lengths = np.empty(rows, dtype=np.int64)
        for batch in gen_batches(queries.size, rows):
            part = queries[batch]
            outputs = records[: part.size], tied[: part.size], lengths[: part.size]
            centred = self._frame.centred(X[part])
            norms = row_norms(centred, squared=True)
            centred = _augmented(centred, -2.0, 1.0, norms)
            squared = _product(centred, self._transposed, values[: part.size])
            scaled = self._frame.scaled(X[part])
            slacks = 2 * _EPS * (row_norms(scaled) + self._largest)
            _ranking.rank_rows(
                squared, self._errors(norms), slacks, _points(scaled), self._X,
                exclude[part], n_ranks, self._rtol, 0.0, *outputs,
            )  # fmt: skip
            yield Ranking(part, *outputs)


class _Frame:
    """Scale and origin in which squared distances neither overflow nor cancel."""

    def __init__(self, X):
        largest = abs(X).max()
        usual = largest == 0 or 1e-100 < largest < 1e100
        # A power of two changes no digit.
        self._scale = 1.0 if usual else np.ldexp(1.0, min(-np.frexp(largest)[1], 1000))
        self._centre = None if sp.issparse(X) else self.scaled(X).mean(axis=0)

    def scaled(self, X):
        return X if self._scale == 1 else X * self._scale

    def centred(self, X):
        X = self.scaled(X)
        return X if self._centre is None else X - self._centre


def _augmented(X, factor, first, second):
    """Append two columns, so that one product gives squared distances."""
    columns = np.empty((X.shape[0], 2))
    columns[:, 0], columns[:, 1] = first, second
    if sp.issparse(X):
        return sp.hstack([X * factor, columns], format="csr")
    return np.hstack([X * factor, columns])


def _product(A, B, out):
    """Multiply; blocks of columns side by side, each by BLAS on one thread.

    BLAS on several threads leaves some of them spinning for a while, and so in the
    way of the kernel that follows.
    """
    if sp.issparse(A):
        return np.ascontiguousarray(safe_sparse_dot(A, B, dense_output=True))
    n_threads = effective_n_threads()
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_threads) as pool:
        list(
            pool.map(
                lambda columns: np.matmul(A, B[:, columns], out=out[:, columns]),
                gen_even_slices(B.shape[1], n_threads),
            )
        )
    return out


class ApproximateSearch:
    """Approximate search by nearest-neighbour descent (pynndescent).

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_records, n_features)
    n_ranks : int
        How many ranks will be asked for.
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

        self._width = min(max(n_ranks + 2, _FEWEST_IN_INDEX), X.shape[0])
        self._frame = None
        if _is_euclidean(metric, metric_params):
            metric, metric_params, self._frame = "euclidean", None, _Frame(X)
            self._points = _points(self._frame.scaled(X))
            X = self._frame.centred(X)
        metric = _PYNNDESCENT_NAMES.get(metric, metric)
        if isinstance(metric, str) and metric not in named_distances:
            raise ValueError(
                f"metric={metric!r} is not one that search='approximate' knows; take "
                f"search='exact', or one of {sorted(named_distances)}."
            )
        self._index = NNDescent(
            X,
            metric=metric,
            metric_kwds=metric_params,
            n_neighbors=self._width,
            # Threads share the work by their number, and with it the result: a seed
            # asks for a result that repeats.
            n_jobs=1 if random_state is not None else effective_n_jobs(n_jobs),
            random_state=check_random_state(random_state),
        )

    def rank(self, X, exclude, n_ranks):
        """Yield a `Ranking` for each part of the queries; see `MetricSearch.rank`.

        Ties at the edge of what the index returns are cut as it returns them.
        """
        queries = np.arange(X.shape[0])
        for batch in gen_batches(queries.size, get_chunk_n_rows(40 * self._width)):
            candidates, values = self._nearest(X[batch], exclude[batch])
            candidates = _without_repeats(candidates)
            rtol, blurs = _TIE[values.dtype], np.zeros(values.shape)
            if self._frame is not None:
                rows = _points(self._frame.scaled(X[batch]))
                values, blurs = _ranking.candidate_distances(
                    rows, self._points, candidates
                )
                rtol = 2 * _TIE[values.dtype]
            ranking = _rank_listed(
                candidates, values, blurs, exclude[batch], n_ranks, rtol
            )
            yield Ranking(queries[batch], *ranking)

    def _nearest(self, X, exclude):
        """Look records up in the index's own graph, and search for other rows."""
        candidates = np.empty((X.shape[0], self._width), dtype=np.int64)
        distances = np.empty(candidates.shape, dtype=np.float32)
        known = exclude >= 0
        graph, lengths = self._index.neighbor_graph
        candidates[known] = graph[exclude[known]]
        distances[known] = lengths[exclude[known]]
        if not known.all():
            X = X[~known]
            X = X if self._frame is None else self._frame.centred(X)
            found = self._index.query(X, k=self._width)
            candidates[~known], distances[~known] = found
        return candidates, distances


class DistanceSearch:
    """Rank by a matrix of distances from each query to each record."""

    name = "precomputed"

    def rank(self, X, exclude, n_ranks):
        """Yield a `Ranking` for each part of the queries; see `MetricSearch.rank`.

        Here `X` has shape (n_queries, n_records).
        """
        rows = min(get_chunk_n_rows(16 * X.shape[1]), _MOST_QUERIES_AT_ONCE)
        nothing = _points(np.empty((0, 0)))
        for batch in gen_batches(X.shape[0], max(rows, 1)):
            values = np.ascontiguousarray(X[batch], dtype=np.float64)
            records = np.empty(values.shape, dtype=np.int32)
            tied = np.empty(values.shape, dtype=bool)
            lengths = np.empty(len(values), dtype=np.int64)
            _ranking.rank_rows(
                values, *np.zeros((2, len(values))), nothing, nothing, exclude[batch],
                n_ranks, _TIE[X.dtype], 0.0, records, tied, lengths,
            )  # fmt: skip
            yield Ranking(np.arange(X.shape[0])[batch], records, tied, lengths)


class GraphSearch:
    """Rank by a sparse graph of distances, such as `KNeighborsTransformer` makes.

    What a graph does not hold cannot be ranked: a row's ranking is as long as its
    list of neighbours.
    """

    name = "precomputed"

    def rank(self, X, exclude, n_ranks):
        """Yield a `Ranking` for each part of the queries; see `MetricSearch.rank`.

        Here `X` is a CSR matrix of shape (n_queries, n_records).
        """
        lengths = np.diff(X.indptr)
        width = max(lengths.max(), 1)
        for batch in gen_batches(X.shape[0], get_chunk_n_rows(40 * width)):
            listed = np.arange(width) < lengths[batch, None]
            part = slice(X.indptr[batch.start], X.indptr[batch.stop])
            candidates = np.full(listed.shape, -1, dtype=np.int64)
            candidates[listed] = X.indices[part]
            values = np.zeros(listed.shape, dtype=X.dtype)
            values[listed] = X.data[part]
            candidates = _without_repeats(candidates)
            ranking = _rank_listed(
                candidates, values, np.zeros(values.shape), exclude[batch], n_ranks,
                _TIE[X.dtype],
            )  # fmt: skip
            yield Ranking(np.arange(X.shape[0])[batch], *ranking)


def _without_repeats(candidates):
    """Mark as missing each candidate that its row has already."""
    order = np.argsort(candidates, axis=1, kind="stable")
    ordered = np.take_along_axis(candidates, order, axis=1)
    repeated = np.zeros(candidates.shape, dtype=bool)
    np.put_along_axis(repeated, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return np.where(repeated, -1, candidates).astype(np.int64)


def _rank_listed(candidates, values, blurs, exclude, n_ranks, rtol, atol=0.0):
    """Rank candidates when no others can be asked for."""
    *ranking, _ = _ranking.rank_candidates(
        candidates, values.astype(np.float64), blurs, exclude, n_ranks,
        np.full(len(candidates), np.inf), rtol, atol,
    )  # fmt: skip
    return ranking
