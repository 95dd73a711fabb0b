"""How the labels of records enter a loss: as numbers, and with which weights."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RegressionTargets:
    """Regression targets, used as given.

    Attributes
    ----------
    n_outputs : int
    """

    n_outputs: int

    def encode(self, y):
        """Return targets of shape (n_samples, n_outputs)."""
        return y.reshape(len(y), self.n_outputs).astype(np.float64)

    def weigh(self, y, sample_weight):
        """Return weights of shape (n_samples, n_outputs)."""
        return np.tile(sample_weight[:, None], self.n_outputs)


@dataclass(frozen=True)
class ClassIndicators:
    """Classes as indicators: of the second class if there is one output, else of all.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Sorted.
    n_outputs : int
        1 or n_classes.
    low : float
        Value of the indicator of another class: 0 or -1.
    class_weight : ndarray of shape (n_classes,)
    one_vs_rest : bool, default=False
        Whether the weight of a class applies in that class's output only, as it does
        in scikit-learn's one-versus-rest scheme.
    """

    classes: np.ndarray
    n_outputs: int
    low: float
    class_weight: np.ndarray
    one_vs_rest: bool = False

    def encode(self, y):
        """Return indicators of shape (n_samples, n_outputs)."""
        return np.where(self._is_class(y), 1.0, self.low)

    def weigh(self, y, sample_weight):
        """Return weights of shape (n_samples, n_outputs)."""
        weight = self.class_weight[np.searchsorted(self.classes, y)][:, None]
        if self.one_vs_rest:
            weight = np.where(self._is_class(y), weight, 1.0)
        return sample_weight[:, None] * np.broadcast_to(
            weight, (len(y), self.n_outputs)
        )

    def _is_class(self, y):
        return y[:, None] == self.classes[-self.n_outputs :]


def standard_deviation(targets):
    """Return the standard deviation of each output's targets, never zero.

    Parameters
    ----------
    targets : ndarray of shape (n_samples, ...)

    Returns
    -------
    deviation : ndarray of shape (...)
    """
    deviation = np.std(targets, axis=0) + 1e-8 * np.max(np.abs(targets), axis=0)
    return np.where(deviation > 0, deviation, 1.0)
