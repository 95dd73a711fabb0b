"""Names of distances: metrics that have several, or that rank neighbours alike."""

import numpy as np

_SAME_NEIGHBORS = {
    "l2": "euclidean",
    "sqeuclidean": "euclidean",
    "l1": "manhattan",
    "cityblock": "manhattan",
    "infinity": "chebyshev",
    "p": "minkowski",
}


def plain_metric(metric):
    """Return the usual name of the metric by which neighbours are the same.

    Parameters
    ----------
    metric : str or callable

    Returns
    -------
    metric : str or callable
    """
    return _SAME_NEIGHBORS.get(metric, metric) if isinstance(metric, str) else metric


def is_euclidean(metric, metric_params=None):
    """Tell whether neighbours are those by Euclidean distance.

    Parameters
    ----------
    metric : str or callable
    metric_params : dict, default=None

    Returns
    -------
    euclidean : bool
    """
    metric, params = plain_metric(metric), metric_params or {}
    if metric == "minkowski":
        return params.get("p", 2) == 2 and params.get("w") is None
    return metric == "euclidean"


def minkowski_terms(metric, metric_params, X):
    """Return the exponent and the weights of a metric that is a Minkowski distance.

    Parameters
    ----------
    metric : str or callable
    metric_params : dict or None
    X : ndarray of shape (n_records, n_features)

    Returns
    -------
    p : float
    weights : ndarray of shape (n_features,)
        Or None in place of both, for other metrics.
    """
    metric, params = plain_metric(metric), metric_params or {}
    p = {"manhattan": 1.0, "chebyshev": np.inf}.get(metric)
    weights = np.ones(X.shape[1])
    if metric == "minkowski":
        p = float(params.get("p", 2))
        weights = weights if params.get("w") is None else np.asarray(params["w"])
    elif metric == "seuclidean":
        p, weights = 2.0, 1 / np.asarray(params["V"])
    return None if p is None or p < 1 else (p, weights.astype(np.float64))


def complete_params(metric, metric_params, X):
    """Add the parameters of a metric that are computed from the training rows.

    Parameters
    ----------
    metric : str or callable
    metric_params : dict or None
    X : {ndarray, CSR matrix} of shape (n_records, n_features)

    Returns
    -------
    metric_params : dict or None
        With the variances of the features for "seuclidean", and the inverse of their
        covariance for "mahalanobis", as SciPy computes them.
    """
    params = dict(metric_params or {})
    if metric == "seuclidean" and params.get("V") is None:
        variances = np.var(X, axis=0, ddof=1, dtype=np.float64)
        # A feature that never varies adds nothing to any distance.
        return {**params, "V": np.where(variances > 0, variances, 1.0)}
    if metric == "mahalanobis" and not {"V", "VI"} & set(params):
        covariance = np.atleast_2d(np.cov(X.T.astype(np.float64)))
        if np.linalg.matrix_rank(covariance) < X.shape[1]:
            raise ValueError(
                "metric='mahalanobis' needs features whose covariance can be "
                "inverted; drop the features that depend on others, or set "
                "metric_params={'VI': ...}."
            )
        return {**params, "VI": np.linalg.inv(covariance)}
    return metric_params
