"""Summarise the attack on the shadow models as plain data."""

import numpy as np

from skpriv.metrics import attack_report, attack_roc, epsilon_lower_bound

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
          implies: the median of the bounds at the shadow models;
        - "roc": the curve, its mean over the shadow models and the range of 95 %.
    """
    membership, scores = attack.membership_, attack.shadow_scores()
    targets = list(zip(membership, scores, strict=True))
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
        "epsilon": _describe_epsilon(targets),
        "roc": _describe_roc(membership, scores),
    }


def _describe_epsilon(targets):
    # If each bound fails with half of the probability that is allowed, then the median
    # fails with at most that probability, however the bounds depend on each other.
    level = (1 + _CONFIDENCE_LEVEL) / 2
    bounds = [epsilon_lower_bound(*t, confidence_level=level) for t in targets]
    return {
        "value": float(np.median(bounds)),
        "confidence_level": _CONFIDENCE_LEVEL,
    }


def _describe_roc(membership, scores):
    roc = attack_roc(
        membership, scores, confidence_level=_CONFIDENCE_LEVEL, max_points=_MOST_POINTS
    )
    return {name: roc[name].tolist() for name in ("fpr", "tpr", "low", "high")}


def _over_targets(values):
    if np.isnan(values).any():
        return dict.fromkeys(("value", "low", "high"))
    tail = (1 - _CONFIDENCE_LEVEL) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return {"value": float(values.mean()), "low": float(low), "high": float(high)}
