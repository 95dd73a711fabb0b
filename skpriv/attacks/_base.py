"""What attacks with shadow models have in common: `fit`, and rows to score."""

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils import (
    check_array,
    check_consistent_length,
    check_random_state,
    column_or_1d,
    get_tags,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from skpriv.attacks._cache import ShadowCache, fingerprint
from skpriv.attacks._knn import NearestNeighborShadows, takes_fast_path
from skpriv.attacks._rows import RowEncoder, as_rows
from skpriv.attacks._shadows import (
    Queries,
    complementary_halves,
    draw_seeds,
    train_model,
    train_shadows,
)
from skpriv.attacks._signals import response_method
from skpriv.base import RecordScorerMixin
from skpriv.utils._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    fit_context,
    safe_indexing,
)


class TargetAttackMixin(RecordScorerMixin):
    """An attack on a classifier, which takes any rows that the classifier takes.

    `X` is passed to the classifier as it is, and encoded only to recognise records.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self._shadow_estimator()).input_tags
        for name in ("sparse", "allow_nan", "string", "categorical"):
            taken = getattr(inner, name) and not self._adds_noise()
            setattr(tags.input_tags, name, taken)
        return tags

    def _adds_noise(self):
        """Whether queries are made of numbers and noise, and so need numbers."""
        return isinstance(getattr(self, "augmentations", None), Real)

    def _shadow_estimator(self):
        """Return the classifier to train: given, or of the target's kind."""
        if self.estimator is not None:
            return self.estimator
        if self.target is None:
            return LogisticRegression(max_iter=1000)
        if isinstance(self.target, FrozenEstimator):
            return self.target.estimator
        return self.target

    def _validate_records(self, X, y):
        """Set what is known of the data, and return X and the codes of the labels."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but "
                "the target y is None."
            )
        X = as_rows(X)
        validate_data(self, X, skip_check_array=True)
        if self._adds_noise():
            numbers = check_array(X, input_name="X", estimator=self)
            X = X if hasattr(X, "columns") else numbers
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        check_classification_targets(y)
        if y.size < 4:
            raise ValueError(
                f"n_samples={y.size} is too few; {type(self).__name__} wants at least "
                "4 records."
            )
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            only = self.classes_.tolist()[0]
            raise ValueError(f"y has 1 class, {only!r}; {type(self).__name__} wants 2.")
        return X, codes

    def _find_target(self, X, codes, seed):
        """Return the target given, or one trained on all records."""
        if self.target is None:
            return train_model(self._shadow_estimator(), X, self.classes_[codes], seed)
        check_is_fitted(self.target)
        unknown = np.setdiff1d(self.target.classes_, self.classes_)
        if unknown.size:
            raise ValueError(
                f"target has classes that y has not: {unknown.tolist()}; y wants the "
                "labels that the target was trained on."
            )
        return self.target

    def _remember_rows(self, X, codes):
        self._encoder = RowEncoder()
        self._remember_records(self._encoder.fit_transform(X), self.classes_[codes])

    def score_samples(self, X, y=None):
        """Score rows by how surely they were training records of ``target_``.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            Their labels. Without it each row takes the label of the record of
            ``fit`` that it coincides with.

        Returns
        -------
        scores : ndarray of shape (n_samples,), dtype float64
            Higher: more likely a member.

        Raises
        ------
        ValueError
            If `y` is None and a row coincides with no record, or if the attack has
            no way to score rows that ``fit`` has not seen.
        """
        check_is_fitted(self)
        X = as_rows(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        labels, records = self._identify_rows(self._encoder.transform(X), y)
        scores = np.empty(records.size)
        known = records >= 0
        scores[known] = self.scores_[records[known]]
        if not known.all():
            rows = np.flatnonzero(~known)
            codes = self._label_codes(labels[rows])
            scores[rows] = self._score_new_rows(safe_indexing(X, rows), codes)
        return scores

    def _label_codes(self, y):
        codes = np.searchsorted(self.classes_, y).clip(max=self.classes_.size - 1)
        unknown = self.classes_[codes] != y
        if unknown.any():
            raise ValueError(
                f"y has labels that fit has not seen: {np.unique(y[unknown]).tolist()}."
            )
        return codes


class ShadowAttack(TargetAttackMixin, CallbackSupportMixin, BaseEstimator):
    """An attack that compares a model with shadows trained on halves of the data.

    A subclass has the parameters ``estimator``, ``target``, ``n_shadows``,
    ``smoothing``, ``augmentations``, ``store_models``, ``cache_dir``, ``n_jobs`` and
    ``random_state``, the attribute or parameter ``signal``, and provides
    ``_score_signals(values, signals, membership)``, the scores of signals at a
    target, given those at the shadows.
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict"]), None],
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
        queries = Queries(
            self.classes_, self.signal, self.smoothing, self.augmentations, query_seed
        )
        progress = self._init_callback_context(
            max_subtasks=self.n_shadows, sequential_subtasks=False
        ).call_on_fit_task_begin(estimator=self, X=X, y=y)

        nearest = self._search_neighbors(X, codes)
        signals, saturated, models = self._ask_shadows(
            X, codes, membership, queries, seeds, nearest, progress
        )
        self.target_ = self._find_target(X, codes, target_seed)
        self.target_signals_ = self._ask_target(X, codes, queries, nearest)
        self.response_method_ = response_method(self.target_)
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

    def _search_neighbors(self, X, codes):
        """Search the neighbours of all k-NN shadows; None for other models."""
        estimator = self._shadow_estimator()
        if not takes_fast_path(self, estimator):
            return None
        return NearestNeighborShadows(estimator, X, codes, n_jobs=self.n_jobs)

    def _ask_shadows(self, X, codes, membership, queries, seeds, nearest, progress):
        """Signals at all shadows, from the cache where it has them."""
        collected = _Collected(membership.shape, self._open_cache(X, codes), membership)
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
            (shadow, *nearest.signals(membership[shadow], queries), None)
            for shadow in shadows
        )

    def _ask_target(self, X, codes, queries, nearest):
        if nearest is not None and self.target is None:
            return nearest.signals(np.ones(codes.size, dtype=bool), queries)[0]
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

    def _score_new_rows(self, X, codes):
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
        """
        check_is_fitted(self)
        check_is_fitted(target)
        X = as_rows(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        y, records = self._identify_rows(self._encoder.transform(X), y)
        if not np.array_equal(records, np.arange(self.signals_.shape[1])):
            raise ValueError(
                "X and y are not the records of fit, in the same order, which "
                "score_target wants."
            )
        values, _ = self._queries.ask(target, X, self._label_codes(y))
        return self._score_signals(values, self.signals_, self.membership_)


class _Collected:
    """Signals that have come in so far, and the cache that they are kept in."""

    def __init__(self, shape, cache, membership):
        self.signals = np.empty(shape, dtype=np.float32)
        self.saturated = np.zeros(shape[1], dtype=np.int32)
        self._done = np.zeros(shape[0], dtype=bool)
        self._cache = cache
        self._membership = membership

    def add(self, shadow, signals, saturated):
        if self._cache is not None:
            self._cache.save(shadow, self._membership[shadow], signals, saturated)
        self._take(shadow, signals, saturated)

    def _take(self, shadow, signals, saturated):
        self.signals[shadow] = signals
        self.saturated += saturated
        self._done[shadow] = True

    def resume(self):
        """Read what the cache has and is not here yet; yield its number."""
        if self._cache is None:
            return
        for shadow in np.flatnonzero(~self._done):
            found = self._cache.load(shadow, self._membership[shadow])
            if found is not None:
                self._take(shadow, *found)
                yield int(shadow)

    def missing(self):
        """Yield shadows to train, less those that another run finishes meanwhile."""
        damaged = np.flatnonzero(~self._done)
        on_disk = {s for s in damaged if self._cache is not None and self._cache.has(s)}
        for shadow in damaged:
            if self._cache is None or shadow in on_disk or not self._cache.has(shadow):
                yield int(shadow)


def _count_missing(codes, membership):
    """Shadows that have not seen a record's class, for each record."""
    by_class = [
        (~membership[:, codes == code].any(axis=1)).sum()
        for code in range(codes.max() + 1)
    ]
    return np.array(by_class)[codes]


def shadow_estimator_of(attack):
    """Copy the classifier that an attack trains, for a new target.

    Parameters
    ----------
    attack : TargetAttackMixin

    Returns
    -------
    estimator : classifier
    """
    return clone(attack._shadow_estimator())
