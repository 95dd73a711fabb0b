"""Which model an estimator is, and the one that computes its sensitivities."""

from importlib import import_module

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import HuberRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from skpriv.leverage._network._detect import is_network
from skpriv.leverage._options import check_linear_options
from skpriv.leverage._softmax import SoftmaxModel
from skpriv.leverage.linear._huber import HuberModel
from skpriv.leverage.linear._readers import READERS, SMOOTH_LOSSES, SUPPORTED
from skpriv.leverage.linear._separable import SeparableModel
from skpriv.utils._optional import import_optional
from skpriv.utils._sklearn import set_random_states
from skpriv.utils._training import seeded_torch


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


def check_supported(model, options):
    """Raise unless a model, and what was asked of it, is supported.

    Parameters
    ----------
    model : estimator
    options : NetworkOptions

    Raises
    ------
    TypeError
        If the model is none of those supported, which the message names.
    ValueError
        If `options` do not apply to it.
    """
    if is_network(model):
        _networks("_reading").check_network(model)
        _networks("_reading").warn_of_held_out(model)
        return
    kind = type(model)
    if kind not in READERS and kind is not HuberRegressor:
        raise TypeError(
            f"estimator ends in {model!r}, whose leverage is not known. Supported are "
            f"{', '.join(SUPPORTED)}, skorch's and scikit-learn's neural networks, a "
            "Pipeline that ends in one of them, and either of these in a "
            "FrozenEstimator."
        )
    if kind in SMOOTH_LOSSES and model.loss not in SMOOTH_LOSSES[kind]:
        raise TypeError(
            f"estimator is a {kind.__name__} with loss={model.loss!r}, which has no "
            f"smooth curvature; the loss must be one of {SMOOTH_LOSSES[kind]}."
        )
    check_linear_options(options, model)


def _networks(module):
    """Import a module that knows networks, or name the extra that it needs."""
    for package in ("torch", "skorch"):
        import_optional(package, extra="torch")
    return import_module(f"skpriv.leverage._network.{module}")


def read_labels(estimator, y):
    """Learn how a network is told its labels; None for other models.

    Parameters
    ----------
    estimator : estimator
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)

    Returns
    -------
    labels : object or None
        ``labels.for_fit(y)`` are the labels in the form that ``fit`` takes.
    """
    model = unwrap(estimator)[1]
    if not is_network(model):
        return None
    return _networks("_targets").read_targets(model, y, frozen=not refits(estimator))


def rows_for_fit(estimator, X):
    """Return rows as the estimator's ``fit`` takes them.

    Parameters
    ----------
    estimator : estimator
    X : array-like, sparse matrix or DataFrame

    Returns
    -------
    X : array-like, sparse matrix or DataFrame
        For a network with nothing before it, an array of the type it computes in.
    """
    transformers, model = unwrap(estimator)
    if is_network(model) and not transformers:
        return _networks("_reading").rows_for(model, X)
    return X


def rows_of(estimator, X, scorer):
    """Return rows as a fitted estimator's model sees them, as an array.

    Parameters
    ----------
    estimator : estimator
    X : array-like, sparse matrix or DataFrame
    scorer : estimator
        Named if a row is refused.

    Returns
    -------
    rows : {ndarray, sparse matrix} of shape (n_rows, ...)
    """
    transformers, model = unwrap(estimator)
    for transformer in transformers:
        X = transformer.transform(X)
    if is_network(model):
        return _networks("_reading").rows_for(model, X)
    return check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], estimator=scorer
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
            "variant='attack_power' needs a classifier that fits the probabilities of "
            "all classes in one loss (LogisticRegression, or SGDClassifier with "
            f"loss='log_loss' and two classes), but estimator ends in {model!r}."
        )
    if sp.issparse(X):
        X = X.tocsr()
    if objective is None:
        return HuberModel(model, X, y, sample_weight)
    family = SoftmaxModel if objective.family is None else SeparableModel
    return family(objective, X, y, sample_weight, variance=variance)


def explain_network(
    model, labels, X, y, sample_weight, options, random_state, *, variance=False
):
    """Do as `explain` does for a network.

    Parameters
    ----------
    model : estimator
        Fitted on these rows.
    labels : object
        As of `read_labels`.
    X : ndarray of shape (n_rows, ...)
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
    sample_weight : ndarray of shape (n_rows,)
    options : NetworkOptions
    random_state : numpy.random.RandomState
    variance : bool, default=False

    Returns
    -------
    explained : NetworkModel
    """
    return _networks("_model").NetworkModel(
        model, labels, X, y, sample_weight, options, random_state, variance=variance
    )


def fit_model(estimator, X, y, sample_weight, seed=None):
    """Fit a clone of an estimator, in which what is frozen stays as it is.

    Parameters
    ----------
    estimator : estimator
    X, y : array-like
    sample_weight : ndarray of shape (n_rows,) or None
        Handed to the model, at the end of a Pipeline too.
    seed : int, default=None
        Of all its random states, and torch's. None leaves them as they are.

    Returns
    -------
    fitted : estimator
    """
    estimator = clone(estimator)
    if seed is not None:
        set_random_states(estimator, np.random.RandomState(seed))
        with seeded_torch(seed):
            return fit_model(estimator, X, y, sample_weight)
    model = unwrap(estimator)[1]
    if is_network(model) and not _networks("_reading").is_perceptron(model):
        with _networks("_fitting").helped(model, sample_weight):
            return estimator.fit(X, y)
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
