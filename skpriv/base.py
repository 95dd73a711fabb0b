"""The contracts of every scorer and of every attack."""

import numpy as np
from sklearn.base import clone
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from skpriv._records import RecordIndex
from skpriv.utils._labels import check_no_label_is_missing
from skpriv.utils._sklearn import safe_indexing
from skpriv.utils._text import count

__all__ = ["AttackMixin", "RecordScorerMixin"]


class RecordScorerMixin:
    """Score training records by how much a model exposes them.

    A scorer calls `_remember_records` at the end of its ``fit`` and provides

    - ``_validate_rows(X)``: validated rows, in the form that the scorer computes with;
    - ``_score_records()``: the scores of the training records;
    - ``_score_new_rows(X, y)``: the scores of rows that are no training records.

    It may override ``_record_keys(X)``, which turns validated rows into the numbers
    by which training records are recognised, ``_validate_labels(y)``, and
    ``_reason_against_new_rows()``, which says why rows that are no training records
    cannot be scored, if they cannot.

    Attributes
    ----------
    cross_fitted : bool
        Whether training records are scored at models that were fitted without them,
        but other rows at the model that was fitted on all. Comparing the two tells how
        scores were computed, and not which rows the model was trained on.
    """

    cross_fitted = False

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

    def _reason_against_new_rows(self):
        """Return why rows that are no training records have no score, or ""."""
        return ""

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
            some = (
                "is not a training record"
                if unknown.size == 1
                else "are not training records"
            )
            raise ValueError(
                f"y must be given: {unknown.size} of the "
                f"{count(records.size, 'row')} of X {some} (the first is row "
                f"{unknown[0]}), so no label is known; pass the labels of all "
                "rows as y."
            )
        return self._records.y[records], records

    def _validate_labels(self, y):
        check_no_label_is_missing(y)
        y = column_or_1d(y)
        assert_all_finite(y, input_name="y")
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
        # The scores of all training records may not exist yet, and take long.
        if known.any():
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


class AttackMixin(RecordScorerMixin):
    """Attack a model: the one given as ``target``, or one that ``fit`` trains.

    The protocol by which :mod:`skpriv.evaluation` measures attacks. An attack is a
    scorer with a parameter ``target``, the fitted model to attack or None, and
    provides ``shadow_estimator()``. The other methods have defaults, which are right
    for an attack that does nothing but ask the target about the records.

    Attributes
    ----------
    fitted_on_members : bool
        Whether ``fit`` must be given the training records of the target and no
        others. Such an attack cannot tell members from non-members of its own
        records.
    """

    fitted_on_members = False

    def shadow_estimator(self):
        """Return a model like the target that has not been fitted.

        Returns
        -------
        estimator : estimator
            A new copy. Fitted on all records, it is the target of an attack whose
            ``target`` is None.
        """
        raise NotImplementedError

    def without_target(self):
        """Copy the attack so that its target is trained by ``fit``.

        Returns
        -------
        attack : estimator
            Not fitted. Its target will be of the same kind as the one given.
        """
        copy = clone(self)
        if self.target is None:
            return copy
        if "estimator" in self.get_params(deep=False):
            copy.set_params(estimator=self.shadow_estimator())
        return copy.set_params(target=None)

    def prepare(self, X, y):
        """Do the part of the work that is the same for every target.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            The records.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        attack : estimator
            A copy whose ``score_target`` attacks any number of targets.
        """
        return self.without_target()

    def score_target(self, target, X, y):
        """Attack another model.

        Parameters
        ----------
        target : estimator
            Fitted.
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            The records given to `prepare`.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        scores : ndarray of shape (n_samples,), dtype float64
            Higher: more likely a training record of `target`.
        """
        return clone(self).set_params(target=target).fit(X, y).scores_
