"""Sensitivities of Huber's regression, which fits its scale σ with the weights."""

import numpy as np

from skpriv.leverage._terms import RecordTerms
from skpriv.leverage.linear._features import Features, conditioned_root
from skpriv.leverage.linear._losses import spread
from skpriv.leverage.linear._separable import weighted_gram


class HuberModel:
    """A fitted HuberRegressor: min Σ w (σ + σ h((y - f) / σ)) + alpha ‖w‖².

    With z = (y - f) / σ, the loss of a record within epsilon is σ + z²σ. Its second
    derivatives in (f, σ) are those of 2/σ times the square of f + z σ: σ acts as the
    weight of one more feature z. A record beyond epsilon has no curvature, its own
    label does not move it.

    Parameters
    ----------
    estimator : HuberRegressor
        The fitted model.
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
        The rows that it was fitted on.
    y, sample_weight : ndarray of shape (n_rows,)
        Their targets and weights.
    """

    quadratic = False

    def __init__(self, estimator, X, y, sample_weight):
        self._coef = estimator.coef_.astype(np.float64)
        self._intercept = float(estimator.intercept_)
        self._scale, self._epsilon = float(estimator.scale_), estimator.epsilon
        self._l2 = 2.0 * estimator.alpha
        self._spread = spread(y.astype(np.float64))
        z, inside = self._standardize(X, y)
        curvature = sample_weight * inside * 2 / self._scale

        def hessian(features):
            H = np.diag(np.append(features.penalty(self._l2), 0.0))
            for rows, Z, _ in features.batches(X):
                H += weighted_gram(np.column_stack([Z, z[rows]]), curvature[rows])
            return H

        features = Features(X, estimator.fit_intercept, self._l2 > 0)
        self.features, _, self._root = conditioned_root(features, hessian)
        pull, scale_pull = self._gradients(z)
        gradient = np.zeros(self.features.n_coordinates + 1)
        g = self.features.pull_back(self._l2 * self._coef)
        gradient[: len(g)] = g
        for rows, Z, _ in self.features.batches(X):
            gradient[:-1] += Z.T @ (sample_weight[rows] * pull[rows])
        gradient[-1] = sample_weight @ scale_pull
        self._step = -self._root.solve(gradient)

    def _standardize(self, X, y):
        z = (y - (X @ self._coef + self._intercept)) / self._scale
        return z, np.abs(z) <= self._epsilon

    def _gradients(self, z):
        """Differentiate each record's loss in its prediction and in σ."""
        clipped = np.clip(z, -self._epsilon, self._epsilon)
        return -2 * clipped, 1 - clipped**2

    def terms(self, X, y, sample_weight):
        """Return the `RecordTerms` of rows."""
        z, inside = self._standardize(X, y.astype(np.float64))
        pull, scale_pull = self._gradients(z)
        curvature = sample_weight * inside * 2 / self._scale
        parts = []
        for rows, Z, beyond in self.features.batches(X):
            nothing = np.zeros(len(Z))
            extra = beyond / self._l2 if self._l2 > 0 else nothing
            prediction = np.column_stack([Z, nothing]) @ self._root.W
            label = np.column_stack([Z, z[rows]]) @ self._root.W
            loss = np.column_stack([Z * pull[rows, None], scale_pull[rows]])
            own = loss @ self._root.W
            leverage = curvature[rows] * (_dot(prediction, label) + extra)
            influence = _dot(own, own) + pull[rows] ** 2 * extra
            undetermined = np.isinf(beyond) | (self._root.outside(loss) > 1e-6)
            parts.append(
                RecordTerms(
                    leverage=leverage,
                    logit_leverage=leverage,
                    hat=None,
                    self_influence=sample_weight[rows] * influence,
                    shift=nothing,
                    variance=None,
                    step=np.abs(Z @ self._step[:-1]) / self._spread,
                    undetermined=undetermined,
                )
            )
        return RecordTerms.concatenate(parts)


def _dot(A, B):
    return np.einsum("ij,ij->i", A, B)
