"""The labels of records as numbers of a network's outputs, or as target columns."""

from dataclasses import dataclass, field

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from skpriv.utils._labels import Labels


@dataclass(frozen=True)
class TargetColumns:
    """Regression targets, as one column per output.

    Attributes
    ----------
    n_outputs : int
    fit_dtype : dtype or None
        The dtype of the two-dimensional targets that the model's ``fit`` takes; None
        if it takes targets as they are.
    """

    n_outputs: int
    fit_dtype: np.dtype | None

    @classmethod
    def of(cls, y, fit_dtype=None):
        """Learn the number of outputs from the targets of the training records.

        Parameters
        ----------
        y : ndarray of shape (n,) or (n, n_outputs)
        fit_dtype : dtype or None, default=None

        Returns
        -------
        targets : TargetColumns
        """
        return cls(1 if y.ndim == 1 else y.shape[1], fit_dtype)

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
                f"{self.n_outputs} targets per record."
            )
        return y.reshape(len(y), self.n_outputs)


@dataclass(frozen=True)
class OutputNumbers:
    """Labels, as the numbers of the outputs that they belong to.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        All known labels.
    numbers : ndarray of shape (n_classes,), dtype int64, default=None
        The output of each. None numbers them from 0, in the order of `classes`.
    fit_dtype : dtype or None, default=None
        The dtype of the numbers that the model's ``fit`` takes; None if it takes
        labels as they are.
    """

    classes: np.ndarray
    numbers: np.ndarray | None = None
    fit_dtype: np.dtype | None = None
    _labels: Labels = field(init=False, repr=False)

    def __post_init__(self):
        if self.numbers is None:
            object.__setattr__(self, "numbers", np.arange(len(self.classes)))
        object.__setattr__(self, "_labels", Labels(self.classes))

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
        """Return the numbers of the outputs that labels belong to.

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
        return self.numbers[self._labels.codes(y)]


def check_labels_of_classifier(y):
    """Raise a ValueError unless there is one discrete label per record.

    Parameters
    ----------
    y : ndarray
    """
    if y.ndim > 1:
        raise ValueError(
            f"y has shape {y.shape}, but a classifier's labels must be of shape "
            "(n_samples,): several labels or probabilities per record are not "
            "supported."
        )
    check_classification_targets(y)


def number_outputs(labels, *, given, fitted, binary):
    """Find out which outputs of a skorch net labels belong to.

    Integer labels from 0 on are the numbers of outputs, as they are to skorch. Labels
    among `given` have their positions in it. Others are numbered in sorted order,
    unless the net is fitted already: how they were numbered then is not known.

    Parameters
    ----------
    labels : ndarray of shape (n_labels,)
        The distinct labels of the training records, sorted.
    given : array-like or None
        The net's parameter ``classes``.
    fitted : array-like or None
        The labels that a net was fitted on that is not fitted again, as far as skorch
        knows them. None if the net is fitted on these labels.
    binary : bool
        Whether the net has one output, for the second of two classes.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        All labels that are known.
    numbers : ndarray of shape (n_classes,), dtype int64

    Raises
    ------
    ValueError
        If there are more than two classes for a binary net, or if the outputs of a
        fitted net are not known.
    """
    given, frozen = np.asarray([] if given is None else given), fitted is not None
    if binary and max(labels.size, given.size) > 2:
        raise ValueError(
            f"y has {max(labels.size, given.size)} classes, but a net with "
            "BCEWithLogitsLoss must have two."
        )
    if given.size and np.isin(labels, given).all():
        if given.dtype.kind not in "iu":
            return given, np.arange(given.size)
        labels = np.union1d(labels, given)
    if _are_numbers(labels, frozen) and not (binary and labels.max() > 1):
        if frozen and np.asarray(fitted).dtype.kind in "iu":
            labels = np.union1d(labels, fitted)
        return labels, labels.astype(np.int64)
    if frozen:
        raise ValueError(
            f"y has labels {labels[:5]}, but for a net that is already fitted they "
            f"must be the numbers of its outputs, from 0 {'to 1' if binary else 'on'}, "
            "or be in its parameter classes."
        )
    return labels, np.arange(labels.size)


def _are_numbers(labels, frozen):
    """Tell whether labels are the numbers of outputs."""
    if labels.dtype.kind in "iu":
        return labels[0] == 0 or (frozen and labels[0] > 0)
    if frozen and labels.dtype.kind in "bf":
        return bool((labels >= 0).all() and (labels == np.floor(labels)).all())
    return False
