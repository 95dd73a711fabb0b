"""Base class of the attacks that query a model: the target, and the records."""

from numbers import Real

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_array, check_consistent_length, get_tags
from sklearn.utils.validation import validate_data

from skpriv._rows import RowEncoder, as_rows
from skpriv.attacks._shadows._tasks import (
    Classification,
    Regression,
    check_interface,
    task_of,
)
from skpriv.base import AttackMixin
from skpriv.utils._checks import check_rows_can_be_read
from skpriv.utils._labels import check_no_label_is_missing
from skpriv.utils._training import fit_clone


class ModelAttack(AttackMixin):
    """An attack that queries a model, and takes any rows that the model takes.

    `X` is passed to the model as it is. It is encoded only to recognise records.

    A subclass has the parameters ``estimator`` and ``target``.

    Attributes
    ----------
    attacks_regressors : bool
        Whether the model may be a regressor, rather than a classifier.
    """

    attacks_regressors = False

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
        """Return the model that the attack trains, not fitted.

        Returns
        -------
        estimator : classifier or regressor
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
        check_interface(self.target)
        return self.target

    def _validate_records(self, X, y):
        """Set the labels and the features; return X and the codes of the labels."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but "
                "the target y is None."
            )
        check_rows_can_be_read(X)
        X = as_rows(X)
        validate_data(self, X, skip_check_array=True)
        if self._adds_noise():
            numbers = check_array(X, input_name="X", estimator=self)
            X = X if hasattr(X, "columns") else numbers
        check_no_label_is_missing(y)
        user = type(self).__name__
        task = self._find_task()
        y = task.check_labels(y, user)
        check_consistent_length(X, y)
        if len(y) < 4:
            raise ValueError(
                f"X must have at least 4 records for {user}, got n_samples={len(y)}."
            )
        self._task, codes = task.of(y, user)
        if task is Classification:
            self.classes_ = self._task.classes
        return X, codes

    def _find_task(self):
        model = self._model_to_train()
        task = task_of(model)
        if task is Regression:
            if not self.attacks_regressors:
                raise ValueError(
                    f"estimator must be a classifier for {type(self).__name__}, which "
                    f"compares probabilities; got the regressor {model!r}. LiRAAttack "
                    "and LossAttack can attack it."
                )
            if self.smoothing != "auto":
                raise ValueError(
                    "smoothing must be 'auto' for a regressor, which has no "
                    f"probabilities; got {self.smoothing!r}."
                )
        return task

    def _find_target(self, X, codes, seed):
        """Return the given target, or one trained on all records."""
        if self.target is None:
            labels = self._task.labels(codes)
            return fit_clone(self._model_to_train(), X, labels, seed=seed)
        return self._task.check_target(self.target)

    def _remember_rows(self, X, codes):
        self._encoder = RowEncoder().fit(X)
        self._remember_records(X, self._task.record_labels(codes))

    def _record_keys(self, X):
        return self._encoder.transform(X)

    def _validate_rows(self, X):
        check_rows_can_be_read(X)
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
