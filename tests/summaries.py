"""Summaries of audits that never ran, for the tests of what is made from them."""

import numpy as np

from skpriv.report._words import verdict

REASONS = {
    "rare_value": "few records have this value of 'native-country' (1 of 48,842)",
    "unlike_all": "it is unlike all other records",
    "contradicted": "4 of its 5 nearest neighbours have another label",
    "wrong_label": "its label is probably wrong",
}


def estimate(value, margin=0.05, lowest=0.0):
    low, high = max(value - margin, lowest), min(value + margin, 1.0)
    return {"value": float(value), "low": float(low), "high": float(high)}


def make_summary(n_records=300, *, seed=0, ids=True):
    """Return a summary with everything in it, of a classifier."""
    rng = np.random.default_rng(seed)
    risk = 0.5 + 0.49 * rng.beta(1, 9, n_records)
    at_risk = risk > min(0.72, np.sort(risk)[-3])
    order = np.argsort(-risk)
    reasons = [list(REASONS.values())[k % 4] for k in range(n_records)]
    records = {
        "record": [f"r{k}" for k in range(n_records)],
        "label": ["<=50K" if k % 4 else ">50K" for k in range(n_records)],
        "risk": risk.tolist(),
        "risk_low": np.maximum(risk - 0.06, 0.5).tolist(),
        "risk_high": np.minimum(risk + 0.06, 1.0).tolist(),
        "at_risk": at_risk.tolist(),
        "reasons": [reasons[k] if risk[k] > 0.6 else "" for k in range(n_records)],
        "sex": ["Female" if k % 3 else "Male" for k in range(n_records)],
        "out_of_bag": rng.random(n_records).tolist(),
    }
    if ids:
        records["id"] = [f"person-{k:04d}" for k in range(n_records)]
    fpr = np.geomspace(1e-4, 1, 60)
    tpr = fpr**0.6
    grid = {"fpr": fpr, "tpr": tpr, "low": tpr * 0.8, "high": np.minimum(tpr * 1.2, 1)}
    summary = {
        "schema": 1,
        "made": {
            "skpriv": "0.1",
            "date": "2026-12-01T10:00:00Z",
            "versions": {"python": "3.11.7", "numpy": "2.4.6"},
            "command": "skpriv audit adult.csv --label income --html report.html",
            "options": {"n_shadows": 16, "cv": None, "groups": ["sex"]},
            "random_state": 7,
            "seconds": 41.7,
            "data_hash": "sha256:" + "0123456789abcdef" * 4,
        },
        "data": {
            "source": "adult.csv",
            "records": n_records,
            "features": 108,
            "label": "income",
            "classes": {"<=50K": n_records - n_records // 4, ">50K": n_records // 4},
            "quantity": None,
            "columns": [
                make_column("age", "number", n_missing=4),
                make_column("native-country", "category"),
                make_column("fnlwgt", "number", left_out="an identifier"),
            ],
            "notes": [
                {
                    "columns": ["fnlwgt"],
                    "reason": "whole numbers that nearly all differ, left out",
                    "option": "--keep fnlwgt",
                },
                {"columns": [], "reason": "3 lines are empty", "option": None},
            ],
        },
        "model": {
            "name": "HistGradientBoostingClassifier",
            "text": "HistGradientBoostingClassifier(max_iter=50)",
            "task": "classification",
            "given_fitted": False,
            "performance": {
                "measure": "accuracy",
                "on": "records left out",
                "folds": 5,
                "estimate": estimate(0.8711, 0.0123),
                "training": 0.9034,
                "baseline": {"value": 0.7607, "class": "<=50K"},
                "by_class": {"<=50K": 0.9412, ">50K": 0.6519},
            },
        },
        "risk": {
            "n_shadows": 16,
            "confidence_level": 0.95,
            "not_measured": 0,
            "mean": estimate(risk.mean(), 0.0112),
            "at_risk": {
                "false_discovery_rate": 0.05,
                "records": int(at_risk.sum()),
                "part": float(at_risk.mean()),
            },
            "highest": {
                "record": records["record"][order[0]],
                "estimate": estimate(risk.max(), 0.06, 0.5),
            },
            "detection_limit": 0.6253,
            "distribution": {
                "minimum": float(risk.min()),
                "lower_quartile": float(np.quantile(risk, 0.25)),
                "median": float(np.median(risk)),
                "upper_quartile": float(np.quantile(risk, 0.75)),
                "p90": float(np.quantile(risk, 0.9)),
                "p99": float(np.quantile(risk, 0.99)),
                "maximum": float(risk.max()),
            },
        },
        "attack": {
            "name": "LiRA",
            "auc": estimate(0.5832, 0.0214),
            "tpr": [
                {"fpr": 0.001, "estimate": estimate(0.0151, 0.0066)},
                {"fpr": 0.01, "estimate": estimate(0.0632, 0.0141)},
            ],
            "epsilon": {"value": 0.8123, "confidence_level": 0.95},
            "roc": {name: values.tolist() for name, values in grid.items()},
        },
        "groups": [
            {
                "column": "class",
                "groups": [
                    make_group("<=50K", n_records - n_records // 4, 0.5312, 2),
                    make_group(">50K", n_records // 4, 0.6143, 5),
                ],
            },
            {
                "column": "native-country",
                "groups": [
                    make_group("United-States", n_records - 3, 0.5513, 3),
                    make_group("Holand-Netherlands", 3, None, 1),
                ],
            },
        ],
        "measures": {
            "before": make_measured(0.8712, 0.5523, 12, 0.9631, n_records),
            "tried": [
                {
                    "name": "larger leaves",
                    "change": "min_samples_leaf = 80 in place of 20",
                    "after": make_measured(0.8634, 0.5311, 4, 0.8823, n_records),
                    "note": None,
                },
                {
                    "name": "the records at risk left out",
                    "change": "12 records left out",
                    "after": make_measured(0.8701, 0.5507, 9, 0.9442, n_records - 12),
                    "note": "others are exposed in their place: the onion effect",
                },
            ],
            "not_tried": [
                {
                    "name": "shallower trees",
                    "change": "max_depth = 3 in place of None",
                    "reason": "max_depth is not a parameter of this model",
                }
            ],
        },
        "scores": {
            "out_of_bag": {
                "title": "out-of-bag error",
                "meaning": "how wrong the trees are that were not trained on it",
                "direction": "higher = more exposed",
                "missing": 0,
                "weight": 0.61,
            }
        },
        "most_exposed": [
            {
                "record": records["record"][k],
                "id": records["id"][k] if ids else None,
                "label": records["label"][k],
                "risk": estimate(risk[k], 0.06, 0.5),
                "at_risk": bool(at_risk[k]),
                "reasons": [
                    {"kind": kind, "text": text, "column": None, "share": None}
                    for kind, text in list(REASONS.items())[: 1 + k % 3]
                ],
                "scores": {"out_of_bag": records["out_of_bag"][k]},
            }
            for k in order[:10]
        ],
        "unmeasurable": None,
        "records": records,
    }
    return {**summary, "verdict": verdict(summary)}


def make_column(name, kind, *, n_missing=0, left_out=None):
    column = {"name": name, "kind": kind, "n_missing": n_missing, "n_distinct": 41}
    return {**column, "left_out": left_out}


def make_group(name, n_records, value, n_at_risk):
    known = None if value is None else estimate(value, 0.0231)
    return {
        "name": name,
        "records": n_records,
        "estimate": known,
        "at_risk": n_at_risk,
        "too_small": value is None,
    }


def make_measured(performance, mean_risk, at_risk, highest, n_records):
    return {
        "performance": estimate(performance, 0.0123),
        "mean_risk": mean_risk,
        "at_risk": at_risk,
        "highest": highest,
        "records": n_records,
    }


def make_bare_summary():
    """Return a summary of three records of which nothing can be said."""
    summary = make_summary(3, ids=False)
    summary["made"] |= {"command": None, "options": {}}
    summary["data"] |= {"classes": None, "label": None, "columns": [], "notes": []}
    summary["model"]["performance"] = None
    summary["risk"] |= {
        "mean": None,
        "not_measured": 3,
        "at_risk": {"false_discovery_rate": 0.05, "records": 0, "part": 0.0},
        "highest": None,
        "detection_limit": None,
        "distribution": None,
    }
    summary["records"] |= {
        name: [None] * 3 for name in ("risk", "risk_low", "risk_high")
    }
    summary["records"] |= {"at_risk": [False] * 3, "reasons": [""] * 3}
    summary |= {"attack": None, "measures": None, "groups": [], "scores": {}}
    exposed = {"risk": None, "at_risk": False, "scores": {}}
    summary["most_exposed"] = [{**summary["most_exposed"][0], **exposed}]
    summary |= {"unmeasurable": "3 records are too few"}
    summary["verdict"] = verdict(summary)
    return summary


def make_regression_summary(n_records=300):
    """Return a summary of a regressor."""
    summary = make_summary(n_records)
    summary["model"] |= {"name": "Ridge", "text": "Ridge()", "task": "regression"}
    summary["model"]["performance"] |= {
        "measure": "r2",
        "on": "test data",
        "folds": None,
        "baseline": None,
        "by_class": None,
    }
    summary["data"] |= {
        "label": "charges",
        "classes": None,
        "quantity": {"minimum": 1121.87, "maximum": 63770.43},
    }
    summary["groups"] = []
    return summary
