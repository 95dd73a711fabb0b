"""Summarise the results of an attack as plain data."""

import warnings

import numpy as np

from skpriv.evaluation import records_at_risk, success_by_group
from skpriv.metrics import attack_report, score_agreement

_FALSE_POSITIVE_RATES = (0.001, 0.01)
_FALSE_DISCOVERY_RATE = 0.05
_TOP_SHARE = 0.1
_CONFIDENCE_LEVEL = 0.95
_FEWEST_SHADOWS_FOR_HALVES = 12
# For fewer records a rank correlation has no interval.
_FEWEST_RECORDS_TO_RANK = 4


def describe_attack(attack, scores, table, n_top):
    """Summarise the results of an attack as plain data.

    Parameters
    ----------
    attack : LiRAAttack
        Fitted.
    scores : dict of str to ndarray of shape (n_records,)
        Scores to be compared with its success; NaN for a missing score.
    table : EncodedTable
        The table that it was fitted on.
    n_top : int
        How many of the records at risk to list.

    Returns
    -------
    description : dict
        Plain data. None stands for what is not known.

        - "n_shadows", "confidence_level";
        - "success": the mean over the records, and the ends of its interval;
        - "success_by_class": the same for each class, with intervals that hold for
          all classes at once (Bonferroni);
        - "auc" and "tpr" (by false positive rate): the mean over the shadow models as
          targets, and the range that holds 95 % of them;
        - "at_risk": how many records are at risk at a false discovery rate (Benjamini
          and Yekutieli), their share, and the numbers of those with the strongest
          evidence;
        - "agreement": for each score its rank correlation with the success, the ends
          of its interval, what a perfect score would attain, and the part of the top
          10 % by score that is also in the top 10 % by success.
    columns : dict of str to list
        For each record the success, the ends of its interval, and whether it is at
        risk.
    """
    with warnings.catch_warnings():
        # Of too few shadows for any record: the report says that more can find more.
        warnings.simplefilter("ignore", UserWarning)
        risk = records_at_risk(attack, fdr=_FALSE_DISCOVERY_RATE)
    halves = None
    if len(attack.signals_) >= _FEWEST_SHADOWS_FOR_HALVES:
        halves = attack.attack_success_halves_
    everything = np.zeros(table.y.size, dtype=int)
    (success,) = _describe_groups(attack, everything)
    by_class = _describe_groups(attack, table.y)
    description = {
        "n_shadows": len(attack.signals_),
        "confidence_level": _CONFIDENCE_LEVEL,
        "success": success,
        "success_by_class": dict(zip(table.classes, by_class, strict=True)),
        **_describe_roc(attack),
        "at_risk": _describe_risk(risk, n_top),
        "agreement": {
            name: _describe_agreement(attack.attack_success_, halves, values)
            for name, values in scores.items()
        },
    }
    low, high = attack.attack_success_interval_.T
    columns = {
        "attack_success": attack.attack_success_.tolist(),
        "attack_success_low": low.tolist(),
        "attack_success_high": high.tolist(),
        "at_risk": (risk.adjusted_p_values <= risk.fdr).tolist(),
    }
    return description, columns


def _describe_groups(attack, groups):
    result = success_by_group(attack, groups, confidence_level=_CONFIDENCE_LEVEL)
    columns = result.attack_success, result.low, result.high
    return [
        _plain_interval(mean, (low, high))
        for mean, low, high in zip(*columns, strict=True)
    ]


def _describe_roc(attack):
    """Attack each shadow model, left out with its partner."""
    reports = [
        attack_report(members, scores, fprs=_FALSE_POSITIVE_RATES)
        for members, scores in zip(
            attack.membership_, attack.shadow_scores(), strict=True
        )
    ]
    tpr = np.array([report.tpr for report in reports])
    return {
        "auc": _describe_targets(np.array([report.auc for report in reports])),
        "tpr": {
            f"{rate:.1%}": _describe_targets(values)
            for rate, values in zip(_FALSE_POSITIVE_RATES, tpr.T, strict=True)
        },
    }


def _describe_targets(values):
    tail = (1 - _CONFIDENCE_LEVEL) / 2
    return _plain_interval(values.mean(), np.quantile(values, [tail, 1 - tail]))


def _describe_risk(risk, n_top):
    return {
        "false_discovery_rate": risk.fdr,
        "records": risk.records.size,
        "part_of_records": risk.records.size / risk.p_values.size,
        "surest": (risk.records[:n_top] + 1).tolist(),
    }


def _describe_agreement(success, halves, scores):
    known = ~np.isnan(scores)
    if known.sum() < _FEWEST_RECORDS_TO_RANK:
        return dict.fromkeys(("value", "low", "high", "attainable", "top"))
    agreement = score_agreement(
        success[known],
        scores[known],
        halves=None if halves is None else halves[:, known],
        fractions=[_TOP_SHARE],
        confidence_level=_CONFIDENCE_LEVEL,
    )
    return {
        **_plain_interval(agreement.spearman, agreement.spearman_interval),
        "attainable": _plain(agreement.attainable),
        "top": _plain(agreement.top_overlap[0]),
    }


def _plain_interval(value, interval):
    return {
        "value": _plain(value),
        "low": _plain(interval[0]),
        "high": _plain(interval[1]),
    }


def _plain(number):
    return None if np.isnan(number) else float(number)
