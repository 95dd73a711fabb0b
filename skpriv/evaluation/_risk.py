"""Which groups and which records are at risk."""

import math
import warnings
from numbers import Real

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binomtest, false_discovery_control, rankdata, t, wilcoxon
from sklearn.utils import Bunch, column_or_1d
from sklearn.utils.validation import check_is_fitted

from skpriv.utils._batches import row_batches
from skpriv.utils._optional import import_optional
from skpriv.utils._sklearn import HasMethods, Interval, StrOptions, validate_params

_MOST_PAIRS_EXACT = 50


@validate_params(
    {
        "attack": [HasMethods(["hit_pairs"]), HasMethods(["probability_at_most"])],
        "groups": ["array-like"],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "correction": [StrOptions({"bonferroni", "none"})],
        "as_frame": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def success_by_group(
    attack, groups, *, confidence_level=0.95, correction="bonferroni", as_frame=False
):
    """Mean attack success of groups of records, with confidence intervals.

    Parameters
    ----------
    attack : LiRAAttack or RiskEstimator
        Fitted.
    groups : array-like of shape (n_samples,)
        The group of each record: its class, or any other column without missing
        values.
    confidence_level : float, default=0.95
    correction : {"bonferroni", "none"}, default="bonferroni"
        ``"bonferroni"``: the intervals hold for all groups at once, each at the level
        ``1 - (1 - confidence_level) / n_groups``. ``"none"``: each interval holds by
        itself.
    as_frame : bool, default=False
        Return a pandas DataFrame with one row per group.

    Returns
    -------
    result : :class:`~sklearn.utils.Bunch` or DataFrame
        Arrays of shape (n_groups,): ``group``, ``n_records``, ``attack_success``
        and the ends of its interval, ``low`` and ``high``. Also ``correction``.

    Notes
    -----
    The success of a group is a mean over records and over pairs of shadows, both of
    which are samples. The variances over both are added, which is conservative. A
    group of one record has no variance over records, so its interval is NaN; see the
    attack's ``attack_success_interval_`` instead. Estimates of a RiskEstimator share
    their errors to an unknown extent, so the ends of its intervals are averaged, which
    is right if they share them all, and conservative otherwise.
    """
    check_is_fitted(attack)
    estimated = hasattr(attack, "probability_at_most")
    n_records = (attack.scores_ if estimated else attack.attack_success_).size
    names, codes = _check_groups(groups, n_records)
    level = confidence_level
    if correction == "bonferroni":
        level = 1 - (1 - confidence_level) / names.size
    if estimated:
        values = np.column_stack([attack.scores_, attack.interval(level)])
        rows = [values[codes == g].mean(axis=0) for g in range(names.size)]
    else:
        in_, out = attack.hit_pairs()
        rows = [
            _mean_success((in_[:, codes == g] + out[:, codes == g]) / 2, level)
            for g in range(names.size)
        ]
    success, low, high = np.array(rows).T
    result = Bunch(
        group=names,
        n_records=np.bincount(codes),
        attack_success=success,
        low=low,
        high=high,
        correction=correction,
    )
    if not as_frame:
        return result
    return import_optional("pandas", extra="report").DataFrame(result)


def _check_groups(groups, n_records):
    """Return the names of the groups, and the index of each record's group."""
    if np.shape(groups) not in ((n_records,), (n_records, 1)):
        raise ValueError(
            f"groups must have shape ({n_records},), one group per record; got "
            f"{np.shape(groups)}."
        )
    groups = column_or_1d(groups)
    try:
        names, codes = np.unique(groups, return_inverse=True)
        complete = (names == names).all()
    except TypeError:
        # None and NA cannot be sorted, nor can numbers mixed with strings.
        complete = False
    if not complete:
        kinds = sorted({type(group).__name__ for group in groups.tolist()})
        raise ValueError(
            "groups must be numbers or strings, without missing values; it has missing "
            f"values, or values of several types ({', '.join(kinds)})."
        )
    return names, codes


def _mean_success(hits, level):
    """Mean over pairs (rows) and records (columns), and its confidence interval."""
    hits = hits[~np.isnan(hits).all(axis=1)]
    by_record, by_pair = (np.nanmean(hits, axis=axis) for axis in (0, 1))
    mean, n_records = np.nanmean(hits), hits.shape[1]
    if n_records < 2:
        return mean, np.nan, np.nan
    variance = by_record.var(ddof=1) / n_records + by_pair.var(ddof=1) / by_pair.size
    # If nearly all answers are right, or wrong, the sample may have no variance at all.
    # One more right and one more wrong answer give a lower bound.
    n_hits = hits.size
    share = (n_hits * mean + 1) / (n_hits + 2)
    variance = max(variance, share * (1 - share) / n_hits)
    reach = t.ppf((1 + level) / 2, min(n_records, by_pair.size) - 1)
    reach *= np.sqrt(variance)
    return mean, max(mean - reach, 0.0), min(mean + reach, 1.0)


@validate_params(
    {
        "attack": [HasMethods(["score_samples"])],
        "fdr": [Interval(Real, 0, 1, closed="neither")],
        "method": [StrOptions({"auto", "by", "bh"})],
        "threshold": [Interval(Real, 0.5, 1, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def records_at_risk(attack, *, fdr=0.05, method="auto", threshold=0.55):
    """List the records whose membership can be inferred, at a false discovery rate.

    For each record, the signals at its pairs of shadows, one trained with it and one
    without, are compared by Wilcoxon's signed-rank test: if training on the record has
    no effect, both shadows of a pair are equally likely to have the higher signal. The
    test makes no assumption on the distribution of signals. Its p-values are exact for
    up to 50 pairs without ties, and otherwise come from the normal approximation.

    Parameters
    ----------
    attack : LiRAAttack or RiskEstimator
        Fitted; any attack with shadow models. With a RiskEstimator, a record is at risk
        if the success of an attack on it is above `threshold`, and in place of a
        p-value there is the probability that it is not.
    fdr : float, default=0.05
        Largest expected share of the listed records that are false discoveries.
    method : {"auto", "by", "bh"}, default="auto"
        The correction of Benjamini and Yekutieli, which allows any dependence among
        the records, or that of Benjamini and Hochberg, for independent or positively
        dependent records. "auto": "bh" for a RiskEstimator, "by" for an attack.
    threshold : float, default=0.55
        For a RiskEstimator: attack success above which a record is at risk.

    Returns
    -------
    result : :class:`~sklearn.utils.Bunch`
        ``records``, the indices of the listed records, in the order of their
        p-values, and those with the same p-value by the mean difference of their
        signals, the largest first; ``p_values`` and ``adjusted_p_values``, of shape
        (n_samples,); ``fdr`` and ``method``. With n pairs, no p-value is below 2 ** -n,
        so many records need many shadows. If that alone rules out any listing, a
        warning says how many.
    """
    method = _correction_for(attack, method)
    if hasattr(attack, "probability_at_most"):
        p_values = np.nan_to_num(attack.probability_at_most(threshold), nan=1.0)
        return _records_below(p_values, -attack.scores_, fdr, method)
    if not hasattr(attack, "signal_pairs") or not hasattr(attack, "signals_"):
        raise ValueError(
            f"attack must be a fitted attack with shadow models, got {attack!r}."
        )
    p_values, gaps = np.empty((2, attack.signals_.shape[1]))
    for batch in row_batches(p_values.size):
        in_, out = attack.signal_pairs(batch)
        p_values[batch] = _signed_rank_p_values(in_ - out)
        gaps[batch] = _mean_gaps(in_ - out)
    result = _records_below(p_values, -gaps, fdr, method)
    if not result.records.size:
        _warn_of_few_pairs(attack.membership_, fdr, method)
    return result


def _correction_for(attack, method):
    if method != "auto":
        return method
    return "bh" if hasattr(attack, "probability_at_most") else "by"


def _records_below(p_values, second, fdr, method):
    """List records by their p-values, and those with the same one by another value."""
    adjusted = false_discovery_control(p_values, method=method)
    order = np.lexsort((second, p_values))
    records = order[adjusted[order] <= fdr]
    return Bunch(
        records=records,
        p_values=p_values,
        adjusted_p_values=adjusted,
        fdr=fdr,
        method=method,
    )


def _mean_gaps(differences):
    """Return the mean difference of each column, without pairs that have none."""
    known = np.isfinite(differences)
    total = np.where(known, differences, 0.0).sum(axis=0)
    return total / np.maximum(known.sum(axis=0), 1)


def _warn_of_few_pairs(membership, fdr, method):
    """Warn if a single exposed record could not be listed, whatever its signals."""
    n_shadows, n_records = membership.shape
    n_in = np.count_nonzero(membership, axis=0)
    n_pairs = np.minimum(n_in, n_shadows - n_in).max()
    # The correction of the smallest p-value if all others are 1.
    factor = n_records
    if method == "by":
        factor *= (1 / np.arange(1, n_records + 1)).sum()
    n_pairs_needed = math.ceil(math.log2(factor / fdr))
    if n_pairs < n_pairs_needed:
        warnings.warn(
            f"No record is listed at fdr={fdr}: with {n_pairs} pairs of shadows no "
            f"p-value is below {0.5**n_pairs:.3g}, so a single one of {n_records} "
            f"records could not be listed. That needs {2 * n_pairs_needed} shadows.",
            stacklevel=4,
        )


def _signed_rank_p_values(differences):
    """P-values of each column, for the alternative of positive differences.

    A p-value depends on the sum of the ranks of the positive differences, on the
    number of ranks and, through ties, on the sum of their squares: columns that agree
    in all three share one test.
    """
    # A pair of equal signals is no evidence either way.
    differences = np.where(differences == 0, np.nan, differences)
    ranks = rankdata(np.abs(differences), axis=0, nan_policy="omit")
    n_ranks = np.isfinite(ranks).sum(axis=0)
    of_positive = np.nansum(np.where(differences > 0, ranks, 0.0), axis=0)
    statistics = np.stack([n_ranks, of_positive, np.nansum(ranks**2, axis=0)])
    _, columns, which = np.unique(
        statistics, axis=1, return_index=True, return_inverse=True
    )
    p_values = np.ones(columns.size)
    for test, column in enumerate(columns):
        values = differences[np.isfinite(differences[:, column]), column]
        if values.size:
            p_values[test] = _signed_rank_p_value(values)
    return p_values[which.ravel()]


def _signed_rank_p_value(values):
    n_sizes = np.unique(np.abs(values)).size
    if n_sizes == 1:
        # For example with a model that only predicts labels. The sign test is exact.
        n_above = np.count_nonzero(values > 0)
        return binomtest(n_above, values.size, alternative="greater").pvalue
    exact = n_sizes == values.size <= _MOST_PAIRS_EXACT
    method = "exact" if exact else "approx"
    p_value = wilcoxon(values, alternative="greater", method=method).pvalue
    # For few pairs, the normal approximation may fall below the p-value of the most
    # extreme signs.
    return max(p_value, 0.5**values.size)


@validate_params(
    {
        "risk": [HasMethods(["detectable_success", "probability_at_most"])],
        "fdr": [Interval(Real, 0, 1, closed="neither")],
        "method": [StrOptions({"auto", "by", "bh"})],
        "threshold": [Interval(Real, 0.5, 1, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def detection_limit(risk, *, fdr=0.05, method="auto", threshold=0.55):
    """Smallest success of attacks on a record that would have put it on the list.

    A record that `records_at_risk` does not list may still be at risk: few shadows
    measure its success with little precision, and the correction for many records
    demands clear evidence. A record whose success is the limit of detection has an even
    chance of being listed; one of a much larger success is listed nearly always.

    Parameters
    ----------
    risk : RiskEstimator
        Fitted, with shadows.
    fdr, method, threshold
        As in `records_at_risk`.

    Returns
    -------
    limit : float
        Between 0.5 and 1, for the records that are not listed, or for all if none is
        left. NaN if nothing is measured.

    Notes
    -----
    The limit is about a record that its scores do not show to be exposed. It is the
    measurement at which the posterior probability of a success of at most `threshold`
    falls to the level that the correction demands of one more record. The measurement
    is symmetric about the true value, so that half of all such records exceed it. The
    limit is the mean over the records, in units of the separation of the signals.
    """
    check_is_fitted(risk)
    method = _correction_for(risk, method)
    listed = records_at_risk(risk, fdr=fdr, method=method, threshold=threshold).records
    n_records = len(risk.scores_)
    level = fdr * min(listed.size + 1, n_records) / n_records
    if method == "by":
        level /= (1 / np.arange(1, n_records + 1)).sum()
    limits = risk.detectable_success(level, success=threshold)
    others = np.setdiff1d(np.arange(n_records), listed)
    limits = limits[others] if others.size else limits
    limits = limits[~np.isnan(limits)]
    return float(ndtr(ndtri(limits).mean())) if limits.size else np.nan
