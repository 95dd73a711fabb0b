"""RMIA: the attack that compares a record with the other records."""

from numbers import Real

import numpy as np
from scipy.special import logsumexp

from skpriv.attacks._shadow_attack import ShadowAttack
from skpriv.utils._sklearn import Interval

_ROUNDING = 1e-10


class RMIAAttack(ShadowAttack):
    """Robust membership inference attack (RMIA), which needs few shadow models.

    The ratio of a record's probability at the target to its mean probability at the
    shadows is compared with the ratios of the other records. The score is the share
    of them that it exceeds.

    Parameters
    ----------
    estimator : classifier, default=None
        The model to train. None: one like `target` or, without a target, logistic
        regression.
    target : classifier, default=None
        The fitted model to attack. None: `estimator` fitted on all records.
    n_shadows : int, default=4
        Number of shadow models, an even number.
    mode : {"online", "offline"}, default="online"
        Whether the mean includes the shadows trained with the record, or estimates
        them from the others (`offline_slope`).
    gamma : float, default=1.0
        Factor by which a record's ratio must exceed another.
    offline_slope : float in [0, 1], default=0.3
        With ``mode="offline"``, the slope a of ``p_in = a * p_out + (1 - a)``, where
        ``p_in`` and ``p_out`` are the mean probabilities at shadows trained with and
        without the record. 1: training on a record changes nothing. 0: it makes the
        model certain of the record's label.
    smoothing : "auto" or float, default="auto"
        Votes added to each class; see :class:`LiRAAttack`.
    augmentations : callable or float, default=None
        Several queries per record; see :class:`LiRAAttack`.
    store_models : bool, default=False
        Keep the shadow models, which scoring new rows requires.
    cache_dir : str or path-like, default=None
        A folder for the signals of finished shadows; see :class:`LiRAAttack`.
    n_jobs : int, default=None
        Number of shadows to train at a time.
    random_state : int, RandomState instance or None, default=None
        Draws the halves, and seeds all models. Pass an int for reproducible results.

    Attributes
    ----------
    scores_ : ndarray of shape (n_samples,)
        From 0 to 1; higher: more likely a member.
    signals_ : ndarray of shape (n_shadows, n_samples), dtype float32
        Minus the cross-entropy of each record at each shadow.
    membership_ : ndarray of shape (n_shadows, n_samples), dtype bool
        Which records each shadow was trained on.
    shadow_seeds_ : list of int
        The seed of each shadow.
    target_ : classifier
        The model under attack.
    target_signals_ : ndarray of shape (n_samples,), dtype float32
        Minus the cross-entropy of each record at the target.
    saturated_, missing_class_ : ndarray of shape (n_samples,)
        See :class:`LiRAAttack`.
    response_method_ : {"decision_function", "predict_proba", "predict"}
        The method of the models that the signals are computed from.
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
        super().__init__(
            estimator,
            target=target,
            n_shadows=n_shadows,
            mode=mode,
            smoothing=smoothing,
            augmentations=augmentations,
            store_models=store_models,
            cache_dir=cache_dir,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.gamma = gamma
        self.offline_slope = offline_slope

    def _log_ratios(self, values, reference):
        signals, membership, _ = reference
        log_p_out = _mean_log_probability(signals, ~membership)
        if self.mode == "online":
            log_p_in = _mean_log_probability(signals, membership)
        else:
            slope = self.offline_slope
            log_p_in = np.log(slope * np.exp(log_p_out) + 1 - slope)
        return values - np.logaddexp(log_p_in, log_p_out) + np.log(2)

    def _share_exceeded(self, ratios, population):
        # Ratios that differ only by rounding are ties: neither exceeds the other.
        limits = ratios - np.log(self.gamma)
        limits -= _ROUNDING * np.maximum(1, np.abs(ratios))
        below = np.searchsorted(np.sort(population), limits)
        return below / population.size

    def _score_signals(self, values, reference):
        ratios = self._log_ratios(values.astype(np.float64), reference)
        return self._share_exceeded(ratios, ratios)

    def _score_new_signals(self, values, reference):
        return self._share_exceeded(
            self._log_ratios(values.astype(np.float64), reference),
            self._log_ratios(self.target_signals_, self._reference()),
        )


def _mean_log_probability(signals, side):
    """Log of the mean probability at the shadows of one side."""
    signals = np.where(side, signals.astype(np.float64), -np.inf)
    return logsumexp(signals, axis=0) - np.log(side.sum(axis=0))
