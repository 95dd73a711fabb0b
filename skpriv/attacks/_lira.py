"""LiRA: the likelihood-ratio attack with shadow models."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from skpriv.attacks._shadow_attack import ShadowAttack
from skpriv.attacks._shadows._likelihood import (
    MODES,
    VARIANCES,
    leave_pair_out,
    target_scores,
    variance_priors,
)
from skpriv.attacks._shadows._pairs import in_order_of_shadows, pair_shadows
from skpriv.attacks._shadows._separation import separations, success_of_separation
from skpriv.attacks._shadows._signals import CLASS_SIGNALS
from skpriv.attacks._shadows._success import (
    attack_success,
    likelihood_test,
    record_batches,
)
from skpriv.attacks._shadows._tasks import Regression, resolution
from skpriv.utils._checks import check_scale
from skpriv.utils._sklearn import Interval, StrOptions


class LiRAAttack(ShadowAttack):
    """Likelihood ratio attack (LiRA) on a classifier or regressor.

    Shadow models are trained on random halves of the records. A record was probably
    in the training data of the target if its signal there is more likely among the
    shadows trained with the record than among those trained without it. The same
    shadows, each used as the target in turn, show how often the attack succeeds on
    each record.

    Parameters
    ----------
    estimator : classifier or regressor, default=None
        The model to train: a classifier with ``decision_function``, ``predict_proba``
        or only ``predict``, or a regressor of one output. None: one like `target` or,
        without a target, logistic regression.
    target : classifier or regressor, default=None
        The fitted model to attack. None: `estimator` fitted on all records.
    n_shadows : int, default=64
        Number of shadow models, an even number that is at least 6.
    mode : {"online", "offline", "offline-density"}, default="online"
        ``"online"`` compares the densities of the signal with and without the record
        in training. ``"offline"`` uses the upper tail of the density without it, and
        ``"offline-density"`` that density itself. These two can score rows that no
        shadow was trained on (`store_models`).
    variance : {"auto", "record", "pooled"}, default="auto"
        Variance of a record's signals: its own (``"record"``), the mean of all
        records (``"pooled"``), or its own shrunk towards that mean, by an amount
        estimated from the data (``"auto"``). A record's own variance is poorly
        determined by a few shadows.
    signal : {"auto", "logit", "hinge", "loss", "prediction"}, default="auto"
        What is observed at each model. Of a classifier: the log-odds of the label
        (``"logit"``), its margin over the next class, or minus the cross-entropy. Of a
        regressor: its prediction. ``"auto"``: the log-odds or the prediction.
    smoothing : "auto" or float, default="auto"
        Votes added to each class if the model has probabilities but no decision
        function, so that no probability is 0 or 1. ``"auto"``: half a vote for
        nearest neighbours, trees and forests, and a rounding error for other models.
        A regressor has no probabilities to smooth.
    augmentations : callable or float, default=None
        Several queries per record, whose signals are averaged. A callable takes `X`
        and a RandomState, and returns matrices of the shape of `X`. A number adds
        four noisy copies to the record itself: two normal shifts, which are the same
        for all records, and their opposites. The number is their standard deviation,
        in units of that of each feature.
    store_models : bool, default=False
        Keep the shadow models, which scoring new rows requires.
    cache_dir : str or path-like, default=None
        A folder for the signals of finished shadows, from which a run that was killed
        resumes. It requires an integer `random_state`. A folder can only be used with
        the same records, parameters, seed and versions of the packages. Edits to the
        modules that define functions or classes among the parameters are detected;
        edits to what these modules import are not.
    n_jobs : int, default=None
        Number of shadows to train at a time, with joblib. It does not change the
        results.
    random_state : int, RandomState instance or None, default=None
        Draws the halves, and seeds all models. Pass an int for reproducible results.

    Attributes
    ----------
    attack_success_ : ndarray of shape (n_samples,)
        Success rate of the attack on each record, with each shadow as the target in
        turn; the shadow and its partner are left out of the reference. 0.5: not
        exposed. Offline, it is that of the test whose false positive rate is one half.
    attack_success_interval_ : ndarray of shape (n_samples, 2)
        95 % confidence interval of the success rate.
    estimated_success_ : ndarray of shape (n_samples,)
        Success on each record as the means and variances of its signals imply, which
        is less noisy than ``attack_success_``: with d the difference of the mean
        signals with and without the record, in units of their standard deviation, it
        is Φ(d / 2). Below 0.5 where signals are lower with the record. It assumes
        normal signals of the same variance on both sides, whatever `mode` is. 0.5 if
        all signals of a record are equal; NaN if they differ between the sides, but
        not within them, and if all records together have only two signals, as those
        of models that only predict labels. Computed on first access.
    estimated_success_interval_ : ndarray of shape (n_samples, 2)
        95 % confidence interval of ``estimated_success_``, exact for such signals. NaN
        where signals do not vary within the sides.
    signals_ : ndarray of shape (n_shadows, n_samples)
        Signal of each record at each shadow: float32 or, for a regressor, float64.
    membership_ : ndarray of shape (n_shadows, n_samples), dtype bool
        Which records each shadow was trained on. Shadows 2i and 2i + 1 are trained on
        complementary halves.
    shadow_seeds_ : list of int
        The seed of each shadow.
    target_ : classifier or regressor
        The model under attack.
    target_signals_ : ndarray of shape (n_samples,)
        Signal of each record at the target.
    saturated_ : ndarray of shape (n_samples,), dtype int32
        Number of shadows at which the record's label has a probability of 0 or 1; 0
        for a regressor.
    missing_class_ : ndarray of shape (n_samples,)
        Number of shadows that have not seen the record's class; 0 for a regressor.
    zero_variance_ : ndarray of shape (n_samples,), dtype bool
        Records whose signals do not vary among the shadows trained with the record,
        or among those trained without it, but for rounding. If no better estimate
        exists, the variance is taken to be 1e-12 or, for a regressor, the square of
        the rounding error of predictions.
    response_method_ : {"decision_function", "predict_proba", "predict"}
        The method of the models that the signals are computed from.
    models_ : list of classifier or regressor
        The shadow models, if `store_models`.
    classes_ : ndarray of shape (n_classes,)
        The labels, if the model is a classifier.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has them.

    See Also
    --------
    WaKAAttack : The exact likelihood ratio for a k-NN, without shadow models.
    RMIAAttack : An attack that needs fewer shadow models.

    Notes
    -----
    If `estimator` is a k-NN classifier whose neighbours have equal votes, no shadow is
    fitted: a single search of neighbours serves all of them. Records at equal distance
    are taken in the order of that search.

    Training on a record moves the prediction of a regressor towards the record's
    label. ``mode="offline"`` therefore uses the tail of the density on the side of the
    label. Halves are stratified by class, but not by the labels of a regressor.

    Shadows are trained with joblib, which can also distribute them over the machines
    of a Dask cluster. Only signals are sent back; the process that called ``fit``
    writes them to the cache::

        from dask.distributed import Client
        from joblib import parallel_config

        client = Client("tcp://scheduler:8786")  # or Client() for this machine
        with parallel_config("dask"):
            attack.fit(X, y)

    The workers need the packages that the estimator comes from. Results are
    bit-identical on all backends, with one exception: networks of torch must be trained
    in processes, because threads share one random number generator.

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
        "signal": [StrOptions({"auto", *CLASS_SIGNALS, *Regression.signals})],
    }

    attacks_regressors = True

    def __init__(
        self,
        estimator=None,
        *,
        target=None,
        n_shadows=64,
        mode="online",
        variance="auto",
        signal="auto",
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
        self.variance = variance
        self.signal = signal

    @classmethod
    def from_signals(
        cls, signals, membership, *, y=None, target_signals=None, **parameters
    ):
        """Attack models that were trained elsewhere.

        Parameters
        ----------
        signals : array-like of shape (n_shadows, n_records)
            Signals of the records at each model. Higher: more confident in the label.
            Of regressors, the predictions.
        membership : array-like of shape (n_shadows, n_records)
            True where the model was trained on the record. The models need not come
            from complementary halves: for each record, those trained with it are
            paired with those trained without it, in the given order.
        y : array-like of shape (n_records,), default=None
            The labels of the records, if the models are regressors. None: they are
            classifiers.
        target_signals : array-like of shape (n_records,), default=None
            Signals at the model under attack, for ``scores_``.
        **parameters
            The parameters that scores depend on: ``mode`` and ``variance``.

        Returns
        -------
        attack : LiRAAttack
            With ``attack_success_`` and its interval, ``signals_``, ``membership_``
            and, if `target_signals` is given, ``scores_``. It has no records, so it
            cannot score rows.
        """
        foreign = sorted(set(parameters) - {"mode", "variance"})
        if foreign:
            raise ValueError(
                "from_signals takes no parameters but mode and variance, because no "
                f"shadow is trained; got {', '.join(foreign)}."
            )
        dtype = np.float32 if y is None else np.float64
        signals = check_array(signals, dtype=dtype, input_name="signals")
        given = check_array(membership, dtype=None, input_name="membership")
        if given.shape != signals.shape or not np.isin(given, [0, 1]).all():
            raise ValueError(
                "membership must consist of 0 and 1 (or False and True) and have the "
                f"shape of signals, {signals.shape}; got shape {given.shape}."
            )
        attack = cls(n_shadows=len(signals), **parameters)
        attack._validate_params()
        attack.signals_ = signals
        attack.membership_ = given.astype(bool)
        attack._records = attack._labels = None
        if y is not None:
            attack._labels = _check_one_per_record(y, signals, "y")
            check_scale(attack._labels, "y")
            check_scale(signals, "signals")
        if target_signals is not None:
            attack.target_signals_ = _check_one_per_record(
                target_signals, signals, "target_signals"
            )
        attack._finish()
        return attack

    def _validate_rows(self, X):
        if self._records is None:
            raise AttributeError(
                "This attack was made by from_signals and has no records, so it cannot "
                "score rows; see scores_."
            )
        return super()._validate_rows(X)

    def _finish(self):
        self.attack_success_, self.attack_success_interval_ = attack_success(
            self.signals_,
            self.membership_,
            labels=self._labels,
            mode=self.mode,
            variance=self.variance,
        )
        self.zero_variance_ = _zero_variance(self._reference())
        self.__dict__.pop("_estimated", None)

    def _test(self):
        return likelihood_test(self.mode, self.variance, self._labels)

    def _score_signals(self, values, reference):
        # The records of fit determine the variances, whichever rows are scored.
        return target_scores(
            values.astype(np.float64),
            reference,
            self._test(),
            record_batches(values.size),
            variance_priors(self._reference(), record_batches(self.signals_.shape[1])),
        )

    def _score_records(self):
        if getattr(self, "target_signals_", None) is None:
            raise AttributeError(
                "scores_ is not available without target_signals in from_signals."
            )
        return super()._score_records()

    def shadow_scores(self):
        """Score all records at each shadow, which is left out of its own reference.

        Together with ``membership_``, the scores give the ROC curve of the attack on
        each shadow.

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
        """Tell whether the attack is right about each record at each shadow.

        Each shadow and its partner are left out of the reference. ``attack_success_``
        is the mean of the hit rates at the shadows trained with and without the record.

        Returns
        -------
        hits : ndarray of shape (n_shadows, n_samples), dtype float64
            1: right. 0: wrong. 0.5: undecided. NaN: not tried, as there are too few
            other shadows.
        """
        check_is_fitted(self)
        hits = np.empty(self.signals_.shape)
        for batch, _, (in_, out) in self._leave_pair_out():
            right = (np.sign(in_) + 1) / 2, (1 - np.sign(out)) / 2
            hits[:, batch] = in_order_of_shadows(right, self.membership_[:, batch])
        return hits

    def hit_pairs(self):
        """Return `shadow_hits` in pairs of shadows; see `signal_pairs`.

        Returns
        -------
        in_, out : ndarray of shape (n_pairs, n_samples), dtype float64
        """
        return pair_shadows(self.shadow_hits(), self.membership_)

    def _leave_pair_out(self):
        return leave_pair_out(
            self._reference(), self._test(), record_batches(self.signals_.shape[1])
        )

    @property
    def estimated_success_(self):
        """Attack success of each record from means and variances, (n_samples,)."""
        return self._estimate_success()[0]

    @property
    def estimated_success_interval_(self):
        """95 % interval of ``estimated_success_``, of shape (n_samples, 2)."""
        return self._estimate_success()[1]

    def _estimate_success(self):
        check_is_fitted(self)
        if "_estimated" not in self.__dict__:
            batches = record_batches(self.signals_.shape[1])
            smallest = self._test().smallest_variance
            self._estimated = success_of_separation(
                separations(self._reference(), batches, smallest)
            )
        return self._estimated

    @property
    def attack_success_halves_(self):
        """Attack success from each half of the shadows, of shape (2, n_samples).

        Their agreement shows how noisy ``attack_success_`` is; see
        :func:`~skpriv.metrics.score_agreement`. At least 12 shadows are required.
        """
        check_is_fitted(self)
        half_of_shadow = np.arange(len(self.signals_)) // 2 % 2
        if min(np.bincount(half_of_shadow, minlength=2)) < 6:
            raise AttributeError(
                "attack_success_halves_ needs at least 12 shadows; there are "
                f"{half_of_shadow.size}."
            )
        return np.stack(
            [
                attack_success(
                    self.signals_[half_of_shadow == half],
                    self.membership_[half_of_shadow == half],
                    labels=self._labels,
                    mode=self.mode,
                    variance=self.variance,
                )[0]
                for half in (0, 1)
            ]
        )


def _zero_variance(reference):
    signals, membership, labels = reference
    smallest = 0.0 if labels is None else resolution(labels)
    flat = np.zeros(signals.shape[1], dtype=bool)
    for side in (membership, ~membership):
        first = np.take_along_axis(signals, side.argmax(axis=0)[np.newaxis], axis=0)
        flat |= ((np.abs(signals - first) <= smallest) | ~side).all(axis=0)
    return flat


def _check_one_per_record(values, signals, name):
    values = check_array(values, ensure_2d=False, dtype=signals.dtype, input_name=name)
    if values.shape != signals.shape[1:]:
        raise ValueError(
            f"{name} must have shape {signals.shape[1:]}, one number per record; got "
            f"{values.shape}."
        )
    return values
