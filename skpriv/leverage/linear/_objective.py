"""The objective that a fitted linear model minimises, in one form for all models."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from skpriv.leverage.linear._losses import Loss
from skpriv.leverage.linear._targets import ClassIndicators, RegressionTargets
from skpriv.utils._batches import row_batches


@dataclass
class Objective:
    """Σ wᵢ ℓ(yᵢ, fᵢ) + l1 |θ|₁ + l2 ‖θ‖²/2, where the intercept is not penalised.

    Attributes
    ----------
    loss : Loss or None
        The loss of each logit; None if there is one loss of all logits, the softmax
        cross-entropy.
    coef : ndarray of shape (n_outputs, n_features)
    intercept : ndarray of shape (n_outputs,)
    fit_intercept : bool
    l1, l2 : ndarray of shape (n_outputs,)
        Penalties of the weights, added to the sum (not the mean) over records.
    active : ndarray of bool, of shape (n_outputs, n_features)
        Weights that a small change of a label changes.
    targets : RegressionTargets or ClassIndicators
        How labels enter the loss.
    averaged : bool, default=False
        Whether a record's leverage is the mean over outputs rather than the sum.
    half_sample_penalty : float, default=2
        What the penalty is multiplied by in twice the objective of a model fitted on
        half of the records: 2 if the model adds its penalty to the sum of the losses,
        and 1 if it adds it to their mean.
    constant : float, default=0
        Value of an additional feature, whose weight is the last of `coef`: an
        intercept that is penalised. 0 if there is none.
    """

    loss: Loss | None
    coef: np.ndarray
    intercept: np.ndarray
    fit_intercept: bool
    l1: np.ndarray
    l2: np.ndarray
    active: np.ndarray
    targets: RegressionTargets | ClassIndicators
    averaged: bool = False
    half_sample_penalty: float = 2.0
    constant: float = 0.0

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
        for rows in row_batches(X.shape[0]):
            out[rows] = X[rows] @ self.coef.T + self.intercept
        return out

    def moved(self, steps):
        """Return the objective at other weights.

        Parameters
        ----------
        steps : iterable of (int, ndarray or None, ndarray, float)
            Outputs, the features that have a weight (None: all), and the changes of
            their weights and of the intercept.

        Returns
        -------
        objective : Objective or None
            None if a weight with an L1 penalty, or a constraint, would change its sign.
        """
        coef, intercept = self.coef.copy(), np.array(self.intercept)
        for output, columns, weights, shift in steps:
            coef[output, slice(None) if columns is None else columns] += weights
            intercept[output] += shift
        signs_matter = (self.l1 > 0)[:, None] | ~self.active.all()
        if (signs_matter & (np.sign(coef) != np.sign(self.coef))).any():
            return None
        return replace(self, coef=coef, intercept=intercept)

    def gradient(self, X, by_logit):
        """Return the gradient of the objective.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_records, n_features)
            A design.
        by_logit : ndarray of shape (n_records, n_outputs)
            Gradients of the weighted losses in the logits.

        Returns
        -------
        gradient : ndarray of shape (n_outputs, n_features + fit_intercept)
        """
        outputs = range(len(self.coef))
        penalty = np.array([self.penalty_gradient(output) for output in outputs])
        gradient = np.asarray(X.T @ by_logit).T + penalty
        if not self.fit_intercept:
            return gradient
        return np.column_stack([gradient, by_logit.sum(axis=0)])

    @property
    def has_l1(self):
        """Whether any weight has an L1 penalty."""
        return bool((self.l1 > 0).any())

    def penalty_gradient(self, output):
        """Return the gradient of the penalty in one output's weights."""
        theta = self.coef[output]
        return self.l2[output] * theta + self.l1[output] * np.sign(theta)
