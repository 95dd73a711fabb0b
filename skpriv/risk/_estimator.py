"""The estimator of each record's risk."""

import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from skpriv._rows import RowEncoder, as_rows
from skpriv.attacks import LiRAAttack
from skpriv.attacks._shadows._pairs import pair_shadows
from skpriv.base import RecordScorerMixin
from skpriv.leverage import GLSScorer
from skpriv.risk._covariates import (
    THEORY,
    Audited,
    check_covariates,
    given_covariates,
    has_bootstrap,
    is_linear,
    is_network,
)
from skpriv.risk._small_area import (
    detectable_separation,
    estimate_risk,
    predicted_risk,
    to_success,
)
from skpriv.utils._optional import import_optional
from skpriv.utils._pipelines import parts_of
from skpriv.utils._sklearn import HasMethods, Interval, StrOptions, fit_context
from skpriv.utils._text import count
from skpriv.utils._training import fit_clone

_FEWEST_SHADOWS = 8
_FROM_SHADOWS = ("out_of_shadow_confidence", "out_of_shadow_error")


class RiskEstimator(RecordScorerMixin, CallbackSupportMixin, BaseEstimator):
    """Each record's attack success, from a few shadow models and cheap scores.

    The success of an attack (LiRA) on a single record, counted on few shadow models, is
    hardly more than noise. But thousands of records share one attack. The separation of
    a record's signals with and without it is regressed on scores that cost little, over
    all records; then each record's own measurement is weighed against that prediction.
    From 8 to 16 shadows, the estimates are as good as those that LiRA has from
    hundreds. Statisticians call this small-area estimation.

    Parameters
    ----------
    estimator : classifier or regressor, default=None
        The model whose training records are at risk. None: one like `target` or,
        without a target, logistic regression.
    target : classifier or regressor, default=None
        The fitted model, if there is one already; see :class:`LiRAAttack`. The risk is
        that of models trained like it on halves of the records.
    n_shadows : int, default=16
        Number of shadow models: an even number that is at least 8. 0: no shadow is
        trained, and a theory alone predicts the success (``attack_power`` of
        :class:`GLSScorer`), which only linear models with a smooth loss, and network
        classifiers, have.
    scorers : "auto" or dict, default="auto"
        The scores that the separation is regressed on; higher: more exposed.

        - "auto": those that fit the model. Leverage, self-influence and attack power
          for linear models; self-influence for networks; the out-of-bag error for
          forests and bagging; k-NN Shapley values and WaKA on the model's own
          features, unless there are too many records.
        - A dict of names and scorers, or arrays of shape (n_samples,). Scorers that
          are not fitted are fitted on the records. NaN: no score. The value "auto"
          stands for all of the above. A score named "attack_power" is also used as an
          estimate of the success itself.

        How badly the shadows predict records that they were not trained on is always
        added.
    regressor : "auto" or regressor, default="auto"
        Predicts the separation from the ranks of the scores. "auto": isotonic
        regressions on one score each, a gradient boosting that increases in all, and
        the mean, combined with non-negative weights.
    confidence_level : float, default=0.95
        Level of ``interval_``.
    cache_dir : str or path-like, default=None
        Folder for the signals of finished shadows; see :class:`LiRAAttack`.
    n_jobs : int, default=None
        Number of shadows to train at a time. It does not change the results.
    random_state : int, RandomState instance or None, default=None
        Draws the halves, and seeds all models. Pass an int for reproducible results.

    Attributes
    ----------
    scores_ : ndarray of shape (n_samples,)
        Estimated attack success on each record, from 0.5 (not exposed) to 1.
    interval_ : ndarray of shape (n_samples, 2)
        Interval of the success, at the level `confidence_level`.
    attack_ : LiRAAttack or None
        The attack, with the shadows' signals; None without shadows.
    covariates_ : DataFrame or dict of str to ndarray of shape (n_samples,)
        The scores. A dict if pandas is not installed.
    weights_ : dict of str to float
        How much of the variation of the predictions each score carries by itself;
        "boosting" is the regression on all of them. The sum is 1, or 0 if no record
        seems more exposed than another. Scores that are the same for all records have
        weight 0. NaN if `regressor` is given.
    omitted_ : dict of str to str
        The scores that fit the model but could not be computed, and why.
    classes_ : ndarray of shape (n_classes,)
        The labels, if the model is a classifier.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has them.

    See Also
    --------
    LiRAAttack : The attack whose success is estimated.
    GLSScorer : Leverage, self-influence and attack power.

    Notes
    -----
    Scores that come from shadows, and the separation that is regressed on them, are
    taken from different halves of the shadows, so that they do not share their noise.
    Predictions are made for records that were left out of the regression. The
    self-influence of a record on a network is computed at two pairs of shadows, where
    the record is not in training. The cache holds no models, so with `cache_dir` it is
    that at the network under attack, which is a poorer score.

    The interval is about the success of the attack on models that are trained on random
    halves of these records. The residual of the regression cannot be measured with few
    shadows, and is then assumed to be what it was for models whose risk is known.

    Only training records can be scored: no shadow was trained on other rows.

    References
    ----------
    .. [1] R. E. Fay and R. A. Herriot, "Estimates of income for small places", Journal
       of the American Statistical Association 74 (1979).
    .. [2] N. Carlini, S. Chien, M. Nasr, S. Song, A. Terzis and F. Tramèr, "Membership
       inference attacks from first principles", IEEE Symposium on Security and Privacy
       (2022).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skpriv import RiskEstimator
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(10)
    >>> risk = RiskEstimator(forest, n_shadows=8, random_state=0).fit(X, y)
    >>> risk.scores_.shape
    (569,)
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit"]), None],
        "target": [HasMethods(["predict"]), None],
        "n_shadows": [Interval(Integral, 0, None, closed="left")],
        "scorers": [StrOptions({"auto"}), dict],
        "regressor": [StrOptions({"auto"}), HasMethods(["fit", "predict"])],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "cache_dir": [str, HasMethods(["__fspath__"]), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        target=None,
        n_shadows=16,
        scorers="auto",
        regressor="auto",
        confidence_level=0.95,
        cache_dir=None,
        n_jobs=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.target = target
        self.n_shadows = n_shadows
        self.scorers = scorers
        self.regressor = regressor
        self.confidence_level = confidence_level
        self.cache_dir = cache_dir
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._make_attack()).input_tags
        scorers = self.scorers.values() if isinstance(self.scorers, dict) else ()
        for scorer in scorers:
            if hasattr(scorer, "__sklearn_tags__"):
                tags.input_tags.allow_nan &= get_tags(scorer).input_tags.allow_nan
        return tags

    def _make_attack(self, **parameters):
        names = ("estimator", "target", "cache_dir", "n_jobs", "random_state")
        return LiRAAttack(**{name: getattr(self, name) for name in names}, **parameters)

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Train the shadows, compute the scores, and estimate each record's risk.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            The training records of the model.
        y : array-like of shape (n_samples,)
            Their labels or targets.

        Returns
        -------
        self : RiskEstimator
        """
        if y is None:
            raise ValueError(
                "This RiskEstimator estimator requires y to be passed, but the target "
                "y is None."
            )
        X = as_rows(X)
        validate_data(self, X, skip_check_array=True)
        progress = self._init_callback_context(max_subtasks=1)
        progress.call_on_fit_task_begin(estimator=self, X=X, y=y)
        model = self._make_attack().shadow_estimator()
        if self.n_shadows:
            self._fit_with_shadows(model, X, y, progress)
        else:
            self._fit_without_shadows(model, X, y)
        y = column_or_1d(y)
        if not is_regressor(model):
            self.classes_ = np.unique(y)
        self._encoder = RowEncoder().fit(X)
        self._remember_records(X, y)
        progress.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _fit_with_shadows(self, model, X, y, progress):
        _check_n_shadows(self.n_shadows)
        last = parts_of(model).model
        dtype = np.float64 if is_regressor(model) else None
        keep = is_network(last) and self.cache_dir is None
        attack = self._make_attack(n_shadows=self.n_shadows, store_models=keep)
        task = progress.subcontext(task_name="shadows")
        with task.propagate_callback_context(attack):
            self.attack_ = attack.fit(X, y)
        y = column_or_1d(y, dtype=dtype)
        fitted, shadows = attack.target_, attack.models_ if keep else None
        if self.target is not None and (is_linear(last) or has_bootstrap(last)):
            # The target may have been trained on other records.
            fitted = fit_clone(model, X, y, seed=attack.shadow_seeds_[0])
        audited = Audited(model, fitted, X, y, shadows, attack.membership_, self.n_jobs)
        scorers = {"auto": "auto"} if self.scorers == "auto" else self.scorers
        covariates, self.omitted_ = given_covariates(scorers, audited)
        if keep:
            del attack.models_
            attack.set_params(store_models=False)
        self._estimate(covariates, y if is_regressor(model) else None)

    def _estimate(self, covariates, y):
        """Estimate the risk from the attack's signals and the scores."""
        in_, out = pair_shadows(self.attack_.signals_, self.attack_.membership_)
        _check_measured(in_, out)
        _warn_of_two_values(self.attack_.signals_)
        n_records = in_.shape[1]
        columns = [
            np.broadcast_to(values, (2, n_records)) for values in covariates.values()
        ]
        columns = np.reshape(columns, (-1, 2, n_records)).transpose(1, 2, 0)
        names = list(covariates)
        estimate = estimate_risk(
            in_,
            out,
            columns,
            [j for j, name in enumerate(names) if name == THEORY],
            y=y,
            regressor=None if self.regressor == "auto" else self.regressor,
            confidence_level=self.confidence_level,
        )
        exposure = _FROM_SHADOWS[y is not None]
        self._covariates = {name: _mean(covariates[name]) for name in names}
        self._covariates[exposure] = estimate.exposure
        weights = estimate.weights.tolist()
        names = [*names, exposure, "boosting"]
        self._set_estimate(estimate, dict(zip(names, weights, strict=True)))

    def _set_estimate(self, estimate, weights):
        self._success = estimate.success
        self._separation, self._variance = estimate.separation, estimate.variance
        self._shrinkage = estimate.shrinkage
        self.interval_ = estimate.interval
        self.weights_ = weights

    def _fit_without_shadows(self, model, X, y):
        last = parts_of(model).model
        if not is_linear(last) and not (is_network(last) and is_classifier(last)):
            raise ValueError(
                "n_shadows must be at least 8 for a model without attack power, which "
                "linear models with a smooth loss and network classifiers have; got 0 "
                f"for {last!r}."
            )
        cv = None if is_linear(last) else 2
        scorer = GLSScorer(
            model, variant="attack_power", cv=cv, random_state=self.random_state
        ).fit(X, y)
        self.attack_, self.omitted_ = None, {}
        self._covariates = {THEORY: scorer.scores_}
        estimate = predicted_risk(scorer.scores_, self.confidence_level)
        self._set_estimate(estimate, {THEORY: 1.0})

    @classmethod
    def from_signals(
        cls, signals, membership, *, y=None, covariates=None, **parameters
    ):
        """Estimate the risk of models that were trained elsewhere.

        Parameters
        ----------
        signals : array-like of shape (n_shadows, n_records)
            Signals of the records at each model. Higher: more confident in the label.
            Of regressors, the predictions.
        membership : array-like of shape (n_shadows, n_records)
            True where the model was trained on the record. Models 2i and 2i + 1 are
            best trained on complementary halves. At least 8 models. A record that all
            models, or none, were trained on cannot be measured: its estimate is the
            prediction from its scores.
        y : array-like of shape (n_records,), default=None
            The targets of the records, if the models are regressors. None: they are
            classifiers.
        covariates : dict or DataFrame, default=None
            Scores of the records by name, each of shape (n_records,). Higher: more
            exposed. NaN: no score. "attack_power" is taken for an estimate of the
            success itself.
        **parameters
            ``regressor`` and ``confidence_level``.

        Returns
        -------
        risk : RiskEstimator
            With ``scores_``, ``interval_``, ``attack_``, ``covariates_`` and
            ``weights_``. It has no records, so it cannot score rows.
        """
        foreign = sorted(set(parameters) - {"regressor", "confidence_level"})
        if foreign:
            raise ValueError(
                "from_signals takes no parameters but regressor and confidence_level, "
                f"because no shadow is trained; got {', '.join(foreign)}."
            )
        attack = LiRAAttack.from_signals(signals, membership, y=y)
        _check_n_shadows(len(attack.signals_), even=False)
        risk = cls(n_shadows=len(attack.signals_), **parameters)
        risk._validate_params()
        risk.attack_, risk._records = attack, None
        n_records = attack.signals_.shape[1]
        covariates = check_covariates(covariates, n_records, "covariates")
        risk.omitted_ = {}
        risk._estimate(
            covariates, None if y is None else column_or_1d(y, dtype=np.float64)
        )
        return risk

    @property
    def covariates_(self):
        """The scores used for the prediction: a DataFrame if pandas is installed."""
        check_is_fitted(self, "interval_")
        try:
            pandas = import_optional("pandas", extra="report")
        except ImportError:
            return dict(self._covariates)
        return pandas.DataFrame(self._covariates)

    def interval(self, confidence_level=0.95):
        """Interval of each record's success at another level than that of ``fit``.

        Parameters
        ----------
        confidence_level : float, default=0.95

        Returns
        -------
        interval : ndarray of shape (n_samples, 2)
        """
        check_is_fitted(self, "interval_")
        return to_success(self._separation, self._variance, confidence_level)[1]

    def probability_at_most(self, success):
        """Probability that each record's success is at most a given value.

        Parameters
        ----------
        success : float
            Between 0.5 and 1.

        Returns
        -------
        probability : ndarray of shape (n_samples,)
            Given the shadows and the scores.
        """
        check_is_fitted(self, "interval_")
        if not 0.5 <= success <= 1:
            raise ValueError(f"success must be between 0.5 and 1; got {success!r}.")
        distance = 2 * ndtri(success) - self._separation
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = distance / np.sqrt(self._variance)
        return np.where(self._variance == 0, distance >= 0, ndtr(ratio))

    def detectable_success(self, probability, *, success=0.55):
        """Success of an attack on each record that would not have gone unnoticed.

        Suppose that the signals of a record, which is not known to be exposed by its
        scores, were those of a record on which attacks succeed more often. From which
        success on would the estimate leave a `probability` of `success` or less? The
        measurement of a record is as often above its true value as below, so that a
        record of the returned success has an even chance of being noticed.

        Parameters
        ----------
        probability : float
            Largest probability that the success is at most `success`, at which a
            record is noticed.
        success : float, default=0.55
            Between 0.5 and 1.

        Returns
        -------
        detectable : ndarray of shape (n_samples,)
            NaN for records that no shadows measure.

        Raises
        ------
        ValueError
            If no shadows were trained.
        """
        check_is_fitted(self, "interval_")
        if self._shrinkage is None:
            raise ValueError("detectable_success needs shadows; n_shadows is 0.")
        separation = detectable_separation(self._shrinkage, probability, success)
        return np.maximum(ndtr(separation / 2), 0.5)

    def _score_records(self):
        return self._success

    def _record_keys(self, X):
        return self._encoder.transform(X)

    def _validate_rows(self, X):
        if self._records is None:
            raise AttributeError(
                "This RiskEstimator was made by from_signals and has no records, so it "
                "cannot score rows; see scores_."
            )
        X = as_rows(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        return X

    def _reason_against_new_rows(self):
        return "only training records can be scored"

    def _score_new_rows(self, X, y):
        raise ValueError(
            f"{self._reason_against_new_rows()}; {count(len(y), 'row')} of X "
            f"{'is' if len(y) == 1 else 'are'} not among the records of fit."
        )


def _mean(values):
    """Mean of the scores from both halves of the shadows."""
    return values if values.ndim == 1 else values.mean(axis=0)


def _check_n_shadows(n_shadows, even=True):
    if n_shadows < _FEWEST_SHADOWS or (even and n_shadows % 2):
        kind = "0, or an even number that is at least" if even else "at least"
        raise ValueError(
            f"n_shadows must be {kind} {_FEWEST_SHADOWS}, so that both halves of the "
            f"shadows have a variance; got {n_shadows}."
        )


def _warn_of_two_values(signals):
    low, high = signals.min(), signals.max()
    if low < high and ((signals == low) | (signals == high)).all():
        warnings.warn(
            "signals have only two different values, such as right and wrong, and are "
            "not normal, so that the estimated risk is only rough; see attack_success_ "
            "of attack_ for the counted success.",
            stacklevel=4,
        )


def _check_measured(in_, out):
    """Raise unless each half of the shadows measures some record."""
    for half in (0, 1):
        n_in, n_out = (
            np.isfinite(side[half::2]).sum(axis=0).astype(int) for side in (in_, out)
        )
        if not ((n_in > 0) & (n_out > 0) & (n_in + n_out > 2)).any():
            raise ValueError(
                "membership must have, for some record, at least two models trained "
                "with it and two without it."
            )
