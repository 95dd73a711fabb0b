"""The risk of groups of records."""

import numpy as np

from skpriv.evaluation import success_by_group

# Of fewer records, a mean says more about the people than about the group.
SMALLEST_GROUP = 10


def describe_groups(risk, at_risk, groups, confidence_level=0.95):
    """Describe the risk by group, for each column of groups.

    Parameters
    ----------
    risk : RiskEstimator
        Fitted.
    at_risk : ndarray of shape (n_records,), dtype bool
    groups : dict of str to ndarray of shape (n_records,)
    confidence_level : float, default=0.95

    Returns
    -------
    description : list of dict
        For each column, its groups with their mean risk, most exposed first, and then
        those that are too small to say. The intervals of a column hold for all of its
        groups at once.
    """
    return [
        {
            "column": column,
            "groups": _describe(risk, at_risk, names, confidence_level),
        }
        for column, names in groups.items()
    ]


def _describe(risk, at_risk, names, confidence_level):
    names = np.asarray([str(name) for name in names])
    result = success_by_group(risk, names, confidence_level=confidence_level)
    groups = []
    for row, name in enumerate(result.group):
        too_small = bool(result.n_records[row] < SMALLEST_GROUP)
        ends = (("value", "attack_success"), ("low", "low"), ("high", "high"))
        estimate = {end: float(result[key][row]) for end, key in ends}
        groups.append(
            {
                "name": str(name),
                "records": int(result.n_records[row]),
                "estimate": None if too_small else estimate,
                "at_risk": int(at_risk[names == name].sum()),
                "too_small": too_small,
            }
        )
    return sorted(
        groups,
        key=lambda g: (g["too_small"], -(g["estimate"] or {"value": 0})["value"]),
    )
