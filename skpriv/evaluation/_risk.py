"""Who is at risk: by group, and record by record."""

import math
import warnings
from numbers import Real

import numpy as np
from scipy.stats import binomtest, false_discovery_control, rankdata, t, wilcoxon
from sklearn.utils import Bunch, column_or_1d, gen_batches
from sklearn.utils.validation import check_is_fitted

from skpriv.attacks._pairs import pair_shadows
from skpriv.utils._optional import import_optional
from skpriv.utils._sklearn import HasMethods, Interval, StrOptions, validate_params

_RECORDS_A_BATCH = 4096
_MOST_PAIRS_EXACT = 50


@validate_params(
    {
        "attack": [HasMethods(["shadow_hits"])],
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
    """Mean attack success in groups of records, with intervals.

    Parameters
    ----------
    attack : LiRAAttack
        Fitted.
    groups : array-like of shape (n_samples,)
        The group of each record: its class, or any column without missing values.
    confidence_level : float, default=0.95
    correction : {"bonferroni", "none"}, default="bonferroni"
        Whether the intervals hold for all groups at once, each at the level
        ``1 - (1 - confidence_level) / n_groups``, or each for itself.
    as_frame : bool, default=False
        Return a pandas DataFrame with a row a group.

    Returns
    -------
    result : :class:`~sklearn.utils.Bunch` or DataFrame
        Arrays of shape (n_groups,): ``group``, ``n_records``, ``attack_success``
        and the ends of its interval, ``low`` and ``high``; ``correction``.

    Notes
    -----
    A group's success is a mean over records and over pairs of shadows, and either
    might have been others: the variances over both are added, which is conservative.
    A group of one record has no variance over records, and a NaN interval; see the
    attack's ``attack_success_interval_``.
    """
    check_is_fitted(attack)
    names, codes = _check_groups(groups, attack.attack_success_.size)
    inside, outside = pair_shadows(attack.shadow_hits(), attack.membership_)
    level = confidence_level
    if correction == "bonferroni":
        level = 1 - (1 - confidence_level) / names.size
    rows = [
        _mean_success((inside[:, codes == g] + outside[:, codes == g]) / 2, level)
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
    """Return the names of the groups, and the place there of each record's group."""
    if np.shape(groups) not in ((n_records,), (n_records, 1)):
        raise ValueError(
            f"groups has shape {np.shape(groups)}; it wants ({n_records},), a group "
            "for each record."
        )
    groups = column_or_1d(groups)
    try:
        names, codes = np.unique(groups, return_inverse=True)
        complete = (names == names).all()
    except TypeError:
        # None and NA have no order, nor has a number beside a string.
        complete = False
    if not complete:
        kinds = sorted({type(group).__name__ for group in groups.tolist()})
        raise ValueError(
            "groups has missing values, or values of several kinds "
            f"({', '.join(kinds)}); it wants a number for each record, or a string "
            "for each."
        )
    return names, codes


def _mean_success(hits, level):
    """Mean over pairs (rows) and records (columns), and its interval."""
    hits = hits[~np.isnan(hits).all(axis=1)]
    by_record, by_pair = (np.nanmean(hits, axis=axis) for axis in (0, 1))
    mean, n_records = np.nanmean(hits), hits.shape[1]
    if n_records < 2:
        return mean, np.nan, np.nan
    variance = by_record.var(ddof=1) / n_records + by_pair.var(ddof=1) / by_pair.size
    # Where nearly all answers are right, or wrong, those seen do not vary by chance. A
    # right and a wrong one more say how much they might.
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
        "method": [StrOptions({"by", "bh"})],
    },
    prefer_skip_nested_validation=True,
)
def records_at_risk(attack, *, fdr=0.05, method="by"):
    """List the records whose membership shows, at a false discovery rate.

    For each record the signals of its pairs of shadows, one trained with it and one
    without, are compared by Wilcoxon's signed-rank test: under no effect, either of
    a pair is as likely to have the higher signal. The test assumes no distribution;
    its p-values are exact up to 50 pairs without ties, else by its normal limit.

    Parameters
    ----------
    attack : LiRAAttack
        Fitted; any attack with ``signals_`` and ``membership_``.
    fdr : float, default=0.05
        Expected share of records on the list whose membership does not show.
    method : {"by", "bh"}, default="by"
        Benjamini and Yekutieli's correction, for any dependence among the records,
        or Benjamini and Hochberg's, for independent or positively dependent ones.

    Returns
    -------
    result : :class:`~sklearn.utils.Bunch`
        ``records``, the numbers of the records on the list, surest first;
        ``p_values`` and ``adjusted_p_values``, of shape (n_samples,); ``fdr`` and
        ``method``. With n pairs no p-value is below 2 ** -n: many records want
        many shadows. Where so none is listed, a warning says how many.
    """
    missing = [n for n in ("signals_", "membership_") if not hasattr(attack, n)]
    if missing:
        raise ValueError(
            f"attack is {attack!r}, without {' and '.join(missing)}; it wants a fitted "
            "attack with shadows."
        )
    p_values = np.empty(attack.signals_.shape[1])
    for batch in gen_batches(p_values.size, _RECORDS_A_BATCH):
        inside, outside = pair_shadows(
            attack.signals_[:, batch], attack.membership_[:, batch]
        )
        p_values[batch] = _signed_rank_p_values(inside - outside)
    adjusted = false_discovery_control(p_values, method=method)
    order = np.argsort(p_values, kind="stable")
    records = order[adjusted[order] <= fdr]
    if not records.size:
        _warn_of_few_pairs(attack.membership_, fdr, method)
    return Bunch(
        records=records,
        p_values=p_values,
        adjusted_p_values=adjusted,
        fdr=fdr,
        method=method,
    )


def _warn_of_few_pairs(membership, fdr, method):
    """Warn if no record could be listed alone, however much its signals differ."""
    n_shadows, n_records = membership.shape
    n_inside = np.count_nonzero(membership, axis=0)
    n_pairs = np.minimum(n_inside, n_shadows - n_inside).max()
    # The correction of the smallest p-value, were all others 1.
    factor = n_records
    if method == "by":
        factor *= (1 / np.arange(1, n_records + 1)).sum()
    n_pairs_wanted = math.ceil(math.log2(factor / fdr))
    if n_pairs < n_pairs_wanted:
        warnings.warn(
            f"No record is listed at fdr={fdr}: with {n_pairs} pairs of shadows no "
            f"p-value is below {0.5**n_pairs:.3g}, so that none of {n_records} records "
            f"could be listed alone. That takes {2 * n_pairs_wanted} shadows.",
            stacklevel=4,
        )


def _signed_rank_p_values(differences):
    """P-values of each column, for differences that are above 0.

    They depend on the sum of the ranks of those above 0, and, by the number and the
    ties, on the number of ranks and the sum of their squares: columns that agree in
    all three share one test.
    """
    # A pair whose signals are equal says nothing, either way.
    differences = np.where(differences == 0, np.nan, differences)
    ranks = rankdata(np.abs(differences), axis=0, nan_policy="omit")
    statistics = np.stack([
        np.isfinite(ranks).sum(axis=0),
        np.nansum(np.where(differences > 0, ranks, 0.0), axis=0),
        np.nansum(ranks**2, axis=0),
    ])  # fmt: skip
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
        # As where a model gives labels only: the signs alone tell, and exactly.
        n_above = np.count_nonzero(values > 0)
        return binomtest(n_above, values.size, alternative="greater").pvalue
    exact = n_sizes == values.size <= _MOST_PAIRS_EXACT
    method = "exact" if exact else "approx"
    p_value = wilcoxon(values, alternative="greater", method=method).pvalue
    # The normal limit of few pairs goes below what all signs alike have.
    return max(p_value, 0.5**values.size)
