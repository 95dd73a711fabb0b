"""Queries: what each model is asked about a record, and the signals that result."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from skpriv.attacks._shadows._signals import compare_methods
from skpriv.attacks._shadows._tasks import Classification, Regression
from skpriv.utils._training import seeded_torch

_SHIFTS = 2


@dataclass(frozen=True)
class Queries:
    """The queries that all models of an attack are asked.

    Attributes
    ----------
    task : Classification or Regression
        What is observed at a model.
    kind, smoothing
        As in `model_signals`.
    augmentations : callable, float or None
        See :class:`~skpriv.LiRAAttack`.
    seed : int
        Seed of the augmentations, the same for all models.
    method : str
        The ``response_method`` of the target, which all models must share.
    scale : ndarray of shape (n_features,) or None
        Standard deviations of the noise, from `noise_scale`.
    """

    task: Classification | Regression
    kind: str
    smoothing: object
    augmentations: object
    seed: int
    method: str
    scale: np.ndarray | None = None

    def check_method(self, model):
        """Raise if the signals of a model would come from another method."""
        compare_methods(self.method, self.task.response_method(model))

    def ask(self, model, records):
        """Return the signals of records at a model, averaged over their queries.

        Parameters
        ----------
        model : classifier or regressor
            Fitted.
        records : Records

        Returns
        -------
        signals : ndarray of shape (n_records,)
            Of the type of the task's signals.
        saturated : ndarray of shape (n_records,), dtype bool
            Whether the signal is saturated in any of the queries.
        """
        if hasattr(model, "classes_"):
            self.check_method(model)
        total, saturated, n_queries = 0.0, False, 0
        for rows in augmented(records.X, self.augmentations, self.seed, self.scale):
            # A network draws from torch's random state even to predict.
            with seeded_torch(self.seed):
                signals, at_bound = self.task.observe(
                    model, rows, records.codes, self.kind, self.smoothing
                )
            total, saturated = total + signals, saturated | at_bound
            n_queries += 1
        return self.task.store(total / n_queries), saturated


def augmented(X, augmentations, seed, scale=None):
    """Yield the queries of all records, one matrix at a time.

    Noise shifts all rows by the same amount, so that the signal of a row does not
    depend on the rows that it comes with. The attacks remain valid, because they
    compare models at the queries of one record. Each shift is followed by its
    opposite; otherwise the slope of a model would move all of its signals together,
    where independent noise would average out.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_records, n_features)
    augmentations : callable, float or None
    seed : int
    scale : ndarray of shape (n_features,), default=None
        Standard deviations of the noise, if `augmentations` is a number.

    Yields
    ------
    queries : same type and shape as `X`
    """
    if augmentations is None:
        yield X
    elif callable(augmentations):
        queries = augmentations(X, np.random.RandomState(seed))
        yield from _checked_queries(queries, X)
    else:
        rng = np.random.RandomState(seed)
        values = np.asarray(X, dtype=np.float64)
        yield X
        for shift in rng.normal(size=(_SHIFTS, X.shape[1])) * scale:
            yield _like(X, values + shift)
            yield _like(X, values - shift)


def noise_scale(X, augmentations):
    """Return the standard deviations of the noise added to queries.

    Parameters
    ----------
    X : {array-like, DataFrame} of shape (n_records, n_features)
        The records of ``fit``.
    augmentations : None, callable or float
        See :class:`~skpriv.LiRAAttack`.

    Returns
    -------
    scale : ndarray of shape (n_features,) or None
        None if `augmentations` is not a number.
    """
    if augmentations is None or callable(augmentations):
        return None
    return augmentations * np.std(np.asarray(X, dtype=np.float64), axis=0)


def _checked_queries(queries, X):
    """Yield the matrices that a callable returned, if they are matrices."""
    must = f"it must return matrices of the shape of X, {X.shape}"
    if not isinstance(queries, Iterable):
        raise ValueError(f"augmentations returned {queries!r}; {must}.")
    n_queries = 0
    for matrix in queries:
        if len(getattr(matrix, "shape", ())) != len(X.shape):
            raise ValueError(
                f"augmentations returned a {type(matrix).__name__} among its matrices; "
                f"{must}."
            )
        if matrix.shape[0] != X.shape[0]:
            raise ValueError(
                f"augmentations returned a matrix of {matrix.shape[0]} rows; it must "
                f"have one row for each of the {X.shape[0]} records."
            )
        yield matrix
        n_queries += 1
    if n_queries == 0:
        raise ValueError(f"augmentations returned no matrix; {must}.")


def _like(X, values):
    """Return values in the form of `X`: an array, or a frame of the same columns."""
    if not hasattr(X, "columns"):
        return values.astype(X.dtype, copy=False) if X.dtype.kind == "f" else values
    if hasattr(X, "iloc"):
        frame = type(X)(values, columns=X.columns, index=X.index)
        floats = X.dtypes[[np.dtype("float32") == dtype for dtype in X.dtypes]]
        return frame.astype(floats.to_dict())
    if hasattr(X, "with_columns"):
        return type(X)(values, schema=list(X.columns), orient="row")
    raise ValueError(
        "X must be an array or a DataFrame of pandas or polars if augmentations is a "
        f"number; got a {type(X).__name__}."
    )
