"""Sensitivities of multinomial logistic regression."""

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.special import softmax
from sklearn.utils import gen_batches

from skpriv.leverage._inverse import inverse_root
from skpriv.leverage._terms import RecordTerms
from skpriv.leverage.linear._features import Features, conditioned_root

_ROWS_IN_CACHE = 512


def softmax_hessian(batches, proba, weights, size):
    """Sum of the records' curvature, Λ ⊗ z zᵀ with Λ = diag(p) - p pᵀ.

    With rows p ⊗ z stacked in a matrix, all its blocks off the diagonal are those of
    one symmetric product; the blocks on it are one weighted Gram matrix a class, in
    which p (1 - p) loses no digits.

    Parameters
    ----------
    batches : iterable of (rows, Z, _)
        Slices of the rows, and their coordinates.
    proba : ndarray of shape (n_rows, n_classes)
    weights : ndarray of shape (n_rows,)
        Sample weights.
    size : int
        Number of coordinates.

    Returns
    -------
    H : ndarray of shape (n_classes * size, n_classes * size)
        Its lower triangle, class by class.
    """
    n_classes = proba.shape[1]
    H = np.zeros((n_classes * size,) * 2, order="F")
    blocks = np.zeros((n_classes, size, size))
    spread = proba * others(proba) * weights[:, None]
    for rows, Z, _ in batches:
        roots = np.sqrt(weights[rows])[:, None] * proba[rows]
        A = kronecker_rows(roots, Z)
        H = dsyrk(-1.0, A.T, beta=1.0, c=H, lower=True, overwrite_c=True)
        for block, share in zip(blocks, spread[rows].T, strict=True):
            B = Z * np.sqrt(share)[:, None]
            block += B.T @ B
    for c, block in enumerate(blocks):
        own = slice(c * size, (c + 1) * size)
        H[own, own] = block
    return H


def output_kernels(Z, inverse, n_classes):
    """Return J H⁻¹ Jᵀ of each row: how each class's logit answers to each class's.

    What it says of logits that move together depends on the H given, which may have
    any curvature in that direction.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, size)
        Coordinates of rows.
    inverse : ndarray of shape (n_classes * size, n_classes * size)
        H⁻¹, class by class.
    n_classes : int

    Returns
    -------
    K : ndarray of shape (n_rows, n_classes, n_classes)
    """
    n, size = Z.shape
    K = np.empty((n, n_classes, n_classes))
    for rows in gen_batches(n, _ROWS_IN_CACHE):
        z, k = Z[rows], K[rows]
        for c in range(n_classes):
            later = z @ inverse[c * size : (c + 1) * size, c * size :]
            later = later.reshape(len(z), n_classes - c, size)
            k[:, c, c:] = (later @ z[:, :, None])[:, :, 0]
            k[:, c:, c] = k[:, c, c:]
    return K


def curvature_trace(proba, K):
    """Return Tr(Λ K) of each row, Λ = diag(p) - p pᵀ.

    Parameters
    ----------
    proba : ndarray of shape (n_rows, n_classes)
    K : ndarray of shape (n_rows, n_classes, n_classes)

    Returns
    -------
    traces : ndarray of shape (n_rows,)
    """
    # Λ does not see what all classes share. Logits are taken relative to the likeliest
    # class's, which leaves only small terms where p is close to 0 and 1.
    n = np.arange(len(K))
    top = proba.argmax(axis=1)
    row = K[n, top]
    K = K - row[:, :, None] - row[:, None, :] + row[n, top][:, None, None]
    diagonal = np.einsum("icc,ic->i", K, proba)
    return diagonal - quadratic(proba, K)


def centred_trace(K):
    """Return the trace of each row's K on logits relative to their mean.

    Parameters
    ----------
    K : ndarray of shape (n_rows, n_classes, n_classes)

    Returns
    -------
    traces : ndarray of shape (n_rows,)
    """
    return np.einsum("icc->i", K) - K.sum(axis=(1, 2)) / K.shape[1]


def step_size(proba, steps):
    """Return the size of a step of the logits, as it changes Λ.

    For two classes it is the step of their difference. Else each class counts by its
    share p (1 - p) in the trace of Λ: what unlikely classes do changes nothing.

    Parameters
    ----------
    proba, steps : ndarray of shape (n_rows, n_classes)

    Returns
    -------
    size : ndarray of shape (n_rows,)
    """
    share = proba * others(proba)
    total = share.sum(axis=1, keepdims=True)
    share = np.divide(share, total, out=np.ones_like(share), where=total > 0)
    relative = steps - (proba * steps).sum(axis=1, keepdims=True)
    return 2 * (share * np.abs(relative)).sum(axis=1)


def quadratic(v, K):
    """Return vᵀ K v of each row, v of shape (n_rows, n_classes)."""
    return np.einsum("ic,ic->i", (K @ v[:, :, None])[:, :, 0], v)


def others(proba):
    """Return 1 - p without loss of digits where p is close to 1."""
    rest = 1 - proba
    n = np.arange(len(proba))
    top = proba.argmax(axis=1)
    small = proba.copy()
    small[n, top] = 0
    rest[n, top] = small.sum(axis=1)
    return rest


def kronecker_rows(v, Z):
    """Return rows v ⊗ z, of shape (n_rows, n_classes * size)."""
    product = v[:, :, None] * Z[:, None, :]
    return product.reshape(len(Z), v.shape[1] * Z.shape[1])


class SoftmaxModel:
    """A fitted multinomial logistic regression.

    Parameters
    ----------
    objective : Objective
        What the model minimises.
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
        The rows that it was fitted on.
    y, sample_weight : ndarray of shape (n_rows,)
        Their labels and weights.
    variance : bool, default=False
        Whether the terms of records are to include the variance of confidence.
    """

    quadratic = False

    def __init__(self, objective, X, y, sample_weight, *, variance=False):
        self.objective = objective
        everywhere = objective.active.all()
        self._columns = None
        if not everywhere:
            self._columns = np.flatnonzero(objective.active.any(axis=0))
        self._l2 = objective.l2[0]
        self.features = Features(
            self._select(X), objective.fit_intercept, self._l2 > 0, keep=not everywhere
        )
        proba, residuals, weights = self._predict(X, y, sample_weight)
        pulls = residuals * weights[:, None]
        self._solve(proba, weights, pulls, variance)
        self._sandwich = None
        if variance:
            G = self._gradient_moments(pulls)
            self._sandwich = self._half_inverse @ G @ self._half_inverse

    def _select(self, X):
        return X if self._columns is None else X[:, self._columns]

    def _predict(self, X, y, sample_weight):
        proba = softmax(self.objective.logits(X), axis=1)
        onehot = self.objective.labels.encode(y)
        residuals = np.where(onehot > 0, others(proba), -proba)
        return proba, residuals, self.objective.labels.weigh(y, sample_weight)[:, 0]

    def _gradient(self, pulls):
        """Gradient of the objective, class by class."""
        features, n_classes = self.features, pulls.shape[1]
        gradient = np.zeros((n_classes, features.n_coordinates))
        for c in range(n_classes):
            g = self.objective.penalty_gradient(c)
            g = features.pull_back(g if self._columns is None else g[self._columns])
            gradient[c, : len(g)] = g
        for rows, Z, _ in features.batches(features.X):
            gradient -= pulls[rows].T @ Z
        return gradient.ravel()

    def _gradient_moments(self, pulls):
        """Sum of the outer products of the records' gradients."""
        features, n_classes = self.features, pulls.shape[1]
        G = np.zeros((n_classes * features.n_coordinates,) * 2)
        for rows, Z, _ in features.batches(features.X, copies=2 * n_classes):
            A = kronecker_rows(pulls[rows], Z)
            G += A.T @ A
        return G

    def _solve(self, proba, weights, pulls, variance):
        """Invert the curvature, and find the Newton step that is left."""
        n_classes = proba.shape[1]
        self.features, H, self._root = conditioned_root(
            self.features, lambda features: self._hessian(features, proba, weights)
        )
        size = self.features.n_coordinates
        self._parameters = np.flatnonzero(self._active(size))
        self._step = -self._root.solve(self._gradient(pulls)[self._parameters])
        self._step = self._scatter(self._step, n_classes * size)
        self._step = self._step.reshape(n_classes, size)
        self._inverse = self._scatter(self._root.inverse(), n_classes * size)
        if variance:
            penalty = np.tile(self.features.penalty(self._l2), n_classes)
            half = inverse_root(H + np.diag(penalty[self._parameters]))
            self._half_inverse = self._scatter(half.inverse(), n_classes * size)

    def _hessian(self, features, proba, weights):
        """Curvature of the objective in the parameters that are active."""
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
        """Put values of the active parameters in their places among all."""
        if len(self._parameters) == size:
            return values
        full = np.zeros((size,) * values.ndim)
        full[np.ix_(*[self._parameters] * values.ndim)] = values
        return full

    def _active(self, size):
        """Which parameters, by class and coordinate, the penalty does not hold at 0."""
        active = np.ones((len(self.objective.active), size), dtype=bool)
        if self._columns is not None:
            chosen = self.objective.active[:, self._columns]
            active[:, : chosen.shape[1]] = chosen
        return active

    def terms(self, X, y, sample_weight):
        """Return the `RecordTerms` of rows."""
        proba, residuals, weights = self._predict(X, y, sample_weight)
        n_classes = proba.shape[1]
        parts = [
            self._batch_terms(Z, beyond, proba[rows], residuals[rows], weights[rows])
            for rows, Z, beyond in self.features.batches(
                self._select(X), copies=3 * n_classes
            )
        ]
        return RecordTerms.concatenate(parts)

    def _batch_terms(self, Z, beyond, proba, residuals, weights):
        n_classes = proba.shape[1]
        K = output_kernels(Z, self._inverse, n_classes)
        if self._l2 > 0:
            K += (beyond / self._l2)[:, None, None] * np.eye(n_classes)
        own = weights * quadratic(residuals, K)
        steps = Z @ self._step.T
        undetermined = np.isinf(beyond)
        shift = np.zeros(len(Z))
        variance = None
        if self._root.span is not None:
            A = kronecker_rows(_directions(proba, residuals), Z)
            undetermined |= self._root.outside(A[:, self._parameters]) > 1e-6
        if self._sandwich is not None:
            A = kronecker_rows(residuals, Z)
            shift = weights * np.einsum("ij,ij->i", A @ self._half_inverse, A)
            if self._l2 > 0:
                shift += weights * (residuals**2).sum(axis=1) * beyond / self._l2 / 2
            variance = np.einsum("ij,ij->i", A @ self._sandwich, A)
        return RecordTerms(
            leverage=weights * curvature_trace(proba, K),
            logit_leverage=weights * centred_trace(K),
            hat=None,
            self_influence=own,
            shift=shift,
            variance=variance,
            step=step_size(proba, steps),
            undetermined=undetermined,
        )


def _directions(proba, residuals):
    """Direction in which each record's label pulls its logits, even if by nothing."""
    certain = ~residuals.any(axis=1)
    top = np.eye(proba.shape[1])[proba.argmax(axis=1)]
    return np.where(certain[:, None], top - 1 / proba.shape[1], residuals)
