"""Shadow models: one object that trains them, and reports each one as it finishes."""

from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from skpriv.utils._sklearn import safe_indexing
from skpriv.utils._training import check_untrained, fit_clone


class Records(NamedTuple):
    """Rows and their labels.

    Attributes
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_records, n_features)
    codes : ndarray of shape (n_records,)
        Labels, as indices into the classes; for a regressor, the labels themselves.
    """

    X: object
    codes: np.ndarray


class Design(NamedTuple):
    """Which shadows there are.

    Attributes
    ----------
    membership : ndarray of shape (n_shadows, n_records), dtype bool
        Which records each shadow is trained on.
    seeds : list of int
        The seed of each shadow.
    """

    membership: np.ndarray
    seeds: list


class FinishedShadow(NamedTuple):
    """Results of one shadow.

    Attributes
    ----------
    number : int
        Its row in the design.
    signals, saturated : ndarray of shape (n_records,)
        As returned by `Queries.ask`.
    model : estimator or None
        None if models are not kept.
    """

    number: int
    signals: np.ndarray
    saturated: np.ndarray
    model: object = None


class Shadows:
    """Shadow models that are trained one by one, or in parallel.

    Parameters
    ----------
    estimator : classifier or regressor
        Copies of it are the shadows.
    records : Records
    design : Design
    queries : Queries
    n_jobs : int, default=None
        Number of shadows to train at a time.
    keep_models : bool, default=False
    """

    def __init__(
        self, estimator, records, design, queries, *, n_jobs=None, keep_models=False
    ):
        self.estimator = estimator
        self.records = records
        self.design = design
        self.queries = queries
        self.n_jobs = n_jobs
        self.keep_models = keep_models

    def signals(self, which):
        """Train shadows, and yield each as it finishes.

        Parameters
        ----------
        which : iterable of int
            Their numbers, consumed as workers become free.

        Yields
        ------
        shadow : FinishedShadow
            In any order.
        """
        check_untrained(self.estimator)
        # Otherwise, what a fitted estimator has learnt would be sent to the workers
        # with every shadow.
        estimator = clone(self.estimator)
        membership, seeds = self.design
        parallel = Parallel(n_jobs=self.n_jobs, return_as=_return_as(self.n_jobs))
        # X is an argument of its own so that joblib sends it to each worker once.
        yield from parallel(
            delayed(train_shadow)(
                estimator,
                *self.records,
                self.queries,
                Assignment(shadow, membership[shadow], seeds[shadow], self.keep_models),
            )
            for shadow in which
        )

    def target_signals(self, target):
        """Return the signals of the records at a fitted model.

        Parameters
        ----------
        target : classifier or regressor

        Returns
        -------
        signals : ndarray of shape (n_records,)
        """
        return self.queries.ask(target, self.records)[0]

    def signals_of_all(self, model):
        """Return the signals of the records at the estimator trained on all of them.

        Parameters
        ----------
        model : classifier or regressor
            That fitted estimator.

        Returns
        -------
        signals : ndarray of shape (n_records,)
        """
        return self.target_signals(model)


class Assignment(NamedTuple):
    """One shadow to be trained by a worker."""

    number: int
    members: np.ndarray
    seed: int
    keep_model: bool


def train_shadow(estimator, X, codes, queries, assignment):
    """Train one shadow, and query it about all records.

    Parameters
    ----------
    estimator : classifier or regressor
    X, codes
        The fields of `Records`.
    queries : Queries
    assignment : Assignment

    Returns
    -------
    shadow : FinishedShadow
    """
    rows = np.flatnonzero(assignment.members)
    model = fit_clone(
        estimator,
        safe_indexing(X, rows),
        queries.task.labels(codes[rows]),
        seed=assignment.seed,
    )
    results = queries.ask(model, Records(X, codes))
    kept = model if assignment.keep_model else None
    return FinishedShadow(assignment.number, *results, kept)


def _return_as(n_jobs):
    """Results as they come if the backend supports it, otherwise all at the end."""
    backend = Parallel(n_jobs=n_jobs)._backend
    return "generator_unordered" if backend.supports_return_generator else "list"
