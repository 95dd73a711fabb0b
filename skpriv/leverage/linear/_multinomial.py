"""Sensitivities of multinomial logistic regression."""

import numpy as np
from scipy.special import softmax

from skpriv.leverage._inverse import inverse_root
from skpriv.leverage._scores import RecordTerms
from skpriv.leverage._softmax import (
    centred_trace,
    curvature_trace,
    kronecker_rows,
    others,
    output_kernels,
    quadratic,
    softmax_hessian,
    step_size,
)
from skpriv.leverage.linear._curvature import (
    conditioned_root,
    not_estimable,
    null_space_form,
)
from skpriv.leverage.linear._features import Features
from skpriv.leverage.linear._sensitivities import LinearSensitivities


class MultinomialSensitivities(LinearSensitivities):
    """A fitted multinomial logistic regression.

    Parameters
    ----------
    objective : Objective
        The objective that the model minimises, with one loss of all logits.
    """

    has_attack_power = True

    def __init__(self, objective):
        self.objective = objective
        self._l2 = objective.l2[0]
        self._columns = None
        if not objective.active.all():
            self._columns = np.flatnonzero(objective.active.any(axis=0))

    @property
    def varies_in_support(self):
        return self.objective.has_l1

    def solve(self, X, y, sample_weight, *, attack_power=False):
        keep = self._columns is not None
        self.features = Features(
            self._select(X), self.objective.fit_intercept, self._l2 > 0, keep=keep
        )
        proba, residuals, weights = self._predict(X, y, sample_weight)
        weighted_residuals = residuals * weights[:, None]
        self._invert(proba, weights, halves=attack_power)
        n_classes, size = proba.shape[1], self.features.n_coordinates
        step = -self._root.solve(self._gradient(weighted_residuals)[self._parameters])
        self._step = self._scatter(step, n_classes * size).reshape(n_classes, size)
        self._covariance = None
        if attack_power:
            G = self._gradient_moments(weighted_residuals)
            self._covariance = self._half_inverse @ G @ self._half_inverse
        return self

    def stepped(self):
        return self.objective.moved(
            (c, self._columns, *self.features.push_forward(step))
            for c, step in enumerate(self._step)
        )

    def _select(self, X):
        return X if self._columns is None else X[:, self._columns]

    def _predict(self, X, y, sample_weight):
        proba = softmax(self.objective.logits(X), axis=1)
        onehot = self.objective.targets.encode(y)
        residuals = np.where(onehot > 0, others(proba), -proba)
        return proba, residuals, self.objective.targets.weigh(y, sample_weight)[:, 0]

    def _gradient(self, weighted_residuals):
        """Return the gradient of the objective, class by class."""
        features, n_classes = self.features, weighted_residuals.shape[1]
        gradient = np.zeros((n_classes, features.n_coordinates))
        for c in range(n_classes):
            g = self.objective.penalty_gradient(c)
            g = features.pull_back(g if self._columns is None else g[self._columns])
            gradient[c, : len(g)] = g
        for rows, Z, _ in features.batches(features.X):
            gradient -= weighted_residuals[rows].T @ Z
        return gradient.ravel()

    def _gradient_moments(self, weighted_residuals):
        """Return the sum of the outer products of the records' gradients."""
        features, n_classes = self.features, weighted_residuals.shape[1]
        G = np.zeros((n_classes * features.n_coordinates,) * 2)
        for rows, Z, _ in features.batches(features.X, copies=2 * n_classes):
            A = kronecker_rows(weighted_residuals[rows], Z)
            G += A.T @ A
        return G

    def _invert(self, proba, weights, *, halves):
        """Invert the curvature, and that of random halves if they are needed."""
        self.features, H, self._root = conditioned_root(
            self.features, lambda features: self._hessian(features, proba, weights)
        )
        n_classes, size = proba.shape[1], self.features.n_coordinates
        self._parameters = np.flatnonzero(self._active(size))
        self._inverse = self._scatter(self._root.inverse(), n_classes * size)
        if halves:
            penalty = np.tile(self.features.penalty(self._l2), n_classes)
            root = inverse_root(H + np.diag(penalty[self._parameters]))
            self._half_inverse = self._scatter(root.inverse(), n_classes * size)

    def _hessian(self, features, proba, weights):
        """Return the curvature of the objective in the active parameters."""
        n_classes, size = proba.shape[1], features.n_coordinates
        batches = features.batches(features.X, copies=2 * n_classes)
        H = softmax_hessian(batches, proba, weights, size)
        penalty = features.penalty(self._l2)
        H[np.diag_indices_from(H)] += np.tile(penalty, n_classes)
        active = self._active(size)
        # Moving all classes together along a coordinate without penalty changes
        # nothing that a score depends on. Curvature added there makes H regular.
        free = np.flatnonzero((penalty == 0) & active.all(axis=0))
        grid = (size * np.arange(n_classes)[:, None] + free).ravel()
        total = sum(H[np.ix_(part, part)] for part in grid.reshape(n_classes, -1))
        H[np.ix_(grid, grid)] += np.tile(total / n_classes**2, (n_classes, n_classes))
        if active.all():
            return H
        return H[np.ix_(active.ravel(), active.ravel())]

    def _scatter(self, values, size):
        """Return an array over all parameters from one over the active ones."""
        if len(self._parameters) == size:
            return values
        full = np.zeros((size,) * values.ndim)
        full[np.ix_(*[self._parameters] * values.ndim)] = values
        return full

    def _active(self, size):
        """Tell which parameters are not fixed at 0, by class and coordinate."""
        active = np.ones((len(self.objective.active), size), dtype=bool)
        if self._columns is not None:
            chosen = self.objective.active[:, self._columns]
            active[:, : chosen.shape[1]] = chosen
        return active

    def terms(self, X, y, sample_weight):
        proba, residuals, weights = self._predict(X, y, sample_weight)
        n_classes = proba.shape[1]
        parts = [
            self._batch_terms(
                Z, null_space, proba[rows], residuals[rows], weights[rows]
            )
            for rows, Z, null_space in self.features.batches(
                self._select(X), copies=3 * n_classes
            )
        ]
        return RecordTerms.concatenate(parts)

    def _batch_terms(self, Z, null_space, proba, residuals, weights):
        n_classes = proba.shape[1]
        K = output_kernels(Z, self._inverse, n_classes)
        extra = null_space_form(null_space, self._l2)
        if extra.any():
            K += extra[:, None, None] * np.eye(n_classes)
        shift, variance = self._confidence(Z, extra, residuals, weights)
        return RecordTerms(
            status=self._status(Z, null_space, proba, residuals),
            leverage=weights * curvature_trace(proba, K),
            logit_leverage=weights * centred_trace(K),
            self_influence=weights * quadratic(residuals, K),
            confidence_shift=shift,
            confidence_variance=variance,
            newton_step=step_size(proba, Z @ self._step.T),
        )

    def _status(self, Z, null_space, proba, residuals):
        if self._root.span is None:
            return not_estimable(null_space)
        A = kronecker_rows(_directions(proba, residuals), Z)
        share = self._root.null_space_share(A[:, self._parameters])
        return not_estimable(null_space, share)

    def _confidence(self, Z, extra, residuals, weights):
        """Return the shift and the variance of confidence over random halves."""
        if self._covariance is None:
            return None, None
        A = kronecker_rows(residuals, Z)
        shift = weights * np.einsum("ij,ij->i", A @ self._half_inverse, A)
        shift += weights * (residuals**2).sum(axis=1) * extra / 2
        if self.objective.has_l1:
            shift[:] = np.nan
        return shift, np.einsum("ij,ij->i", A @ self._covariance, A)


def _directions(proba, residuals):
    """Return the direction in which each record's label moves its logits.

    It is that of the residuals, even where they are 0 because the model is certain.
    """
    certain = ~residuals.any(axis=1)
    top = np.eye(proba.shape[1])[proba.argmax(axis=1)]
    return np.where(certain[:, None], top - 1 / proba.shape[1], residuals)
