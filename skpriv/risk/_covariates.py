"""The cheap scores that fit a model, one table of them.

Each is computed without training another model, if the model under attack was trained
on the records. Higher always means more exposed.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from skpriv.leverage import GLSScorer
from skpriv.leverage._adapters import KINDS
from skpriv.leverage.linear._readers import READERS
from skpriv.neighbors import KNNShapleyScorer, WaKAScorer
from skpriv.utils._pipelines import parts_of, score_rows
from skpriv.utils._sklearn import safe_indexing
from skpriv.utils._training import fit_clone

# The covariate that estimates attack success itself.
THEORY = "attack_power"
# Cost of a search for neighbours, records squared times features, that takes seconds.
_MOST_OPERATIONS = 5e9
_LEVERAGES = (THEORY, "leverage", "self_influence")


class Audited(NamedTuple):
    """A model, and the records that it may expose.

    Attributes
    ----------
    model : estimator
        Not fitted.
    fitted : estimator
        Fitted on all records.
    X : {array-like, sparse matrix, DataFrame} of shape (n_records, n_features)
    y : ndarray of shape (n_records,)
    shadows : list of estimator or None
        Models fitted on halves of the records, if they were kept.
    membership : ndarray of shape (n_shadows, n_records), dtype bool
    n_jobs : int or None
    """

    model: object
    fitted: object
    X: object
    y: np.ndarray
    shadows: list
    membership: np.ndarray
    n_jobs: int


class Provider(NamedTuple):
    """Scores that one computation provides.

    Attributes
    ----------
    names : tuple of str
    applies : callable
        Takes the model at the end of a Pipeline, and tells whether it has these scores.
    compute : callable
        Takes an `Audited`. Returns one array of scores for each name, of shape
        (n_records,), or (2, n_records) if they come from the odd and from the even
        pairs of shadows.
    """

    names: tuple
    applies: Callable
    compute: Callable


def is_linear(model):
    """Tell whether a model is linear, with a smooth loss."""
    return type(model) in READERS


def is_network(model):
    """Tell whether a model is a neural network whose leverage can be computed."""
    return not is_linear(model) and any(kind.includes(model) for kind in KINDS)


def has_bootstrap(model):
    """Tell whether each part of a model was trained on a bootstrap sample."""
    return bool(getattr(model, "bootstrap", False)) and hasattr(model, "oob_score")


def _of_the_model(variant, audited):
    """Leverage, self-influence or attack power at the model itself."""
    scorer = GLSScorer(FrozenEstimator(audited.fitted), variant=variant)
    return [scorer.fit(audited.X, audited.y).scores_]


def _at_shadows(audited):
    """Self-influence of the records that a shadow was not trained on, at that shadow.

    A network that fits its training records closely has little curvature left there.
    Each half of the shadows is represented by its first pair, as that takes time.
    """
    if audited.shadows is None:
        return _of_the_model("self_influence", audited)
    halves = np.full((2, len(audited.y)), np.nan)
    for shadow in range(4):
        members = audited.membership[shadow]
        inside, outside = np.flatnonzero(members), np.flatnonzero(~members)
        frozen = FrozenEstimator(audited.shadows[shadow])
        scorer = GLSScorer(frozen, variant="self_influence")
        scorer.fit(safe_indexing(audited.X, inside), audited.y[inside])
        # What the even pairs measure is predicted from the odd ones.
        halves[1 - shadow // 2, outside] = scorer.score_samples(
            safe_indexing(audited.X, outside), audited.y[outside]
        )
    return [halves]


def _out_of_bag(audited):
    """How badly the parts of an ensemble predict records outside of their sample."""
    transformers, ensemble, _ = parts_of(audited.fitted)
    rows = audited.X
    for transformer in transformers:
        rows = transformer.transform(rows)
    rows = check_array(rows, accept_sparse="csr", dtype=None, ensure_all_finite=False)
    n_records = rows.shape[0]
    total, times = np.zeros(n_records), np.zeros(n_records)
    columns = getattr(ensemble, "estimators_features_", None)
    for i, (part, sample) in enumerate(
        zip(ensemble.estimators_, ensemble.estimators_samples_, strict=True)
    ):
        outside = np.ones(n_records, dtype=bool)
        outside[sample] = False
        outside = np.flatnonzero(outside)
        seen = rows[outside] if columns is None else rows[outside][:, columns[i]]
        total[outside] += _error_of(part, seen, audited.y[outside], ensemble)
        times[outside] += 1
    mean = np.where(times, total / np.maximum(times, 1), np.nan)
    return [np.abs(mean) if is_regressor(ensemble) else mean]


def _error_of(part, rows, y, ensemble):
    """Signed error of a prediction, or minus the probability of the label."""
    if is_regressor(ensemble):
        return part.predict(rows) - y
    codes = np.searchsorted(ensemble.classes_, y)
    probabilities = part.predict_proba(rows)
    error = np.zeros(len(y))
    for column, code in enumerate(np.asarray(part.classes_, dtype=int)):
        error[codes == code] = -probabilities[codes == code, column]
    return error


def _neighbors(audited):
    """k-NN Shapley value and WaKA of each record."""
    rows = audited.X
    for transformer in parts_of(audited.fitted).transformers:
        rows = transformer.transform(rows)
    rows = check_array(rows, accept_sparse="csr", dtype=np.float64)
    n_records, n_features = rows.shape
    width = rows.nnz / n_records if sp.issparse(rows) else n_features
    if n_records**2 * width > _MOST_OPERATIONS:
        raise ValueError("There are too many records for an exact search.")
    task = "regression" if is_regressor(audited.model) else "classification"
    shapley = KNNShapleyScorer(task=task, n_jobs=audited.n_jobs)
    if task == "regression":
        return [shapley.fit(rows, audited.y).scores_]
    scorers = [shapley, *(WaKAScorer(k, n_jobs=audited.n_jobs) for k in (5, 1))]
    return [scorer.fit(rows, audited.y).scores_ for scorer in scorers]


PROVIDERS = (
    *(Provider((v,), is_linear, partial(_of_the_model, v)) for v in _LEVERAGES),
    Provider(("self_influence",), is_network, _at_shadows),
    Provider(("out_of_bag",), has_bootstrap, _out_of_bag),
    Provider(("shapley", "waka_5", "waka_1"), lambda model: True, _neighbors),
)


def automatic_covariates(audited):
    """Compute the scores that fit a model.

    Parameters
    ----------
    audited : Audited

    Returns
    -------
    covariates : dict of str to ndarray
    omitted : dict of str to str
        Why the others could not be computed.
    """
    model, found, omitted = parts_of(audited.model).model, {}, {}
    for provider in PROVIDERS:
        if provider.applies(model):
            with warnings.catch_warnings():
                # Scores that are missing are covariates that are missing.
                warnings.simplefilter("ignore")
                try:
                    scores = provider.compute(audited)
                except (TypeError, ValueError, ImportError) as error:
                    omitted.update(dict.fromkeys(provider.names, str(error)))
                    continue
            found.update(zip(provider.names, scores, strict=False))
    return found, omitted


def given_covariates(scorers, audited):
    """Compute the scores that a user has chosen.

    Parameters
    ----------
    scorers : dict of str to {scorer, array-like of shape (n_records,)}
        A scorer that is not fitted is fitted on the records. ``"auto"`` as a value
        stands for all that fit the model.
    audited : Audited

    Returns
    -------
    covariates : dict of str to ndarray
    omitted : dict of str to str
        Those that fit the model but could not be computed, and why.
    """
    found, omitted = {}, {}
    for name, scorer in scorers.items():
        if isinstance(scorer, str) and scorer == "auto":
            automatic, omitted = automatic_covariates(audited)
            found.update(automatic)
        elif hasattr(scorer, "fit"):
            found[name] = _scores_of(scorer, audited)
        else:
            found[name] = scorer
    return check_covariates(found, len(audited.y), "scorers"), omitted


def _scores_of(scorer, audited):
    try:
        check_is_fitted(scorer)
    except NotFittedError:
        scorer = fit_clone(scorer, audited.X, audited.y)
    return score_rows(scorer, audited.X, audited.y)


def check_covariates(covariates, n_records, parameter):
    """Check that each covariate has one number per record, which may be NaN.

    Parameters
    ----------
    covariates : dict or DataFrame or None
    n_records : int
    parameter : str
        Where they were given, for messages.

    Returns
    -------
    covariates : dict of str to ndarray of shape (n_records,) or (2, n_records)
    """
    checked = {}
    for name in covariates if covariates is not None else ():
        place = f"{parameter}[{name!r}]"
        values = np.asarray(covariates[name])
        if values.dtype.kind not in "biufO":
            raise ValueError(f"{place} must hold numbers; got {values.dtype}.")
        values = check_array(
            values,
            ensure_2d=False,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            input_name=place,
        )
        if values.shape not in ((n_records,), (2, n_records)):
            raise ValueError(
                f"{place} must have shape ({n_records},), one score per record; got "
                f"{values.shape}."
            )
        if name == THEORY and ((values < 0.5) | (values > 1)).any():
            raise ValueError(
                f"{place} must be between 0.5 and 1, as it is taken for the success of "
                f"an attack; got {np.nanmin(values):.3g} to {np.nanmax(values):.3g}. "
                "Give another name to a score that only ranks the records."
            )
        checked[name] = values
    return checked
