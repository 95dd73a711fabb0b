"""Names of distances: metrics that have several, or that rank neighbours alike."""

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
