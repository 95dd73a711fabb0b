"""The ROC curve of an attack, with a band."""

from numbers import Integral, Real

import numpy as np
from scipy.stats import beta
from sklearn.metrics import roc_curve
from sklearn.utils import Bunch

from skpriv.metrics._roc import (
    area_under_curve,
    split_by_membership,
    targets_of,
)
from skpriv.utils._intervals import proportion_interval
from skpriv.utils._sklearn import Interval, validate_params


@validate_params(
    {
        "y_true": ["array-like"],
        "y_score": ["array-like"],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "max_points": [Interval(Integral, 2, None, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def attack_roc(y_true, y_score, *, confidence_level=0.95, max_points=200):
    """ROC curve of an attack from the smallest measurable rate on, with a band.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_targets, n_samples)
        True (or 1) for a member, False (or 0) for a non-member.
    y_score : array-like of the same shape
        Score of each record; higher: more likely a member. The curve of several
        targets, such as the ``membership`` and ``scores`` of
        :func:`~skpriv.evaluation.membership_game`, is the mean of theirs. With several
        targets, NaN marks records that are left out.
    confidence_level : float, default=0.95
        Level of the band.
    max_points : int, default=200
        Largest number of points of the curve.

    Returns
    -------
    roc : :class:`~sklearn.utils.Bunch`
        Arrays of shape (n_points,): ``fpr``, evenly spaced on a logarithmic axis,
        from one non-member to 1; ``tpr``, as :func:`tpr_at_fpr` computes it; and the
        ends of the band, ``low`` and ``high``. Also ``auc``, ``n_targets`` and
        ``confidence_level``.

    Notes
    -----
    The band of a single target is a pointwise confidence band: at each false positive
    rate, it contains the true positive rate with a probability of at least
    `confidence_level`. It accounts for the errors in both rates, each by Clopper and
    Pearson's interval with half of the error probability. The lower end at a false
    positive rate f is the lower limit of the true positive rate at the lowest threshold
    whose false positive rate is at most f, by its upper limit. The upper end is the
    upper limit at the highest threshold whose false positive rate is at least f, by its
    lower limit. The band is therefore wider than ``tpr_interval`` of
    :func:`attack_report`, which takes the threshold as given.

    The band of several targets contains a share `confidence_level` of their curves at
    each false positive rate. It shows how much models differ, not how precisely their
    mean is known.

    Examples
    --------
    >>> from skpriv.metrics import attack_roc
    >>> roc = attack_roc([1, 1, 1, 1, 0, 0], [5.0, 4.0, 2.0, 0.0, 3.0, 1.0])
    >>> roc.fpr, roc.tpr
    (array([0.5, 1. ]), array([0.75, 1.  ]))
    """
    targets = [split_by_membership(*target) for target in targets_of(y_true, y_score)]
    n_nonmembers = min(nonmembers.size for _, nonmembers in targets)
    steps = np.geomspace(1, n_nonmembers, min(max_points, n_nonmembers))
    fpr = np.unique(np.rint(steps)) / n_nonmembers
    tpr = np.array([_curve(*target, fpr) for target in targets])
    if len(targets) == 1:
        low, high = _band(*targets[0], fpr, confidence_level)
    else:
        tail = (1 - confidence_level) / 2
        low, high = np.quantile(tpr, [tail, 1 - tail], axis=0)
    return Bunch(
        fpr=fpr,
        tpr=tpr.mean(axis=0),
        low=low,
        high=high,
        auc=float(np.mean([area_under_curve(*target) for target in targets])),
        n_targets=len(targets),
        confidence_level=confidence_level,
    )


def _curve(members, nonmembers, fpr):
    """True positive rate at each false positive rate; ties are straight lines."""
    scores = np.concatenate([members, nonmembers])
    is_member = np.repeat([1, 0], [members.size, nonmembers.size])
    found = roc_curve(is_member, scores, drop_intermediate=False)
    return np.interp(fpr, *found[:2])


def _band(members, nonmembers, fpr, confidence_level):
    """Bound the true positive rate at each false positive rate, from both sides."""
    level = (1 + confidence_level) / 2
    members, nonmembers = np.sort(members), np.sort(nonmembers)[::-1]
    # The true rate at the score of the k-th non-member has a beta distribution.
    rank = np.arange(1, nonmembers.size + 1)
    tail = (1 - level) / 2
    least, most = beta.ppf([[tail], [1 - tail]], rank, nonmembers.size + 1 - rank)
    # Of the ranks whose rate is surely below, the last, and above, the first.
    below = np.searchsorted(most, fpr, side="right") - 1
    above = np.searchsorted(least, fpr, side="left")
    low, high = np.zeros(fpr.size), np.ones(fpr.size)
    known = below >= 0
    hits = members.size - np.searchsorted(members, nonmembers[below[known]], "right")
    low[known] = proportion_interval(hits, members.size, level)[:, 0]
    known = above < nonmembers.size
    hits = members.size - np.searchsorted(members, nonmembers[above[known]], "left")
    high[known] = proportion_interval(hits, members.size, level)[:, 1]
    return low, high
