"""Attacks on a k-NN that need no shadow models: t-WaKA and the likelihood ratio."""

from itertools import chain

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.neighbors import VALID_METRICS, KNeighborsClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

from skpriv.attacks._shadows._tasks import Classification
from skpriv.base import AttackMixin
from skpriv.neighbors import WaKAScorer
from skpriv.utils._checks import check_no_dates, check_rows_can_be_read
from skpriv.utils._labels import Labels, check_no_label_is_missing
from skpriv.utils._metrics import plain_metric
from skpriv.utils._sklearn import HasMethods, StrOptions, fit_context


class WaKAAttack(AttackMixin, BaseEstimator):
    """Membership inference on a k-NN without shadow models.

    For a k-NN trained on a random subset of the records, the distribution of the loss
    on a record is known exactly, with the record in the subset and without it. Both
    distributions are compared with the target's loss.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours of the target.
    target : KNeighborsClassifier, default=None
        The fitted model to attack, whose neighbours must have equal votes. None: one
        fitted on all records.
    statistic : {"waka", "likelihood_ratio"}, default="waka"
        ``"waka"``: how far the record moves the distribution above the target's loss,
        minus how far it moves it below (t-WaKA). ``"likelihood_ratio"``: the log of
        the ratio of the probabilities of the target's loss, which :class:`LiRAAttack`
        estimates.
    subset_probability : float, default=0.5
        Probability that a record is in the target's training set.
    neighborhood : "auto", int or None, default="auto"
        See :class:`~skpriv.WaKAScorer`.
    tol : float, default=1e-12
        See :class:`~skpriv.WaKAScorer`.
    search : {"auto", "exact", "approximate"}, default="auto"
        How neighbours are found; see :class:`~skpriv.WaKAScorer`.
    metric : str or callable, default="euclidean"
        Metric of the distances; it must be the target's.
    metric_params : dict, default=None
        Further parameters of the metric.
    n_jobs : int, default=None
        Number of parallel jobs.
    random_state : int, RandomState instance or None, default=None
        Seed of the approximate search.

    Attributes
    ----------
    scores_ : ndarray of shape (n_samples,)
        Higher: more likely a member. A likelihood ratio is infinite if the loss is
        impossible without the record, and NaN, with a warning, if it is practically
        impossible either way.
    attack_success_ : ndarray of shape (n_samples,)
        Success of the best test of each record on a k-NN trained on a random subset,
        which that of :class:`LiRAAttack` approaches as the number of shadows grows.
    target_ : KNeighborsClassifier
        The model under attack.
    scorer_ : WaKAScorer
        Fitted on the records.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has them.

    References
    ----------
    Mesana, Bénesse, Lautraite, Caporossi and Gambs, "WaKA: data attribution using
    k-nearest neighbors and membership privacy principles", 2024.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skpriv import WaKAAttack
    >>> X, y = load_iris(return_X_y=True)
    >>> WaKAAttack(n_neighbors=3).fit(X, y).attack_success_.max().round(2)
    np.float64(0.92)
    """

    _parameter_constraints = {
        **{
            name: constraint
            for name, constraint in WaKAScorer._parameter_constraints.items()
            if name not in ("variant", "threshold")
        },
        "metric": [
            StrOptions({*chain(*VALID_METRICS.values())} - {"precomputed"}),
            callable,
        ],
        "target": [HasMethods(["predict_proba"]), None],
        "statistic": [StrOptions({"waka", "likelihood_ratio"})],
    }

    def __init__(
        self,
        n_neighbors=5,
        *,
        target=None,
        statistic="waka",
        subset_probability=0.5,
        neighborhood="auto",
        tol=1e-12,
        search="auto",
        metric="euclidean",
        metric_params=None,
        n_jobs=None,
        random_state=None,
    ):
        self.n_neighbors = n_neighbors
        self.target = target
        self.statistic = statistic
        self.subset_probability = subset_probability
        self.neighborhood = neighborhood
        self.tol = tol
        self.search = search
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.metric == "nan_euclidean"
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Fit the scorer and, unless it is given, the target.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The records.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self : object
        """
        X, y = self._validate(X, y)
        self.scorer_ = self._make_scorer().fit(X, y)
        self.classes_ = self.scorer_.classes_
        self._remember_records(X, y)
        self.target_ = self._find_target()
        return self

    def _validate(self, X, *y, reset=True):
        check_rows_can_be_read(X)
        check_no_dates(X)
        for labels in y:
            check_no_label_is_missing(labels)
        return validate_data(
            self,
            X,
            *y,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if self.metric == "nan_euclidean" else True,
        )

    def _make_scorer(self):
        shared = WaKAScorer().get_params()
        own = self.get_params(deep=False)
        return WaKAScorer(**{name: own[name] for name in own if name in shared})

    def shadow_estimator(self):
        """Return a k-NN with the parameters of the attack, not fitted.

        Returns
        -------
        estimator : KNeighborsClassifier
        """
        # scikit-learn warns if p is given twice.
        p = None if "p" in (self.metric_params or {}) else 2
        return KNeighborsClassifier(
            self.n_neighbors,
            p=p,
            metric=self.metric,
            metric_params=self.metric_params,
            n_jobs=self.n_jobs,
        )

    def _find_target(self):
        if self.target is None:
            X, y = self._records.X, self._records.y
            # With fewer records than k, all of them are neighbours.
            model = self.shadow_estimator()
            model.set_params(n_neighbors=min(self.n_neighbors, y.size))
            return model.fit(X, y)
        check_is_fitted(self.target)
        k = getattr(self.target, "n_neighbors", None)
        votes = getattr(self.target, "weights", None)
        if k != self.n_neighbors or votes != "uniform":
            raise ValueError(
                f"target must be a k-NN with n_neighbors={self.n_neighbors} and "
                f"weights='uniform', got {self.target!r}."
            )
        self._check_metric()
        return Classification(Labels(self.classes_)).check_target(self.target)

    def _check_metric(self):
        """Raise if the target measures other distances than the attack."""
        own = self.shadow_estimator().fit(self._records.X, self._records.y)
        if _distance(own) != _distance(self.target):
            raise ValueError(
                "target must have the metric of the attack, "
                f"metric={self.metric!r} and metric_params={self.metric_params!r}; got "
                f"{self.target!r}."
            )

    def _validate_rows(self, X):
        return self._validate(X, reset=False)

    def _score_records(self):
        X, y = self._records.X, self._records.y
        return self._score_new_rows(X, y)

    def _score_new_rows(self, X, y):
        loss = self._losses(X, y)
        if self.statistic == "waka":
            return self.scorer_.attack_score(X, y, loss)
        return self.scorer_.likelihood_ratio(X, y, loss)

    def _losses(self, X, y):
        """Share of the target's votes that are not for the label."""
        columns = Labels(self.target_.classes_).codes(y, unknown=-1)
        known = columns >= 0
        votes = self.target_.predict_proba(X)[np.arange(len(y)), columns] * known
        # A missing vote is a vote for another label.
        return 1 - votes * self.target_.n_neighbors / self.n_neighbors

    @property
    def attack_success_(self):
        """Success of the best test of each record, of shape (n_samples,)."""
        check_is_fitted(self)
        return self.scorer_.attack_success(self._records.X, self._records.y)


def _distance(model):
    """Metric of a fitted k-NN and its parameters, equal if the neighbours are."""
    metric = plain_metric(getattr(model, "effective_metric_", None))
    parameters = getattr(model, "effective_metric_params_", None) or {}
    return metric, {name: np.array(v).tolist() for name, v in parameters.items()}
