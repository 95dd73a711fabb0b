"""The rows of X in coordinates in which the curvature is well conditioned."""

from copy import copy

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr, solve_triangular
from sklearn.utils import gen_batches

from skpriv.leverage._inverse import (
    NegativeCurvatureError,
    inverse_root,
    whitening,
)
from skpriv.utils._sklearn import get_chunk_n_rows

_EPS = np.finfo(np.float64).eps
_MAX_ROWS_A_BATCH = 4096
# Quadratic forms in the inverse keep ten digits.
_WELL_CONDITIONED = 1e-5


class Features:
    """Coordinates of rows, and batches of them in bounded memory.

    A linear model's sensitivities do not depend on the coordinates of its features:

    - if the intercept is not penalised, features may be centred;
    - if the weights are not penalised either, any basis of the row space will do, so
      `whitened` finds a better one where X is collinear or badly scaled;
    - if there are more features than rows, weights that are penalised alike may be
      rotated, so an orthonormal basis of the row space is enough. What a new row has
      outside of it meets the penalty alone.

    Coordinates end in a 1 if there is an intercept.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
        The training rows.
    fit_intercept : bool
        Whether there is an intercept, which is not penalised.
    penalized : bool
        Whether the weights have a quadratic penalty, the same for each.
    keep : bool, default=False
        Whether coordinates have to be the (centred) features themselves.
    """

    def __init__(self, X, fit_intercept, penalized, keep=False):
        self.X = X
        self.fit_intercept = fit_intercept
        self.penalized = penalized
        self.keep = keep
        n, p = X.shape
        self.center = _column_means(X) if fit_intercept else None
        self._scale = np.ones(p)
        self._basis = self._dual = self._span = self._training = None
        self._whitened = None
        if p > n and not keep:
            self._fit_dual()

    @property
    def n_coordinates(self):
        """Number of coordinates, the intercept's included."""
        rank = self.X.shape[1]
        for basis in (self._basis, self._dual):
            rank = rank if basis is None else basis.shape[1]
        return rank + int(self.fit_intercept)

    def penalty(self, l2):
        """Diagonal of the penalty's curvature: `l2`, but 0 for an intercept."""
        diagonal = np.full(self.n_coordinates, l2)
        if self.fit_intercept:
            diagonal[-1] = 0
        return diagonal

    def whitened(self):
        """Return the same features in well-conditioned coordinates, where it may."""
        if self.penalized or self.keep or self._dual is not None:
            return self
        if self._whitened is None:
            better = copy(self)
            better._fit_basis()
            self._whitened = self if better._basis is None else better
        return self._whitened

    def _fit_basis(self):
        """Whiten the columns, p x p, unless they are well conditioned already."""
        n, p = self.X.shape

        def gram(B):
            G = np.zeros((p, p) if B is None else (B.shape[1],) * 2)
            for rows in self._row_batches(n):
                A = self._centred(self.X, rows)
                A = A if B is None else A @ B
                G += A.T @ A
            if B is None:
                constant = np.sqrt(np.diag(G)) <= self._rounding()
                G[constant] = 0
                G[:, constant] = 0
            return G

        self._basis = whitening(gram, p, 10 * max(n, p) * _EPS)
        if self._basis is None:
            return
        self._scale = self._equalizer()
        span = np.zeros_like(self._basis)
        for rows in self._row_batches(n):
            A = self._centred(self.X, rows)
            span += A.T @ (A @ self._basis)
        self._span = qr(span * self._scale[:, None], mode="economic")[0]

    def _fit_dual(self):
        """Find the row space by n x n matrices, X being wide."""
        n, p = self.X.shape
        if not self.penalized:
            self._scale = self._equalizer()

        def gram(B):
            G = np.zeros((n, n) if B is None else (B.shape[1],) * 2)
            for columns in self._column_batches():
                A = self._centred_columns(self.X, columns)
                A = A if B is None else B.T @ A
                G += A @ A.T
            if B is None and self.penalized and self.fit_intercept:
                # Centred rows add up to 0. Curvature along the ones makes G regular,
                # and changes nothing that the rows themselves are multiplied by.
                G += np.trace(G) / n**2
            return G

        # What a penalty covers needs fewer digits.
        enough = 1e-7 if self.penalized else 1e-4
        self._dual = whitening(gram, n, 10 * max(n, p) * _EPS, enough)
        if self._dual is None:
            L = np.linalg.cholesky(gram(None))
            self._dual = solve_triangular(L, np.eye(n), lower=True).T
        self._training = self._project(self.X)[0]

    def _equalizer(self):
        """Factors that bring all columns to length 1, constant ones to rounding."""
        n, p = self.X.shape
        squares = np.zeros(p)
        for rows in self._row_batches(n):
            squares += (self._centred(self.X, rows) ** 2).sum(axis=0)
        norms = np.sqrt(squares)
        constant = norms <= self._rounding()
        if self.fit_intercept:
            norms[constant] = np.abs(self.center[constant])
        return 1 / np.where(norms > 0, norms, 1)

    def _rounding(self):
        """Length of a centred constant column: nothing but rounding errors."""
        if not self.fit_intercept:
            return 0.0
        return 10 * _EPS * np.sqrt(self.X.shape[0]) * np.abs(self.center)

    def _row_batches(self, n_rows, copies=1):
        row_bytes = 8 * (2 + copies) * (self.X.shape[1] + 1)
        size = get_chunk_n_rows(row_bytes, max_n_rows=_MAX_ROWS_A_BATCH)
        return gen_batches(n_rows, size)

    def _column_batches(self):
        column_bytes = 8 * 3 * self.X.shape[0]
        size = get_chunk_n_rows(column_bytes, max_n_rows=_MAX_ROWS_A_BATCH)
        return gen_batches(self.X.shape[1], size)

    def _centred(self, X, rows):
        A = _dense(X[rows])
        return A - self.center if self.fit_intercept else A

    def _centred_columns(self, X, columns):
        A = _dense(X[:, columns])
        if self.fit_intercept:
            A = A - self.center[columns]
        return A * self._scale[columns]

    def _project(self, X):
        """Coordinates in the row space of a wide X, and squared lengths beyond."""
        X, train = (M.tocsc() if sp.issparse(M) else M for M in (X, self.X))
        coordinates = np.zeros((X.shape[0], self._dual.shape[1]))
        length = np.zeros(X.shape[0])
        for columns in self._column_batches():
            directions = self._centred_columns(train, columns).T @ self._dual
            rows = self._centred_columns(X, columns)
            coordinates += rows @ directions
            length += (rows**2).sum(axis=1)
        beyond = length - (coordinates**2).sum(axis=1)
        return coordinates, np.where(beyond > 1e-12 * length, beyond, 0)

    def batches(self, X, copies=1):
        """Yield (rows, coordinates, beyond) of `X`, some rows at a time.

        So few rows that `copies` arrays of them fit into the working memory.

        ``beyond`` is each row's squared length outside the span of the training rows
        where weights are penalised. Where they are not, it is infinite for a row
        outside of that span, since nothing holds its prediction. Else it is 0.
        """
        for rows in self._row_batches(X.shape[0], copies):
            if self._dual is not None:
                Z, beyond = self._wide_rows(X, rows)
            elif self._basis is not None:
                A = self._centred(X, rows)
                Z, beyond = A @ self._basis, self._beyond_span(A)
            else:
                Z, beyond = self._narrow_rows(X, rows), 0
            if not self.penalized:
                beyond = np.where(beyond, np.inf, 0)
            if self.fit_intercept and Z.shape[1] < self.n_coordinates:
                Z = np.column_stack([Z, np.ones(Z.shape[0])])
            yield rows, Z, np.broadcast_to(beyond, Z.shape[0])

    def _wide_rows(self, X, rows):
        if X is self.X:
            return self._training[rows], 0
        return self._project(X[rows])

    def _narrow_rows(self, X, rows):
        """Centred features and the intercept's 1, in one new array."""
        A = _dense(X[rows])
        if not self.fit_intercept:
            return A
        Z = np.empty((A.shape[0], A.shape[1] + 1))
        np.subtract(A, self.center, out=Z[:, :-1])
        Z[:, -1] = 1
        return Z

    def _beyond_span(self, A):
        """Squared distances of centred rows from the span, 0 for rounding errors."""
        A = A * self._scale
        beyond = ((A - (A @ self._span) @ self._span.T) ** 2).sum(axis=1)
        return np.where(beyond > 1e-14 * (A**2).sum(axis=1), beyond, 0)

    def pull_back(self, v):
        """Gradient in coordinates of a function whose gradient in weights is `v`."""
        if self._dual is None:
            return v if self._basis is None else self._basis.T @ v
        gradient = 0
        for columns in self._column_batches():
            A = self._centred_columns(self.X, columns) * self._scale[columns]
            gradient = gradient + self._dual.T @ (A @ v[columns])
        return gradient


def _dense(X):
    X = X.toarray() if sp.issparse(X) else X
    return X.astype(np.float64, copy=False)


def _column_means(X):
    return np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()


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
