"""Attacks that need no shadow model, or few."""

from numbers import Integral, Real

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skpriv.attacks._base import ShadowAttack
from skpriv.attacks._signals import model_signals, response_method
from skpriv.attacks._target import TargetAttackMixin
from skpriv.utils._sklearn import HasMethods, Interval, StrOptions, fit_context
from skpriv.utils._training import draw_seeds

_ROUNDING = 1e-10


class LossAttack(TargetAttackMixin, BaseEstimator):
    """Call a record a member where the model's loss on it is low.

    The weakest attack, and the cheapest: it can not tell a record that the model
    has learnt by heart from one that is easy anyway.

    Parameters
    ----------
    estimator : classifier, default=None
        What to train as the target. None: logistic regression.
    target : classifier, default=None
        The fitted model to attack. None: `estimator` fitted on all records.
    smoothing : "auto" or float, default="auto"
        Votes added to each class, see :class:`LiRAAttack`.
    random_state : int, RandomState instance or None, default=None
        Seeds the target.

    Attributes
    ----------
    scores_ : ndarray of shape (n_samples,)
        Minus the cross-entropy of each record; higher: more likely a member.
    target_ : classifier
        The model under attack.
    response_method_ : {"decision_function", "predict_proba", "predict"}
        Where the loss comes from: a decision function is taken for logits, and
        labels alone tell right, 1, from wrong, -1.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has them.

    References
    ----------
    Yeom, Giacomelli, Fredrikson and Jha, "Privacy risk in machine learning: analyzing
    the connection to overfitting", IEEE Computer Security Foundations, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skpriv import LossAttack
    >>> X, y = load_iris(return_X_y=True)
    >>> LossAttack(GaussianNB()).fit(X, y).scores_.shape
    (150,)
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit"]), None],
        "target": [HasMethods(["predict"]), None],
        "smoothing": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self, estimator=None, *, target=None, smoothing="auto", random_state=None
    ):
        self.estimator = estimator
        self.target = target
        self.smoothing = smoothing
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Train the target, if none is given, and ask it about the records.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            The records.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self : object
        """
        X, codes = self._validate_records(X, y)
        (seed,) = draw_seeds(1, check_random_state(self.random_state))
        self.target_ = self._find_target(X, codes, seed)
        self.response_method_ = response_method(self.target_, self.classes_)
        self._remember_rows(X, codes)
        self._scores = self._score_unseen(X, codes)
        return self

    def _score_unseen(self, X, codes):
        return model_signals(
            self.target_, X, codes, self.classes_, kind="loss", smoothing=self.smoothing
        )[0]


class RMIAAttack(ShadowAttack):
    """Robust membership inference (RMIA), for when shadows must be few.

    A record's probability at the target, over its mean at the shadows, is compared
    with that of the other records: the score is the share of them that it exceeds.

    Parameters
    ----------
    estimator : classifier, default=None
        What to train. None: of the kind of `target`, or logistic regression.
    target : classifier, default=None
        The fitted model to attack. None: `estimator` fitted on all records.
    n_shadows : int, default=4
        Number of shadow models; even.
    mode : {"online", "offline"}, default="online"
        Whether the mean takes in the shadows trained with the record, or guesses
        them from the others.
    gamma : float, default=1.0
        By what factor a record must exceed another.
    offline_slope : float in [0, 1], default=0.3
        Offline, the mean with the record is taken to be this many times the mean
        without it, plus the rest to 1. 1: training makes no difference. 0: it
        makes all certain.
    smoothing : "auto" or float, default="auto"
        Votes added to each class, see :class:`LiRAAttack`.
    augmentations : callable or float, default=None
        Several queries a record, see :class:`LiRAAttack`.
    store_models : bool, default=False
        Keep the shadow models, to score new rows.
    cache_dir : str or path-like, default=None
        A folder for finished shadows, see :class:`LiRAAttack`.
    n_jobs : int, default=None
        Number of shadows to train at a time.
    random_state : int, RandomState instance or None, default=None
        Draws the halves, and seeds all models.

    Attributes
    ----------
    scores_ : ndarray of shape (n_samples,)
        From 0 to 1; higher: more likely a member.
    signals_ : ndarray of shape (n_shadows, n_samples), dtype float32
        Minus the cross-entropy of each record at each shadow.
    membership_ : ndarray of shape (n_shadows, n_samples), dtype bool
        Which records each shadow was trained on.
    target_ : classifier
        The model under attack.
    target_signals_ : ndarray of shape (n_samples,), dtype float32
    saturated_, missing_class_ : ndarray of shape (n_samples,)
        See :class:`LiRAAttack`.
    response_method_ : {"decision_function", "predict_proba", "predict"}
        Where the signals come from.
    models_ : list of classifier
        The shadow models, if `store_models`.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has them.

    References
    ----------
    Zarifzadeh, Liu and Shokri, "Low-cost high-power membership inference attacks",
    International Conference on Machine Learning, 2024.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skpriv import RMIAAttack
    >>> X, y = load_iris(return_X_y=True)
    >>> attack = RMIAAttack(DecisionTreeClassifier(), random_state=0).fit(X, y)
    >>> attack.scores_.shape
    (150,)
    """

    signal = "loss"

    _parameter_constraints = {
        **ShadowAttack._parameter_constraints,
        "n_shadows": [Interval(Integral, 2, None, closed="left")],
        "mode": [StrOptions({"online", "offline"})],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "offline_slope": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        estimator=None,
        *,
        target=None,
        n_shadows=4,
        mode="online",
        gamma=1.0,
        offline_slope=0.3,
        smoothing="auto",
        augmentations=None,
        store_models=False,
        cache_dir=None,
        n_jobs=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.target = target
        self.n_shadows = n_shadows
        self.mode = mode
        self.gamma = gamma
        self.offline_slope = offline_slope
        self.smoothing = smoothing
        self.augmentations = augmentations
        self.store_models = store_models
        self.cache_dir = cache_dir
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _log_ratios(self, values, signals, membership):
        outside = _mean_log_probability(signals, ~membership)
        if self.mode == "online":
            inside = _mean_log_probability(signals, membership)
        else:
            slope = self.offline_slope
            inside = np.log(slope * np.exp(outside) + 1 - slope)
        return values - np.logaddexp(inside, outside) + np.log(2)

    def _share_exceeded(self, ratios, population):
        # Ratios that differ by rounding alone are ties, which do not count.
        limits = ratios - np.log(self.gamma)
        limits -= _ROUNDING * np.maximum(1, np.abs(ratios))
        below = np.searchsorted(np.sort(population), limits)
        return below / population.size

    def _score_signals(self, values, signals, membership):
        ratios = self._log_ratios(values.astype(np.float64), signals, membership)
        return self._share_exceeded(ratios, ratios)

    def _score_unseen(self, X, codes):
        if self.mode == "online":
            raise ValueError(
                f"{codes.size} rows of X are no records of fit: no shadow was trained "
                "with them, which mode='online' needs; mode wants 'offline' to score "
                "new rows."
            )
        signals = self._signals_of_new_rows(X, codes)
        values = self._queries.ask(self.target_, X, codes)[0].astype(np.float64)
        unseen = np.zeros(signals.shape, dtype=bool)
        return self._share_exceeded(
            self._log_ratios(values, signals, unseen),
            self._log_ratios(self.target_signals_, self.signals_, self.membership_),
        )


def _mean_log_probability(signals, side):
    """Log of the mean probability over the shadows of a side."""
    signals = np.where(side, signals.astype(np.float64), -np.inf)
    return logsumexp(signals, axis=0) - np.log(side.sum(axis=0))
