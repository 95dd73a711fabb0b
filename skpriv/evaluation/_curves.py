"""How removing or adding records changes a model, and the exposure of the others."""

import warnings
from numbers import Integral, Real

import numpy as np
from scipy.stats import entropy
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import f1_score
from sklearn.utils import (
    Bunch,
    check_array,
    check_consistent_length,
    check_random_state,
    column_or_1d,
)
from sklearn.utils.parallel import Parallel, delayed

from skpriv._rows import as_rows
from skpriv.base import AttackMixin
from skpriv.utils._checks import check_rates
from skpriv.utils._pipelines import last_step, replace_last_step
from skpriv.utils._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    safe_indexing,
    validate_params,
)
from skpriv.utils._text import count
from skpriv.utils._training import draw_seeds, fit_clone


@validate_params(
    {
        "estimator": [HasMethods(["fit", "predict"])],
        "X": ["array-like", "sparse matrix"],
        "y": ["array-like"],
        "scores": ["array-like"],
        "X_test": ["array-like", "sparse matrix"],
        "y_test": ["array-like"],
        "fractions": ["array-like", None],
        "action": [StrOptions({"remove", "add"})],
        "order": [StrOptions({"highest", "lowest", "random"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def minimization_curve(
    estimator,
    X,
    y,
    scores,
    X_test,
    y_test,
    *,
    fractions=None,
    action="remove",
    order="highest",
    n_jobs=None,
    random_state=None,
):
    """Train on fewer and fewer or on more and more records, in the order of a score.

    Parameters
    ----------
    estimator : classifier
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    scores : array-like of shape (n_samples,)
        Exposure or value of each record.
    X_test : {array-like, sparse matrix, DataFrame} of shape (n_test, n_features)
    y_test : array-like of shape (n_test,)
    fractions : array-like of shape (n_steps,), default=None
        Fractions of the records that are removed or, for ``action="add"``, trained
        on. None: 0, 0.1, ..., 0.9 or, for ``action="add"``, 0.1, 0.2, ..., 1.
    action : {"remove", "add"}, default="remove"
        Whether to start with all records and remove some, or to start with none.
    order : {"highest", "lowest", "random"}, default="highest"
        Which records are removed or added first. ``"random"`` is a baseline.
    n_jobs : int, default=None
        Number of models to train at a time.
    random_state : int, RandomState instance or None, default=None
        Breaks ties of the score, and seeds the models.

    Returns
    -------
    curve : :class:`~sklearn.utils.Bunch`
        Arrays of shape (n_steps,): ``fraction``; ``n_records``, the number of records
        trained on; ``macro_f1`` on the test rows; and ``class_balance``, the entropy
        of the labels trained on, relative to that of balanced labels, for which it is
        1. Also ``class_counts``, of shape (n_steps, n_classes), in the order of
        ``classes``. If a step leaves fewer than two classes, its `macro_f1` is NaN,
        with a warning.
    """
    X, X_test = as_rows(X), as_rows(X_test)
    y, y_test = column_or_1d(y), column_or_1d(y_test)
    scores = column_or_1d(
        check_array(scores, ensure_2d=False, dtype=np.float64, input_name="scores")
    )
    check_consistent_length(X, y, scores)
    check_consistent_length(X_test, y_test)
    if fractions is None:
        fractions = (np.arange(10) + (action == "add")) / 10
    fractions = check_rates(fractions, "fractions")

    rng = check_random_state(random_state)
    ranked = _ranked(scores, order, rng)
    sizes = np.rint(fractions * y.size).astype(np.intp)
    kept = [ranked[size:] if action == "remove" else ranked[:size] for size in sizes]
    (seed,) = draw_seeds(1, rng)
    macro_f1 = Parallel(n_jobs=n_jobs)(
        delayed(_macro_f1)(estimator, X, y, np.sort(rows), X_test, y_test, seed)
        for rows in kept
    )
    classes = np.unique(y)
    counts = np.array([(y[rows, None] == classes).sum(axis=0) for rows in kept])
    _warn_of_one_class(counts, fractions)
    return Bunch(
        fraction=fractions,
        n_records=np.array([rows.size for rows in kept]),
        macro_f1=np.array(macro_f1),
        class_balance=_balance(counts),
        class_counts=counts,
        classes=classes,
    )


def _ranked(scores, order, rng):
    shuffled = rng.permutation(scores.size)
    if order == "random":
        return shuffled
    key = -scores if order == "highest" else scores
    return shuffled[np.argsort(key[shuffled], kind="stable")]


def _macro_f1(estimator, X, y, rows, X_test, y_test, seed):
    if np.unique(y[rows]).size < 2:
        return np.nan
    model = fit_clone(estimator, safe_indexing(X, rows), y[rows], seed=seed)
    return f1_score(y_test, model.predict(X_test), average="macro", zero_division=0)


def _balance(counts):
    shares = np.maximum(counts, 0) / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return np.array([entropy(row) if row.any() else 0.0 for row in shares]) / np.log(
        max(counts.shape[1], 2)
    )


def _warn_of_one_class(counts, fractions):
    short = (counts > 0).sum(axis=1) < 2
    if short.any():
        warnings.warn(
            f"At fractions {fractions[short].tolist()} fewer than two classes are "
            "left to train on; macro_f1 is NaN there.",
            stacklevel=3,
        )


@validate_params(
    {
        "attack": [HasMethods(["fit", "score_samples"])],
        "X": ["array-like", "sparse matrix"],
        "y": ["array-like"],
        "fraction": [Interval(Real, 0, 1, closed="neither")],
    },
    prefer_skip_nested_validation=True,
)
def onion_effect(attack, X, y, *, fraction=0.1):
    """Remove the most exposed records, and measure the exposure of the others again.

    Like layers of an onion, records that were safe beneath more exposed ones may
    become exposed when these are removed.

    Parameters
    ----------
    attack : estimator
        An attack or a scorer, or a Pipeline that ends in one. With
        ``attack_success_halves_`` (:class:`~skpriv.LiRAAttack` has it if there are at
        least 12 shadows), the first half of the shadows selects the records to remove,
        and the second half measures the others before and after. Otherwise, records
        selected for a low measurement would rise by chance alone. Other attacks and
        scorers are measured by their ``scores_``.
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    fraction : float, default=0.1
        Fraction of the records to remove.

    Returns
    -------
    effect : :class:`~sklearn.utils.Bunch`
        ``removed`` and ``kept``, the indices of the records; ``before`` and
        ``after``, the exposure of those kept, of shape (n_kept,); ``mean_change``
        over the records, and its standard error ``mean_change_error``.

    Raises
    ------
    TypeError
        If `attack` has no ``scores_`` once fitted.
    ValueError
        If `fraction` leaves too few records, or too few classes, for `attack`, or if
        the estimator of `attack` is frozen.

    References
    ----------
    Carlini, Jagielski, Zhang, Papernot, Terzis and Tramèr, "The privacy onion effect:
    memorization is relative", Advances in Neural Information Processing Systems, 2022.
    """
    X, y = as_rows(X), column_or_1d(y)
    check_consistent_length(X, y)
    n_removed = max(1, round(fraction * y.size))
    if y.size - n_removed < 2:
        raise ValueError(
            f"fraction must leave at least 2 records, got {fraction}, which leaves "
            f"{y.size - n_removed} of {y.size}."
        )
    attack = _without_target(attack)
    _refuse_frozen(attack)
    ranked_by, before = _exposure_twice(clone(attack).fit(X, y))
    order = np.argsort(-ranked_by, kind="stable")
    removed, kept = np.sort(order[:n_removed]), np.sort(order[n_removed:])
    again = clone(attack)
    # A folder of finished shadows belongs to all records.
    folders = [n for n in again.get_params() if n.rpartition("__")[2] == "cache_dir"]
    again.set_params(**dict.fromkeys(folders))
    try:
        again.fit(safe_indexing(X, kept), y[kept])
    except ValueError as error:
        # The attack was fitted on all records; those kept are too few, or too similar.
        raise ValueError(
            f"fraction={fraction} leaves {kept.size} of {count(y.size, 'record')}, "
            f"on which the attack cannot be fitted: {error}"
        ) from error
    _, after = _exposure_twice(again)
    change = after - before[kept]
    return Bunch(
        removed=removed,
        kept=kept,
        before=before[kept],
        after=after,
        mean_change=change.mean(),
        mean_change_error=change.std(ddof=1) / np.sqrt(change.size),
    )


def _without_target(attack):
    """Copy the attack, or the end of a Pipeline, so that ``fit`` trains its target."""
    return replace_last_step(
        attack,
        lambda last: (
            last.without_target() if isinstance(last, AttackMixin) else clone(last)
        ),
    )


def _refuse_frozen(attack):
    model = getattr(last_step(attack), "estimator", None)
    if model is not None and isinstance(last_step(model), FrozenEstimator):
        raise ValueError(
            "attack must have an estimator that can be fitted again, without the "
            "records that are removed; its estimator is frozen."
        )


def _exposure_twice(attack):
    attack = last_step(attack)
    if not hasattr(attack, "scores_"):
        raise TypeError(
            "attack must be an attack or a scorer, or a Pipeline that ends in one; got "
            f"{attack!r}, which has no scores_ once fitted."
        )
    halves = getattr(attack, "attack_success_halves_", None)
    return (attack.scores_, attack.scores_) if halves is None else halves
