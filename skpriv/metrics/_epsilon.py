"""Lower bound on the ε of differential privacy, from the success of an attack."""

from numbers import Real

import numpy as np
from sklearn.utils import check_array, check_random_state

from skpriv.metrics._roc import split_by_membership, targets_of
from skpriv.utils._intervals import proportion_interval
from skpriv.utils._sklearn import Interval, validate_params


@validate_params(
    {
        "y_true": ["array-like"],
        "y_score": ["array-like"],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "thresholds": ["array-like", None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def epsilon_lower_bound(
    y_true,
    y_score,
    *,
    delta=0.0,
    confidence_level=0.95,
    thresholds=None,
    random_state=0,
):
    """Lower confidence bound on the ε of differential privacy, from an attack.

    If training is (ε, δ)-differentially private, every attack has
    ``TPR <= exp(ε) * FPR + δ`` and ``TNR <= exp(ε) * FNR + δ`` at any threshold, where
    TPR, FPR, TNR and FNR are its rates of true and false positives and negatives. The
    rates of an attack therefore rule out every ε with which they contradict this.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_targets, n_samples)
        True (or 1) for a member, False (or 0) for a non-member.
    y_score : array-like of the same shape
        Score of each record; higher: more likely a member. Several targets, such as
        the ``membership`` and ``scores`` of :func:`~skpriv.evaluation.membership_game`,
        are pooled. With several targets, NaN marks records that are left out.
    delta : float, default=0.0
        The δ for which ε is bounded.
    confidence_level : float, default=0.95
        Probability with which the bound is at most the true ε.
    thresholds : array-like of shape (n_thresholds,), default=None
        Records with a score above a threshold are predicted to be members. The
        thresholds must be chosen without looking at these scores, such as 0 for a log
        likelihood ratio, or 0.5 if the scores are guesses, 0 or 1. None: a few
        thresholds are found by rank, see the notes.
    random_state : int, RandomState instance or None, default=0
        Breaks ties of the scores, if `thresholds` is None.

    Returns
    -------
    epsilon : float
        The bound. 0: the attack rules out no value of ε.

    Notes
    -----
    Each rate is bounded by Clopper and Pearson's interval. Bonferroni's correction
    accounts for the search over thresholds and over the two inequalities: each of these
    bounds has an equal share of the allowed error probability, half of it for each of
    its two rates.

    By default, the thresholds are the non-member scores of ranks 1, 10, 100 and so on
    from the top, down to the median, and likewise the member scores from the bottom.
    The true rate at a score of given rank has the distribution from which Clopper and
    Pearson's limit is computed, so no records need to be set aside. In simulations this
    gives higher bounds than choosing the best threshold on one part of the records and
    evaluating it on the others, except for scores with only a few values, for which
    `thresholds` is meant.

    The bound assumes that the scores are independent, as they are if each comes from a
    training run of its own. The scores of one model's records are nearly independent if
    no record has much influence on the others. Those of several targets that share
    records are less so, and the result is then an estimate rather than a strict bound.

    A bound is only as good as the attack: a small one does not show that training is
    private. If the members are a random half of the records, ε refers to replacing one
    record by another.

    References
    ----------
    .. [1] M. Jagielski, J. Ullman and A. Oprea, "Auditing differentially private
       machine learning: how private is private SGD?", Advances in Neural Information
       Processing Systems (2020).
    .. [2] M. Nasr, S. Song, A. Thakurta, N. Papernot and N. Carlini, "Adversary
       instantiation: lower bounds for differentially private machine learning", IEEE
       Symposium on Security and Privacy (2021).

    Examples
    --------
    Randomised response answers truthfully with probability 3/4, so that ε = log 3.

    >>> import numpy as np
    >>> from skpriv.metrics import epsilon_lower_bound
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([0, 1], 10_000)
    >>> answer = np.where(rng.random(truth.size) < 0.75, truth, 1 - truth)
    >>> bound = epsilon_lower_bound(truth, answer, thresholds=[0.5])
    >>> print(f"{bound:.2f}, and the truth is {np.log(3):.2f}")
    1.04, and the truth is 1.10
    """
    targets = targets_of(y_true, y_score)
    members, nonmembers = split_by_membership(
        *(np.concatenate(arrays) for arrays in zip(*targets, strict=True))
    )
    if thresholds is None:
        counts = _counts_by_rank(members, nonmembers, random_state)
    else:
        thresholds = check_array(
            thresholds, ensure_2d=False, dtype=np.float64, input_name="thresholds"
        )
        counts = _counts_above(members, nonmembers, np.unique(thresholds))
    n_bounds = sum(hits.size for hits, *_ in counts)
    level = 1 - (1 - confidence_level) / n_bounds
    return max(_largest_epsilon(*side, delta, level) for side in counts)


def _counts_above(members, nonmembers, thresholds):
    """Count the positives at each threshold, and the negatives.

    Returns
    -------
    sides : list of two tuples
        The hits, the false alarms, and the numbers of trials of both: positives first,
        then negatives.
    """
    hits, alarms = (
        scores.size - np.searchsorted(np.sort(scores), thresholds, side="right")
        for scores in (members, nonmembers)
    )
    n_in, n_out = members.size, nonmembers.size
    return [(hits, alarms, n_in, n_out), (n_out - alarms, n_in - hits, n_out, n_in)]


def _counts_by_rank(members, nonmembers, random_state):
    """Count as `_counts_above` does, at scores of given rank among the other side."""
    scores = np.concatenate([members, nonmembers])
    ties = check_random_state(random_state).permutation(scores.size)
    places = np.empty(scores.size, dtype=np.intp)
    places[np.lexsort((ties, scores))] = np.arange(scores.size)
    members, nonmembers = np.split(places, [members.size])
    return [_hits_by_rank(members, nonmembers), _hits_by_rank(-nonmembers, -members)]


def _hits_by_rank(positives, negatives):
    negatives = np.sort(negatives)[::-1]
    n_ranks = 1 + int(np.log10(max(negatives.size / 2, 1)))
    alarms = 10 ** np.arange(n_ranks) - 1
    below = np.searchsorted(np.sort(positives), negatives[alarms])
    return positives.size - below, alarms, positives.size, negatives.size


def _largest_epsilon(hits, alarms, n_positives, n_negatives, delta, level):
    """Bound ε at each threshold by the ends of both intervals; return the largest."""
    fewest = proportion_interval(hits, n_positives, level)[..., 0]
    most = proportion_interval(alarms, n_negatives, level)[..., 1]
    ratios = np.maximum(fewest - delta, 0) / most
    return float(np.log(np.maximum(ratios, 1)).max())
