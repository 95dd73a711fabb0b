"""How the labels of records enter a loss, as numbers and as weights."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class NumericTargets:
    """Targets that are what they are, one or several a record.

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
class ClassTargets:
    """Classes as indicators, of the second if there are two and one logit, else of all.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Sorted.
    n_outputs : int
        1 or n_classes.
    low : float
        Value of an indicator of another class: 0, or -1.
    class_weight : ndarray of shape (n_classes,)
    own_only : bool, default=False
        Whether the weight of a class counts in that class's logit only, as it does
        in scikit-learn's one-vs-rest scheme.
    """

    classes: np.ndarray
    n_outputs: int
    low: float
    class_weight: np.ndarray
    own_only: bool = False

    def encode(self, y):
        """Return indicators of shape (n_samples, n_outputs)."""
        return np.where(self._hits(y), 1.0, self.low)

    def weigh(self, y, sample_weight):
        """Return weights of shape (n_samples, n_outputs)."""
        weight = self.class_weight[np.searchsorted(self.classes, y)][:, None]
        if self.own_only:
            weight = np.where(self._hits(y), weight, 1.0)
        return sample_weight[:, None] * np.broadcast_to(
            weight, (len(y), self.n_outputs)
        )

    def _hits(self, y):
        return y[:, None] == self.classes[-self.n_outputs :]
