"""Which model an estimator is, and the one that computes its sensitivities."""

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import HuberRegressor
from sklearn.pipeline import Pipeline

from skpriv.leverage._estimators import READERS, SMOOTH_LOSSES, SUPPORTED
from skpriv.leverage._huber import HuberModel
from skpriv.leverage._linear import SeparableModel
from skpriv.leverage._softmax import SoftmaxModel


def unwrap(estimator):
    """Split an estimator into the transformers before it, and the model itself.

    Parameters
    ----------
    estimator : estimator
        A model, a Pipeline that ends in one, or either in a FrozenEstimator.

    Returns
    -------
    transformers : list of Pipeline
        To be applied in turn.
    model : estimator
    """
    transformers = []
    while isinstance(estimator, Pipeline | FrozenEstimator):
        if isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
            continue
        if len(estimator.steps) > 1:
            transformers.append(estimator[:-1])
        estimator = estimator.steps[-1][1]
    return transformers, estimator


def check_supported(model):
    """Raise a TypeError, which says what is supported, unless `model` is."""
    kind = type(model)
    if kind not in READERS and kind is not HuberRegressor:
        raise TypeError(
            f"estimator ends in {model!r}, whose leverage is not known in closed form. "
            f"Supported are {', '.join(SUPPORTED)}, a Pipeline that ends in one of "
            "them, and either of these in a FrozenEstimator."
        )
    if kind in SMOOTH_LOSSES and model.loss not in SMOOTH_LOSSES[kind]:
        raise TypeError(
            f"estimator is a {kind.__name__} with loss={model.loss!r}, which has no "
            f"smooth curvature; the loss must be one of {SMOOTH_LOSSES[kind]}."
        )


def explain(model, X, y, sample_weight, *, variance=False):
    """Compute the curvature of a fitted model: the place that picks its family.

    Parameters
    ----------
    model : estimator
        Fitted on these rows.
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
    sample_weight : ndarray of shape (n_rows,)
    variance : bool, default=False
        Whether the variance of each record's confidence will be asked for.

    Returns
    -------
    explained : object
        Its ``terms(X, y, sample_weight)`` are the `RecordTerms` of any rows.

    Raises
    ------
    ValueError
        If `y` has several labels a record for a classifier, or `variance` is asked of
        a model without probabilities from one loss.
    NegativeCurvatureError
        If the model is at no minimum.
    """
    if is_classifier(model) and y.ndim > 1:
        raise ValueError(
            f"y has shape {y.shape}, but a classifier's labels must be of shape "
            "(n_samples,); score each label of a multilabel problem by itself."
        )
    if isinstance(model, HuberRegressor):
        objective = None
    else:
        objective = READERS[type(model)](model, X, y, sample_weight)
    if variance and (objective is None or not objective.has_confidence):
        raise ValueError(
            "score='attack_power' needs a classifier that fits the probabilities of "
            "all classes in one loss (LogisticRegression, or SGDClassifier with "
            f"loss='log_loss' and two classes), but estimator ends in {model!r}."
        )
    if sp.issparse(X):
        X = X.tocsr()
    if objective is None:
        return HuberModel(model, X, y, sample_weight)
    family = SoftmaxModel if objective.family is None else SeparableModel
    return family(objective, X, y, sample_weight, variance=variance)


def fit_model(estimator, X, y, sample_weight):
    """Fit a clone of an estimator, in which what is frozen stays as it is.

    Parameters
    ----------
    estimator : estimator
    X, y : array-like
    sample_weight : ndarray of shape (n_rows,) or None
        Handed to the model, at the end of a Pipeline too.

    Returns
    -------
    fitted : estimator
    """
    estimator = clone(estimator)
    if sample_weight is None:
        return estimator.fit(X, y)
    path, step = [], estimator
    routed = get_config()["enable_metadata_routing"]
    while isinstance(step, Pipeline) and not routed:
        name, step = step.steps[-1]
        path.append(name)
    name = "__".join([*path, "sample_weight"])
    return estimator.fit(X, y, **{name: sample_weight})


def refits(estimator):
    """Tell whether fitting the estimator fits its model, which may be frozen."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return not isinstance(estimator, FrozenEstimator)


def check_known_classes(y, classes):
    """Raise a ValueError if a label is none of the classes of a model."""
    unknown = np.setdiff1d(y, classes)
    if unknown.size and y.ndim == 1:
        raise ValueError(
            f"y has labels {unknown[:5]} that the model was not fitted on; it knows "
            f"{classes[:5]}{' and more' if len(classes) > 5 else ''}."
        )
