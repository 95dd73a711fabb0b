"""How a network is told the labels of records."""

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.base import is_classifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.utils.multiclass import check_classification_targets

from skpriv.leverage.network._skorch import criterion_of, net_dtype


@dataclass(frozen=True)
class NumericTargets:
    """The targets of a regression.

    Attributes
    ----------
    n_outputs : int
    fit_dtype : dtype or None
        What a net is fitted on, in two dimensions; None: targets as they are.
    """

    n_outputs: int
    fit_dtype: np.dtype | None

    def for_fit(self, y):
        """Return targets in the form that the model's ``fit`` takes.

        Parameters
        ----------
        y : ndarray of shape (n,) or (n, n_outputs)

        Returns
        -------
        y : ndarray
        """
        if self.fit_dtype is None:
            return y
        return self._as_columns(y).astype(self.fit_dtype)

    def codes(self, y):
        """Return targets of shape (n, n_outputs), dtype float64."""
        return self._as_columns(y).astype(np.float64)

    def _as_columns(self, y):
        if y.ndim > 2 or y.size != len(y) * self.n_outputs:
            raise ValueError(
                f"y has shape {y.shape}, but the network was fitted on "
                f"{self.n_outputs} targets a record."
            )
        return y.reshape(len(y), self.n_outputs)


@dataclass(frozen=True)
class ClassTargets:
    """Labels, and the number of the output that each belongs to.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        All labels that are known.
    numbers : ndarray of shape (n_classes,), dtype int64
        Their numbers.
    fit_dtype : dtype or None
        What a net is fitted on: numbers in this dtype; None: labels as they are.
    """

    classes: np.ndarray
    numbers: np.ndarray
    fit_dtype: np.dtype | None

    def for_fit(self, y):
        """Return labels in the form that the model's ``fit`` takes.

        Parameters
        ----------
        y : ndarray of shape (n,)

        Returns
        -------
        y : ndarray of shape (n,)
        """
        return y if self.fit_dtype is None else self.codes(y).astype(self.fit_dtype)

    def codes(self, y):
        """Return the numbers of labels.

        Parameters
        ----------
        y : ndarray of shape (n,)

        Returns
        -------
        codes : ndarray of shape (n,), dtype int64

        Raises
        ------
        ValueError
            If a label is not known.
        """
        unknown = np.setdiff1d(y, self.classes)
        if unknown.size:
            raise ValueError(
                f"y has labels {unknown[:5]} that the model was not fitted on; it "
                f"knows {self.classes[:5]}{' and more' * (len(self.classes) > 5)}."
            )
        order = np.argsort(self.classes)
        place = np.searchsorted(self.classes, y, sorter=order)
        return self.numbers[order[place]]


def read_targets(model, y, *, frozen=False):
    """Learn how a network is told labels from those of its training records.

    A skorch net takes the numbers of its outputs. Integer labels from 0 on are these
    numbers, as they are to skorch, and those in the net's ``classes``, if it was given
    any, have their places there; other labels are numbered in sorted order. The
    labels of a frozen net have to be of the first two kinds, since in which order
    others were when it was fitted is not known. scikit-learn's perceptrons number
    their labels themselves.

    Parameters
    ----------
    model : skorch.NeuralNet, MLPClassifier or MLPRegressor
    y : ndarray of shape (n,) or (n, n_outputs)
    frozen : bool, default=False
        Whether the model is fitted already, and is to stay so.

    Returns
    -------
    targets : NumericTargets or ClassTargets

    Raises
    ------
    ValueError
        If a classifier is given several labels a record, a binary one more than two
        classes, or a frozen one labels that are not its outputs' numbers.
    """
    scikit = isinstance(model, MLPClassifier | MLPRegressor)
    if not is_classifier(model):
        n_outputs = 1 if y.ndim == 1 else y.shape[1]
        return NumericTargets(n_outputs, None if scikit else net_dtype(model))
    if y.ndim > 1:
        raise ValueError(
            f"y has shape {y.shape}, but a classifier's labels must be of shape "
            "(n_samples,): several labels or probabilities a record are not supported."
        )
    check_classification_targets(y)
    if scikit:
        classes = model.classes_ if frozen else np.unique(y)
        return ClassTargets(classes, np.arange(len(classes)), None)
    binary = isinstance(criterion_of(model), torch.nn.BCEWithLogitsLoss)
    classes, numbers = _number(model, y, frozen, binary)
    return ClassTargets(
        classes, numbers, net_dtype(model) if binary else np.dtype(np.int64)
    )


def _number(model, y, frozen, binary):
    """Return all labels, and the numbers of the outputs that they belong to."""
    labels = np.unique(y)
    own = np.asarray(_given_classes(model))
    if binary and max(labels.size, own.size) > 2:
        raise ValueError(
            f"y has {labels.size} classes, but {type(model).__name__} with "
            "BCEWithLogitsLoss tells two apart."
        )
    if own.size and np.isin(labels, own).all():
        if own.dtype.kind not in "iu":
            return own, np.arange(own.size)
        labels = np.union1d(labels, own)
    if _are_numbers(labels, frozen) and not (binary and labels.max() > 1):
        if frozen:
            labels = np.union1d(labels, _fitted_classes(model))
        return labels, labels.astype(np.int64)
    if frozen:
        raise ValueError(
            f"y has labels {labels[:5]}, but a net that is fitted already wants the "
            f"numbers of its outputs, from 0 on{' to 1' * binary}, or labels in its "
            "parameter classes."
        )
    return labels, np.arange(labels.size)


def _are_numbers(labels, frozen):
    if labels.dtype.kind in "iu":
        return labels[0] == 0 or (frozen and labels[0] > 0)
    if frozen and labels.dtype.kind in "bf":
        return bool((labels >= 0).all() and (labels == np.floor(labels)).all())
    return False


def _given_classes(model):
    classes = getattr(model, "classes", None)
    return [] if classes is None else classes


def _fitted_classes(model):
    """Labels that a net saw, which skorch does not always know."""
    classes = np.asarray(getattr(model, "classes_", []))
    return classes if classes.dtype.kind in "iu" else np.empty(0, dtype=np.int64)
