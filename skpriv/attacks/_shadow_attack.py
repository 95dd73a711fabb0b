"""Base class of the attacks with shadow models."""

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skpriv.attacks._base import ModelAttack
from skpriv.attacks._shadows._cache import CachedShadows, ShadowCache
from skpriv.attacks._shadows._fingerprint import fingerprint
from skpriv.attacks._shadows._likelihood import Reference
from skpriv.attacks._shadows._neighbors import NearestNeighborShadows, can_count
from skpriv.attacks._shadows._pairs import pair_shadows
from skpriv.attacks._shadows._queries import Queries, noise_scale
from skpriv.attacks._shadows._signals import compare_methods
from skpriv.attacks._shadows._training import Design, Records, Shadows
from skpriv.utils._halves import complementary_halves
from skpriv.utils._sklearn import HasMethods, Interval, StrOptions, fit_context
from skpriv.utils._text import count
from skpriv.utils._training import draw_seeds


class ShadowAttack(ModelAttack, CallbackSupportMixin, BaseEstimator):
    """An attack that compares a model with shadows trained on halves of the data.

    A subclass has the parameters of this class, the parameter or attribute ``signal``,
    and provides ``_score_signals(values, reference)``: the scores of records with the
    signals `values` at a target, given those at the shadows, a `Reference`. It may
    override

    - ``_score_new_signals(values, reference)``, the same for rows that no shadow was
      trained on;
    - ``_finish()``, which computes further attributes at the end of ``fit``.
    """

    _parameter_constraints = {
        # Some estimators, such as stacking, have predict only once they are fitted.
        "estimator": [HasMethods(["fit"]), None],
        "target": [HasMethods(["predict"]), None],
        "n_shadows": [Interval(Integral, 2, None, closed="left")],
        "mode": [StrOptions({"online", "offline"})],
        "smoothing": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "augmentations": [callable, Interval(Real, 0, None, closed="neither"), None],
        "store_models": ["boolean"],
        "cache_dir": [str, HasMethods(["__fspath__"]), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator,
        *,
        target,
        n_shadows,
        mode,
        smoothing,
        augmentations,
        store_models,
        cache_dir,
        n_jobs,
        random_state,
    ):
        self.estimator = estimator
        self.target = target
        self.n_shadows = n_shadows
        self.mode = mode
        self.smoothing = smoothing
        self.augmentations = augmentations
        self.store_models = store_models
        self.cache_dir = cache_dir
        self.n_jobs = n_jobs
        self.random_state = random_state

    # Estimators validate their parameters themselves.
    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Train the shadows and the target, and query them about each record.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            The records: the training records of the target and, if `target` is given,
            any others from the same population that it might have been trained on.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self : object
        """
        X, codes = self._validate_records(X, y)
        self._check_shadow_parameters()
        rng = check_random_state(self.random_state)
        membership = complementary_halves(
            self._task.strata(codes), self.n_shadows // 2, rng
        )
        *seeds, target_seed, query_seed = draw_seeds(self.n_shadows + 2, rng)
        self.target_ = self._find_target(X, codes, target_seed)
        self.response_method_ = self._task.response_method(self.target_)
        self._queries = self._make_queries(X, query_seed)
        progress = self._init_callback_context(
            max_subtasks=self.n_shadows, sequential_subtasks=False
        ).call_on_fit_task_begin(estimator=self, X=X, y=y)

        shadows = self._make_shadows(Records(X, codes), Design(membership, seeds))
        signals, saturated, models = self._collect(shadows, membership.shape, progress)
        ask = shadows.signals_of_all if self.target is None else shadows.target_signals
        self.target_signals_ = ask(self.target_)
        self._warn_label_only()

        self.signals_ = signals
        self.membership_ = membership
        self.shadow_seeds_ = seeds
        self.saturated_ = saturated
        self.missing_class_ = self._task.count_missing(codes, membership)
        if self.store_models:
            self.models_ = models
        self._remember_rows(X, codes)
        self._labels = self._records.y if self._task.kind == "regressor" else None
        self._finish()
        progress.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _check_shadow_parameters(self):
        if self.n_shadows % 2:
            raise ValueError(
                "n_shadows must be even, because each half of the records is used with "
                f"its complement; got {self.n_shadows}."
            )
        self._signal_kind()
        _check_no_frozen(self._model_to_train())
        if self.cache_dir is not None:
            if not isinstance(self.random_state, Integral):
                raise ValueError(
                    "random_state must be an integer if cache_dir is given, so that a "
                    f"resumed run trains the same shadows; got {self.random_state!r}."
                )
            if self.store_models:
                raise ValueError(
                    "store_models must be False if cache_dir is given, because the "
                    "cache keeps signals and no models; got True."
                )

    def _signal_kind(self):
        kinds = self._task.signals
        if self.signal != "auto" and self.signal not in kinds:
            raise ValueError(
                f"signal must be 'auto' or {' or '.join(map(repr, kinds))} for a "
                f"{self._task.kind}; got {self.signal!r}."
            )
        return kinds[0] if self.signal == "auto" else self.signal

    def _make_queries(self, X, seed):
        return Queries(
            task=self._task,
            kind=self._signal_kind(),
            smoothing=self.smoothing,
            augmentations=self.augmentations,
            seed=seed,
            method=self.response_method_,
            scale=noise_scale(X, self.augmentations),
        )

    def _make_shadows(self, records, design):
        estimator, queries = self._model_to_train(), self._queries
        what = estimator, records, design, queries
        if not self.store_models and can_count(estimator, queries):
            shadows = NearestNeighborShadows(*what, n_jobs=self.n_jobs)
        else:
            shadows = Shadows(*what, n_jobs=self.n_jobs, keep_models=self.store_models)
        if self.cache_dir is None:
            return shadows
        return CachedShadows(shadows, self._open_cache(records))

    def _open_cache(self, records):
        settings = ("smoothing", "augmentations", "n_shadows", "random_state")
        entries, versions = fingerprint(
            records.X,
            self._task.labels(records.codes),
            self._model_to_train(),
            response_method=self.response_method_,
            signal=self._queries.kind,
            **{name: getattr(self, name) for name in settings},
        )
        return ShadowCache(self.cache_dir, entries, versions)

    def _collect(self, shadows, shape, progress):
        """Gather the results of all shadows, and report each one as it finishes."""
        signals = np.empty(shape, dtype=self._task.signal_type)
        saturated = np.zeros(shape[1], dtype=np.int32)
        models = [None] * shape[0]
        for shadow in shadows.signals(range(shape[0])):
            signals[shadow.number] = shadow.signals
            saturated += shadow.saturated
            models[shadow.number] = shadow.model
            task = progress.subcontext(task_name="shadow", task_id=shadow.number)
            task.call_on_fit_task_begin(estimator=self)
            task.call_on_fit_task_end(estimator=self)
        return signals, saturated, models

    def _warn_label_only(self):
        if self._task.kind == "classifier" and self.response_method_ == "predict":
            warnings.warn(
                f"{type(self.target_).__name__} only predicts labels: the signal is "
                "whether the label is right, which makes the attack weaker.",
                stacklevel=2,
            )

    def _finish(self):
        """Compute the attributes that a subclass adds."""

    def _score_records(self):
        return self._score_signals(self.target_signals_, self._reference())

    def _reference(self):
        return Reference(self.signals_, self.membership_, self._labels)

    def _reason_against_new_rows(self):
        if self.mode == "online":
            modes = sorted(self._parameter_constraints["mode"][0].options - {"online"})
            return (
                f"mode must be {' or '.join(map(repr, modes))} to score new rows, as "
                "'online' needs shadows that were trained with them"
            )
        if not self.store_models:
            return (
                "store_models must be True to score new rows, as the shadows are "
                "queried about them"
            )
        return ""

    def _score_new_rows(self, X, y):
        reason = self._reason_against_new_rows()
        if reason:
            raise ValueError(
                f"{reason}; {count(len(y), 'row')} of X "
                f"{'is' if len(y) == 1 else 'are'} not among the records of fit."
            )
        rows = Records(X, self._task.codes(y))
        signals = np.stack(
            [self._queries.ask(model, rows)[0] for model in self.models_]
        )
        values, _ = self._queries.ask(self.target_, rows)
        labels = None if self._labels is None else y.astype(np.float64)
        not_in = np.zeros(signals.shape, dtype=bool)
        return self._score_new_signals(values, Reference(signals, not_in, labels))

    def _score_new_signals(self, values, reference):
        return self._score_signals(values, reference)

    def signal_pairs(self, records=slice(None)):
        """Return the signals of records at shadows in pairs, with and without them.

        Parameters
        ----------
        records : slice or array-like of int, default=slice(None)
            The records. By default, all of them.

        Returns
        -------
        in_, out : ndarray of shape (n_pairs, n_selected), dtype float64
            Signals at the shadow of each pair that was trained with the record, and at
            the one that was not. After ``fit``, pair i consists of the shadows 2i and
            2i + 1. NaN where a shadow has no partner (:meth:`LiRAAttack.from_signals`).
            The predictions of a regressor are multiplied by -1 for records whose label
            is less than their mean prediction: as for classes, training on a record
            raises its signal.
        """
        check_is_fitted(self)
        part = self._reference().of(records)
        return pair_shadows(part.directed_signals(), part.membership)

    def prepare(self, X, y):
        """Train the shadows, which serve for every target; see `AttackMixin`."""
        return self.without_target().fit(X, y)

    def score_target(self, target, X, y):
        """Attack another model with the same shadows.

        Parameters
        ----------
        target : classifier or regressor
            Fitted.
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            The records of ``fit``, in the same order.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        scores : ndarray of shape (n_samples,), dtype float64
            Higher: more likely a training record of `target`.

        Raises
        ------
        TypeError
            If `target` is not of the kind of the shadows, classifier or regressor.
        ValueError
            If `target` has other labels, if its signals come from another method than
            those of the shadows, or if `X` and `y` are not the records of ``fit``.
        """
        check_is_fitted(self)
        self._task.check_target(target)
        compare_methods(self._task.response_method(target), self.response_method_)
        X = self._validate_rows(X)
        y, records = self._identify_rows(X, y)
        if not np.array_equal(records, np.arange(self.signals_.shape[1])):
            raise ValueError("X and y must be the records of fit, in the same order.")
        rows = Records(X, self._task.codes(y))
        values, _ = self._queries.ask(target, rows)
        return self._score_signals(values, self._reference())


def _check_no_frozen(estimator):
    """Raise if shadows would hold a model that has seen other records than theirs."""
    for part in (estimator, *estimator.get_params(deep=True).values()):
        if isinstance(part, FrozenEstimator) and (
            is_classifier(part) or is_regressor(part)
        ):
            raise ValueError(
                f"estimator must not be or contain a frozen model, which the shadows "
                f"would not train; got {part!r}. Pass a model to attack as target."
            )
