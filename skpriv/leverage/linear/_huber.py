"""Sensitivities of Huber's regression, which fits its scale σ with the weights."""

import numpy as np

from skpriv.leverage._inverse import inverse_root
from skpriv.leverage._scores import RecordTerms
from skpriv.leverage.linear._curvature import (
    conditioned_root,
    not_estimable,
    null_space_form,
    weighted_gram,
)
from skpriv.leverage.linear._features import Features
from skpriv.leverage.linear._sensitivities import LinearSensitivities
from skpriv.leverage.linear._targets import standard_deviation


class HuberSensitivities(LinearSensitivities):
    """A fitted HuberRegressor: min Σ w (σ + σ h((y - f) / σ)) + alpha ‖w‖².

    With z = (y - f) / σ, the loss of a record within epsilon is σ + z²σ. Its second
    derivatives in (f, σ) are those of 2/σ times the square of f + z σ: σ acts as the
    weight of one more feature z. A record beyond epsilon has no curvature, and is not
    affected by its own label.

    Parameters
    ----------
    estimator : HuberRegressor
        The fitted model.
    """

    has_attack_power = True

    def __init__(self, estimator):
        self._coef = estimator.coef_.astype(np.float64)
        self._intercept = float(estimator.intercept_)
        self._fit_intercept = estimator.fit_intercept
        self._scale, self._epsilon = float(estimator.scale_), estimator.epsilon
        self._l2 = 2.0 * estimator.alpha

    def solve(self, X, y, sample_weight, *, attack_power=False):
        self._deviation = standard_deviation(y.astype(np.float64))
        z, curvature = self._linearise(X, y, sample_weight)

        def hessian(features):
            H = np.diag(np.append(features.penalty(self._l2), 0.0))
            for rows, Z, _ in features.batches(X):
                H += weighted_gram(np.column_stack([Z, z[rows]]), curvature[rows])
            return H

        features = Features(X, self._fit_intercept, self._l2 > 0)
        self.features, H, self._root = conditioned_root(features, hessian)
        in_prediction, in_scale = self._gradients(z)
        gradient = np.zeros(self.features.n_coordinates + 1)
        g = self.features.pull_back(self._l2 * self._coef)
        gradient[: len(g)] = g
        for rows, Z, _ in self.features.batches(X):
            gradient[:-1] += Z.T @ (sample_weight[rows] * in_prediction[rows])
        gradient[-1] = sample_weight @ in_scale
        self._step = -self._root.solve(gradient)
        self._halves = None
        if attack_power:
            self._halves = self._solve_halves(
                X, H, in_prediction, in_scale, sample_weight
            )
        return self

    def _solve_halves(self, X, H, in_prediction, in_scale, sample_weight):
        """Invert the Hessian of half samples; see `HalfSamples`.

        Next to the sum of losses the penalty counts twice in twice that Hessian.
        """
        penalty = np.append(self.features.penalty(self._l2), 0.0)
        root = inverse_root(H + np.diag(penalty))
        G = np.zeros_like(H)
        for rows, Z, _ in self.features.batches(X):
            loss = np.column_stack([Z * in_prediction[rows, None], in_scale[rows]])
            G += weighted_gram(loss, sample_weight[rows] ** 2)
        return root, root.solve(root.solve(G).T)

    def _signal(self, Z, loss, weights, in_prediction, extra):
        """Return shift and variance of predictions over half samples.

        Parameters
        ----------
        Z : ndarray of shape (n_rows, n_coordinates)
        loss : ndarray of shape (n_rows, n_coordinates + 1)
            Gradients of the records' losses, in the weights and in σ.
        weights, in_prediction, extra : ndarray of shape (n_rows,)
            Sample weights, the losses' derivatives in the prediction, and the
            quadratic forms of null-space components.

        Returns
        -------
        shift, variance : ndarray of shape (n_rows,), or None
        """
        if self._halves is None:
            return None, None
        root, covariance = self._halves
        prediction = np.column_stack([Z, np.zeros(len(Z))])
        shift = _dot(prediction @ root.W, loss @ root.W) + in_prediction * extra / 2
        return np.abs(weights * shift), _dot(prediction @ covariance, prediction)

    def _linearise(self, X, y, sample_weight):
        """Return residuals in units of σ, and the curvature of each record's loss."""
        z = (y - (X @ self._coef + self._intercept)) / self._scale
        within = np.abs(z) <= self._epsilon
        return z, sample_weight * within * 2 / self._scale

    def _gradients(self, z):
        """Differentiate each record's loss in its prediction and in σ."""
        clipped = np.clip(z, -self._epsilon, self._epsilon)
        return -2 * clipped, 1 - clipped**2

    def terms(self, X, y, sample_weight):
        z, curvature = self._linearise(X, y.astype(np.float64), sample_weight)
        in_prediction, in_scale = self._gradients(z)
        parts = []
        for rows, Z, null_space in self.features.batches(X):
            extra = null_space_form(null_space, self._l2)
            prediction = np.column_stack([Z, np.zeros(len(Z))]) @ self._root.W
            label = np.column_stack([Z, z[rows]]) @ self._root.W
            loss = np.column_stack([Z * in_prediction[rows, None], in_scale[rows]])
            own = loss @ self._root.W
            share = self._root.null_space_share(loss)
            leverage = curvature[rows] * (_dot(prediction, label) + extra)
            influence = _dot(own, own) + in_prediction[rows] ** 2 * extra
            shift, variance = self._signal(
                Z, loss, sample_weight[rows], in_prediction[rows], extra
            )
            parts.append(
                RecordTerms(
                    status=not_estimable(null_space, share),
                    leverage=leverage,
                    logit_leverage=leverage,
                    self_influence=sample_weight[rows] * influence,
                    confidence_shift=shift,
                    confidence_variance=variance,
                    newton_step=np.abs(Z @ self._step[:-1]) / self._deviation,
                )
            )
        return RecordTerms.concatenate(parts)


def _dot(A, B):
    return np.einsum("ij,ij->i", A, B)
