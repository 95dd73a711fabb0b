"""The contract of every scorer."""

import numpy as np
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from skpriv._records import RecordIndex
from skpriv.utils._sklearn import safe_indexing

__all__ = ["RecordScorerMixin"]


class RecordScorerMixin:
    """Score training records by how much a model exposes them.

    A scorer calls `_remember_records` at the end of its ``fit`` and provides

    - ``_validate_rows(X)``: validated rows, in the form that the scorer computes with;
    - ``_score_records()``: the scores of the training records;
    - ``_score_new_rows(X, y)``: the scores of rows that are no training records.

    It may override ``_record_keys(X)``, which turns validated rows into the numbers
    by which training records are recognised, and ``_validate_labels(y)``.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _remember_records(self, X, y):
        """Keep the training records, and forget scores of an earlier ``fit``."""
        self._records = RecordIndex(self._record_keys(X), y)
        self.__dict__.pop("_scores", None)

    def _record_keys(self, X):
        return X

    def _identify_rows(self, X, y):
        """Return the labels of rows, and the training records that they are."""
        keys = self._record_keys(X)
        if y is not None:
            check_consistent_length(X, y)
            y = self._validate_labels(y)
            return y, self._records.find(keys, y)
        records = self._records.find(keys)
        unknown = np.flatnonzero(records < 0)
        if unknown.size:
            raise ValueError(
                f"y must be given: {unknown.size} of the {records.size} rows of X are "
                f"not training records (the first is row {unknown[0]}), so their "
                "labels are not known; pass the labels of all rows as y."
            )
        return self._records.y[records], records

    def _validate_labels(self, y):
        y = column_or_1d(y)
        assert_all_finite(y, input_name="y")
        if y.dtype.kind == "O" and any(label is None for label in y):
            raise ValueError("y contains None; every row must have a label.")
        return y

    def score_samples(self, X, y=None):
        """Score rows by their exposure; higher means more exposed.

        A row that coincides with a training row, and has its label, is that record
        and has its score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            Their labels. Without it each row takes the label of the training record
            that it coincides with: by position when `X` is the training matrix, else
            the first such record.

        Returns
        -------
        scores : ndarray of shape (n_samples,), dtype float64

        Raises
        ------
        ValueError
            If `y` is None and a row coincides with no training record.
        """
        check_is_fitted(self)
        X = self._validate_rows(X)
        y, records = self._identify_rows(X, y)
        scores = np.empty(records.size)
        known = records >= 0
        scores[known] = self.scores_[records[known]]
        if not known.all():
            new = np.flatnonzero(~known)
            scores[new] = self._score_new_rows(safe_indexing(X, new), y[new])
        return scores

    @property
    def scores_(self):
        """Scores of the training records, in training order; higher: more exposed."""
        check_is_fitted(self)
        if "_scores" not in self.__dict__:
            self._scores = self._score_records()
        return self._scores
