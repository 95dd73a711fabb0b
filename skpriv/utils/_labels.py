"""Labels as numbers, and whether labels are of the kind that was fitted."""

import numpy as np

from skpriv.utils._checks import check_not_masked


class Labels:
    """Known classes, by which labels are numbered from 0.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        In any order: the number of a label is its position here.
    """

    def __init__(self, classes):
        self.classes = np.asarray(classes)
        self._order = np.argsort(self.classes, kind="stable")

    @classmethod
    def of(cls, y):
        """Learn the classes from labels, in sorted order.

        Parameters
        ----------
        y : ndarray of shape (n_samples,)

        Returns
        -------
        labels : Labels
        codes : ndarray of shape (n_samples,), dtype intp
            The numbers of `y`.
        """
        classes, codes = np.unique(y, return_inverse=True)
        return cls(classes), codes

    def codes(self, y, *, unknown="raise"):
        """Number labels.

        Parameters
        ----------
        y : ndarray of shape (n_samples,)
        unknown : {"raise"} or int, default="raise"
            The number of a label that is none of the classes.

        Returns
        -------
        codes : ndarray of shape (n_samples,), dtype intp

        Raises
        ------
        ValueError
            If `y` has labels that are none of the classes, or of another kind than
            they are (strings for numbers, or the reverse).
        """
        check_same_kind_of_label(y, self.classes)
        last = self.classes.size - 1
        positions = np.searchsorted(self.classes, y, sorter=self._order)
        codes = self._order[np.minimum(positions, last)]
        foreign = self.classes[codes] != y
        if not foreign.any():
            return codes
        if unknown == "raise":
            raise ValueError(
                "y has labels that were not seen in fit: "
                f"{_some(np.unique(y[foreign]))}; they must be among "
                f"{_some(self.classes)}."
            )
        return np.where(foreign, unknown, codes)


def _some(labels):
    more = f" and {labels.size - 5} more" if labels.size > 5 else ""
    return f"{labels[:5].tolist()}{more}"


def check_same_kind_of_label(y, y_fit):
    """Raise if labels are numbers where ``fit`` had strings, or the reverse.

    Parameters
    ----------
    y, y_fit : ndarray
        The labels given now, and those of ``fit``.
    """
    if y.ndim != y_fit.ndim or y.shape[1:] != y_fit.shape[1:]:
        raise ValueError(
            f"y has shape {y.shape}, but the labels in fit had shape {y_fit.shape}."
        )
    kinds = {True: "numbers", False: "strings"}
    kind, kind_fit = _are_numbers(y), _are_numbers(y_fit)
    if kind != kind_fit:
        raise ValueError(
            f"y has labels that are {kinds[kind]}, but the labels in fit were "
            f"{kinds[kind_fit]}."
        )


def check_no_label_is_missing(y):
    """Raise if a label is None, pandas' NA or masked, or if labels cannot be sorted.

    Parameters
    ----------
    y : array-like or None
        None is left to other checks.
    """
    check_not_masked(y, "y")
    labels = np.asarray(y)
    if y is None or labels.dtype.kind != "O":
        return
    for label in labels.flat:
        if label is None or type(label).__name__ == "NAType":
            raise ValueError(f"y contains {label}; every row must have a label.")
    strings = [isinstance(label, str) for label in labels.flat]
    if any(strings) and not all(strings):
        other = labels.flat[strings.index(False)]
        text = labels.flat[strings.index(True)]
        raise TypeError(
            "y must have labels of one kind, but some are strings and others are not, "
            f"such as {text!r} and {other!r}."
        )


def _are_numbers(y):
    if y.dtype.kind == "O":
        return not any(isinstance(label, str) for label in y.flat)
    return y.dtype.kind in "biuf"
