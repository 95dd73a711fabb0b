"""The security game: some records are in training, and the attack tells which."""

from numbers import Integral

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import (
    Bunch,
    check_consistent_length,
    check_random_state,
    column_or_1d,
)
from sklearn.utils.parallel import Parallel, delayed

from skpriv._rows import as_rows
from skpriv.attacks._shadows import complementary_halves
from skpriv.attacks._target import shadow_estimator_of
from skpriv.metrics import attack_report
from skpriv.metrics._roc import check_rates
from skpriv.metrics._scorers import score_rows
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
    """Play the security game: a random half is in training, the rest is not.

    In each round a target is trained on a half of the records, stratified by label,
    and the attack scores all records. An attack with a ``target`` gets the target
    and all records, of which it does not know which are members; the shadows of an
    attack that trains some are trained once for all rounds. Another scorer is
    fitted on the members.

    Parameters
    ----------
    attack : estimator
        With ``fit`` and ``score_samples``; not changed.
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    n_rounds : int, default=1
        Rounds 2i and 2i + 1 are complements.
    fprs : array-like of shape (n_rates,), default=(0.001, 0.01, 0.1)
        False positive rates at which the true positive rate is given.
    n_jobs : int, default=None
        Rounds to play at a time.
    random_state : int, RandomState instance or None, default=None
        Draws the halves and seeds the targets; the attack has its own.

    Returns
    -------
    result : :class:`~sklearn.utils.Bunch`
        ``membership`` and ``scores``, of shape (n_rounds, n_samples); ``auc``,
        ``balanced_accuracy`` and ``advantage``, of shape (n_rounds,), ``tpr`` of
        shape (n_rounds, n_rates) at ``fpr``; and ``report``, that of
        :func:`~skpriv.metrics.attack_report` over the records of all rounds.

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
    X, y = _check_records(X, y)
    rng = check_random_state(random_state)
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

    The training rows of a fold are the members, its test rows are not. Otherwise as
    :func:`membership_game`.

    Parameters
    ----------
    attack : estimator
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    cv : int, splitter or iterable, default=5
        An integer: stratified folds.
    fprs : array-like of shape (n_rates,), default=(0.001, 0.01, 0.1)
    n_jobs : int, default=None
    random_state : int, RandomState instance or None, default=None
        Seeds the targets.

    Returns
    -------
    result : :class:`~sklearn.utils.Bunch`
        As of :func:`membership_game`, one round a fold. The score of a row that a
        fold leaves out, in training and test, is NaN.
    """
    X, y = _check_records(X, y)
    splits = list(check_cv(cv, y, classifier=True).split(X, y))
    membership, used = np.zeros((2, len(splits), len(y)), dtype=bool)
    for fold, (train, test) in enumerate(splits):
        membership[fold, train] = True
        used[fold, train] = used[fold, test] = True
    rng = check_random_state(random_state)
    return _play(attack, X, y, membership, used, fprs, n_jobs, rng)


def _check_records(X, y):
    X, y = as_rows(X), column_or_1d(y)
    check_consistent_length(X, y)
    return X, y


def _check_can_play(attack):
    last = attack.steps[-1][1] if isinstance(attack, Pipeline) else attack
    if last is not attack and hasattr(last, "target"):
        raise ValueError(
            f"attack is a Pipeline that ends in {type(last).__name__}, which attacks a "
            "model that is given the same rows; put the transformers into the attack's "
            "own estimator, or transform X before."
        )
    if hasattr(attack, "target") and not hasattr(attack, "_shadow_estimator"):
        raise ValueError(
            f"attack is a {type(attack).__name__}, which wants to be fitted on the "
            "target's training records alone, and so knows who is a member."
        )


def _play(attack, X, y, membership, used, fprs, n_jobs, rng):
    _check_can_play(attack)
    check_rates(fprs, "fprs")
    attack = clone(attack)
    if hasattr(attack, "score_target"):
        estimator = shadow_estimator_of(attack)
        attack.set_params(estimator=estimator, target=None).fit(X, y)
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
    inside = safe_indexing(X, rows)
    if not hasattr(attack, "target"):
        return score_rows(clone(attack).fit(inside, y[rows]), X, y)
    target = fit_clone(shadow_estimator_of(attack), inside, y[rows], seed=seed)
    if hasattr(attack, "score_target"):
        return attack.score_target(target, X, y)
    return clone(attack).set_params(target=target).fit(X, y).scores_
