"""Summarise the attack on the shadow models as plain data."""

import numpy as np

from skpriv.metrics import attack_report, tpr_at_fpr

FALSE_POSITIVE_RATES = (0.001, 0.01)
_CONFIDENCE_LEVEL = 0.95
_MOST_POINTS = 100


def describe_attack(attack):
    """Summarise the attack on the shadow models, each of them the target in turn.

    Parameters
    ----------
    attack : LiRAAttack
        Fitted.

    Returns
    -------
    description : dict
        Plain data. None stands for what is not known.

        - "name";
        - "auc" and, in a list by false positive rate, "tpr": the mean over the shadow
          models, and the range that holds 95 % of them;
        - "epsilon": a lower bound on the ε of differential privacy that the attack
          implies;
        - "roc": the curve, its mean over the shadow models and the range of 95 %.
    """
    targets = list(zip(attack.membership_, attack.shadow_scores(), strict=True))
    reports = [
        attack_report(members, scores, fprs=FALSE_POSITIVE_RATES, threshold=0.0)
        for members, scores in targets
    ]
    tpr = np.array([report.tpr for report in reports])
    return {
        "name": "LiRA",
        "auc": _over_targets(np.array([report.auc for report in reports])),
        "tpr": [
            {"fpr": rate, "estimate": _over_targets(values)}
            for rate, values in zip(FALSE_POSITIVE_RATES, tpr.T, strict=True)
        ],
        "epsilon": None,
        "roc": _describe_roc(targets),
    }


def _describe_roc(targets):
    n_outside = min(np.count_nonzero(~members) for members, _ in targets)
    fpr = np.unique(np.geomspace(1 / n_outside, 1, _MOST_POINTS))
    curves = np.array([tpr_at_fpr(*target, fpr=fpr) for target in targets])
    tail = (1 - _CONFIDENCE_LEVEL) / 2
    low, high = np.quantile(curves, [tail, 1 - tail], axis=0)
    return {
        "fpr": fpr.tolist(),
        "tpr": curves.mean(axis=0).tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
    }


def _over_targets(values):
    if np.isnan(values).any():
        return dict.fromkeys(("value", "low", "high"))
    tail = (1 - _CONFIDENCE_LEVEL) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return {"value": float(values.mean()), "low": float(low), "high": float(high)}
