"""Exact Shapley values in nearest-neighbour models."""

from numbers import Integral

import numpy as np
from sklearn.utils.multiclass import type_of_target

from skpriv.neighbors import _shapley_regression
from skpriv.neighbors._base import KNNScorer
from skpriv.neighbors._values import LinearValue, RankWeights, Value
from skpriv.utils._labels import check_same_kind_of_label
from skpriv.utils._sklearn import Interval, StrOptions


def shapley_weights(n_ranks, n_neighbors):
    """Return the weights of the ranks in k-NN Shapley.

    In a random order of the records up to rank j (from 0), a given nearer record
    displaces the one at rank j with probability k/j - k/(j + 1), for j >= k.

    Parameters
    ----------
    n_ranks : int
    n_neighbors : int

    Returns
    -------
    weights : RankWeights
    """
    in_reach = 1 / np.maximum(n_neighbors, np.arange(n_ranks + 1))
    return RankWeights(
        in_reach[:-1] - in_reach[1:], lambda n: 1 / np.maximum(n_neighbors, n)
    )


class RegressionShapley(Value):
    """k-NN Shapley values of regression targets.

    Parameters
    ----------
    targets : ndarray of shape (n_records,)
        Targets of the training records.
    n_neighbors : int
    """

    def __init__(self, targets, n_neighbors):
        super().__init__(targets)
        self._k = n_neighbors

    def self_values(self, rankings, y, records):
        values = np.empty(y.size)
        for queries, ranking in rankings:
            values[queries] = _shapley_regression.self_values(
                ranking, self._labels, y[queries], self._k
            )
        return values

    def matrix(self, rankings, y):
        matrix = np.empty((y.size, self._labels.size))
        for queries, ranking, values in self._ranked_values(rankings, y):
            matrix[queries[:, None], ranking.records] = values
        return matrix

    def _ranked_values(self, rankings, y):
        return self._ranked(_shapley_regression.record_values, rankings, y)

    def _ranked_changes(self, rankings, y):
        return self._ranked(_shapley_regression.self_influence, rankings, y)

    def _ranked(self, kernel, rankings, y):
        for queries, ranking in rankings:
            yield queries, ranking, kernel(ranking, self._labels, y[queries], self._k)


class KNNShapleyScorer(KNNScorer):
    """k-NN Shapley: exact Shapley value of each record for a k-NN's utility.

    For classification the utility at a row is the share of its k nearest records that
    have its label. For regression it is minus the squared difference of the row's
    target and the sum of the k nearest targets over k. A record's value is the mean
    effect of adding it, over all orders in which the records can be added. Its score
    is its value for itself, where it is the nearest neighbour.

    Records at equal distance are exchangeable: each gets the mean over the orders of
    its tie group. For regression, where that mean has no short form, tied records
    are ordered by their target, lowest first.

    Parameters
    ----------
    n_neighbors : int, default=5
        The k of the k-NN. It may exceed the number of records.
    neighborhood : int or None, default=None
        How many of the nearest records are ranked, at least `n_neighbors`; all others
        count as tied. Values are then within `truncation_bound_` of the exact ones,
        and still add up to the utility. None: all records are ranked, and values are
        exact. For classification only.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `y` holds labels or targets. "auto": targets if `y` has floats that
        are not integers.
    search : {"auto", "exact", "approximate"}, default="auto"
        How neighbours are found: by scikit-learn ("exact") or by pynndescent
        ("approximate"), which requires a `neighborhood`. "auto" is exact unless brute
        force would take minutes; `search_` tells which one was used. If nearly all
        records are ranked, the search is always exact.
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
        Scores of the training records, computed on first access; higher means more
        exposed.
    task_ : {"classification", "regression"}
        How `y` was interpreted.
    classes_ : ndarray of shape (n_classes,)
        The labels (classification).
    neighborhood_ : int
        Number of nearest records that are ranked.
    truncation_bound_ : float
        Bound on the error of a value, given the neighbours found. 0 if all records
        are ranked.
    search_ : {"exact", "approximate", "precomputed"}
        How neighbours are found.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `X` has them.

    See Also
    --------
    KNNLeaveOneOutScorer : The effect of removing a record from all records.
    WaKAScorer : The effect on the distribution of the loss over random subsets.

    Notes
    -----
    The exact values need the distances of a row to all records, and one sort. With a
    sparse graph of neighbours for ``metric="precomputed"``, records that the graph does
    not list count as outside the neighbourhood.

    References
    ----------
    .. [1] R. Jia et al., "Efficient task-specific data valuation for nearest neighbor
       algorithms", VLDB 2019.
    .. [2] J. T. Wang and R. Jia, "A note on 'Efficient task-specific data valuation
       for nearest neighbor algorithms'", 2023.

    Examples
    --------
    >>> from skpriv import KNNShapleyScorer
    >>> X = [[0.0], [1.0], [2.0], [10.0]]
    >>> y = ["a", "a", "b", "b"]
    >>> scorer = KNNShapleyScorer(n_neighbors=1).fit(X, y)
    >>> scorer.attribute([[0.4]], ["a"])
    array([0.5, 0.5, 0. , 0. ])
    """

    _parameter_constraints = {
        **KNNScorer._parameter_constraints,
        "neighborhood": [Interval(Integral, 1, None, closed="left"), None],
        "task": [StrOptions({"auto", "classification", "regression"})],
    }
    _ranks_beyond = 0

    def __init__(
        self,
        n_neighbors=5,
        *,
        neighborhood=None,
        task="auto",
        search="auto",
        metric="euclidean",
        metric_params=None,
        n_jobs=None,
        random_state=None,
    ):
        self.n_neighbors = n_neighbors
        self.neighborhood = neighborhood
        self.task = task
        self.search = search
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit_labels(self, y):
        self.task_ = self.task
        if self.task == "auto":
            targets = type_of_target(y) == "continuous"
            self.task_ = "regression" if targets else "classification"
        if self.search == "approximate" and self.neighborhood is None:
            raise ValueError(
                "search='approximate' cannot rank all records: set neighborhood to the "
                "number of nearest records to rank."
            )
        if self.task_ == "classification":
            super()._fit_labels(y)
            return
        if y.dtype.kind not in "biuf":
            raise ValueError(
                f"y must hold numbers for task='regression'; its dtype is {y.dtype}."
            )
        if self.neighborhood is not None:
            raise ValueError(
                f"neighborhood={self.neighborhood} is for classification only: "
                "regression ranks all records; neighborhood must be None."
            )
        self._labels = y.astype(np.float64)

    def _n_ranks(self, n_records):
        if self._fitted.neighborhood is None:
            return n_records
        return max(self._fitted.neighborhood, self._fitted.n_neighbors)

    def _bound(self, n_ranks):
        if self.task_ == "regression":
            raise ValueError(
                "X, a sparse graph, must list all neighbours for regression; a row has "
                f"only {n_ranks}."
            )
        return 1 / max(self._fitted.n_neighbors, n_ranks)

    def _make_value(self):
        k = self._fitted.n_neighbors
        if self.task_ == "regression":
            return RegressionShapley(self._labels, k)
        weights = shapley_weights(self.n_samples_fit_ + 1, k)
        return LinearValue(self._labels, weights, share_rest=True)

    def _encode(self, y):
        if self.task_ == "classification":
            return super()._encode(y)
        check_same_kind_of_label(y, self._labels)
        return y.astype(np.float64)
