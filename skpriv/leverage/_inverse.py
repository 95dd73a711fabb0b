"""Roots of inverse curvature matrices, and the null-space components of rows."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, lapack

_EPS = np.finfo(np.float64).eps


class NegativeCurvatureError(ArithmeticError):
    """A curvature matrix has a negative eigenvalue: the fit is not a minimum."""


@dataclass
class InverseRoot:
    """W with W Wᵀ the (pseudo-)inverse of a symmetric matrix H.

    Attributes
    ----------
    W : ndarray of shape (size, rank)
    reciprocal_condition : float
        Of H with its diagonal scaled to 1; 0 if it has not full rank.
    span : ndarray of shape (size, rank) or None
        Orthonormal basis of the range of the scaled H; None if it has full rank.
    scale : ndarray of shape (size,)
        Reciprocal roots of the diagonal of H.
    """

    W: np.ndarray
    reciprocal_condition: float
    span: np.ndarray | None
    scale: np.ndarray

    def solve(self, B):
        """Return H⁺ B for a matrix or vector B."""
        return self.W @ (self.W.T @ B)

    def inverse(self):
        """Return H⁺ as a matrix."""
        return self.W @ self.W.T

    def null_space_share(self, Z):
        """Return the share of each row's squared length in the null space of H."""
        if self.span is None:
            return np.zeros(len(Z))
        Z = Z * self.scale
        length = (Z**2).sum(axis=1)
        in_range = ((Z @ self.span) ** 2).sum(axis=1)
        share = 1 - in_range / np.where(length > 0, length, 1)
        return np.where(length > 0, share, 0).clip(0, 1)


def inverse_root(H):
    """Factor a curvature matrix for quadratic forms in its (pseudo-)inverse.

    Parameters
    ----------
    H : ndarray of shape (size, size)
        Symmetric. The lower triangle is read.

    Returns
    -------
    root : InverseRoot

    Raises
    ------
    NegativeCurvatureError
        If an eigenvalue is negative beyond rounding.
    """
    size = len(H)
    diagonal = np.diag(H)
    if (diagonal < 0).any():
        raise NegativeCurvatureError
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    if not size:
        return InverseRoot(np.zeros((0, 0)), 1.0, None, scale)
    S = np.array(H * scale * scale[:, None], order="F")
    factor, reciprocal_condition = cholesky(S)
    if reciprocal_condition > 10 * size * _EPS:
        W = scale[:, None] * lapack.dtrtri(factor, lower=True)[0].T
        return InverseRoot(W, reciprocal_condition, None, scale)
    values, vectors = eigh(S, lower=True)
    if values[0] < -1e-8 * max(values[-1], 1):
        raise NegativeCurvatureError
    keep = values > 10 * size * _EPS * values[-1]
    span = vectors[:, keep]
    return InverseRoot(scale[:, None] * span / np.sqrt(values[keep]), 0.0, span, scale)


def cholesky(S):
    """Return a lower Cholesky factor and the reciprocal condition, 0 on failure."""
    factor, info = lapack.dpotrf(S, lower=True, clean=True)
    if info != 0:
        return factor, 0.0
    norm = np.abs(np.tril(S) + np.tril(S, -1).T).sum(axis=0).max()
    reciprocal_condition, _ = lapack.dpocon(factor, norm, uplo="L")
    return factor, reciprocal_condition


def whitening(gram, size, tol, well_conditioned=1e-4):
    """Find B with B'AᵀA B = I that spans the row space of a matrix A.

    One pass over the Gram matrix would lose the directions whose singular values are
    below the root of the rounding error. A second pass, over A B rather than A, finds
    them (as CholeskyQR2 does for well-conditioned matrices).

    Parameters
    ----------
    gram : callable
        ``gram(B)`` returns (A B)ᵀ(A B), computed from A B; ``gram(None)`` AᵀA.
    size : int
        Number of columns of A.
    tol : float
        Relative size of a singular value of A, its columns scaled to unit length,
        below which it counts as zero.
    well_conditioned : float, default=1e-4
        Reciprocal condition of the Gram matrix above which A is left as it is.

    Returns
    -------
    B : ndarray of shape (size, rank) or None
        None if A is well conditioned.
    """
    if not size:
        return None
    G = gram(None)
    norms = np.sqrt(np.diag(G))
    scale = np.where(norms > 0, 1 / np.where(norms > 0, norms, 1), 0)
    S = np.array(G * scale * scale[:, None], order="F")
    if cholesky(S)[1] > well_conditioned:
        return None
    values, vectors = eigh(S, lower=True)
    largest = max(values[-1], _EPS)
    floor = size * _EPS * largest
    B = scale[:, None] * vectors / np.sqrt(np.maximum(values, floor))
    values, vectors = eigh(gram(B))
    keep = values > tol**2 * largest / floor
    return B @ (vectors[:, keep] / np.sqrt(values[keep]))
