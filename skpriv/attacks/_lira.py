"""LiRA: the likelihood-ratio attack with shadow models."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_array, gen_batches
from sklearn.utils.validation import check_is_fitted

from skpriv.attacks._base import ShadowAttack
from skpriv.attacks._likelihood import (
    MODES,
    VARIANCES,
    hit_counts,
    leave_pair_out,
    success_interval,
    target_scores,
    variance_priors,
)
from skpriv.attacks._pairs import in_order_of_shadows
from skpriv.attacks._signals import SIGNALS
from skpriv.utils._sklearn import Interval, StrOptions

_RECORDS_A_BATCH = 512


def attack_success(
    signals, membership, *, mode="online", variance="auto", confidence_level=0.95
):
    """Share of models on which LiRA tells whether a record was in training.

    Every model takes its turn as the target. It and its partner, a model on the
    other side of the record, are left out of the reference.

    Parameters
    ----------
    signals : ndarray of shape (n_shadows, n_records)
    membership : ndarray of shape (n_shadows, n_records), dtype bool
    mode, variance
        See :class:`LiRAAttack`.
    confidence_level : float, default=0.95

    Returns
    -------
    success : ndarray of shape (n_records,)
        Mean of the rates of hits on the models with and without the record; 0.5:
        not exposed. NaN with fewer than three pairs of models.
    interval : ndarray of shape (n_records, 2)
    """
    hits, trials = np.zeros((2, 2, signals.shape[1]))
    for batch, _, margins in leave_pair_out(
        signals,
        membership,
        mode=mode,
        variance=variance,
        batches=_batches(signals.shape[1]),
    ):
        hits[:, batch], trials[:, batch] = hit_counts(margins)
    return success_interval(hits, trials, confidence_level)


def _batches(n_records):
    return list(gen_batches(n_records, _RECORDS_A_BATCH))


class LiRAAttack(ShadowAttack):
    """Likelihood-ratio attack (LiRA) on a classifier.

    Shadow models are trained on halves of the records. Where a record's signal at
    the target is more likely under the shadows trained with it than under those
    trained without it, the record was probably in training. The same shadows,
    taken as targets in turn, tell for each record how often the attack succeeds.

    Parameters
    ----------
    estimator : classifier, default=None
        What to train. Anything with ``decision_function``, ``predict_proba`` or only
        ``predict``. None: of the kind of `target`, or, without one, logistic
        regression.
    target : classifier, default=None
        The fitted model to attack. None: `estimator` fitted on all records.
    n_shadows : int, default=64
        Number of shadow models; even, and at least 6.
    mode : {"online", "offline", "offline-density"}, default="online"
        ``"online"`` compares the densities of the signal with and without the
        record; ``"offline"`` takes the upper tail of the one without, and
        ``"offline-density"`` its density. The last two can score rows that the
        shadows have not seen (`store_models`).
    variance : {"auto", "record", "pooled"}, default="auto"
        Variance of a record's signals: its own, that of all records together, or
        its own shrunk to that of all, by as much as the data ask for. A few
        shadows hardly tell a record's own variance.
    signal : {"logit", "hinge", "loss"}, default="logit"
        What is watched: the log-odds of the label, its margin over the next class,
        or minus the cross-entropy.
    smoothing : "auto" or float, default="auto"
        Votes added to each class where the model gives probabilities and no
        decision function, so that none is 0 or 1. ``"auto"``: half a vote for
        neighbours, trees and forests, a rounding error for others.
    augmentations : callable or float, default=None
        Several queries a record, whose signals are averaged. A callable takes `X`
        and a RandomState and returns matrices of the shape of `X`. A number adds
        to the record itself four copies with normal noise of this many standard
        deviations of each feature: two shifts, the same for all records, and their
        opposites.
    store_models : bool, default=False
        Keep the shadow models, to score new rows.
    cache_dir : str or path-like, default=None
        A folder for the signals of finished shadows, from which a run that was
        killed resumes. Wants an integer `random_state`. The folder belongs to the rows,
        the parameters and the seed; functions count by what is written in their module,
        not by what that calls elsewhere.
    n_jobs : int, default=None
        Number of shadows to train at a time, by joblib's backend.
    random_state : int, RandomState instance or None, default=None
        Draws the halves, and seeds all models. Results do not depend on `n_jobs`.

    Attributes
    ----------
    attack_success_ : ndarray of shape (n_samples,)
        Success of the attack on each record, with the shadows as targets, each left
        out of its own reference, and its partner too. 0.5: not exposed. Offline, the
        test that is wrong on half of the non-members.
    attack_success_interval_ : ndarray of shape (n_samples, 2)
        Its 95 % interval.
    signals_ : ndarray of shape (n_shadows, n_samples), dtype float32
    membership_ : ndarray of shape (n_shadows, n_samples), dtype bool
        Which records each shadow was trained on. Shadows 2i and 2i + 1 are
        complements.
    target_ : classifier
        The model under attack.
    target_signals_ : ndarray of shape (n_samples,), dtype float32
    saturated_ : ndarray of shape (n_samples,), dtype int32
        Number of shadows that gave the record's label a probability of 0 or 1.
    missing_class_ : ndarray of shape (n_samples,)
        Number of shadows that have not seen the record's class.
    zero_variance_ : ndarray of shape (n_samples,), dtype bool
        Records whose signals do not vary, with them or without. Their variance is
        taken to be 1e-12 where nothing else is known.
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

    See Also
    --------
    WaKAAttack : The exact likelihood ratio of a k-NN, without shadows.
    RMIAAttack : For when shadows must be few.

    Notes
    -----
    A k-NN with equal votes is not refitted: one search of neighbours serves all
    shadows. Records at equal distance count in the order of that search.

    Shadows are trained by joblib, which also spreads them over the machines of a Dask
    cluster. Only the signals come back, and are cached where ``fit`` runs::

        from dask.distributed import Client
        from joblib import parallel_config

        client = Client("tcp://scheduler:8786")  # or Client() for this machine
        with parallel_config("dask"):
            attack.fit(X, y)

    The workers need the packages that the estimator comes from. Results are the same
    bits on any backend, but for networks of torch in threads, which share one source
    of random numbers; train those in processes.

    References
    ----------
    Carlini, Chien, Nasr, Song, Terzis and Tramèr, "Membership inference attacks from
    first principles", IEEE Symposium on Security and Privacy, 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skpriv import LiRAAttack
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> attack = LiRAAttack(DecisionTreeClassifier(), n_shadows=16, random_state=0)
    >>> success = attack.fit(X, y).attack_success_
    >>> success.shape
    (569,)
    """

    _parameter_constraints = {
        **ShadowAttack._parameter_constraints,
        "n_shadows": [Interval(Integral, 6, None, closed="left")],
        "mode": [StrOptions(set(MODES))],
        "variance": [StrOptions(set(VARIANCES))],
        "signal": [StrOptions(set(SIGNALS))],
    }

    def __init__(
        self,
        estimator=None,
        *,
        target=None,
        n_shadows=64,
        mode="online",
        variance="auto",
        signal="logit",
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
        self.variance = variance
        self.signal = signal
        self.smoothing = smoothing
        self.augmentations = augmentations
        self.store_models = store_models
        self.cache_dir = cache_dir
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def from_signals(cls, signals, membership, *, target_signals=None, **parameters):
        """Attack models that were trained elsewhere.

        Parameters
        ----------
        signals : array-like of shape (n_shadows, n_records)
            Signals of the records at each model; higher: surer of the label.
        membership : array-like of shape (n_shadows, n_records)
            True where the record was in the training of the model. The models need
            not be complements: each one trained with a record is paired with one
            that was not, in the order given.
        target_signals : array-like of shape (n_records,), default=None
            Signals at the model under attack, for ``scores_``.
        **parameters
            Parameters of the attack that bear on its scores: ``mode``, ``variance``.

        Returns
        -------
        attack : LiRAAttack
            With ``attack_success_`` and its interval, ``signals_``, ``membership_``
            and, given `target_signals`, ``scores_``.
        """
        foreign = sorted(set(parameters) - {"mode", "variance"})
        if foreign:
            raise ValueError(
                f"from_signals got {', '.join(foreign)}, which bear on the training "
                "of shadows; it wants mode and variance."
            )
        signals = check_array(signals, dtype=np.float32, input_name="signals")
        given = check_array(membership, dtype=None, input_name="membership")
        if given.shape != signals.shape or not np.isin(given, [0, 1]).all():
            raise ValueError(
                f"membership has shape {given.shape}; it wants 0 and 1 (or False and "
                f"True), in the shape of signals, {signals.shape}."
            )
        attack = cls(n_shadows=len(signals), **parameters)
        attack._validate_params()
        attack.signals_ = signals
        attack.membership_ = given.astype(bool)
        if target_signals is not None:
            attack.target_signals_ = _check_target_signals(target_signals, signals)
        attack._finish()
        return attack

    def _finish(self):
        self.attack_success_, self.attack_success_interval_ = attack_success(
            self.signals_, self.membership_, mode=self.mode, variance=self.variance
        )
        self.zero_variance_ = _zero_variance(self.signals_, self.membership_)

    def _score_signals(self, values, signals, membership):
        # Of variances the records of fit tell, whichever rows are asked about.
        priors = variance_priors(
            self.signals_, self.membership_, _batches(self.signals_.shape[1])
        )
        return target_scores(
            values.astype(np.float64),
            signals,
            membership,
            mode=self.mode,
            variance=self.variance,
            batches=_batches(values.size),
            priors=priors,
        )

    def _score_records(self):
        if not hasattr(self, "target_signals_"):
            raise AttributeError("scores_ wants target_signals in from_signals.")
        return super()._score_records()

    def _score_unseen(self, X, codes):
        if self.mode == "online":
            raise ValueError(
                f"{codes.size} rows of X are no records of fit: no shadow was trained "
                "with them, which mode='online' needs; mode wants 'offline' or "
                "'offline-density' to score new rows."
            )
        return super()._score_unseen(X, codes)

    def score_samples(self, X, y=None):
        check_is_fitted(self)
        if not hasattr(self, "_encoder"):
            raise AttributeError(
                "This attack was made from signals and knows no rows; see scores_."
            )
        return super().score_samples(X, y)

    score_samples.__doc__ = ShadowAttack.score_samples.__doc__

    def shadow_scores(self):
        """Scores of all records at each shadow, which is left out of its reference.

        With ``membership_`` they give each shadow, as a target, its ROC curve.

        Returns
        -------
        scores : ndarray of shape (n_shadows, n_samples), dtype float64
            Higher: more likely a training record of the shadow.
        """
        check_is_fitted(self)
        scores = np.empty(self.signals_.shape)
        for batch, sides, _ in self._leave_pair_out():
            scores[:, batch] = in_order_of_shadows(sides, self.membership_[:, batch])
        return scores

    def shadow_hits(self):
        """Whether the attack is right about each record at each shadow.

        Each shadow and its partner are left out of the reference; ``attack_success_``
        is the mean of the rates with and without the record.

        Returns
        -------
        hits : ndarray of shape (n_shadows, n_samples), dtype float64
            1: right. 0: wrong. 0.5: undecided. NaN: not tried, for want of shadows.
        """
        check_is_fitted(self)
        hits = np.empty(self.signals_.shape)
        for batch, _, (inside, outside) in self._leave_pair_out():
            right = (np.sign(inside) + 1) / 2, (1 - np.sign(outside)) / 2
            hits[:, batch] = in_order_of_shadows(right, self.membership_[:, batch])
        return hits

    def _leave_pair_out(self):
        return leave_pair_out(
            self.signals_,
            self.membership_,
            mode=self.mode,
            variance=self.variance,
            batches=_batches(self.signals_.shape[1]),
        )

    @property
    def attack_success_halves_(self):
        """Attack success from each half of the shadows, of shape (2, n_samples).

        How far they agree tells how noisy ``attack_success_`` is; see
        :func:`~skpriv.metrics.score_agreement`. They need 12 shadows.
        """
        check_is_fitted(self)
        half = np.arange(len(self.signals_)) // 2 % 2
        if min(np.bincount(half, minlength=2)) < 6:
            raise AttributeError(
                f"attack_success_halves_ wants 12 shadows; there are {half.size}."
            )
        return np.stack(
            [
                attack_success(
                    self.signals_[half == which],
                    self.membership_[half == which],
                    mode=self.mode,
                    variance=self.variance,
                )[0]
                for which in (0, 1)
            ]
        )


def _zero_variance(signals, membership):
    flat = np.zeros(signals.shape[1], dtype=bool)
    for side in (membership, ~membership):
        first = np.take_along_axis(signals, side.argmax(axis=0)[np.newaxis], axis=0)
        flat |= ((signals == first) | ~side).all(axis=0)
    return flat


def _check_target_signals(target_signals, signals):
    target_signals = check_array(
        target_signals, ensure_2d=False, dtype=np.float32, input_name="target_signals"
    )
    if target_signals.shape != signals.shape[1:]:
        raise ValueError(
            f"target_signals has shape {target_signals.shape}; it wants "
            f"{signals.shape[1:]}, one a record."
        )
    return target_signals
