"""The security game: a model is trained on some records, and an attack tells which."""

from numbers import Integral

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.model_selection import check_cv
from sklearn.utils import (
    Bunch,
    check_consistent_length,
    check_random_state,
    column_or_1d,
)
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.parallel import Parallel, delayed

from skpriv._rows import as_rows
from skpriv.base import AttackMixin
from skpriv.metrics import attack_report
from skpriv.utils._checks import check_rates
from skpriv.utils._halves import complementary_halves
from skpriv.utils._pipelines import last_step, score_rows
from skpriv.utils._sklearn import HasMethods, Interval, safe_indexing, validate_params
from skpriv.utils._training import draw_seeds, fit_clone

_COMMON = {
    "attack": [HasMethods(["fit", "score_samples"])],
    "X": ["array-like", "sparse matrix"],
    "y": ["array-like"],
    "fprs": ["array-like"],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
}


@validate_params(
    {**_COMMON, "n_rounds": [Interval(Integral, 1, None, closed="left")]},
    prefer_skip_nested_validation=True,
)
def membership_game(
    attack,
    X,
    y,
    *,
    n_rounds=1,
    fprs=(0.001, 0.01, 0.1),
    n_jobs=None,
    random_state=None,
):
    """Play the security game: the members are a random half of the records.

    In each round, a target is trained on a half of the records, stratified by label,
    and the attack scores all records. An attack (:class:`~skpriv.base.AttackMixin`)
    is given the target and all records, and is not told which of them are members.
    Its shadows, if it trains any, are trained once for all rounds. Any other scorer is
    fitted on the members.

    Parameters
    ----------
    attack : estimator
        An attack or a scorer, with ``fit`` and ``score_samples``. It is not changed.
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    n_rounds : int, default=1
        Number of rounds. The members of the rounds 2i and 2i + 1 are complementary
        halves, stratified if `y` has classes.
    fprs : array-like of shape (n_rates,), default=(0.001, 0.01, 0.1)
        False positive rates at which the true positive rate is computed.
    n_jobs : int, default=None
        Number of rounds to play at a time.
    random_state : int, RandomState instance or None, default=None
        Draws the halves, and seeds the targets. The attack has its own.

    Returns
    -------
    result : :class:`~sklearn.utils.Bunch`
        ``membership`` and ``scores``, of shape (n_rounds, n_samples); ``auc``,
        ``balanced_accuracy`` and ``advantage``, of shape (n_rounds,), ``tpr`` of
        shape (n_rounds, n_rates) at ``fpr``; and ``report``, the result of
        :func:`~skpriv.metrics.attack_report` for the records of all rounds together.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skpriv import LossAttack
    >>> from skpriv.evaluation import membership_game
    >>> X, y = load_iris(return_X_y=True)
    >>> attack = LossAttack(DecisionTreeClassifier())
    >>> game = membership_game(attack, X, y, n_rounds=2, fprs=[0.1], random_state=0)
    >>> game.scores.shape
    (2, 150)
    """
    X, y = _check_game(attack, X, y, fprs)
    rng = check_random_state(random_state)
    if _is_regression(attack, y):
        codes = np.zeros(len(y), dtype=np.intp)
    else:
        codes = np.unique(y, return_inverse=True)[1]
    membership = complementary_halves(codes, (n_rounds + 1) // 2, rng)[:n_rounds]
    used = np.ones_like(membership)
    return _play(attack, X, y, membership, used, fprs, n_jobs, rng)


@validate_params({**_COMMON, "cv": ["cv_object"]}, prefer_skip_nested_validation=True)
def cross_val_membership(
    attack,
    X,
    y,
    *,
    cv=5,
    fprs=(0.001, 0.01, 0.1),
    n_jobs=None,
    random_state=None,
):
    """Play the security game with the folds of a cross-validation.

    The training rows of a fold are the members, and its test rows are the
    non-members. Otherwise, it is :func:`membership_game`.

    Parameters
    ----------
    attack : estimator
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    cv : int, splitter or iterable, default=5
        An integer is a number of folds, stratified if `y` has classes.
    fprs : array-like of shape (n_rates,), default=(0.001, 0.01, 0.1)
    n_jobs : int, default=None
    random_state : int, RandomState instance or None, default=None
        Seeds the targets.

    Returns
    -------
    result : :class:`~sklearn.utils.Bunch`
        As returned by :func:`membership_game`, with one round per fold. The score of
        a row that is in neither part of a fold is NaN.
    """
    X, y = _check_game(attack, X, y, fprs)
    cv = check_cv(cv, y, classifier=not _is_regression(attack, y))
    splits = list(cv.split(X, y))
    membership, used = np.zeros((2, len(splits), len(y)), dtype=bool)
    for fold, (train, test) in enumerate(splits):
        membership[fold, train] = True
        used[fold, train] = used[fold, test] = True
    rng = check_random_state(random_state)
    return _play(attack, X, y, membership, used, fprs, n_jobs, rng)


def _check_game(attack, X, y, fprs):
    X, y = as_rows(X), column_or_1d(y)
    check_consistent_length(X, y)
    _check_can_play(attack)
    check_rates(fprs, "fprs")
    return X, y


def _is_regression(attack, y):
    """Whether labels are numbers, of which a half needs no equal share."""
    if isinstance(attack, AttackMixin):
        return is_regressor(attack.shadow_estimator())
    return type_of_target(y).startswith("continuous")


def _check_can_play(attack):
    last = last_step(attack)
    if last is not attack and isinstance(last, AttackMixin):
        raise ValueError(
            f"attack must not be a Pipeline that ends in {type(last).__name__}: the "
            "target is given the same rows. Put the transformers into the estimator of "
            "the attack, or transform X beforehand."
        )
    if isinstance(attack, AttackMixin) and attack.fitted_on_members:
        raise ValueError(
            f"attack must not be a {type(attack).__name__}, which is fitted on the "
            "target's training records alone, and so knows which records are members."
        )
    if getattr(last, "cross_fitted", False):
        raise ValueError(
            f"attack must not be a {type(last).__name__} with cv={last.cv!r}: it "
            "scores the members at models fitted without them, and the other records "
            "at the model fitted on all members, so its scores would tell which is "
            "which whatever the model has learned; pass cv=None."
        )


def _play(attack, X, y, membership, used, fprs, n_jobs, rng):
    attack = attack.prepare(X, y) if isinstance(attack, AttackMixin) else clone(attack)
    scores = Parallel(n_jobs=n_jobs)(
        delayed(_score_round)(attack, X, y, members, seed)
        for members, seed in zip(
            membership, draw_seeds(len(membership), rng), strict=True
        )
    )
    scores = np.where(used, np.stack(scores), np.nan)
    rounds = [
        attack_report(members[row], round_scores[row], fprs=fprs)
        for members, round_scores, row in zip(membership, scores, used, strict=True)
    ]
    names = ("auc", "balanced_accuracy", "advantage", "tpr")
    return Bunch(
        membership=membership,
        scores=scores,
        fpr=rounds[0].fpr,
        report=attack_report(membership[used], scores[used], fprs=fprs),
        **{name: np.array([report[name] for report in rounds]) for name in names},
    )


def _score_round(attack, X, y, members, seed):
    rows = np.flatnonzero(members)
    members_X, members_y = safe_indexing(X, rows), y[rows]
    if not isinstance(attack, AttackMixin):
        return score_rows(clone(attack).fit(members_X, members_y), X, y)
    target = fit_clone(attack.shadow_estimator(), members_X, members_y, seed=seed)
    return attack.score_target(target, X, y)
