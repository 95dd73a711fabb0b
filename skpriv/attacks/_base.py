"""What attacks with shadow models have in common."""

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skpriv._rows import as_rows
from skpriv.attacks._cache import CollectedSignals, ShadowCache
from skpriv.attacks._fingerprint import fingerprint
from skpriv.attacks._knn import NearestNeighborShadows, takes_fast_path
from skpriv.attacks._shadows import (
    Queries,
    complementary_halves,
    noise_scale,
    train_shadows,
)
from skpriv.attacks._signals import compare_methods, response_method
from skpriv.attacks._target import TargetAttackMixin, check_target
from skpriv.utils._sklearn import HasMethods, Interval, StrOptions, fit_context
from skpriv.utils._training import draw_seeds


class ShadowAttack(TargetAttackMixin, CallbackSupportMixin, BaseEstimator):
    """An attack that compares a model with shadows trained on halves of the data.

    A subclass has the parameters ``estimator``, ``target``, ``n_shadows``,
    ``smoothing``, ``augmentations``, ``store_models``, ``cache_dir``, ``n_jobs`` and
    ``random_state``, the attribute or parameter ``signal``, and provides
    ``_score_signals(values, signals, membership)``, the scores of signals at a
    target, given those at the shadows.
    """

    _parameter_constraints = {
        # Some, such as stacking, show predict only once they are fitted.
        "estimator": [HasMethods(["fit"]), None],
        "target": [HasMethods(["predict"]), None],
        "n_shadows": [Interval(Integral, 2, None, closed="left")],
        "smoothing": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "augmentations": [callable, Interval(Real, 0, None, closed="neither"), None],
        "store_models": ["boolean"],
        "cache_dir": [str, HasMethods(["__fspath__"]), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    # Estimators are handed on to their own validation.
    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Train the shadows and the target, and ask them about each record.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            The records: the training records of the target, and, where `target` is
            given, any others of the population that it might have been trained on.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self : object
        """
        X, codes = self._validate_records(X, y)
        self._check_shadow_parameters()
        rng = check_random_state(self.random_state)
        membership = complementary_halves(codes, self.n_shadows // 2, rng)
        *seeds, target_seed, query_seed = draw_seeds(self.n_shadows + 2, rng)
        self.target_ = self._find_target(X, codes, target_seed)
        self.response_method_ = response_method(self.target_, self.classes_)
        queries = Queries(
            self.classes_,
            self.signal,
            self.smoothing,
            self.augmentations,
            query_seed,
            self.response_method_,
            noise_scale(X, self.augmentations),
        )
        progress = self._init_callback_context(
            max_subtasks=self.n_shadows, sequential_subtasks=False
        ).call_on_fit_task_begin(estimator=self, X=X, y=y)

        nearest = self._search_neighbors(X, codes, queries)
        signals, saturated, models = self._ask_shadows(
            X, codes, membership, queries, seeds, nearest, progress
        )
        self.target_signals_ = self._ask_target(X, codes, queries, nearest)
        self._warn_label_only()

        self.signals_ = signals
        self.membership_ = membership
        self.saturated_ = saturated
        self.missing_class_ = _count_missing(codes, membership)
        if self.store_models:
            self.models_ = models
        self._queries = queries
        self._remember_rows(X, codes)
        self._finish()
        progress.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _check_shadow_parameters(self):
        if self.n_shadows % 2:
            raise ValueError(
                f"n_shadows is {self.n_shadows}; it wants an even number: each half "
                "of the records comes with its complement."
            )
        _check_no_frozen(self._shadow_estimator())
        if self.cache_dir is not None:
            if not isinstance(self.random_state, Integral):
                raise ValueError(
                    f"random_state is {self.random_state!r}; with cache_dir it wants "
                    "an integer, so that a resumed run repeats the same shadows."
                )
            if self.store_models:
                raise ValueError(
                    "store_models=True: the cache keeps signals, not models; it wants "
                    "False with cache_dir."
                )

    def _search_neighbors(self, X, codes, queries):
        """Search the neighbours of all k-NN shadows; None for other models."""
        estimator = self._shadow_estimator()
        if not takes_fast_path(self, estimator):
            return None
        compare_methods(
            self.response_method_, response_method(estimator, self.classes_)
        )
        return NearestNeighborShadows(estimator, X, codes, queries, n_jobs=self.n_jobs)

    def _ask_shadows(self, X, codes, membership, queries, seeds, nearest, progress):
        """Signals at all shadows, from the cache where it has them."""
        collected = CollectedSignals(membership, self._open_cache(X, codes))
        for shadow in collected.resume():
            self._report(progress, shadow)
        trained = self._train(
            collected.missing(), X, codes, membership, queries, seeds, nearest
        )
        models = [None] * len(membership)
        for shadow, signals, saturated, model in trained:
            collected.add(shadow, signals, saturated)
            models[shadow] = model
            self._report(progress, shadow)
        for shadow in collected.resume():
            self._report(progress, shadow)
        return collected.signals, collected.saturated, models

    def _train(self, shadows, X, codes, membership, queries, seeds, nearest):
        if nearest is None:
            return train_shadows(
                shadows,
                self._shadow_estimator(),
                X,
                codes,
                membership,
                queries,
                seeds,
                n_jobs=self.n_jobs,
                keep=self.store_models,
            )
        return (
            (shadow, *nearest.signals(membership[shadow]), None) for shadow in shadows
        )

    def _ask_target(self, X, codes, queries, nearest):
        if nearest is not None and self.target is None:
            return nearest.signals(np.ones(codes.size, dtype=bool))[0]
        return queries.ask(self.target_, X, codes)[0]

    def _report(self, progress, shadow):
        task = progress.subcontext(task_name="shadow", task_id=shadow)
        task.call_on_fit_task_begin(estimator=self)
        task.call_on_fit_task_end(estimator=self)

    def _open_cache(self, X, codes):
        if self.cache_dir is None:
            return None
        settings = ("signal", "smoothing", "augmentations", "n_shadows", "random_state")
        return ShadowCache(
            self.cache_dir,
            fingerprint(
                X,
                self.classes_[codes],
                self._shadow_estimator(),
                response_method=self.response_method_,
                **{name: getattr(self, name) for name in settings},
            ),
        )

    def _warn_label_only(self):
        if self.response_method_ == "predict":
            warnings.warn(
                f"{type(self.target_).__name__} gives labels only: the signal is "
                "whether the label is right, and the attack is weaker for it.",
                stacklevel=2,
            )

    def _finish(self):
        """Compute the attributes that a subclass adds."""

    def _score_records(self):
        return self._score_signals(
            self.target_signals_, self.signals_, self.membership_
        )

    def _score_unseen(self, X, codes):
        signals = self._signals_of_new_rows(X, codes)
        values, _ = self._queries.ask(self.target_, X, codes)
        return self._score_signals(values, signals, np.zeros(signals.shape, dtype=bool))

    def _signals_of_new_rows(self, X, codes):
        if not self.store_models:
            raise ValueError(
                f"{codes.size} rows of X are no records of fit, so that the shadows "
                "must be asked about them; store_models wants True for this."
            )
        return np.stack(
            [self._queries.ask(model, X, codes)[0] for model in self.models_]
        )

    def score_target(self, target, X, y):
        """Attack another model with the same shadows.

        Parameters
        ----------
        target : classifier
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
            If `target` is no classifier.
        ValueError
            If `target` has other labels, or answers by another method than the
            shadows, or if `X` and `y` are not the records of ``fit``.
        """
        check_is_fitted(self)
        check_target(target, self.classes_)
        compare_methods(response_method(target, self.classes_), self.response_method_)
        X = as_rows(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        y, records = self._identify_rows(X, y)
        if not np.array_equal(records, np.arange(self.signals_.shape[1])):
            raise ValueError(
                "X and y are not the records of fit, in the same order, which "
                "score_target wants."
            )
        values, _ = self._queries.ask(target, X, self._known_labels.codes(y))
        return self._score_signals(values, self.signals_, self.membership_)


def _check_no_frozen(estimator):
    """Raise if shadows would hold a model that has seen other records than theirs."""
    for part in (estimator, *estimator.get_params(deep=True).values()):
        if isinstance(part, FrozenEstimator) and (
            is_classifier(part) or is_regressor(part)
        ):
            raise ValueError(
                f"estimator is or holds {part!r}, which no shadow would train; it "
                "wants to be an estimator that is not frozen. A model to attack is "
                "passed as target."
            )


def _count_missing(codes, membership):
    """Shadows that have not seen a record's class, for each record."""
    by_class = [
        (~membership[:, codes == code].any(axis=1)).sum()
        for code in range(codes.max() + 1)
    ]
    return np.array(by_class)[codes]
