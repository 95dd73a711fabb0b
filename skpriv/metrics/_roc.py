"""Metrics of a membership inference attack: ROC curve, AUC, balanced accuracy."""

import warnings
from numbers import Real

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.utils import (
    Bunch,
    check_array,
    check_consistent_length,
    check_random_state,
    column_or_1d,
)

from skpriv.utils._checks import check_rates
from skpriv.utils._intervals import (
    auc_interval,
    mean_of_two_interval,
    proportion_interval,
)
from skpriv.utils._optional import import_optional
from skpriv.utils._sklearn import Interval, validate_params
from skpriv.utils._text import count

_FPRS = (0.001, 0.01, 0.1)


@validate_params(
    {
        "y_true": ["array-like"],
        "y_score": ["array-like"],
        "fpr": [Interval(Real, 0, 1, closed="both"), "array-like"],
    },
    prefer_skip_nested_validation=True,
)
def tpr_at_fpr(y_true, y_score, *, fpr=0.01):
    """True positive rate of an attack at a given false positive rate.

    The threshold is the lowest one with at most ``floor(fpr * n_nonmembers)`` false
    positives. Scores equal to it count as negative, so that the false positive rate
    never exceeds `fpr`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True (or 1) for a member, False (or 0) for a non-member.
    y_score : array-like of shape (n_samples,)
        Score of each record; higher: more likely a member.
    fpr : float or array-like of shape (n_rates,), default=0.01
        False positive rate, between 0 and 1.

    Returns
    -------
    tpr : float or ndarray of shape (n_rates,)
        NaN, with a warning, where `fpr` is below ``1 / n_nonmembers``: there are
        too few non-members to measure it.

    Examples
    --------
    >>> from skpriv.metrics import tpr_at_fpr
    >>> tpr_at_fpr([1, 1, 1, 0, 0], [4.0, 3.0, 1.0, 2.0, 0.0], fpr=0.5)
    1.0
    """
    members, nonmembers = split_by_membership(y_true, y_score)
    rates = check_rates(fpr, "fpr")
    tpr = members_found(members, nonmembers, rates) / members.size
    _warn_unresolvable(rates[np.isnan(tpr)], nonmembers.size)
    return float(tpr[0]) if np.ndim(fpr) == 0 else tpr


@validate_params(
    {
        "y_true": ["array-like"],
        "y_score": ["array-like"],
        "fprs": ["array-like"],
        "threshold": [Interval(Real, None, None, closed="neither"), None],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "as_frame": ["boolean"],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def attack_report(
    y_true,
    y_score,
    *,
    fprs=_FPRS,
    threshold=None,
    confidence_level=0.95,
    as_frame=False,
    random_state=0,
):
    """Measure an attack: AUC, balanced accuracy, advantage, TPR at low FPR.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True (or 1) for a member, False (or 0) for a non-member.
    y_score : array-like of shape (n_samples,)
        Score of each record; higher: more likely a member.
    fprs : array-like of shape (n_rates,), default=(0.001, 0.01, 0.1)
        False positive rates at which the true positive rate is computed.
    threshold : float, default=None
        For the balanced accuracy, records with a score above `threshold` are
        predicted to be members: 0 suits a log likelihood ratio. If None, the best
        threshold of one half of the records is applied to the other half, and the
        reverse: a threshold chosen on the records that it is evaluated on would be
        optimistic.
    confidence_level : float, default=0.95
        Level of the intervals.
    as_frame : bool, default=False
        Return a pandas DataFrame with one row per measure: ``measure``, ``fpr``,
        ``value``, ``low``, ``high``.
    random_state : int, RandomState instance or None, default=0
        Determines how the records are split to choose the threshold.

    Returns
    -------
    report : :class:`~sklearn.utils.Bunch` or DataFrame
        With ``auc``, ``balanced_accuracy`` and ``advantage`` (true minus false
        positive rate) and their ``..._interval`` of shape (2,); ``fpr``, ``tpr`` of
        shape (n_rates,) and ``tpr_interval`` of shape (n_rates, 2), NaN where the
        rate cannot be measured, that is, below ``1 / n_nonmembers``; ``n_members``,
        ``n_nonmembers`` and ``confidence_level``.

    Notes
    -----
    The intervals are Clopper and Pearson's for rates, their combination by Zou and
    Donner for the balanced accuracy, and Newcombe's for the AUC. They cover the
    uncertainty due to the number of records, for the given models.
    """
    members, nonmembers = split_by_membership(y_true, y_score)
    rates = check_rates(fprs, "fprs")
    found = members_found(members, nonmembers, rates)
    tpr_interval = np.full((rates.size, 2), np.nan)
    known = ~np.isnan(found)
    tpr_interval[known] = proportion_interval(
        found[known], members.size, confidence_level
    )
    auc = area_under_curve(members, nonmembers)
    tpr, tnr, balanced = _balanced(
        members, nonmembers, threshold, confidence_level, random_state
    )
    report = Bunch(
        auc=auc,
        auc_interval=auc_interval(auc, members.size, nonmembers.size, confidence_level),
        balanced_accuracy=(tpr + tnr) / 2,
        balanced_accuracy_interval=balanced,
        advantage=tpr + tnr - 1,
        advantage_interval=2 * balanced - 1,
        fpr=rates,
        tpr=found / members.size,
        tpr_interval=tpr_interval,
        n_members=members.size,
        n_nonmembers=nonmembers.size,
        confidence_level=confidence_level,
    )
    return _as_frame(report) if as_frame else report


def targets_of(y_true, y_score):
    """Separate the records of several targets, and leave out those without a score.

    Parameters
    ----------
    y_true, y_score : array-like of shape (n_samples,) or (n_targets, n_samples)

    Returns
    -------
    targets : list of (y_true, y_score)
        Of each target. Two-dimensional scores may be NaN, for records that are neither
        members nor non-members; these are left out.

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    y_true, y_score = np.asarray(y_true), np.asarray(y_score)
    if y_score.ndim != 2:
        return [(y_true, y_score)]
    if y_true.shape != y_score.shape:
        raise ValueError(
            "y_true and y_score must have the same shape; got "
            f"{y_true.shape} and {y_score.shape}."
        )
    y_score = y_score.astype(np.float64)
    known = ~np.isnan(y_score)
    return [
        (members[row], scores[row])
        for members, scores, row in zip(y_true, y_score, known, strict=True)
    ]


def split_by_membership(y_true, y_score):
    """Return the scores of members and those of non-members.

    Parameters
    ----------
    y_true, y_score : array-like of shape (n_samples,)

    Returns
    -------
    members, nonmembers : ndarray of float64
        Finite: infinite scores are replaced by the largest numbers.

    Raises
    ------
    ValueError
        If a score is NaN, or there are not both members and non-members.
    """
    y_true = column_or_1d(y_true)
    y_score = check_array(
        y_score,
        ensure_2d=False,
        dtype=np.float64,
        ensure_all_finite=False,
        input_name="y_score",
    )
    y_score = column_or_1d(y_score)
    if np.isnan(y_score).any():
        raise ValueError(
            f"y_score contains NaN {count(np.isnan(y_score).sum(), 'time')}."
        )
    # A likelihood ratio may be infinite. Only the order of scores counts.
    y_score = np.nan_to_num(y_score)
    check_consistent_length(y_true, y_score)
    member = np.asarray(y_true, dtype=bool)
    if not np.array_equal(member, y_true):
        raise ValueError(
            "y_true has values other than 0 and 1 (or False and True); it must be 1 "
            "for a member and 0 for a non-member."
        )
    if member.all() or not member.any():
        raise ValueError(
            f"y_true has {count(int(member.sum()), 'member')} among "
            f"{count(member.size, 'record')}; "
            "there must be both members and non-members."
        )
    return y_score[member], y_score[~member]


def members_found(members, nonmembers, rates):
    """Count the members above the threshold of each false positive rate.

    Parameters
    ----------
    members, nonmembers : ndarray of shape (n,)
        Scores.
    rates : ndarray of shape (n_rates,)

    Returns
    -------
    found : ndarray of shape (n_rates,), dtype float64
        NaN where the rate is less than one non-member.
    """
    ordered = np.sort(nonmembers)[::-1]
    # Rounding must not turn a rate of exactly m non-members into m - 1.
    n_false = np.floor(rates * ordered.size * (1 + 1e-12)).astype(np.intp)
    thresholds = np.append(ordered, -np.inf)[np.minimum(n_false, ordered.size)]
    below = np.searchsorted(np.sort(members), thresholds, side="right")
    return np.where(n_false > 0, members.size - below, np.nan)


def area_under_curve(members, nonmembers):
    """Area under the ROC curve of the scores of members and non-members.

    Parameters
    ----------
    members, nonmembers : ndarray of shape (n,)

    Returns
    -------
    auc : float
    """
    labels = np.repeat([1, 0], [members.size, nonmembers.size])
    return float(roc_auc_score(labels, np.concatenate([members, nonmembers])))


def _balanced(members, nonmembers, threshold, confidence_level, random_state):
    """Rates of true positives and negatives, and the interval of their mean."""
    if threshold is None and members.size == nonmembers.size == 1:
        warnings.warn(
            "The balanced accuracy and the advantage of 2 records are NaN: no record "
            "is left to choose a threshold on; pass threshold, or more records.",
            stacklevel=3,
        )
        return np.nan, np.nan, np.full(2, np.nan)
    n_hits, n_rejected = _hits(members, nonmembers, threshold, random_state)
    tpr, tnr = n_hits / members.size, n_rejected / nonmembers.size
    interval = mean_of_two_interval(
        tpr,
        tnr,
        proportion_interval(n_hits, members.size, confidence_level),
        proportion_interval(n_rejected, nonmembers.size, confidence_level),
    )
    return tpr, tnr, interval


def _hits(members, nonmembers, threshold, random_state):
    """Count true positives and true negatives at the threshold."""
    if threshold is not None:
        return (members > threshold).sum(), (nonmembers <= threshold).sum()
    # On ranks the midpoint of two scores does not depend on their scale.
    _, ranks = np.unique(np.concatenate([members, nonmembers]), return_inverse=True)
    members, nonmembers = np.split(ranks, [members.size])
    rng = check_random_state(random_state)
    halves = [_random_halves(scores, rng) for scores in (members, nonmembers)]
    n_hits = n_rejected = 0
    for chosen_on, tried_on in ((0, 1), (1, 0)):
        best = _best_threshold(halves[0][chosen_on], halves[1][chosen_on])
        n_hits += (halves[0][tried_on] > best).sum()
        n_rejected += (halves[1][tried_on] <= best).sum()
    return n_hits, n_rejected


def _random_halves(scores, rng):
    shuffled = rng.permutation(scores)
    return shuffled[: scores.size // 2], shuffled[scores.size // 2 :]


def _best_threshold(members, nonmembers):
    if not members.size or not nonmembers.size:
        return np.median(np.concatenate([members, nonmembers]))
    candidates = np.unique(np.concatenate([members, nonmembers]))
    tpr = 1 - np.searchsorted(np.sort(members), candidates, "right") / members.size
    fpr = (
        1 - np.searchsorted(np.sort(nonmembers), candidates, "right") / nonmembers.size
    )
    best = np.argmax(tpr - fpr)
    # Halfway to the next score, so that no score of either half is equal to it.
    return candidates[best : best + 2].mean()


def _warn_unresolvable(rates, n_nonmembers):
    if rates.size:
        warnings.warn(
            f"A false positive rate of {rates.min():g} cannot be measured with "
            f"{count(n_nonmembers, 'non-member')}; the true positive rate is NaN "
            "there.",
            stacklevel=3,
        )


def _as_frame(report):
    pd = import_optional("pandas", extra="report")
    rows = [
        (name, np.nan, report[name], *report[f"{name}_interval"])
        for name in ("auc", "balanced_accuracy", "advantage")
    ]
    rows += [
        ("tpr", fpr, tpr, *interval)
        for fpr, tpr, interval in zip(
            report.fpr, report.tpr, report.tpr_interval, strict=True
        )
    ]
    return pd.DataFrame(rows, columns=["measure", "fpr", "value", "low", "high"])
