"""The rows of X in coordinates in which the curvature is well conditioned."""

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr, solve_triangular
from sklearn.utils import gen_batches

from skpriv.leverage._inverse import whitening
from skpriv.utils._sklearn import get_chunk_n_rows

_EPS = np.finfo(np.float64).eps
_MAX_ROWS_A_BATCH = 4096


class Features:
    """Coordinates of rows, and batches of them in bounded memory.

    A linear model's sensitivities do not depend on the coordinates of its features:

    - if the intercept is not penalised, features may be centred;
    - if the weights are not penalised either, any basis of the row space will do, so
      a whitened one is taken where X is collinear or badly scaled;
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

    Attributes
    ----------
    n_coordinates : int
        Number of coordinates, the intercept's included.
    """

    def __init__(self, X, fit_intercept, penalized, keep=False):
        self.X = X
        self.fit_intercept = fit_intercept
        self.penalized = penalized
        n, p = X.shape
        self.center = _column_means(X) if fit_intercept else np.zeros(p)
        self._scale = np.ones(p)
        self._basis = self._dual = self._span = self._training = None
        rank = p
        if not keep and p > n:
            self._fit_dual()
            rank = self._dual.shape[1]
        elif not keep and not penalized:
            self._fit_basis()
            rank = p if self._basis is None else self._basis.shape[1]
        self.n_coordinates = rank + int(fit_intercept)

    def _fit_basis(self):
        """Whiten the columns, p x p, unless they are well conditioned already."""
        n, p = self.X.shape
        noise = _rounding(n, self.center)

        def gram(B):
            G = np.zeros((p, p) if B is None else (B.shape[1],) * 2)
            for rows in self._row_batches(n):
                A = self._centred(self.X, rows)
                A = A if B is None else A @ B
                G += A.T @ A
            if B is None:
                constant = np.sqrt(np.diag(G)) <= noise
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
            return G

        self._dual = whitening(gram, n, 10 * max(n, p) * _EPS)
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
        constant = norms <= _rounding(n, self.center)
        norms[constant] = np.abs(self.center[constant])
        return 1 / np.where(norms > 0, norms, 1)

    def _row_batches(self, n_rows, copies=1):
        row_bytes = 8 * (2 + copies) * (self.X.shape[1] + 1)
        size = get_chunk_n_rows(row_bytes, max_n_rows=_MAX_ROWS_A_BATCH)
        return gen_batches(n_rows, size)

    def _column_batches(self):
        column_bytes = 8 * 3 * self.X.shape[0]
        size = get_chunk_n_rows(column_bytes, max_n_rows=_MAX_ROWS_A_BATCH)
        return gen_batches(self.X.shape[1], size)

    def _centred(self, X, rows):
        return _dense(X[rows]) - self.center

    def _centred_columns(self, X, columns):
        return (_dense(X[:, columns]) - self.center[columns]) * self._scale[columns]

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
        training = X is self.X
        for rows in self._row_batches(X.shape[0], copies):
            beyond = 0
            if self._dual is not None:
                if training:
                    Z = self._training[rows]
                else:
                    Z, beyond = self._project(X[rows])
            else:
                Z = self._centred(X, rows)
                if self._basis is not None:
                    beyond = 0 if training else self._beyond_span(Z)
                    Z = Z @ self._basis
            if not self.penalized:
                beyond = np.where(beyond, np.inf, 0)
            if self.fit_intercept:
                Z = np.column_stack([Z, np.ones(Z.shape[0])])
            yield rows, Z, np.broadcast_to(beyond, Z.shape[0])

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


def _rounding(n_rows, center):
    """Length of a centred constant column: nothing but rounding errors."""
    return 10 * _EPS * np.sqrt(n_rows) * np.abs(center)
