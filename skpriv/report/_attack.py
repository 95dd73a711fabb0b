"""The attack of an audit: which one, on which tables, and what came of it."""

import warnings

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from skpriv.attacks import LiRAAttack
from skpriv.datasets import TableError
from skpriv.evaluation import records_at_risk, success_by_group
from skpriv.metrics import attack_report, score_agreement

_FALSE_POSITIVE_RATES = (0.001, 0.01)
_FALSE_DISCOVERY_RATE = 0.05
_TOP_SHARE = 0.1
_CONFIDENCE_LEVEL = 0.95
_FEWEST_SHADOWS_FOR_HALVES = 12
# Below as many records a rank correlation has no interval.
_FEWEST_RECORDS_TO_RANK = 4


# Seeded, so that an audit that is repeated gives the same report.
def make_attack_on_model(model, n_neighbors, n_shadows):
    """Return an attack, not fitted, on the audited model.

    Parameters
    ----------
    model : classifier
        Fitted.
    n_neighbors : int
        Of no account.
    n_shadows : int

    Returns
    -------
    attack : LiRAAttack
    """
    return LiRAAttack(target=model, n_shadows=n_shadows, random_state=0)


def make_attack_on_neighbors(model, n_neighbors, n_shadows):
    """Return an attack, not fitted, on the nearest neighbours.

    Parameters
    ----------
    model : None
        Of no account.
    n_neighbors : int
    n_shadows : int

    Returns
    -------
    attack : LiRAAttack
    """
    neighbors = KNeighborsClassifier(n_neighbors)
    return LiRAAttack(neighbors, n_shadows=n_shadows, random_state=0)


def check_attackable(encoded, n_votes):
    """Refuse a table whose halves are too small to train shadows on.

    Parameters
    ----------
    encoded : EncodedTable
        With classes.
    n_votes : int
        How many records a shadow needs.

    Raises
    ------
    TableError
        The message is one line that says what is wanted.
    """
    if (np.bincount(encoded.y) > 1).sum() < 2:
        raise TableError(
            f"label column {encoded.label!r} has no two classes of 2 records or more, "
            "and an attack trains models on halves of the records, with a record of "
            "two classes in each"
        )
    if encoded.y.size // 2 < n_votes:
        raise TableError(
            f"{encoded.y.size} records are too few to attack {n_votes} nearest "
            f"neighbours, which takes {2 * n_votes}: a half of them must hold "
            f"{n_votes}"
        )


def describe_attack(attack, scores, encoded, n_top):
    """Sum an attack up.

    Parameters
    ----------
    attack : LiRAAttack
        Fitted.
    scores : dict of str to ndarray of shape (n_records,)
        Scores to be compared with its success; NaN where there is none.
    encoded : EncodedTable
        What it was fitted on.
    n_top : int
        How many of the records at risk to name.

    Returns
    -------
    description : dict
        Of plain data, None standing for what is not known:

        - "n_shadows", "confidence_level";
        - "success": the mean over the records, and the ends of its interval;
        - "success_by_class": the same for each class, intervals holding for all of
          them at once (Bonferroni);
        - "auc" and "tpr" (by false positive rate): the mean over the shadows as
          targets, and what 95 % of them lie between;
        - "at_risk": how many records show their membership at a false discovery rate
          (Benjamini and Yekutieli), their share, and the numbers of the surest;
        - "agreement": for each score its rank correlation with the success, the ends
          of its interval, the ceiling that the noise of the success sets, and the part
          of the top 10 % that is in the top 10 % of both.
    columns : dict of str to list
        For each record the success, the ends of its interval, and whether it is at
        risk.
    """
    with warnings.catch_warnings():
        # The report says of any number of shadows that more find more.
        warnings.filterwarnings("ignore", message="No record is listed")
        risk = records_at_risk(attack, fdr=_FALSE_DISCOVERY_RATE)
    halves = None
    if len(attack.signals_) >= _FEWEST_SHADOWS_FOR_HALVES:
        halves = attack.attack_success_halves_
    everything = np.zeros(encoded.y.size, dtype=int)
    (success,) = _describe_groups(attack, everything)
    by_class = _describe_groups(attack, encoded.y)
    description = {
        "n_shadows": len(attack.signals_),
        "confidence_level": _CONFIDENCE_LEVEL,
        "success": success,
        "success_by_class": dict(zip(encoded.classes, by_class, strict=True)),
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
    """Take each shadow as the target, left out with its partner."""
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
        return dict.fromkeys(("value", "low", "high", "ceiling", "top"))
    agreement = score_agreement(
        success[known],
        scores[known],
        halves=None if halves is None else halves[:, known],
        fractions=[_TOP_SHARE],
        confidence_level=_CONFIDENCE_LEVEL,
    )
    return {
        **_plain_interval(agreement.spearman, agreement.spearman_interval),
        "ceiling": _plain(agreement.ceiling),
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
