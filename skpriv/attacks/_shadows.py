"""Shadow models: which records each is trained on, and their training."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from skpriv.attacks._signals import (
    compare_methods,
    model_signals,
    response_method,
    within_float32,
)
from skpriv.utils._sklearn import safe_indexing
from skpriv.utils._training import check_untrained, fit_clone, seeded_torch

_SHIFTS = 2


def complementary_halves(y, n_pairs, random_state=None):
    """Draw halves of the records, each followed by its complement.

    Parameters
    ----------
    y : ndarray of shape (n_records,)
        Labels. Each half has half of the records of each label, give or take one,
        and half of all records, give or take one.
    n_pairs : int
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    membership : ndarray of shape (2 * n_pairs, n_records), dtype bool
        Each record is in just one half of each pair.
    """
    rng = check_random_state(random_state)
    codes = np.unique(y, return_inverse=True)[1]
    # The fewer bytes a code has, the faster it sorts.
    codes = codes.astype(np.min_scalar_type(codes.max()))
    membership = np.zeros((2 * n_pairs, y.size), dtype=bool)
    for pair in range(n_pairs):
        order = rng.permutation(y.size)
        order = order[np.argsort(codes[order], kind="stable")]
        # Every other record in the order of the labels: what is left over from an
        # odd label goes to the halves in turn.
        membership[2 * pair, order[rng.randint(2) :: 2]] = True
    membership[1::2] = ~membership[::2]
    return membership


@dataclass(frozen=True)
class Queries:
    """What the models are asked, and what their answers are turned into.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        All labels, sorted.
    kind, smoothing
        As of `model_signals`.
    augmentations : callable, float or None
        See :class:`~skpriv.LiRAAttack`.
    seed : int
        Seed of the augmentations, the same for all models.
    method : str or None
        The target's `response_method`, which all models must share. None: any.
    scale : ndarray of shape (n_features,) or None
        Standard deviations of the noise, from `noise_scale`.
    """

    classes: np.ndarray
    kind: str
    smoothing: object
    augmentations: object
    seed: int
    method: str | None = None
    scale: np.ndarray | None = None

    def ask(self, model, X, y):
        """Signals of records at a model, the mean over their queries.

        Parameters
        ----------
        model : classifier
        X : {array-like, sparse matrix, DataFrame} of shape (n_records, n_features)
        y : ndarray of shape (n_records,)
            Labels, as indices into `classes`.

        Returns
        -------
        signals : ndarray of shape (n_records,), dtype float32
        saturated : ndarray of shape (n_records,), dtype bool
            In any of the queries.
        """
        if self.method is not None and hasattr(model, "classes_"):
            compare_methods(self.method, response_method(model, self.classes))
        total, saturated, n_queries = 0.0, False, 0
        for rows in augmented(X, self.augmentations, self.seed, self.scale):
            # Even to predict, a network draws from the random state.
            with seeded_torch(self.seed):
                signals, at_bound = model_signals(
                    model,
                    rows,
                    y,
                    self.classes,
                    kind=self.kind,
                    smoothing=self.smoothing,
                )
            total, saturated = total + signals, saturated | at_bound
            n_queries += 1
        return within_float32(total / n_queries).astype(np.float32), saturated


def augmented(X, augmentations, seed, scale=None):
    """Yield the queries of each record, one matrix after the other.

    Noise shifts all rows alike, so that the signal of a row does not depend on the
    rows that it comes with. That costs no attack its validity, for it compares models
    at one record's queries, whatever those of the others are. Each shift comes with its
    opposite: else the slope of a model would move all of its signals together, where
    independent noise would average out.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_records, n_features)
    augmentations : callable, float or None
    seed : int
    scale : ndarray of shape (n_features,), default=None
        Standard deviations of the noise, where `augmentations` is a number.

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
    """Return the standard deviations of the noise of queries; None without noise.

    Parameters
    ----------
    X : {array-like, DataFrame} of shape (n_records, n_features)
        The records of ``fit``, which say what is much.
    augmentations : None, callable or float
        See :class:`~skpriv.LiRAAttack`.

    Returns
    -------
    scale : ndarray of shape (n_features,) or None
    """
    if augmentations is None or callable(augmentations):
        return None
    return augmentations * np.std(np.asarray(X, dtype=np.float64), axis=0)


def _checked_queries(queries, X):
    """Yield the matrices that a callable returned, which may be anything."""
    wanted = f"it wants matrices of the shape of X, {X.shape}"
    if not isinstance(queries, Iterable):
        raise ValueError(f"augmentations returned {queries!r}; {wanted}.")
    n_queries = 0
    for matrix in queries:
        if len(getattr(matrix, "shape", ())) != len(X.shape):
            raise ValueError(
                f"augmentations returned a {type(matrix).__name__} among its matrices; "
                f"{wanted}."
            )
        if matrix.shape[0] != X.shape[0]:
            raise ValueError(
                f"augmentations returned a matrix of {matrix.shape[0]} rows; it "
                f"wants one row for each of the {X.shape[0]} records."
            )
        yield matrix
        n_queries += 1
    if n_queries == 0:
        raise ValueError(f"augmentations returned no matrix; {wanted}.")


def _like(X, values):
    """Values as an array, or as a frame if `X` is one, of the same columns."""
    if not hasattr(X, "columns"):
        return values.astype(X.dtype, copy=False) if X.dtype.kind == "f" else values
    if hasattr(X, "iloc"):
        frame = type(X)(values, columns=X.columns, index=X.index)
        floats = X.dtypes[[np.dtype("float32") == dtype for dtype in X.dtypes]]
        return frame.astype(floats.to_dict())
    if hasattr(X, "with_columns"):
        return type(X)(values, schema=list(X.columns), orient="row")
    raise ValueError(
        "augmentations is a number, which wants X as an array or a frame of pandas or "
        f"polars; it is a {type(X).__name__}."
    )


def train_shadow(shadow, estimator, X, y, members, queries, seed, keep):
    """Train one shadow and ask it.

    Parameters
    ----------
    shadow : int
        Its number, passed through.
    estimator : classifier
    X : {array-like, sparse matrix, DataFrame} of shape (n_records, n_features)
    y : ndarray of shape (n_records,)
        Labels, as indices into the classes.
    members : ndarray of shape (n_records,), dtype bool
    queries : Queries
    seed : int
    keep : bool
        Return the model too.

    Returns
    -------
    shadow : int
    signals, saturated
        As of `Queries.ask`.
    model : classifier or None
    """
    rows = np.flatnonzero(members)
    labels = queries.classes[y[rows]]
    model = fit_clone(estimator, safe_indexing(X, rows), labels, seed=seed)
    return shadow, *queries.ask(model, X, y), model if keep else None


def train_shadows(
    shadows, estimator, X, y, membership, queries, seeds, *, n_jobs, keep
):
    """Train shadows in parallel, and yield each as it ends.

    Parameters
    ----------
    shadows : iterable of int
        Which ones; consumed as workers become free.
    estimator, X, y, queries, keep
        As of `train_shadow`.
    membership : ndarray of shape (n_shadows, n_records), dtype bool
    seeds : list of int
    n_jobs : int or None

    Yields
    ------
    shadow, signals, saturated, model
        As returned by `train_shadow`, in any order.
    """
    check_untrained(estimator)
    # What a target has learnt would travel to the workers with every shadow.
    estimator = clone(estimator)
    parallel = Parallel(n_jobs=n_jobs, return_as=_return_as(n_jobs))
    yield from parallel(
        delayed(train_shadow)(
            s, estimator, X, y, membership[s], queries, seeds[s], keep
        )
        for s in shadows
    )


def _return_as(n_jobs):
    """As results come where the backend can, else all at the end."""
    backend = Parallel(n_jobs=n_jobs)._backend
    return "generator_unordered" if backend.supports_return_generator else "list"
