"""Signals: how confidently a model predicts the right label of a record."""

import numpy as np
from scipy.special import logsumexp

from skpriv.utils._pipelines import parts_of

CLASS_SIGNALS = ("logit", "hinge", "loss")


def signals_from_logits(logits, y, kind="logit"):
    """Signal of each record from a model's logits, log-probabilities or margins.

    Let z be the logits of a record, and z_y that of its label. ``"logit"`` is
    z_y - log Σ exp(z_c) over the other classes c, which equals log p_y - log(1 - p_y)
    for a model with probabilities, but does not suffer from their rounding.
    ``"hinge"`` is z_y minus the largest other logit. ``"loss"`` is log p_y, minus the
    cross-entropy. All grow with the model's confidence in the label, so higher values
    are evidence of membership.

    Parameters
    ----------
    logits : ndarray of shape (n_samples, n_classes)
    y : ndarray of shape (n_samples,)
        Labels, as columns of `logits`.
    kind : {"logit", "hinge", "loss"}, default="logit"

    Returns
    -------
    signals : ndarray of shape (n_samples,)
    """
    rows = np.arange(y.size)
    logits = np.asarray(logits, dtype=np.float64)
    own = logits[rows, y]
    if kind == "loss":
        return own - logsumexp(logits, axis=1)
    others = logits.copy()
    others[rows, y] = -np.inf
    if kind == "hinge":
        return own - others.max(axis=1)
    return own - logsumexp(others, axis=1)


def smooth_probabilities(probabilities, n_votes, pseudo_votes):
    """Add a few votes to each class, so that no probability is 0 or 1.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
    n_votes : float
        Number of votes, of neighbours or trees, that a probability is a share of.
    pseudo_votes : float
        Votes added to each class.

    Returns
    -------
    probabilities : ndarray of shape (n_samples, n_classes)
    """
    n_classes = probabilities.shape[1]
    return (n_votes * probabilities + pseudo_votes) / (
        n_votes + n_classes * pseudo_votes
    )


def model_signals(model, X, y, classes, *, kind="logit", smoothing="auto"):
    """Signals of records at a fitted classifier.

    Parameters
    ----------
    model : classifier
        With ``decision_function``, ``predict_proba`` or ``predict``, in this order
        of preference, because a decision function does not saturate.
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Labels, as indices into `classes`.
    classes : ndarray of shape (n_classes,)
        All labels, sorted. The model may have seen only some of them.
    kind : {"logit", "hinge", "loss"}, default="logit"
    smoothing : "auto" or float, default="auto"
        Pseudo-votes of each class; see :class:`~skpriv.LiRAAttack`.

    Returns
    -------
    signals : ndarray of shape (n_samples,), dtype float64
        Finite. Decision values are clipped to the range of float32.
    saturated : ndarray of shape (n_samples,), dtype bool
        Where the model's probability of the label is exactly 0 or 1, including labels
        that it has not seen.

    Raises
    ------
    TypeError
        If the model is no classifier.
    ValueError
        If an output of the model is NaN or infinite.
    """
    if not hasattr(model, "classes_"):
        raise TypeError(
            f"{type(model).__name__} has no classes_ once fitted; estimator and target "
            "must be classifiers."
        )
    method = response_method(model, classes)
    response = np.asarray(getattr(model, method)(X))
    seen = np.searchsorted(classes, model.classes_)
    if method == "predict":
        correct = classes[y] == response
        return np.where(correct, 1.0, -1.0), np.zeros(y.size, dtype=bool)
    _check_finite(response, model, method)
    if method == "decision_function":
        logits = _logits_of_all(within_float32(response), seen, classes.size)
        signals = within_float32(signals_from_logits(logits, y, kind))
        return signals, ~np.isin(y, seen)
    probabilities = np.zeros((y.size, classes.size), dtype=response.dtype)
    probabilities[:, seen] = response
    n_votes, pseudo_votes = votes(model, smoothing, response.dtype)
    return signals_from_probabilities(probabilities, y, n_votes, pseudo_votes, kind)


def predictions(model, X):
    """Predictions of a fitted regressor of one output.

    Parameters
    ----------
    model : regressor
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

    Returns
    -------
    predictions : ndarray of shape (n_samples,), dtype float64

    Raises
    ------
    ValueError
        If the model has several outputs, or if one of its predictions is NaN or
        infinite.
    """
    response = np.asarray(model.predict(X), dtype=np.float64)
    if response.ndim > 1 and response.shape[1:] != (1,):
        raise ValueError(
            f"{type(model).__name__} predicts {response.shape[1]} outputs; estimator "
            "and target must predict one."
        )
    _check_finite(response, model, "predict")
    return response.reshape(-1)


def signals_from_probabilities(probabilities, y, n_votes, pseudo_votes, kind="logit"):
    """Signals of records from probabilities, which may be exactly 0 or 1.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
    y : ndarray of shape (n_samples,)
        Labels, as columns of `probabilities`.
    n_votes, pseudo_votes : float
        See `smooth_probabilities`.
    kind : {"logit", "hinge", "loss"}, default="logit"

    Returns
    -------
    signals : ndarray of shape (n_samples,), dtype float64
    saturated : ndarray of shape (n_samples,), dtype bool
    """
    own = probabilities[np.arange(y.size), y]
    saturated = (own <= 0) | (own >= 1)
    smooth = smooth_probabilities(
        probabilities.astype(np.float64), n_votes, pseudo_votes
    )
    return signals_from_logits(np.log(smooth), y, kind), saturated


def response_method(model, classes):
    """Return the name of the method that a model's signals are computed from.

    Parameters
    ----------
    model : classifier
    classes : ndarray of shape (n_classes,)
        All labels. A model that has seen fewer of them uses the same method.

    Returns
    -------
    name : {"decision_function", "predict_proba", "predict"}
    """
    # For two classes, one-vs-one has a single decision function: the usual one.
    one_vs_one = len(classes) > 2 and any(
        value == "ovo"
        for name, value in _parameters(model).items()
        if name.endswith("decision_function_shape")
    )
    if hasattr(model, "decision_function") and not one_vs_one:
        return "decision_function"
    return "predict_proba" if hasattr(model, "predict_proba") else "predict"


def compare_methods(target, estimator):
    """Check that signals of the target and of the shadows come from the same method.

    Parameters
    ----------
    target, estimator : str
        Names of the methods, as returned by `response_method`.

    Raises
    ------
    ValueError
        If they differ: the signals would be on different scales.
    """
    if target != estimator:
        raise ValueError(
            f"The signals of target come from {target}, and those of the shadows, "
            f"copies of estimator, from {estimator}; they cannot be compared. "
            "estimator must be of the same kind as target."
        )


def within_float32(values):
    """Clip values to the range of float32, the type that signals are stored in.

    Parameters
    ----------
    values : ndarray

    Returns
    -------
    clipped : ndarray, dtype float64
    """
    largest = float(np.finfo(np.float32).max)
    return np.clip(values.astype(np.float64), -largest, largest)


def votes(model, smoothing, dtype):
    """Return the number of votes of a model, and the pseudo-votes of each class.

    Parameters
    ----------
    model : classifier
    smoothing : "auto" or float
    dtype : dtype
        Type of the probabilities.

    Returns
    -------
    n_votes : float
        Number of neighbours or estimators that vote. 1 for a tree, and for a model
        that does not vote.
    pseudo_votes : float
        `smoothing`. For ``"auto"``, half a vote or, if the model does not vote, the
        rounding error of its probabilities.
    """
    n_votes = _count_votes(model)
    if smoothing != "auto":
        return n_votes or 1, smoothing
    if n_votes is None:
        kind = dtype if np.dtype(dtype).kind == "f" else np.float64
        return 1, float(np.finfo(kind).eps)
    return n_votes, 0.5


def _check_finite(response, model, method):
    bad = ~np.isfinite(response.reshape(len(response), -1)).all(axis=1)
    if bad.any():
        raise ValueError(
            f"{method} of {type(model).__name__} is NaN or infinite for {bad.sum()} of "
            f"{bad.size} records; an attack needs finite outputs."
        )


def _count_votes(model):
    model = _final_model(model)
    if hasattr(model, "predict_proba") and hasattr(model, "n_neighbors"):
        return model.n_neighbors
    if hasattr(model, "tree_"):
        return 1
    # Other ensembles (boosting, calibration) do not average 0/1 votes.
    if hasattr(model, "estimators_") and hasattr(model, "bootstrap"):
        return len(model.estimators_)
    return None


def _final_model(model):
    """Return the model that decides, inside pipelines, searches and wrappers."""
    while True:
        model = parts_of(model).model
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "estimator") and not hasattr(model, "estimators_"):
            inner = getattr(model, "estimator_", model.estimator)
            if inner is None or not hasattr(inner, "classes_"):
                return model
            model = inner
        else:
            return model


def _parameters(model):
    return model.get_params() if hasattr(model, "get_params") else {}


def _logits_of_all(response, seen, n_classes):
    """Logits of all classes, one column per class.

    A class that the model has not seen gets the probability of a rounding error, as
    if its probability of zero had been smoothed.
    """
    response = response.astype(np.float64)
    if response.ndim == 1:
        response = np.column_stack([np.zeros_like(response), response])
    if seen.size == n_classes:
        return response
    floor = logsumexp(response, axis=1) + np.log(np.finfo(np.float64).eps)
    logits = np.repeat(floor[:, np.newaxis], n_classes, axis=1)
    logits[:, seen] = response
    return logits
