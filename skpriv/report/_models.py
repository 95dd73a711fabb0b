"""The models that an audit is about, the scores that it gives for each, and the fit."""

import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgWarning
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier

from skpriv.attacks import LiRAAttack
from skpriv.base import RecordScorerMixin
from skpriv.report._attack import (
    check_attackable,
    make_attack_on_model,
    make_attack_on_neighbors,
)
from skpriv.report._scorers import (
    ATTACK_POWER,
    LEAVE_ONE_OUT,
    LEVERAGE,
    SHAPLEY,
    SHAPLEY_OF_QUANTITIES,
    WAKA,
    AuditScorer,
)

# Newton's method ends at the optimum to the last digits, and factorises a matrix with
# as many rows as there are weights, at each step.
_MOST_WEIGHTS_FOR_NEWTON = 2000


@dataclass(frozen=True)
class AuditModel:
    """A kind of model that can be audited.

    Attributes
    ----------
    title : str
        Its name, for people.
    make : callable or None
        Takes the numbers of features and of classes; returns an estimator, not
        fitted. None: the nearest neighbours, which the scores fit by themselves.
    scorers : dict of str to AuditScorer
        What is reported, by name. The first score ranks the records, the second those
        that are equal by the first, and so on.
    make_attack : callable or None, default=None
        Takes the audited model, fitted, and the numbers of neighbours and of shadow
        models; returns an attack, not fitted. None: the model is not attacked.
    """

    title: str
    make: Callable[[int, int], BaseEstimator] | None
    scorers: dict[str, AuditScorer]
    make_attack: Callable[[object, int, int], LiRAAttack] | None = None


def _make_logistic(n_features, n_classes):
    n_weights = (n_features + 1) * (n_classes if n_classes > 2 else 1)
    if n_weights > _MOST_WEIGHTS_FOR_NEWTON:
        return LogisticRegression(tol=1e-6, max_iter=1000)
    return LogisticRegression(solver="newton-cholesky", tol=1e-8, max_iter=1000)


def _make_ridge_classifier(n_features, n_classes):
    return RidgeClassifier()


def _make_ridge(n_features, n_classes):
    return Ridge()


_OF_NEIGHBORS = {
    "waka": WAKA,
    "knn_shapley": SHAPLEY,
    "knn_leave_one_out": LEAVE_ONE_OUT,
}

# By the name of the option, then by the task. A task's default is the first that has
# it.
MODELS = {
    "logistic": {
        "classification": AuditModel(
            "logistic regression, C = 1",
            _make_logistic,
            {"leverage": LEVERAGE, "attack_power": ATTACK_POWER, **_OF_NEIGHBORS},
            make_attack_on_model,
        )
    },
    "ridge": {
        "classification": AuditModel(
            "ridge classifier, alpha = 1",
            _make_ridge_classifier,
            {"leverage": LEVERAGE, **_OF_NEIGHBORS},
        ),
        "regression": AuditModel(
            "ridge regression, alpha = 1",
            _make_ridge,
            {"leverage": LEVERAGE, "knn_shapley": SHAPLEY_OF_QUANTITIES},
        ),
    },
    "knn": {
        "classification": AuditModel(
            "k-nearest neighbours", None, _OF_NEIGHBORS, make_attack_on_neighbors
        ),
    },
}


@dataclass(frozen=True)
class Audit:
    """A model and the scores of its training records, all fitted.

    Attributes
    ----------
    model : AuditModel
    estimator : estimator or None
        The audited model, fitted on all records; None for the nearest neighbours.
    scorers : dict of str to fitted scorer
        In the order of `model.scorers`, without those that take too long.
    n_neighbors : int
        The k of the neighbour scores.
    attack : fitted LiRAAttack or None, default=None
        The attack on the audited model, if one was asked for.
    """

    model: AuditModel
    estimator: BaseEstimator | None
    scorers: dict[str, RecordScorerMixin]
    n_neighbors: int
    attack: LiRAAttack | None = None


def choose_model(name, task):
    """Return the kind of model that an option names, for a task.

    Parameters
    ----------
    name : str or None
        A key of `MODELS`; None: the default for the task.
    task : {"classification", "regression"}

    Returns
    -------
    model : AuditModel or None
        None if the model is not for the task.
    """
    if name is None:
        name = next(name for name, by_task in MODELS.items() if task in by_task)
    return MODELS[name].get(task)


def fit_audit(model, encoded, n_neighbors, n_shadows=None):
    """Fit a model, once, score its training records, and attack it.

    Parameters
    ----------
    model : AuditModel
        For the task of the table.
    encoded : EncodedTable
    n_neighbors : int
        The k of the neighbour scores.
    n_shadows : int or None, default=None
        How many shadow models attack it; even, and at least 6. None: no attack, as
        there must be none where the model's ``make_attack`` is None.

    Returns
    -------
    audit : Audit
        Scores that cannot be trusted are NaN.

    Raises
    ------
    TableError
        If there are too few records to attack.
    """
    if n_shadows is not None:
        check_attackable(encoded, n_neighbors if model.make is None else 1)
    X, y = encoded.X, labels_for_models(encoded)
    n_records = len(y)
    estimator, scorers, attack = None, {}, None
    with quiet_about_convergence():
        if model.make is not None:
            n_classes = len(encoded.classes or ())
            estimator = model.make(X.shape[1], n_classes).fit(X, y)
        for name, spec in model.scorers.items():
            if spec.most_records is None or n_records <= spec.most_records:
                scorer = spec.make(estimator, n_neighbors, n_records)
                scorers[name] = scorer.fit(X, y)
        if n_shadows is not None:
            attack = model.make_attack(estimator, n_neighbors, n_shadows).fit(X, y)
    return Audit(model, estimator, scorers, n_neighbors, attack)


def labels_for_models(encoded):
    """Return the labels as models are fitted on them.

    Parameters
    ----------
    encoded : EncodedTable

    Returns
    -------
    y : ndarray of shape (n_records,)
        Classes as they are; a quantity with zero mean and unit variance.
    """
    if encoded.classes is not None:
        return encoded.y
    # Divided twice, so that no square overflows or vanishes.
    deviations = encoded.y - encoded.y.mean()
    deviations /= np.abs(deviations).max()
    return deviations / deviations.std()


@contextmanager
def quiet_about_convergence():
    """Silence what models say of not converging: the report says it by record."""
    with warnings.catch_warnings():
        for category in (ConvergenceWarning, LinAlgWarning):
            warnings.simplefilter("ignore", category)
        yield
