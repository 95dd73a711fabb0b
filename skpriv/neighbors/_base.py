"""What the nearest-neighbour scorers share."""

import warnings
from itertools import chain
from numbers import Integral
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.neighbors import VALID_METRICS, VALID_METRICS_SPARSE
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from skpriv._records import RecordIndex
from skpriv.base import RecordScorerMixin
from skpriv.neighbors import _semivalues
from skpriv.neighbors._search import make_search
from skpriv.utils._labels import Labels, check_same_kind_of_label
from skpriv.utils._sklearn import (
    Interval,
    StrOptions,
    align_sparse_api,
    fit_context,
)


class RankWeights(NamedTuple):
    """What a linear value needs to know of the ranks; see `_semivalues`.

    Attributes
    ----------
    weights : ndarray of shape (n_ranks,)
        What it counts that the record at a rank is pushed out.
    unfilled : callable
        What a match counts for neighbourhoods that are not full, by the number of
        records in all.
    """

    weights: np.ndarray
    unfilled: callable

    def sums(self):
        """Sums of the weights before each rank, plain and times the rank."""
        ranks = np.arange(self.weights.size)
        plain = np.concatenate([[0.0], np.cumsum(self.weights)])
        return plain, np.concatenate([[0.0], np.cumsum(ranks * self.weights)])


class KNNScorer(RecordScorerMixin, BaseEstimator):
    """Base of the scorers that rank the training records around each query.

    A subclass says how many ranks it needs (`_n_ranks`) and what they weigh
    (`_rank_weights`).
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
    _mismatch_sign = -1.0
    # A record pushes out one that stands a rank beyond its neighbourhood of others.
    _ranks_beyond = 1
    # Whether records beyond the ranking have a value, or none.
    _share_rest = False

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
        # Until this one has succeeded there is no fit, also not an earlier one.
        self.__dict__.pop("_records", None)
        X, y = validate_data(self, X, y, **self._checks())
        X = self._canonical(X)
        if self.metric == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                "X must be a square matrix of distances between the training records "
                f"for metric='precomputed'; it has shape {X.shape}."
            )
        self._check_distances(X)
        # What is asked of a fitted scorer is answered by the parameters it was
        # fitted with: its neighbourhood was chosen for them.
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
        """Give a sparse matrix its canonical form, without changing the one given."""
        if not sp.issparse(X):
            return X
        X = sp.csr_array(X)
        if self._is_graph(X):
            return _clean_graph(X)
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
        self._label_counts = np.bincount(labels)

    def _fit_search(self, X):
        self.n_samples_fit_ = n = X.shape[0]
        n_ranks = min(self._n_ranks(n), self._reach(X) - self._ranks_beyond)
        whole = n_ranks >= n - 1
        self.neighborhood_ = n if whole else n_ranks
        self.truncation_bound_ = 0.0 if whole else self._bound(n_ranks)
        self._n_ranks_wanted = n if whole else n_ranks + self._ranks_beyond
        self._search = make_search(
            X if self.metric == "precomputed" else X.astype(np.float64, copy=False),
            self._n_ranks_wanted,
            search=self.search,
            metric=self.metric,
            metric_params=self.metric_params,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        self.search_ = self._search.name

    def _reach(self, X):
        """Return how many neighbours, at least, each training row can have."""
        if not self._is_graph(X):
            return X.shape[0] + self._ranks_beyond
        lengths = np.diff(X.indptr) - _stored_diagonal(X)
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
        if lengths.min() < min(self._n_ranks_wanted, self.n_samples_fit_ - 1):
            warnings.warn(
                f"X, a sparse graph, has a row with {lengths.min()} neighbours, less "
                f"than the {self._n_ranks_wanted} that its training rows have; values "
                "for such rows may be off by more than truncation_bound_.",
                UserWarning,
                stacklevel=4,
            )

    def _rank(self, X, exclude, n_ranks=None):
        """Rank the training records for rows, as `_search` does."""
        if self._fitted.metric != "precomputed" and X.dtype != np.float64:
            X = X.astype(np.float64)
        n_ranks = self._n_ranks_wanted if n_ranks is None else n_ranks
        return self._search.rank(X, exclude, n_ranks)

    def _encode(self, y):
        """Return the number of each label, -1 for one that no training record has."""
        return self._known_labels.codes(y, unknown=-1).astype(np.int32)

    def _score_new_rows(self, X, y):
        return self._self_values(X, self._encode(y), np.full(X.shape[0], -1))

    def _score_records(self):
        records = np.arange(self.n_samples_fit_)
        return self._self_values(self._records.X, self._labels, records)

    def _others(self, labels, records):
        """Count the records beside each row, and those that match its label."""
        member = records >= 0
        counts = np.append(self._label_counts, 0)  # the last is for label -1
        return self.n_samples_fit_ - member, counts[labels] - (member & (labels >= 0))

    def _self_values(self, X, labels, records):
        """Value of rows for themselves, given the training records that they are."""
        n_others, n_matches = self._others(labels, records)
        weights = self._rank_weights(self.n_samples_fit_ + 1)
        sums, _ = weights.sums()
        unfilled = [weights.unfilled(n) for n in self.n_samples_fit_ + np.arange(2)]
        values = np.where(records >= 0, *unfilled)
        for queries, *ranking in self._rank(X, records):
            values[queries] += _semivalues.self_values(
                *ranking, self._labels, labels[queries], n_others[queries],
                n_matches[queries], weights.weights, sums,
            )  # fmt: skip
        return values

    def attribute(self, X, y, *, aggregate="mean"):
        """Attribute the k-NN's utility on given rows to the training records.

        The rows are test rows, also where one coincides with a training record: that
        record stays among the neighbours.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Test rows; for ``metric="precomputed"`` their distances to the training
            records.
        y : array-like of shape (n_rows,)
            Their labels. One that no training record has is valid: nothing matches.
        aggregate : {"mean"} or None, default="mean"
            Whether to average over the rows.

        Returns
        -------
        values : ndarray of shape (n_train,), or matrix of shape (n_rows, n_train)
            What each training record did; higher means that it did more for the
            utility (for ``variant="waka"`` of `WaKAScorer`: that it moved the loss
            more). With ``aggregate=None`` a row for each test row: an ndarray where
            all records have a value, else a CSR matrix.
        """
        check_is_fitted(self)
        if aggregate not in ("mean", None):
            raise ValueError(f"aggregate must be 'mean' or None; got {aggregate!r}.")
        X = self._validate_rows(X)
        y = self._validate_labels(y)
        check_consistent_length(X, y)
        rankings = self._rank(X, np.full(len(y), -1))
        if aggregate == "mean":
            return self._total_values(rankings, y) / len(y)
        return self._value_matrix(rankings, y)

    def _linear_arguments(self):
        weights = self._rank_weights(self.n_samples_fit_)
        unfilled = weights.unfilled(self.n_samples_fit_)
        return weights.weights, *weights.sums(), unfilled, self._mismatch_sign

    def _total_values(self, rankings, y):
        """Sum the values of each training record over test rows."""
        labels = self._encode(y)
        counts = np.append(self._label_counts, 0)
        totals = np.zeros((_semivalues.N_SHARES, self.n_samples_fit_))
        rest = np.zeros((_semivalues.N_SHARES, counts.size, 2))
        arguments = self._linear_arguments()
        for queries, *ranking in rankings:
            _semivalues.add_record_values(
                *ranking, self._labels, labels[queries], counts[labels[queries]],
                *arguments, self._share_rest, totals, rest,
            )  # fmt: skip
        rest = rest.sum(axis=0)
        by_label = rest[:, 0].sum() - rest[:-1, 0] + rest[:-1, 1]
        return totals.sum(axis=0) + by_label[self._labels]

    def _value_matrix(self, rankings, y):
        """Values of each training record for each test row."""
        labels = self._encode(y)
        counts = np.append(self._label_counts, 0)
        arguments = self._linear_arguments()
        shape = len(y), self.n_samples_fit_
        matrix = np.empty(shape) if self._share_rest else SparseRows(shape)
        for queries, *ranking in rankings:
            values, rest = _semivalues.record_values(
                *ranking, self._labels, labels[queries], counts[labels[queries]],
                *arguments,
            )  # fmt: skip
            if not self._share_rest:
                matrix.add(queries, ranking, values)
                continue
            matches = self._labels == labels[queries, None]
            matrix[queries] = np.where(matches, rest[:, 1:], rest[:, :1])
            rows, places = _listed(ranking)
            matrix[queries[rows], ranking[0][rows, places]] = values[rows, places]
        return matrix if self._share_rest else matrix.tocsr()

    def influence(self):
        """Return what removing one record does to the score of another.

        Returns
        -------
        influence : CSR matrix of shape (n_train, n_train)
            Entry (i, j): the change of record i's score when record j is removed.
            Changes by records beyond the neighbourhood, within `truncation_bound_`,
            are left out.
        """
        check_is_fitted(self)
        n = self.n_samples_fit_
        records = np.arange(n)
        matrix = SparseRows((n, n))
        for queries, *ranking in self._rank(self._records.X, records):
            matrix.add(queries, ranking, self._influence_of_ranked(queries, ranking))
        return matrix.tocsr()

    def _influence_of_ranked(self, queries, ranking):
        n = self.n_samples_fit_
        labels = self._labels[queries]
        n_others, n_matches = self._others(labels, queries)
        weights = self._rank_weights(n + 1)
        changes = _semivalues.self_influence(
            *ranking, self._labels, labels, n_others, n_matches, weights.weights
        )
        if n > 1:
            changes += weights.unfilled(n - 1) - weights.unfilled(n)
        return changes


def _stored_diagonal(X):
    """Tell, for each row of a CSR matrix, whether its diagonal entry is stored."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.bincount(rows[X.indices == rows], minlength=X.shape[0]) > 0


def _clean_graph(X):
    """Drop from a graph what is no record, and repeats but for the nearest."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = np.lexsort((X.data, X.indices, rows))
    rows, records = rows[order], X.indices[order]
    keep = (records >= 0) & (records < X.shape[1])
    keep[1:] &= (rows[1:] != rows[:-1]) | (records[1:] != records[:-1])
    if keep.all():
        return X
    indptr = np.concatenate(
        [[0], np.cumsum(np.bincount(rows[keep], minlength=X.shape[0]))]
    )
    return sp.csr_array((X.data[order][keep], records[keep], indptr), shape=X.shape)


def _listed(ranking):
    """Return the rows and places of the ranking that hold a record."""
    records, _, lengths = ranking
    return np.nonzero(np.arange(records.shape[1]) < lengths[:, None])


class SparseRows:
    """A CSR matrix of values of ranked records, built some rows at a time."""

    def __init__(self, shape):
        self._shape = shape
        self._parts = []

    def add(self, queries, ranking, values):
        rows, places = _listed(ranking)
        self._parts.append((
            values[rows, places], queries[rows], ranking[0][rows, places],
        ))  # fmt: skip

    def tocsr(self):
        values, rows, columns = (
            np.concatenate(part) for part in zip(*self._parts, strict=True)
        )
        matrix = sp.csr_array((values, (rows, columns)), shape=self._shape)
        matrix.eliminate_zeros()
        return align_sparse_api(matrix)


class GraphRecordIndex(RecordIndex):
    """Find the training record that a row of a sparse graph is.

    A row is a record that the graph holds at distance zero.
    """

    def find(self, X, y=None):
        same = X.shape == self.X.shape and (X is self.X or (X != self.X).nnz == 0)
        if same and (y is None or np.array_equal(y, self.y)):
            return np.arange(X.shape[0])
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        zero = X.data == 0
        rows, candidates = rows[zero], X.indices[zero]
        if y is not None:
            check_same_kind_of_label(y, self.y)
            alike = y[rows] == self.y[candidates]
            rows, candidates = rows[alike], candidates[alike]
        none = self.y.size
        records = np.full(X.shape[0], none)
        np.minimum.at(records, rows, candidates)
        return np.where(records < none, records, -1)
