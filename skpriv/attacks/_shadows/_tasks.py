"""Tasks: what labels are, and what is observed at a model, by the kind of model."""

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from skpriv.attacks._shadows._signals import (
    CLASS_SIGNALS,
    model_signals,
    predictions,
    response_method,
    within_float32,
)
from skpriv.utils._checks import check_scale
from skpriv.utils._labels import Labels

# A spread that is smaller than these parts of the spread of the labels, and of their
# size, is taken for rounding errors.
_OF_SPREAD = 1e-10
_OF_SIZE = 1e-14


def task_of(estimator):
    """Return the task of a model: `Regression` for a regressor.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    task : type
        `Classification` for anything else than a regressor.
    """
    return Regression if is_regressor(estimator) else Classification


def check_interface(target):
    """Raise a TypeError if a target cannot be used like an estimator at all."""
    if not hasattr(target, "fit"):
        raise TypeError(
            "target must be a fitted classifier of scikit-learn's interface, with "
            "classes_ and predict_proba or decision_function, or a fitted regressor; "
            f"got a {type(target).__name__}, which has no fit; pass a booster as "
            "its library's classifier, such as XGBClassifier or LGBMClassifier."
        )


class Classification:
    """Labels are classes, and signals are those of `model_signals`.

    Parameters
    ----------
    labels : Labels
        The known classes.
    """

    kind = "classifier"
    signals = CLASS_SIGNALS
    signal_type = np.float32

    def __init__(self, labels):
        self._known = labels
        self.classes = labels.classes

    @staticmethod
    def check_labels(y, user):
        """Check the shape and the type of labels.

        Parameters
        ----------
        y : array-like
        user : str
            Name of the attack, for messages.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        return y

    @classmethod
    def of(cls, y, user):
        """Learn the classes.

        Parameters
        ----------
        y : ndarray of shape (n_samples,)
            As returned by `check_labels`.
        user : str

        Returns
        -------
        task : Classification
        codes : ndarray of shape (n_samples,)
            Labels, as indices into ``task.classes``.
        """
        labels, codes = Labels.of(y)
        if labels.classes.size < 2:
            only = labels.classes.tolist()[0]
            raise ValueError(
                f"y must have at least 2 classes for {user}, got 1 class, {only!r}."
            )
        return cls(labels), codes

    def codes(self, y):
        """Number the labels of further rows."""
        return self._known.codes(y)

    def labels(self, codes):
        """Return labels as a model is fitted with them."""
        return self.classes[codes]

    def record_labels(self, codes):
        """Return labels as records are recognised by them."""
        return self.classes[codes]

    def strata(self, codes):
        """Return the groups of which each half of the records gets its share."""
        return codes

    def check_target(self, target):
        """Check that a target is a fitted classifier of known labels.

        Parameters
        ----------
        target : object

        Returns
        -------
        target : classifier

        Raises
        ------
        TypeError
            If it is no classifier of scikit-learn's interface.
        ValueError
            If some of its classes are not among those of the records.
        """
        check_interface(target)
        check_is_fitted(target)
        if not hasattr(target, "classes_"):
            raise TypeError(
                f"target must be a fitted classifier, got {target!r}, which has no "
                "classes_."
            )
        # Sets of numpy's would take "1" and 1 for the same label.
        known = set(self.classes.tolist())
        unknown = [label for label in np.ravel(target.classes_) if label not in known]
        if unknown:
            raise ValueError(
                "y must contain the labels that target was trained on; target has "
                f"classes that are not in y: {np.array(unknown).tolist()}."
            )
        return target

    def response_method(self, model):
        """Return the name of the method that signals are computed from."""
        return response_method(model, self.classes)

    def observe(self, model, X, codes, kind, smoothing):
        """Return signals, and where they are saturated; see `model_signals`."""
        return model_signals(
            model, X, codes, self.classes, kind=kind, smoothing=smoothing
        )

    def minus_loss(self, model, X, codes, smoothing):
        """Return minus the cross-entropy of each row."""
        return self.observe(model, X, codes, "loss", smoothing)[0]

    def store(self, signals):
        """Return signals in the type that they are stored in."""
        return within_float32(signals).astype(np.float32)

    def count_missing(self, codes, membership):
        """Count the shadows that have not seen a record's class, for each record."""
        by_class = [
            (~membership[:, codes == code].any(axis=1)).sum()
            for code in range(codes.max() + 1)
        ]
        return np.array(by_class)[codes]


class Regression:
    """Labels are numbers, and the signal is the prediction.

    It has the methods of `Classification`. Codes are the labels themselves, as models
    are fitted with them: of one column, if `y` has one.
    """

    kind = "regressor"
    signals = ("prediction",)
    signal_type = np.float64

    @staticmethod
    def check_labels(y, user):
        """Check that labels are numbers of a usual scale, one per record."""
        y = check_array(y, ensure_2d=False, dtype="numeric", input_name="y")
        if y.ndim > 1 and y.shape[1:] != (1,):
            raise ValueError(
                f"y must have a single output for {user} on a regressor, got shape "
                f"{y.shape}; attack a model of one output at a time."
            )
        check_scale(y, "y")
        return y

    @classmethod
    def of(cls, y, user):
        """Return the task, and the labels as they are."""
        return cls(), y

    def codes(self, y):
        """Return the labels of further rows as they are."""
        return y

    def labels(self, codes):
        """Return labels as a model is fitted with them."""
        return codes

    def record_labels(self, codes):
        """Return labels as numbers, of shape (n_samples,)."""
        return codes.reshape(-1).astype(np.float64)

    def strata(self, codes):
        """Return a single group: halves are not stratified."""
        return np.zeros(len(codes), dtype=np.intp)

    def check_target(self, target):
        """Check that a target is a fitted regressor; see `Classification`."""
        check_interface(target)
        if not is_regressor(target):
            raise TypeError(
                f"target must be a fitted regressor, as estimator is one, got "
                f"{target!r}."
            )
        check_is_fitted(target)
        return target

    def response_method(self, model):
        """Return the name of the method that signals are computed from."""
        return "predict"

    def observe(self, model, X, codes, kind, smoothing):
        """Return predictions, and that none is saturated."""
        signals = predictions(model, X)
        return signals, np.zeros(signals.size, dtype=bool)

    def minus_loss(self, model, X, codes, smoothing):
        """Return minus the squared error of each row."""
        return -((predictions(model, X) - self.record_labels(codes)) ** 2)

    def store(self, signals):
        """Return signals as they are.

        As float32, predictions that are large and close to each other would be equal.
        """
        return signals

    def count_missing(self, codes, membership):
        """Return zeros: there is no class to be missed."""
        return np.zeros(len(codes), dtype=np.intp)


def resolution(labels):
    """Return the least difference of predictions that is not due to rounding.

    Parameters
    ----------
    labels : ndarray of shape (n_records,)
        What is predicted.

    Returns
    -------
    resolution : float
        Positive.
    """
    spread = np.abs(labels - np.median(labels)).mean()
    size = np.abs(labels).max(initial=0)
    return float(_OF_SPREAD * spread + _OF_SIZE * size) or _OF_SPREAD
