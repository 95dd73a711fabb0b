"""Leave-one-out values in nearest-neighbour models."""

import numpy as np

from skpriv.neighbors._base import KNNScorer
from skpriv.neighbors._values import LinearValue, RankWeights


def leave_one_out_weights(n_ranks, n_neighbors):
    """Return the weights of the ranks in leave-one-out.

    Only the record just outside the neighbourhood has a weight.

    Parameters
    ----------
    n_ranks : int
    n_neighbors : int

    Returns
    -------
    weights : RankWeights
    """
    weights = np.zeros(n_ranks)
    weights[n_neighbors : n_neighbors + 1] = 1 / n_neighbors
    return RankWeights(weights, lambda n: float(n <= n_neighbors) / n_neighbors)


class KNNLeaveOneOutScorer(KNNScorer):
    """Leave-one-out: loss of the k-NN's utility when one record is removed.

    The utility at a row is the share of its k nearest records that have its label. A
    record's score is its value for itself: 1/k if the neighbour that takes its place
    does not match its label, else 0. Records at equal distance are exchangeable: each
    gets the mean over the orders of its tie group.

    Parameters
    ----------
    n_neighbors : int, default=5
        The k of the k-NN.
    search : {"auto", "exact", "approximate"}, default="auto"
        How neighbours are found: by scikit-learn ("exact") or by pynndescent
        ("approximate"). "auto" is exact unless brute force would take minutes;
        `search_` tells which one was used.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's neighbours, or "precomputed".
    metric_params : dict, default=None
        Further arguments of the metric.
    n_jobs : int, default=None
        Jobs for the search of neighbours.
    random_state : int, RandomState instance or None, default=None
        Seed of the approximate search.

    Attributes
    ----------
    scores_ : ndarray of shape (n_samples,)
        Scores of the training records; higher means more exposed.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    neighborhood_ : int
        Number of nearest records that determine the scores.
    truncation_bound_ : float
        0: no other record matters.
    search_ : {"exact", "approximate", "precomputed"}
        How neighbours are found.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `X` has them.

    See Also
    --------
    KNNShapleyScorer : The mean effect of a record over all subsets of the others.
    WaKAScorer : The effect on the distribution of the loss.

    References
    ----------
    .. [1] R. Jia et al., "Efficient task-specific data valuation for nearest neighbor
       algorithms", VLDB 2019.

    Examples
    --------
    >>> from skpriv import KNNLeaveOneOutScorer
    >>> X = [[0.0], [1.0], [2.0], [10.0]]
    >>> y = [0, 0, 1, 1]
    >>> KNNLeaveOneOutScorer(n_neighbors=1).fit(X, y).scores_
    array([0. , 0.5, 1. , 0. ])
    """

    def __init__(
        self,
        n_neighbors=5,
        *,
        search="auto",
        metric="euclidean",
        metric_params=None,
        n_jobs=None,
        random_state=None,
    ):
        self.n_neighbors = n_neighbors
        self.search = search
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _n_ranks(self, n_records):
        return self._fitted.n_neighbors

    def _bound(self, n_ranks):
        return 0.0

    def _bound_of_rest(self, n_ranks):
        k = self._fitted.n_neighbors
        return 1 / k if n_ranks <= k else 0.0

    def _make_value(self):
        weights = leave_one_out_weights(
            self.n_samples_fit_ + 1, self._fitted.n_neighbors
        )
        return LinearValue(self._labels, weights)
