"""Kernels for the softmax cross-entropy: its curvature, and traces with it."""

import numpy as np
from scipy.linalg.blas import dsyrk

_ROWS_IN_CACHE = 512


def softmax_hessian(batches, proba, weights, size):
    """Sum the records' curvature, Λ ⊗ z zᵀ with Λ = diag(p) - p pᵀ.

    The blocks off the diagonal are those of one symmetric product of the matrix with
    rows p ⊗ z. The blocks on the diagonal are one weighted Gram matrix per class, in
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
    """Return J H⁻¹ Jᵀ of each row: the effect of each class's logit on each other's.

    Its component that moves all logits together depends on the H given, which may have
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
    for start in range(0, n, _ROWS_IN_CACHE):
        rows = slice(start, start + _ROWS_IN_CACHE)
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
    # A shift of all logits does not change the trace. Taking them relative to the most
    # likely class's leaves only small terms where p is close to 0 and 1.
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
    """Return the size of a step of the logits, by its effect on Λ.

    For two classes it is the step of their difference. Else each class is weighted by
    its share p (1 - p) in the trace of Λ, so that unlikely classes hardly count.

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
