"""What attacks on a classifier share: its target, and the records."""

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
from skpriv.base import AttackMixin
from skpriv.utils._labels import Labels, check_no_label_is_missing
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
        If it is no classifier of scikit-learn's interface.
    ValueError
        If some of its classes are not among `classes`.
    """
    _check_interface(target)
    check_is_fitted(target)
    if not hasattr(target, "classes_"):
        raise TypeError(
            f"target must be a fitted classifier, got {target!r}, which has no "
            "classes_."
        )
    # Sets of numpy's would take "1" and 1 for the same label.
    known = set(classes.tolist())
    unknown = [label for label in np.ravel(target.classes_) if label not in known]
    if unknown:
        raise ValueError(
            "y must contain the labels that target was trained on; target has classes "
            f"that are not in y: {np.array(unknown).tolist()}."
        )
    return target


def _check_interface(target):
    """Raise a TypeError if a target cannot be used like an estimator at all."""
    if not hasattr(target, "fit"):
        raise TypeError(
            "target must be a fitted classifier of scikit-learn's interface, with "
            f"classes_ and predict_proba or decision_function, got a "
            f"{type(target).__name__}, which has no fit; a booster must be in its "
            "library's classifier, such as XGBClassifier or LGBMClassifier."
        )


class ClassifierAttack(AttackMixin):
    """An attack on a classifier, which takes any rows that the classifier takes.

    `X` is passed to the classifier as it is. It is encoded only to recognise records.

    A subclass has the parameters ``estimator`` and ``target``.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self._model_to_train()).input_tags
        for name in ("sparse", "allow_nan", "string", "categorical"):
            allowed = getattr(inner, name) and not self._adds_noise()
            setattr(tags.input_tags, name, allowed)
        return tags

    def _adds_noise(self):
        """Whether noise is added to the rows, which must then be numbers."""
        return isinstance(getattr(self, "augmentations", None), Real)

    def shadow_estimator(self):
        """Return the classifier that the attack trains, not fitted.

        Returns
        -------
        estimator : classifier
            A copy of `estimator`. If that is None, of `target`, or a logistic
            regression.
        """
        return clone(self._model_to_train())

    def _model_to_train(self):
        if self.estimator is not None:
            return self.estimator
        if self.target is None:
            return LogisticRegression(max_iter=1000)
        if isinstance(self.target, FrozenEstimator):
            return self.target.estimator
        _check_interface(self.target)
        return self.target

    def _validate_records(self, X, y):
        """Set the labels and the features; return X and the codes of the labels."""
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
        check_no_label_is_missing(y)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        check_classification_targets(y)
        if y.size < 4:
            raise ValueError(
                f"X must have at least 4 records for {type(self).__name__}, got "
                f"n_samples={y.size}."
            )
        self._known_labels, codes = Labels.of(y)
        self.classes_ = self._known_labels.classes
        if self.classes_.size < 2:
            only = self.classes_.tolist()[0]
            raise ValueError(
                f"y must have at least 2 classes for {type(self).__name__}, got 1 "
                f"class, {only!r}."
            )
        return X, codes

    def _find_target(self, X, codes, seed):
        """Return the given target, or one trained on all records."""
        if self.target is None:
            labels = self.classes_[codes]
            return fit_clone(self._model_to_train(), X, labels, seed=seed)
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
        """Score rows by how likely they were training records of ``target_``.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            Their labels. Without it, each row takes the label of the record of
            ``fit`` that it coincides with.

        Returns
        -------
        scores : ndarray of shape (n_samples,), dtype float64
            Higher: more likely a member.

        Raises
        ------
        ValueError
            If `y` is None and a row coincides with no record, or if the attack cannot
            score rows that are not among the records of ``fit``.
        """
        return super().score_samples(X, y)
