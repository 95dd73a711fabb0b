"""Base of the nearest-neighbour scorers."""

import warnings
from itertools import chain
from numbers import Integral
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.neighbors import VALID_METRICS, VALID_METRICS_SPARSE
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from skpriv.base import RecordScorerMixin
from skpriv.neighbors._graph import GraphRecordIndex, clean_graph, n_other_neighbors
from skpriv.neighbors._repeats import search_distinct_rows
from skpriv.neighbors._search import make_search
from skpriv.utils._checks import check_no_dates, check_rows_can_be_read
from skpriv.utils._labels import Labels, check_no_label_is_missing
from skpriv.utils._metrics import complete_params
from skpriv.utils._sklearn import Interval, StrOptions, fit_context

# A change of scores as small as this is negligible.
_NEGLIGIBLE = 1e-9


class KNNScorer(RecordScorerMixin, BaseEstimator):
    """Base of the scorers that rank the training records around each query.

    A subclass provides

    - ``_n_ranks(n_records)``: how many of the nearest records matter;
    - ``_bound(n_ranks)``: by how much, at most, a value changes if no more than so many
      of the nearest records are ranked;
    - ``_make_value()``: the value of records, given rankings; see `_values`.

    They read the parameters from ``self._fitted``, as they were in ``fit``, and the
    labels of the training records, as numbers, from ``self._labels``.
    """

    _parameter_constraints = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "search": [StrOptions({"auto", "exact", "approximate"})],
        "metric": [
            StrOptions({*chain(*VALID_METRICS.values()), "precomputed"}),
            callable,
        ],
        "metric_params": [dict, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }
    # The value depends on one rank beyond the neighbourhood: a record in it, once
    # removed, makes room for the next one.
    _ranks_beyond = 1

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric in (
            *VALID_METRICS_SPARSE["brute"],
            "precomputed",
        ) or callable(self.metric)
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = self.metric == "precomputed"
        tags.input_tags.allow_nan = self.metric == "nan_euclidean"
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Keep the training records and prepare the search for neighbours.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training records; for ``metric="precomputed"`` the distances between
            them, of shape (n_samples, n_samples), dense or as a sparse graph of
            neighbours.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self : object
            The fitted scorer.
        """
        # If this fit fails, the scorer is not fitted, even if it was before.
        self.__dict__.pop("_records", None)
        check_no_label_is_missing(y)
        check_rows_can_be_read(X)
        check_no_dates(X)
        X, y = validate_data(self, X, y, **self._checks())
        X = self._canonical(X)
        if self.metric == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                "X must be a square matrix of distances between the training records "
                f"for metric='precomputed'; it has shape {X.shape}."
            )
        self._check_distances(X)
        # Methods use the parameters as they were in fit: the neighbourhood was chosen
        # for them.
        self._fitted = SimpleNamespace(**self.get_params(deep=False))
        self._fit_labels(y)
        self._fit_search(X)
        self._remember_records(X, y)
        return self

    def __sklearn_is_fitted__(self):
        return "_records" in self.__dict__

    def _checks(self):
        return {
            "accept_sparse": "csr",
            "dtype": [np.float64, np.float32],
            "ensure_all_finite": "allow-nan"
            if self.metric == "nan_euclidean"
            else True,
        }

    def _canonical(self, X):
        """Bring a sparse matrix into canonical form, without changing the input."""
        if not sp.issparse(X):
            return X
        X = sp.csr_array(X)
        if self._is_graph(X):
            return clean_graph(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X

    def _check_distances(self, X):
        if self.metric == "precomputed":
            check_non_negative(X, f"{type(self).__name__} with metric='precomputed'")

    def _fit_labels(self, y):
        check_classification_targets(y)
        self._known_labels, labels = Labels.of(y)
        self.classes_ = self._known_labels.classes
        self._labels = labels.astype(np.int32)

    def _fit_search(self, X):
        self.n_samples_fit_ = n = X.shape[0]
        n_ranks = min(self._n_ranks(n), self._reach(X) - self._ranks_beyond)
        whole = n_ranks >= n - 1
        self.neighborhood_ = n if whole else n_ranks
        self.truncation_bound_ = 0.0 if whole else self._bound(n_ranks)
        self._n_ranks_needed = n if whole else n_ranks + self._ranks_beyond
        precomputed = self.metric == "precomputed"
        make = make_search if precomputed else search_distinct_rows
        self._search = make(
            X,
            self._n_ranks_needed,
            search=self.search,
            metric=self.metric,
            metric_params=complete_params(self.metric, self.metric_params, X),
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        self.search_ = self._search.name

    def _reach(self, X):
        """Return how many neighbours, at least, each training row can have."""
        if not self._is_graph(X):
            return X.shape[0] + self._ranks_beyond
        lengths = n_other_neighbors(X)
        self._check_reach(lengths)
        complete = lengths.min() >= X.shape[0] - 1
        return int(lengths.min()) + self._ranks_beyond * complete

    def _is_graph(self, X):
        return self.metric == "precomputed" and sp.issparse(X)

    def _check_reach(self, lengths):
        k = self._fitted.n_neighbors
        needed = min(k + self._ranks_beyond, self.n_samples_fit_ - 1)
        if lengths.min() < needed:
            raise ValueError(
                f"X, a sparse graph, has a row with {lengths.min()} neighbours; "
                f"n_neighbors={k} needs at least {needed} in each row."
            )

    def _remember_records(self, X, y):
        super()._remember_records(X, y)
        if self._is_graph(X):
            self._records = GraphRecordIndex(X, y)

    def _validate_rows(self, X):
        check_rows_can_be_read(X)
        X = self._canonical(validate_data(self, X, reset=False, **self._checks()))
        self._check_distances(X)
        sparse = sp.issparse(self._records.X)
        if self.metric == "precomputed":
            if sp.issparse(X) != sparse:
                form = (
                    "a sparse graph" if sparse else "a dense matrix"
                ) + " of distances"
                raise ValueError(f"X must be {form}, as it was in fit.")
            if sparse:
                self._check_rows_of_graph(np.diff(X.indptr))
        if sp.issparse(X) == sparse:
            return X
        return sp.csr_array(X) if sparse else X.toarray()

    def _check_rows_of_graph(self, lengths):
        self._check_reach(lengths)
        if lengths.min() < min(self._n_ranks_needed, self.n_samples_fit_ - 1):
            warnings.warn(
                f"X, a sparse graph, has a row with {lengths.min()} neighbours, fewer "
                f"than the {self._n_ranks_needed} that are used for training rows; "
                "values for such rows may be off by more than truncation_bound_.",
                UserWarning,
                stacklevel=4,
            )

    def _rank(self, X, exclude, n_ranks=None):
        """Yield rankings of the training records for rows; see `_search`."""
        n_ranks = self._n_ranks_needed if n_ranks is None else n_ranks
        yield from self._search.rank(X, exclude, n_ranks)
        first_cut = getattr(self._search, "first_cut", self.n_samples_fit_)
        if first_cut >= self.n_samples_fit_:
            return
        bound = self._bound_of_rest(first_cut)
        if bound > max(self.truncation_bound_, _NEGLIGIBLE):
            warnings.warn(
                f"Some rows have records at equal distances from rank {first_cut} on, "
                f"of which search_={self.search_!r} may not list all: their values may "
                f"be off by up to {bound:.2g}, more than truncation_bound_; "
                "use search='exact'.",
                UserWarning,
                stacklevel=2,
            )

    def _bound_of_rest(self, n_ranks):
        """By how much a value may change with the order of all but the nearest."""
        return self._bound(n_ranks)

    def _one_of_each(self, labels, records):
        """Select one query of those that are copies of a record and have its label.

        Returns
        -------
        some : ndarray of int or slice
            The queries selected.
        where : ndarray of int or slice
            Where each query is among these.
        """
        places = getattr(self._search, "places", None)
        if places is None or (records < 0).all():
            return slice(None), slice(None)
        own = places.size + np.arange(records.size)
        keys = np.stack([np.where(records >= 0, places[records], own), labels])
        _, some, where = np.unique(keys, axis=1, return_index=True, return_inverse=True)
        return some, where

    def _encode(self, y):
        """Return the number of each label; -1 if no training record has it."""
        return self._known_labels.codes(y, unknown=-1).astype(np.int32)

    def _score_new_rows(self, X, y):
        return self._self_values(X, self._encode(y), np.full(X.shape[0], -1))

    def _score_records(self):
        records = np.arange(self.n_samples_fit_)
        return self._self_values(self._records.X, self._labels, records)

    def _self_values(self, X, labels, records):
        """Value of rows for themselves, given the training records that they are."""
        some, where = self._one_of_each(labels, records)
        X, labels, records = X[some], labels[some], records[some]
        rankings = self._rank(X, records)
        return self._make_value().self_values(rankings, labels, records)[where]

    def attribute(self, X, y, *, aggregate="mean"):
        """Attribute the k-NN's utility on given rows to the training records.

        The rows are treated as test rows. If one coincides with a training record,
        that record stays among its neighbours.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Test rows; for ``metric="precomputed"`` their distances to the training
            records.
        y : array-like of shape (n_rows,)
            Their labels. A label that no training record has is allowed: no record
            matches it.
        aggregate : {"mean"} or None, default="mean"
            Whether to average over the rows.

        Returns
        -------
        values : ndarray of shape (n_train,), or matrix of shape (n_rows, n_train)
            Contribution of each training record; higher means that it raised the
            utility more (with ``variant="waka"`` of `WaKAScorer`: that it changed the
            loss more). With ``aggregate=None`` there is a row per test row: an ndarray
            if all records have a value, else a CSR matrix.
        """
        check_is_fitted(self)
        if aggregate not in ("mean", None):
            raise ValueError(f"aggregate must be 'mean' or None; got {aggregate!r}.")
        X = self._validate_rows(X)
        y = self._validate_labels(y)
        check_consistent_length(X, y)
        rankings = self._rank(X, np.full(len(y), -1))
        value, labels = self._make_value(), self._encode(y)
        if aggregate == "mean":
            return value.total(rankings, labels) / len(y)
        return value.matrix(rankings, labels)

    def influence(self):
        """Compute how removing one record changes the score of another.

        Returns
        -------
        influence : CSR matrix of shape (n_train, n_train)
            Entry (i, j): the change of record i's score when record j is removed.
            Changes due to records beyond the neighbourhood, which are within
            `truncation_bound_`, are left out.
        """
        check_is_fitted(self)
        rankings = self._rank(self._records.X, np.arange(self.n_samples_fit_))
        return self._make_value().influence(rankings, self._labels)
