"""Rows of any kind as numbers, to tell which row is which record."""

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import OrdinalEncoder


def as_rows(X):
    """Return `X` in a form whose rows can be picked.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

    Returns
    -------
    X : {ndarray, CSR matrix, DataFrame} of shape (n_samples, n_features)
    """
    if sp.issparse(X):
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


class RowEncoder:
    """Turn rows into numbers that are equal just where the rows are.

    Attacks pass `X` to the model as it is, DataFrames and text columns included.
    Only to recognise a record are columns that hold no numbers encoded.
    """

    def fit(self, X):
        """Learn the values of the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_records, n_features)

        Returns
        -------
        self : RowEncoder
        """
        columns = None if sp.issparse(X) else _as_columns(X)
        self._encoders = None
        if columns is not None:
            self._encoders = [_encoder(column) for column in columns]
        return self

    def transform(self, X):
        """Encode rows; a value that no record has becomes -1.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)

        Returns
        -------
        rows : {ndarray, CSR matrix} of shape (n_rows, n_features)
        """
        if sp.issparse(X):
            return sp.csr_array(X)
        if self._encoders is None:
            array = np.asarray(X)
            return array if array.dtype == np.float32 else array.astype(np.float64)
        return np.column_stack(
            [
                column.astype(np.float64)
                if encoder is None
                else encoder.transform(column.reshape(-1, 1)).ravel()
                for column, encoder in zip(_as_columns(X), self._encoders, strict=True)
            ]
        )


def _as_columns(X):
    """Columns as arrays; None if all of `X` is numbers."""
    if not hasattr(X, "columns"):
        array = np.asarray(X)
        return None if array.dtype.kind in "biuf" else list(array.T)
    return [np.asarray(X[name]) for name in X.columns]


def _encoder(column):
    if column.dtype.kind in "biuf":
        return None
    try:
        column.astype(np.float64)
    except (TypeError, ValueError):
        encoder = OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=-1,
            encoded_missing_value=-2,
        )
        return encoder.fit(column.reshape(-1, 1).astype(object))
    return None
