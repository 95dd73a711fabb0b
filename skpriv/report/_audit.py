"""Fit a model, score its training records, and attack it: all that a report needs."""

import warnings
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgWarning
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils.validation import check_is_fitted

from skpriv.attacks import LiRAAttack
from skpriv.base import RecordScorerMixin
from skpriv.datasets import TableError
from skpriv.report._kinds import KINDS
from skpriv.report._prediction import (
    LeftOutPredictions,
    is_neighbors,
    predict_left_out,
)
from skpriv.report._scorers import SCORERS_OF_ANY_MODEL, AuditScorer
from skpriv.utils._pipelines import last_step
from skpriv.utils._text import count
from skpriv.utils._training import fit_clone


@dataclass(frozen=True)
class Audit:
    """A model, the scores of its training records, and an attack on it, all computed.

    Attributes
    ----------
    estimator : estimator
        The audited model, fitted.
    title : str
        Its name in the report.
    y : ndarray of shape (n_records,)
        The labels that it was fitted on.
    n_neighbors : int
        The k of the scores that are about nearest neighbours.
    specs : dict of str to AuditScorer
        The scores that were asked for.
    scorers : dict of str to scorer
        Fitted, in the order of `specs`, without those that take too long.
    scores : dict of str to ndarray of shape (n_records,)
        The scores of the training records. Those that cannot be trusted are NaN.
    predictions : LeftOutPredictions
        How the model predicts records that it was not fitted on.
    neighbors : LeftOutPredictions or None
        The same of the k-nearest-neighbour model that some scores are about; the same
        object if that is the audited model. None if there is no such score.
    attack : LiRAAttack or None
        Fitted. None if no attack was asked for.
    """

    estimator: BaseEstimator
    title: str
    y: np.ndarray
    n_neighbors: int
    specs: dict[str, AuditScorer]
    scorers: dict[str, RecordScorerMixin]
    scores: dict[str, np.ndarray]
    predictions: LeftOutPredictions
    neighbors: LeftOutPredictions | None
    attack: LiRAAttack | None

    @property
    def audits_neighbors(self):
        """Whether the audited model is the one that scores of neighbours are about."""
        return self.neighbors is self.predictions


def audit(
    estimator,
    X,
    y,
    *,
    scorers=None,
    n_neighbors=5,
    n_shadows=None,
    random_state=0,
    title=None,
):
    """Score the training records of a model, and attack it.

    Parameters
    ----------
    estimator : estimator
        A classifier or regressor, or a Pipeline that ends in one. If it is fitted,
        it must have been fitted on `X` and `y`; else a copy is. In either case, more
        copies are fitted on parts of the records.
    X : array-like of shape (n_records, n_features)
        Numbers on a common scale.
    y : array-like of shape (n_records,)
        Classes, or a quantity.
    scorers : dict of str to AuditScorer, default=None
        The scores to compute, by name. None: those of the model's kind in `KINDS`, or
        else those that are about nearest neighbours.
    n_neighbors : int, default=5
        The k of the scores that are about nearest neighbours.
    n_shadows : int, default=None
        How many shadow models attack a classifier; even, and at least 6. None: no
        attack.
    random_state : int, default=0
        Seed of the fits and of the attack.
    title : str, default=None
        The name of the model in the report. None: the name of its class.

    Returns
    -------
    audit : Audit

    Raises
    ------
    TableError
        If there are too few records to attack.
    ValueError
        If the model cannot be fitted again, since it is frozen.
    """
    X, y = np.asarray(X), np.asarray(y)
    last = last_step(estimator)
    if isinstance(last, FrozenEstimator):
        raise ValueError(
            "estimator must not be a FrozenEstimator: an audit fits copies of it on "
            "parts of the records"
        )
    if n_shadows is not None and is_classifier(estimator):
        check_attackable(y, last.n_neighbors if is_neighbors(last) else 1)
    facts = {"n_neighbors": n_neighbors, "n_records": len(y)}
    attack = None
    with _quiet_about_convergence():
        model = _fitted(estimator, X, y, random_state)
        if scorers is None:
            scorers = _scorers_for(model, X, y, n_neighbors)
        fitted = {
            name: spec.build(model=model, **facts).fit(X, y)
            for name, spec in scorers.items()
            if spec.most_records is None or len(y) <= spec.most_records
        }
        scores = {name: scorer.scores_ for name, scorer in fitted.items()}
        predictions = predict_left_out(model, X, y, random_state)
        neighbors = None
        if any(scorers[name].about == "neighbors" for name in fitted):
            neighbors = _predict_by_neighbors(model, predictions, X, y, n_neighbors)
        if n_shadows is not None:
            # Nearest neighbours are read off the attack's own search, which is faster
            # than asking the fitted ones.
            known = "estimator" if is_neighbors(model) else "target"
            attack = LiRAAttack(
                **{known: model}, n_shadows=n_shadows, random_state=random_state
            ).fit(X, y)
    return Audit(
        estimator=model,
        title=type(last).__name__ if title is None else title,
        y=y,
        n_neighbors=n_neighbors,
        specs=scorers,
        scorers=fitted,
        scores=scores,
        predictions=predictions,
        neighbors=neighbors,
        attack=attack,
    )


def audit_table(kind, table, *, n_neighbors=5, n_shadows=None):
    """Fit a kind of model on a table, and audit it.

    Parameters
    ----------
    kind : Kind
        For the task of the table.
    table : EncodedTable
    n_neighbors : int, default=5
    n_shadows : int, default=None
        As in `audit`.

    Returns
    -------
    audit : Audit
    """
    X, y = table.X, table.y
    if table.classes is None:
        y = standardize(y)
    return audit(
        _build(kind, X, len(table.classes or ()), n_neighbors),
        X,
        y,
        scorers=kind.scorers,
        n_neighbors=n_neighbors,
        n_shadows=n_shadows,
        title=kind.title,
    )


def standardize(quantity):
    """Return a quantity with zero mean and unit variance.

    Parameters
    ----------
    quantity : ndarray of shape (n_records,)
        At least two different values.

    Returns
    -------
    standardized : ndarray of shape (n_records,)
    """
    # Divided twice, so that no square overflows or vanishes.
    deviations = quantity - quantity.mean()
    deviations /= np.abs(deviations).max()
    return deviations / deviations.std()


def check_attackable(y, n_members):
    """Raise if half of the records are too few to train a shadow model on.

    Parameters
    ----------
    y : ndarray of shape (n_records,)
        Classes.
    n_members : int
        How many records a shadow model needs.

    Raises
    ------
    TableError
    """
    counts = np.unique(y, return_counts=True)[1]
    if (counts > 1).sum() < 2:
        raise TableError(
            "the label must have at least two classes of 2 records or more for an "
            "attack, which trains models on halves of the records: there must be two "
            "classes in each half"
        )
    if len(y) // 2 < n_members:
        raise TableError(
            f"{count(len(y), 'record')} {'is' if len(y) == 1 else 'are'} too few to "
            f"attack {n_members} nearest neighbours: "
            f"there must be at least {2 * n_members}, so that each half of the records "
            f"holds {n_members}"
        )


def _fitted(estimator, X, y, seed):
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return fit_clone(estimator, X, y, seed=seed)
    return estimator


def _build(kind, X, n_classes, n_neighbors):
    # A linear model has as many weights for a quantity as for two classes.
    n_weights = (X.shape[1] + 1) * (n_classes if n_classes > 2 else 1)
    return kind.build(n_neighbors=n_neighbors, n_weights=n_weights)


def _scorers_for(model, X, y, n_neighbors):
    task, n_classes = "regression", 0
    if is_classifier(model):
        task, n_classes = "classification", len(np.unique(y))
    for kind in KINDS:
        if kind.task == task:
            example = _build(kind, X, n_classes, n_neighbors)
            if type(example) is type(last_step(model)):
                return kind.scorers
    return SCORERS_OF_ANY_MODEL[task]


def _predict_by_neighbors(model, predictions, X, y, n_neighbors):
    by_task = KNeighborsClassifier if is_classifier(model) else KNeighborsRegressor
    neighbors = by_task(n_neighbors)
    if type(model) is by_task and model.get_params() == neighbors.get_params():
        return predictions
    return predict_left_out(neighbors, X, y)


@contextmanager
def _quiet_about_convergence():
    """Silence convergence warnings, because the report counts these records."""
    with warnings.catch_warnings():
        for category in (ConvergenceWarning, LinAlgWarning):
            warnings.simplefilter("ignore", category)
        yield
