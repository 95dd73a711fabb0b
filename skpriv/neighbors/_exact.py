"""Exact search for neighbours."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_even_slices
from sklearn.utils.extmath import row_norms, safe_sparse_dot
from threadpoolctl import threadpool_limits

from skpriv.neighbors import _ranking
from skpriv.neighbors._candidates import TIE, rank_listed
from skpriv.neighbors._tie_groups import Ranking
from skpriv.utils._batches import row_batches
from skpriv.utils._metrics import minkowski_terms, plain_metric
from skpriv.utils._sklearn import effective_n_threads
from skpriv.utils._text import count

_EPS = np.finfo(np.float64).eps
# Metrics that are 1 minus a product of unit vectors round absolutely.
_ROUNDS_ABSOLUTELY = {"cosine", "correlation"}
_BOUNDED = {*_ROUNDS_ABSOLUTELY, "braycurtis", "canberra"}
MOST_QUERIES_AT_ONCE = 128
# To rank an eighth of the records takes as long as to rank all.
NEARLY_ALL = 8


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

    def __init__(self, X, metric, metric_params, n_jobs):
        params = dict(metric_params or {})
        self._rounding_of_features = FeatureRounding(X)
        self._points = as_points(X, self._rounding_of_features.eps(X))
        self._terms = None if sp.issparse(X) else minkowski_terms(metric, params, X)
        self._inverse_covariance = _inverse_covariance(metric, params)
        X = X.astype(np.float64, copy=False)
        self._index = NearestNeighbors(
            metric=metric, p=params.pop("p", 2), metric_params=params, n_jobs=n_jobs
        ).fit(X)
        self._n_records = X.shape[0]
        self._metric = metric
        self._tolerance = _ranking.Tolerance(
            TIE[np.dtype(np.float64)], 1e-12 if metric in _ROUNDS_ABSOLUTELY else 0.0
        )

    def rank(self, X, exclude, n_ranks):
        """Yield the rankings of all queries, some queries at a time.

        Parameters
        ----------
        X : {ndarray, CSR matrix} of shape (n_queries, n_features)
        exclude : ndarray of shape (n_queries,)
            The record to leave out of each query's ranking, or -1.
        n_ranks : int
            How many ranks are needed, at least; all if there are fewer.

        Yields
        ------
        queries : ndarray of shape (n_rows,)
            Indices of the queries that are ranked here.
        ranking : Ranking
            Of these queries. The arrays may be overwritten by the next ranking.
        """
        queries = np.arange(X.shape[0])
        # One more shows where the last tie ends, and one makes up for those excluded.
        wanted = min(n_ranks + 1 + int((exclude >= 0).any()), self._n_records)
        if wanted * NEARLY_ALL >= self._n_records:
            yield from self._rank_all(X, queries, exclude, n_ranks)
            return
        for batch in row_batches(
            queries.size, bytes_per_row=40 * wanted, most_rows=None
        ):
            ranking, complete = _ranking.rank_candidates(
                self._nearest(X[batch], wanted),
                exclude[batch],
                n_ranks,
                self._tolerance,
            )
            if complete.all():
                yield queries[batch], ranking
                continue
            part = Ranking(*(column[complete] for column in ranking))
            yield queries[batch][complete], part
            yield from self._rank_all(X, queries[batch][~complete], exclude, n_ranks)

    def _nearest(self, X, wanted):
        """Return the nearest records of each query, as `Candidates`."""
        records, distances = self._neighbors(X, wanted)
        errors = self._feature_errors(X, records, distances)
        farthest = distances[:, -1].copy()
        return _ranking.Candidates(records, distances, errors, farthest)

    def _feature_errors(self, X, records, distances):
        """Bound how much the rounding of features changes distances to records."""
        queries = as_points(X, self._rounding_of_features.eps(X))
        if self._terms is not None:
            return _ranking.minkowski_errors(
                queries, self._points, records, distances, *self._terms
            )
        if self._inverse_covariance is not None:
            return _ranking.mahalanobis_errors(
                queries, self._points, records, distances, self._inverse_covariance
            )
        metric = plain_metric(self._metric)
        if metric == "manhattan":  # sparse
            sizes = [
                abs(rows) @ eps / 2
                for rows, eps in (
                    (X, queries.eps),
                    (self._index._fit_X, self._points.eps),
                )
            ]
            return np.where(distances > 0, sizes[0][:, None] + sizes[1][records], 0.0)
        if metric in _BOUNDED:
            eps = queries.eps.max(initial=0) + self._points.eps.max(initial=0)
            if eps > 2 * _EPS or metric not in _ROUNDS_ABSOLUTELY:
                terms = X.shape[1] if metric == "canberra" else 1
                return np.where(distances > 0, terms * eps, 0.0)
        return np.zeros_like(distances)

    def _neighbors(self, X, wanted):
        X = X.astype(np.float64, copy=False)
        distances, records = self._index.kneighbors(X, wanted)
        if np.isnan(distances).any():
            undefined = np.isnan(distances).any(axis=1).sum()
            raise ValueError(
                f"metric={self._metric!r} gives no distance (NaN) between {undefined} "
                f"of {count(len(distances), 'row')} and some records; use another "
                "metric."
            )
        return records, distances

    def _rank_all(self, X, queries, exclude, n_ranks):
        """Rank all records for some of the queries."""
        n = self._n_records
        for batch in row_batches(queries.size, bytes_per_row=40 * n, most_rows=None):
            part = queries[batch]
            records, distances = self._neighbors(X[part], n)
            yield (
                part,
                rank_listed(
                    records,
                    distances,
                    exclude[part],
                    n_ranks,
                    self._tolerance,
                    self._feature_errors(X[part], records, distances),
                ),
            )


def _inverse_covariance(metric, params):
    """Return the matrix of a Mahalanobis distance; None for other metrics."""
    if metric != "mahalanobis":
        return None
    VI = params.get("VI")
    VI = np.linalg.inv(np.asarray(params["V"])) if VI is None else np.asarray(VI)
    return np.ascontiguousarray(VI, dtype=np.float64)


class NanEuclideanSearch(MetricSearch):
    """Exact search by Euclidean distance over the features that both rows have.

    Matrix products of centred rows find the neighbours, and the distances to these are
    computed again from differences.

    Parameters
    ----------
    X : ndarray of shape (n_records, n_features)
    n_jobs : int or None
    """

    def __init__(self, X, n_jobs):
        points = as_points(X, FeatureRounding(X).eps(X))
        centre = np.zeros(X.shape[1])
        present = ~np.isnan(points.dense).all(axis=0)
        centre[present] = np.nanmean(points.dense[:, present], axis=0)
        self._centre = centre
        super().__init__(X - centre, "nan_euclidean", None, n_jobs)
        self._rounding_of_features = FeatureRounding(X)
        self._points = points
        self._longest = np.sqrt(np.nansum((points.dense - centre) ** 2, axis=1).max())

    def _nearest(self, X, wanted):
        records, by_product = self._by_products(X, wanted)
        distances, errors = self._recompute(X, records)
        sizes = row_norms(np.nan_to_num(self._centred(X))) + self._longest
        # Sums over few common features are scaled up to all.
        product_errors = X.shape[1] * (X.shape[1] + 8) * _EPS * sizes**2
        squared = by_product[:, -1] ** 2 - 2 * product_errors
        nearest_other = np.sqrt(np.maximum(squared, 0))
        return _ranking.Candidates(records, distances, errors, nearest_other)

    def _neighbors(self, X, wanted):
        records, _ = self._by_products(X, wanted)
        return records, self._recompute(X, records)[0]

    def _by_products(self, X, wanted):
        return super()._neighbors(self._centred(X), wanted)

    def _centred(self, X):
        return X.astype(np.float64, copy=False) - self._centre

    def _feature_errors(self, X, records, distances):
        return self._recompute(X, records)[1]

    def _recompute(self, X, records):
        queries = as_points(X, self._rounding_of_features.eps(X))
        return _ranking.nan_euclidean_distances(queries, self._points, records)


class EuclideanSearch(MetricSearch):
    """Exact search by Euclidean distance, dense or sparse.

    Matrix products find the neighbours; distances that they leave in doubt are
    computed again, record by record, from differences.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_records, n_features)
    n_jobs : int or None
    """

    def __init__(self, X, n_jobs):
        self._frame = Frame(X)
        points = self._frame.points(X)
        self._largest = row_norms(self._frame.scaled(X)).max()
        X = self._frame.centred(X)
        super().__init__(X, "euclidean", None, n_jobs)
        self._points = points
        self._tolerance = squared_tolerance(TIE[np.dtype(np.float64)])
        norms = row_norms(X, squared=True)
        self._longest = np.sqrt(norms.max())
        self._rounding = (X.shape[1] + 8) * _EPS
        self._transposed = _augmented(X, 1.0, norms, 1.0).T

    def _errors(self, norms):
        """Bound the error of squared distances that come from a product."""
        return self._rounding * (np.sqrt(norms) + self._longest) ** 2

    def _nearest(self, X, wanted):
        centred = self._frame.centred(X)
        distances, records = self._index.kneighbors(centred, wanted)
        product_errors = self._errors(row_norms(centred, squared=True))
        queries = self._frame.points(X)
        values, errors = _ranking.candidate_distances(queries, self._points, records)
        nearest_other = distances[:, -1] ** 2 - 2 * product_errors
        return _ranking.Candidates(records, values, errors, nearest_other)

    def _rank_all(self, X, queries, exclude, n_ranks):
        batches = row_batches(
            queries.size,
            bytes_per_row=16 * self._n_records,
            most_rows=MOST_QUERIES_AT_ONCE,
        )
        ranking = empty_ranking(batches[0].stop, self._n_records)
        values = np.empty(ranking.records.shape)
        for batch in batches:
            part = queries[batch]
            size = part.size
            centred = self._frame.centred(X[part])
            scaled = self._frame.scaled(X[part])
            norms = row_norms(centred, squared=True)
            centred = _augmented(centred, -2.0, 1.0, norms)
            squared = _product(centred, self._transposed, values[:size])
            queries_here = self._frame.points(X[part])
            eps = max(queries_here.eps.max(), self._points.eps.max())
            feature_errors = 2 * eps * (row_norms(scaled) + self._largest)
            rounding = _ranking.Rounding(self._errors(norms), feature_errors)
            some = Ranking(*(column[:size] for column in ranking))
            _ranking.rank_rows(
                squared,
                rounding,
                queries_here,
                self._points,
                exclude[part],
                n_ranks,
                self._tolerance,
                some,
            )
            yield part, some


def empty_ranking(n_queries, n_records):
    """Allocate a ranking of all records."""
    return Ranking(
        np.empty((n_queries, n_records), dtype=np.int32),
        np.empty((n_queries, n_records), dtype=bool),
        np.empty(n_queries, dtype=np.int64),
    )


def squared_tolerance(tie):
    """Return the tolerance of squared distances: twice that of distances."""
    return _ranking.Tolerance(2 * tie, 0.0)


def as_points(X, eps):
    """Lay rows out for the kernels."""
    X = X.astype(np.float64, copy=False)
    if sp.issparse(X):
        X = X.copy()
        X.sum_duplicates()  # sorts the indices too, in place
        indices, indptr = (part.astype(np.int64) for part in (X.indices, X.indptr))
        return _ranking.Points(np.empty((0, 0)), X.data, indices, indptr, eps)
    no_index = np.empty(0, dtype=np.int64)
    return _ranking.Points(
        np.ascontiguousarray(X), np.empty(0), no_index, no_index, eps
    )


class FeatureRounding:
    """Precision to which each feature is known.

    Features of type float32 are rounded to that type, unless a column holds only
    numbers that it represents exactly: integers, halves and so on.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_records, n_features)
    """

    def __init__(self, X):
        coarse = np.finfo(np.float32).eps
        self._single = np.where(_are_exact(X), _EPS, coarse)

    def eps(self, X):
        """Return the machine epsilon of each feature of some rows."""
        if X.dtype == np.float32:
            return self._single
        return np.full(X.shape[1], _EPS)


def _are_exact(X):
    """Tell which columns hold multiples of 1/256, which do not look rounded."""
    if sp.issparse(X):
        rounded = X.data * 256 != np.rint(X.data * 256)
        return np.bincount(X.indices[rounded], minlength=X.shape[1]) == 0
    exact = np.ones(X.shape[1], dtype=bool)
    for batch in row_batches(X.shape[0]):
        left = np.flatnonzero(exact)
        if not left.size:
            break
        part = X[batch][:, left] * 256.0
        exact[left] = ((part == np.rint(part)) | ~np.isfinite(part)).all(axis=0)
    return exact


class Frame:
    """Scale and origin in which squared distances neither overflow nor cancel.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_records, n_features)
    """

    def __init__(self, X):
        largest = float(abs(X).max())
        usual = largest == 0 or 1e-100 < largest < 1e100
        # A power of two changes no digit.
        self._scale = 1.0 if usual else np.ldexp(1.0, min(-np.frexp(largest)[1], 1000))
        self._rounding = FeatureRounding(X)
        self._centre = None if sp.issparse(X) else self.scaled(X).mean(axis=0)

    def points(self, X):
        """Lay scaled rows out for the kernels."""
        return as_points(self.scaled(X), self._rounding.eps(X))

    def scaled(self, X):
        X = X.astype(np.float64, copy=False)
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
    """Multiply matrices in blocks of columns, each by BLAS on one thread.

    With several threads of its own, BLAS leaves some of them spinning for a while,
    which slows down the kernel that follows.
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
