"""What a fitted linear model minimises, in one form for all."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from skpriv.leverage.linear._losses import LogLoss, SquaredError, Tweedie
from skpriv.leverage.linear._targets import ClassTargets, NumericTargets

_ROWS_A_BATCH = 4096


@dataclass
class Objective:
    """Σ wᵢ ℓ(yᵢ, fᵢ) + l1 |θ|₁ + l2 ‖θ‖²/2, in which the intercept is free.

    Attributes
    ----------
    family : object or None
        The loss of one logit; None for the softmax cross-entropy of all of them.
    coef : ndarray of shape (n_outputs, n_features)
    intercept : ndarray of shape (n_outputs,)
    fit_intercept : bool
    l1, l2 : ndarray of shape (n_outputs,)
        Penalties of the weights, next to a sum (not a mean) over records.
    active : ndarray of bool, of shape (n_outputs, n_features)
        Weights that a small change of a label moves.
    labels : NumericTargets or ClassTargets
        How labels enter the loss.
    averaged : bool, default=False
        Whether a record's leverage is the mean over outputs rather than the sum.
    constant : float, default=0
        Value of one more feature, whose weight is the last of `coef`: an intercept
        that is penalised. 0 for none.
    """

    family: object
    coef: np.ndarray
    intercept: np.ndarray
    fit_intercept: bool
    l1: np.ndarray
    l2: np.ndarray
    active: np.ndarray
    labels: NumericTargets | ClassTargets
    averaged: bool = False
    constant: float = 0.0

    @property
    def has_confidence(self):
        """Whether one loss gives the probabilities of all classes."""
        return self.family is None or (
            isinstance(self.family, LogLoss) and len(self.coef) == 1
        )

    @property
    def quadratic(self):
        """Whether the curvature, and so leverage, is the same at any weights."""
        squared = self.family in (SquaredError(), Tweedie(0, log_link=False))
        return squared and bool(self.active.all())

    def design(self, X):
        """Return X with the constant feature, if there is one."""
        if not self.constant:
            return X
        column = np.full((X.shape[0], 1), self.constant)
        if sp.issparse(X):
            return sp.hstack([X, column], format="csr")
        return np.hstack([X, column])

    def logits(self, X):
        """Return the logits, or linear predictions, of a design in double precision."""
        out = np.empty((X.shape[0], len(self.coef)))
        for rows in gen_batches(X.shape[0], _ROWS_A_BATCH):
            out[rows] = X[rows] @ self.coef.T + self.intercept
        return out

    def penalty_gradient(self, output):
        """Gradient of the penalty in one output's weights."""
        theta = self.coef[output]
        return self.l2[output] * theta + self.l1[output] * np.sign(theta)
