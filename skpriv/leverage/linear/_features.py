"""Coordinates of rows in which the curvature is well conditioned."""

from copy import copy

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr, solve_triangular

from skpriv.leverage._inverse import whitening
from skpriv.utils._batches import row_batches

_EPS = np.finfo(np.float64).eps


class Features:
    """Coordinates of rows, and batches of them in bounded memory.

    A linear model's sensitivities do not depend on the coordinates of its features:

    - if the intercept is not penalised, features may be centred;
    - if the weights are not penalised either, any basis of the row space may be used,
      and `whitened` finds a better one where X is collinear or badly scaled;
    - if there are more features than rows, weights that are all penalised alike may be
      rotated, so an orthonormal basis of the row space is enough. Components of new
      rows outside it, their null-space components, are affected by the penalty only.

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
        Whether coordinates must be the (centred) features themselves.
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
        """Return the diagonal of the penalty's Hessian: `l2`, 0 for an intercept."""
        diagonal = np.full(self.n_coordinates, l2)
        if self.fit_intercept:
            diagonal[-1] = 0
        return diagonal

    def whitened(self):
        """Return the same features in better conditioned coordinates, if possible."""
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
        """Find the row space of a wide X, by n x n matrices."""
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
                # and does not change its products with the rows.
                G += np.trace(G) / n**2
            return G

        # Directions that are penalised need fewer digits.
        enough = 1e-7 if self.penalized else 1e-4
        self._dual = whitening(gram, n, 10 * max(n, p) * _EPS, enough)
        if self._dual is None:
            L = np.linalg.cholesky(gram(None))
            self._dual = solve_triangular(L, np.eye(n), lower=True).T
        self._training = self._project(self.X)[0]

    def _equalizer(self):
        """Return factors that scale columns to length 1, those not constant."""
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
        """Return the length of centred constant columns, by rounding errors."""
        if not self.fit_intercept:
            return 0.0
        return 10 * _EPS * np.sqrt(self.X.shape[0]) * np.abs(self.center)

    def _row_batches(self, n_rows, copies=1):
        row_bytes = 8 * (2 + copies) * (self.X.shape[1] + 1)
        return row_batches(n_rows, bytes_per_row=row_bytes)

    def _column_batches(self):
        column_bytes = 8 * 3 * self.X.shape[0]
        return row_batches(self.X.shape[1], bytes_per_row=column_bytes)

    def _centred(self, X, rows):
        A = _dense(X[rows])
        return A - self.center if self.fit_intercept else A

    def _centred_columns(self, X, columns):
        A = _dense(X[:, columns])
        if self.fit_intercept:
            A = A - self.center[columns]
        return A * self._scale[columns]

    def _project(self, X):
        """Return coordinates in the row space, and null-space components, if wide."""
        X, train = (M.tocsc() if sp.issparse(M) else M for M in (X, self.X))
        coordinates = np.zeros((X.shape[0], self._dual.shape[1]))
        length = np.zeros(X.shape[0])
        for columns in self._column_batches():
            directions = self._centred_columns(train, columns).T @ self._dual
            rows = self._centred_columns(X, columns)
            coordinates += rows @ directions
            length += (rows**2).sum(axis=1)
        null_space = length - (coordinates**2).sum(axis=1)
        return coordinates, np.where(null_space > 1e-12 * length, null_space, 0)

    def batches(self, X, copies=1):
        """Yield (rows, coordinates, null_space) of `X`, some rows at a time.

        Batches are small enough for `copies` arrays of their rows to fit into the
        working memory.

        ``null_space`` is the squared length of each row's component outside the span of
        the training rows, if weights are penalised. If they are not, it is infinite for
        a row with such a component, whose prediction nothing determines, and else 0.
        """
        for rows in self._row_batches(X.shape[0], copies):
            if self._dual is not None:
                Z, null_space = self._wide_rows(X, rows)
            elif self._basis is not None:
                A = self._centred(X, rows)
                Z, null_space = A @ self._basis, self._null_space(A)
            else:
                Z, null_space = self._narrow_rows(X, rows), 0
            if not self.penalized:
                null_space = np.where(null_space, np.inf, 0)
            if self.fit_intercept and Z.shape[1] < self.n_coordinates:
                Z = np.column_stack([Z, np.ones(Z.shape[0])])
            yield rows, Z, np.broadcast_to(null_space, Z.shape[0])

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

    def _null_space(self, A):
        """Squared distances of centred rows from the span, 0 for rounding errors."""
        A = A * self._scale
        null_space = ((A - (A @ self._span) @ self._span.T) ** 2).sum(axis=1)
        return np.where(null_space > 1e-14 * (A**2).sum(axis=1), null_space, 0)

    def pull_back(self, v):
        """Turn a gradient in the weights, `v`, into one in the coordinates."""
        if self._dual is None:
            return v if self._basis is None else self._basis.T @ v
        gradient = 0
        for columns in self._column_batches():
            A = self._centred_columns(self.X, columns) * self._scale[columns]
            gradient = gradient + self._dual.T @ (A @ v[columns])
        return gradient

    def push_forward(self, step):
        """Turn a step in the coordinates into one of the weights and the intercept."""
        step, shift = (step[:-1], step[-1]) if self.fit_intercept else (step, 0.0)
        if self._dual is not None:
            along, weights = self._dual @ step, np.empty(self.X.shape[1])
            for columns in self._column_batches():
                A = self._centred_columns(self.X, columns) * self._scale[columns]
                weights[columns] = A.T @ along
        else:
            weights = step if self._basis is None else self._basis @ step
        return weights, shift - self.center @ weights if self.fit_intercept else shift


def _dense(X):
    X = X.toarray() if sp.issparse(X) else X
    return X.astype(np.float64, copy=False)


def _column_means(X):
    return np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
