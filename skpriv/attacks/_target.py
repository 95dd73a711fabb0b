"""An attack on a classifier that may be any: what it is asked, and about which rows."""

from numbers import Real

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils import (
    check_array,
    check_consistent_length,
    column_or_1d,
    get_tags,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from skpriv._rows import RowEncoder, as_rows
from skpriv.base import RecordScorerMixin
from skpriv.utils._labels import Labels
from skpriv.utils._training import fit_clone


def check_target(target, classes):
    """Check that a target is a fitted classifier of known labels.

    Parameters
    ----------
    target : object
    classes : ndarray of shape (n_classes,)
        The labels of the records.

    Returns
    -------
    target : classifier

    Raises
    ------
    TypeError
        If it has no ``classes_``.
    ValueError
        If it has classes that are none of `classes`.
    """
    check_is_fitted(target)
    if not hasattr(target, "classes_"):
        raise TypeError(
            f"target is {target!r}, which has no classes_; it wants a fitted "
            "classifier."
        )
    # Not numpy's sets, to which "1" and 1 are the same.
    known = set(classes.tolist())
    unknown = [label for label in np.ravel(target.classes_) if label not in known]
    if unknown:
        raise ValueError(
            f"target has classes that y has not: {np.array(unknown).tolist()}; y wants "
            "the labels that the target was trained on."
        )
    return target


class TargetAttackMixin(RecordScorerMixin):
    """An attack on a classifier, which takes any rows that the classifier takes.

    `X` is passed to the classifier as it is, and encoded only to recognise records.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self._shadow_estimator()).input_tags
        for name in ("sparse", "allow_nan", "string", "categorical"):
            taken = getattr(inner, name) and not self._adds_noise()
            setattr(tags.input_tags, name, taken)
        return tags

    def _adds_noise(self):
        """Whether queries are made of numbers and noise, and so need numbers."""
        return isinstance(getattr(self, "augmentations", None), Real)

    def _shadow_estimator(self):
        """Return the classifier to train: given, or of the target's kind."""
        if self.estimator is not None:
            return self.estimator
        if self.target is None:
            return LogisticRegression(max_iter=1000)
        if isinstance(self.target, FrozenEstimator):
            return self.target.estimator
        return self.target

    def _validate_records(self, X, y):
        """Set what is known of the data, and return X and the codes of the labels."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but "
                "the target y is None."
            )
        X = as_rows(X)
        validate_data(self, X, skip_check_array=True)
        if self._adds_noise():
            numbers = check_array(X, input_name="X", estimator=self)
            X = X if hasattr(X, "columns") else numbers
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        check_classification_targets(y)
        if y.size < 4:
            raise ValueError(
                f"n_samples={y.size} is too few; {type(self).__name__} wants at least "
                "4 records."
            )
        self._known_labels, codes = Labels.of(y)
        self.classes_ = self._known_labels.classes
        if self.classes_.size < 2:
            only = self.classes_.tolist()[0]
            raise ValueError(f"y has 1 class, {only!r}; {type(self).__name__} wants 2.")
        return X, codes

    def _find_target(self, X, codes, seed):
        """Return the target given, or one trained on all records."""
        if self.target is None:
            return fit_clone(
                self._shadow_estimator(), X, self.classes_[codes], seed=seed
            )
        return check_target(self.target, self.classes_)

    def _remember_rows(self, X, codes):
        self._encoder = RowEncoder().fit(X)
        self._remember_records(X, self.classes_[codes])

    def _record_keys(self, X):
        return self._encoder.transform(X)

    def _validate_rows(self, X):
        X = as_rows(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        return X

    def score_samples(self, X, y=None):
        """Score rows by how surely they were training records of ``target_``.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            Their labels. Without it each row takes the label of the record of
            ``fit`` that it coincides with.

        Returns
        -------
        scores : ndarray of shape (n_samples,), dtype float64
            Higher: more likely a member.

        Raises
        ------
        ValueError
            If `y` is None and a row coincides with no record, or if the attack has
            no way to score rows that ``fit`` has not seen.
        """
        return super().score_samples(X, y)

    def _score_new_rows(self, X, y):
        return self._score_unseen(X, self._known_labels.codes(y))


def shadow_estimator_of(attack):
    """Copy the classifier that an attack trains, for a new target.

    Parameters
    ----------
    attack : TargetAttackMixin

    Returns
    -------
    estimator : classifier
    """
    return clone(attack._shadow_estimator())
