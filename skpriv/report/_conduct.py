"""Measure all that a report needs. Nothing is put into words here."""

import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import LinAlgWarning
from sklearn.base import is_regressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from skpriv.evaluation import records_at_risk
from skpriv.report import _reasons
from skpriv.report._neighborhood import comparable_rows, look_around
from skpriv.report._performance import (
    Performance,
    accuracy,
    is_neighbors,
    n_folds,
    predict_left_out,
    r2,
)
from skpriv.report._progress import ShadowProgress, Silent
from skpriv.report._subject import Subject
from skpriv.risk import RiskEstimator
from skpriv.utils._pipelines import parts_of

_FEWEST_RECORDS = 10
_MOST_OPERATIONS_TO_PREDICT = 2e10


@dataclass(frozen=True)
class Settings:
    """How to audit.

    Attributes
    ----------
    n_shadows, fdr, cv, cache_dir, n_jobs, random_state, rank_by
        As in `audit`.
    X_test, y_test
        As in `audit`.
    n_neighbors : int
        How many neighbours a record is compared with.
    measures : {"auto"} or bool
        As in `audit`.
    progress : Silent
    """

    n_shadows: int = 16
    fdr: float = 0.05
    cv: Any = None
    cache_dir: Any = None
    n_jobs: int | None = None
    random_state: int | None = 0
    rank_by: str = "risk"
    X_test: Any = None
    y_test: Any = None
    n_neighbors: int = 5
    measures: str | bool = "auto"
    progress: Silent = field(default_factory=Silent)


@dataclass(frozen=True)
class Measured:
    """What an audit has measured.

    Attributes
    ----------
    subject : Subject
    settings : Settings
    given : estimator
        The model as it was given.
    model : estimator
        Fitted, or as it was given if nothing could be measured.
    given_fitted : bool
    risk : RiskEstimator or None
        Fitted; None if nothing can be said.
    unmeasurable : str or None
        Why nothing can be said.
    performance : Performance or None
    measured : ndarray of shape (n_records,), dtype bool
        Whether the risk of a record can be measured at all.
    at_risk : ndarray of shape (n_records,), dtype bool
    order : ndarray of shape (n_records,)
        The records, most exposed first.
    reasons : list of list of dict
    seconds : float
    warnings : list of str
    """

    subject: Subject
    settings: Settings
    given: Any
    model: Any
    given_fitted: bool
    risk: RiskEstimator | None
    unmeasurable: str | None
    performance: Performance | None
    measured: np.ndarray
    at_risk: np.ndarray
    order: np.ndarray
    reasons: list
    seconds: float
    warnings: list[str]


def conduct(model, subject, settings):
    """Estimate the risk of each record, and find out why it is exposed.

    Parameters
    ----------
    model : classifier or regressor
        Fitted on the records, or not fitted.
    subject : Subject
    settings : Settings

    Returns
    -------
    measured : Measured
    """
    start = time.monotonic()
    n_records = len(subject)
    given_fitted, nothing = is_fitted(model), np.zeros(n_records, dtype=bool)
    why_not = _why_not(model, subject)
    risk = performance = None
    alone = ~can_be_measured(model, subject.y)
    measured, at_risk = nothing, nothing
    fitted = model
    with _collected_warnings() as told:
        if why_not is None:
            risk = _estimate_risk(model, given_fitted, subject, settings)
            fitted = risk.attack_.target_
            measured = ~alone
            at_risk = nothing.copy()
            at_risk[records_at_risk(risk, fdr=settings.fdr).records] = True
            at_risk &= measured
            order = rank(risk, measured, at_risk, settings.rank_by)
            performance = _measure_performance(fitted, subject, settings)
        else:
            order = np.argsort(~alone, kind="stable")
        reasons = _find_reasons(fitted, subject, settings, risk, order)
    return Measured(
        subject=subject,
        settings=settings,
        given=model,
        model=fitted,
        given_fitted=given_fitted,
        risk=risk,
        unmeasurable=why_not,
        performance=performance,
        measured=measured,
        at_risk=at_risk,
        order=order,
        reasons=reasons,
        seconds=time.monotonic() - start,
        warnings=told,
    )


def is_fitted(model):
    """Tell whether a model is fitted.

    Parameters
    ----------
    model : estimator

    Returns
    -------
    is_fitted : bool
    """
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _why_not(model, subject):
    """Say why no risk can be estimated; None if it can."""
    n_records = len(subject)
    if n_records < _FEWEST_RECORDS:
        return (
            f"there are too few records: {n_records}, and at least {_FEWEST_RECORDS} "
            "are needed"
        )
    values, numbers = np.unique(subject.y, return_counts=True)
    if len(values) == 1:
        return "all records have the same label, so that there is nothing to learn"
    if not is_regressor(model) and (numbers > 1).sum() < 2:
        return (
            "fewer than two classes have 2 records or more, so that models of halves "
            "of the records would not know two classes"
        )
    last = parts_of(model).model
    if is_neighbors(last) and n_records // 2 < last.n_neighbors:
        return (
            f"half of the {n_records} records are fewer than the {last.n_neighbors} "
            "neighbours of the model"
        )
    return None


def _estimate_risk(model, given_fitted, subject, settings):
    risk = RiskEstimator(
        **{"target" if given_fitted else "estimator": model},
        n_shadows=settings.n_shadows,
        cache_dir=settings.cache_dir,
        n_jobs=settings.n_jobs,
        random_state=settings.random_state,
    )
    if type(settings.progress) is not Silent:
        risk.set_callbacks(ShadowProgress(settings.progress))
    with settings.progress.step("training shadow models", settings.n_shadows):
        return risk.fit(subject.X, subject.y)


def can_be_measured(model, y):
    """Tell which records leave others of their class when they are left out.

    Parameters
    ----------
    model : classifier or regressor
    y : ndarray of shape (n_records,)

    Returns
    -------
    measured : ndarray of shape (n_records,), dtype bool
    """
    if is_regressor(model):
        return np.ones(len(y), dtype=bool)
    _, codes, numbers = np.unique(y, return_inverse=True, return_counts=True)
    return numbers[codes] > 1


def rank(risk, measured, at_risk, by="risk"):
    """Put records in order, most exposed first.

    Parameters
    ----------
    risk : RiskEstimator
    measured, at_risk : ndarray of shape (n_records,), dtype bool
        Records whose risk cannot be measured come first and, if they are ranked by
        risk, then those at risk: a high estimate with a wide interval may be chance.
    by : str, default="risk"
        "risk", or one of the scores that it was estimated from. Those that are equal
        are ranked by the lower end of the interval of the risk.

    Returns
    -------
    order : ndarray of shape (n_records,)

    Raises
    ------
    ValueError
        If there is no such score.
    """
    low = risk.interval_[:, 0]
    if by == "risk":
        return np.lexsort((-low, -risk.scores_, ~at_risk, measured))
    known = risk.covariates_
    if by not in known:
        raise ValueError(
            f"rank_by must be 'risk' or one of {', '.join(map(repr, known))}; got "
            f"{by!r}."
        )
    scores = np.asarray(known[by])
    return np.lexsort((-low, np.where(np.isnan(scores), np.inf, -scores), measured))


def _measure_performance(fitted, subject, settings):
    X, y = subject.X, subject.y
    if settings.X_test is not None:
        with settings.progress.step("predicting the test data"):
            predicted = np.asarray(fitted.predict(settings.X_test)).reshape(-1)
        found = np.asarray(settings.y_test), predicted, None, True
    else:
        copies = fitted.estimator if isinstance(fitted, FrozenEstimator) else fitted
        total = n_folds(copies, settings.cv, X, y)
        with settings.progress.step("predicting records left out", total or None):
            predicted, folds = predict_left_out(
                copies,
                X,
                y,
                cv=settings.cv,
                seed=settings.random_state,
                advance=settings.progress.advance,
            )
        found = y, predicted, folds, False
    return Performance(*found, _training_performance(fitted, subject))


def _training_performance(fitted, subject):
    width = np.shape(subject.X)[1] if np.ndim(subject.X) > 1 else 1
    cost = len(subject) ** 2 * width
    if is_neighbors(parts_of(fitted).model) and cost > _MOST_OPERATIONS_TO_PREDICT:
        return None  # a search as long as the audit
    predicted = np.asarray(fitted.predict(subject.X)).reshape(-1)
    return measure_of(fitted)(subject.y, predicted)[0]


def measure_of(model):
    """Return the measure of a model's performance: `accuracy` or `r2`."""
    return r2 if is_regressor(model) else accuracy


def _find_reasons(fitted, subject, settings, risk, order):
    findings = []
    classes = not is_regressor(fitted)
    with settings.progress.step("looking for reasons"):
        if subject.columns:
            findings += _reasons.rare_values(subject.frame, subject.columns)
        findings += _reasons.rare_groups(subject.groups)
        if classes:
            findings += _reasons.rare_labels(subject.labels)
        if risk is not None:
            findings += _reasons_of_models(risk, classes)
            findings += _reasons_of_neighbors(fitted, subject, settings, order)
    return _reasons.gather(findings, len(subject))


def _reasons_of_models(risk, classes):
    scores = risk.covariates_
    findings = []
    if "leverage" in scores:
        findings += _reasons.unusual_mixes(np.asarray(scores["leverage"]))
    error = np.asarray(scores[f"out_of_shadow_{'confidence' if classes else 'error'}"])
    if not classes:
        findings += _reasons.doubted_quantities(error)
    elif risk.attack_.response_method_ != "predict":
        findings += _reasons.doubted_classes(
            risk.attack_.signals_, risk.attack_.membership_
        )
    return findings + _reasons.hard_to_predict(error)


def _reasons_of_neighbors(fitted, subject, settings, order):
    rows = comparable_rows(subject, fitted)
    if rows is None:
        return []
    classes = not is_regressor(fitted)
    labels = np.unique(subject.y, return_inverse=True)[1] if classes else subject.y
    near = look_around(rows, labels, order, n_neighbors=settings.n_neighbors)
    contradicted = (
        _reasons.contradicted_classes if classes else _reasons.contradicted_quantities
    )
    return [*contradicted(labels, near), *_reasons.unlike_all(near)]


@contextmanager
def _collected_warnings():
    """Collect warnings, each once, without those on convergence."""
    told = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in (ConvergenceWarning, LinAlgWarning):
            warnings.simplefilter("ignore", category)
        yield told
    for warning in caught:
        text = str(warning.message)
        if issubclass(warning.category, UserWarning) and text not in told:
            told.append(text)
