"""Curvature matrices of linear models, and quadratic forms in their inverses."""

import numpy as np

from skpriv.leverage._inverse import NegativeCurvatureError, inverse_root
from skpriv.leverage._scores import Status

# Quadratic forms in the inverse keep ten digits.
_WELL_CONDITIONED = 1e-5
# More of a row than this in the null space is no rounding error.
_LARGEST_NULL_SPACE_SHARE = 1e-6


def conditioned_root(features, hessian):
    """Find coordinates in which a curvature matrix can be inverted, and do so.

    Parameters
    ----------
    features : Features
    hessian : callable
        ``hessian(features)`` returns the curvature matrix in their coordinates.

    Returns
    -------
    features : Features
        The same, or whitened ones.
    H : ndarray
        The curvature matrix in their coordinates.
    root : InverseRoot
        Of its inverse.

    Raises
    ------
    NegativeCurvatureError
        If the matrix has a negative eigenvalue beyond rounding.
    """
    H = hessian(features)
    try:
        root = inverse_root(H)
        if root.reciprocal_condition > _WELL_CONDITIONED:
            return features, H, root
    except NegativeCurvatureError:
        root = None
    better = features.whitened()
    if root is not None and better is features:
        return features, H, root
    H = hessian(better)
    return better, H, inverse_root(H)


def weighted_gram(Z, weights):
    """Return Zᵀ diag(weights) Z, by a symmetric product where weights allow."""
    if (weights >= 0).all():
        A = Z * np.sqrt(weights)[:, None]
        return A.T @ A
    return (Z * weights[:, None]).T @ Z


def quadratic_forms(root, Z):
    """Return zᵀ H⁺ z for each row z, from a root of the inverse of H.

    Parameters
    ----------
    root : InverseRoot
        Of the curvature matrix.
    Z : ndarray of shape (n_rows, size)

    Returns
    -------
    forms : ndarray of shape (n_rows,)
    """
    half = Z @ root.W
    return np.einsum("ij,ij->i", half, half)


def not_estimable(null_space, share=0.0):
    """Tell which predictions neither the training rows nor the penalty determine.

    Parameters
    ----------
    null_space : ndarray of shape (n_rows,)
        Squared lengths of null-space components, as of `Features.batches`.
    share : ndarray of shape (n_rows,), default=0
        Share of the rows in the null space of the curvature matrix.

    Returns
    -------
    status : ndarray of shape (n_rows,)
        `Status.NOT_ESTIMABLE` or `Status.VALID`.
    """
    outside = np.isinf(null_space) | (share > _LARGEST_NULL_SPACE_SHARE)
    return np.where(outside, Status.NOT_ESTIMABLE, Status.VALID)


def null_space_form(null_space, l2):
    """Return the quadratic form of null-space components, where H is the penalty.

    Parameters
    ----------
    null_space : ndarray of shape (n_rows,)
        Squared lengths of the components, as of `Features.batches`.
    l2 : float
        The penalty; without one, the form is left out.

    Returns
    -------
    forms : ndarray of shape (n_rows,)
    """
    return null_space / l2 if l2 > 0 else np.zeros(len(null_space))
