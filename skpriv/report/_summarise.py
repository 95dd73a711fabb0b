"""Summarise what an audit has measured as plain data. Nothing is fitted here."""

import json
import platform
import shlex
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import is_regressor

import skpriv
from skpriv.evaluation import detection_limit, success_by_group
from skpriv.report import _words
from skpriv.report._attack import describe_attack
from skpriv.report._conduct import measure_of, rank
from skpriv.report._groups import describe_groups
from skpriv.report._scores import words_of
from skpriv.utils._optional import import_optional
from skpriv.utils._pipelines import parts_of

SCHEMA = 1
_CONFIDENCE_LEVEL = 0.95
_PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "torch", "skorch")
_QUANTILES = {
    "minimum": 0.0,
    "lower_quartile": 0.25,
    "median": 0.5,
    "upper_quartile": 0.75,
    "p90": 0.9,
    "p99": 0.99,
    "maximum": 1.0,
}


def summarise(
    measured, *, measures=None, title=None, command=None, options=None, n_top=10
):
    """Summarise an audit as plain data, from which every form of the report is made.

    Parameters
    ----------
    measured : Measured
    measures : dict, default=None
        What would help, as `measure_options` returns it.
    title : str, default=None
        The name of the model. None: that of its class.
    command : str, default=None
        The command that made the report.
    options : dict, default=None
        The options of the audit.
    n_top : int, default=10
        How many of the most exposed records to list.

    Returns
    -------
    summary : dict
        Built of dict, list, str, int, float, bool and None alone, as
        ``schema.json`` beside this file describes. None stands for what is not known.
    """
    records = _describe_records(measured)
    summary = {
        "schema": SCHEMA,
        "made": _describe_making(measured, command, options),
        "data": _describe_data(measured),
        "model": _describe_model(measured, title),
        "risk": _describe_risk(measured),
        "attack": None,
        "groups": [],
        "measures": measures,
        "scores": _describe_scores(measured),
        "most_exposed": [
            _describe_exposed(measured, records, row) for row in measured.order[:n_top]
        ],
        "unmeasurable": measured.unmeasurable,
    }
    if measured.risk is not None:
        summary["attack"] = describe_attack(measured.risk.attack_)
        summary["groups"] = describe_groups(
            measured.risk, measured.at_risk, columns_of_groups(measured)
        )
    summary["verdict"] = _words.verdict(summary)
    summary["records"] = records
    return summary


def columns_of_groups(measured):
    """Return the groups of the records by column: the class first, then others."""
    subject, groups = measured.subject, {}
    if not is_regressor(measured.model):
        groups[subject.label or "class"] = np.array([str(v) for v in subject.labels])
    return {**groups, **subject.groups}


def _describe_making(measured, command, options):
    subject, now = measured.subject, datetime.now(UTC)
    return {
        "skpriv": skpriv.__version__,
        "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "versions": _versions(),
        "command": command,
        "options": dict(options or {}),
        "random_state": measured.settings.random_state,
        "seconds": float(measured.seconds),
        "data_hash": subject.data_hash or hash_of(subject),
    }


def _versions():
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def hash_of(subject):
    """Return a hash of records and labels, by which they can be recognised.

    Parameters
    ----------
    subject : Subject

    Returns
    -------
    hash : str
    """
    digest = sha256()
    X = subject.X
    if subject.frame is not None:
        digest.update(json.dumps(list(subject.frame.columns)).encode())
        digest.update(_hash_of_rows(subject.frame))
    elif sp.issparse(X):
        for part in (X.indptr, X.indices, X.data):
            digest.update(np.ascontiguousarray(part))
    elif isinstance(X, np.ndarray) and X.dtype != object:
        digest.update(np.ascontiguousarray(X))
    else:
        digest.update(joblib.hash(X, "sha1").encode())
    pandas = import_optional("pandas", extra="report")
    digest.update(_hash_of_rows(pandas.Series(subject.y)))
    return f"sha256:{digest.hexdigest()}"


def _hash_of_rows(frame):
    pandas = import_optional("pandas", extra="report")
    return pandas.util.hash_pandas_object(frame, index=False).to_numpy()


def _describe_data(measured):
    subject = measured.subject
    shape = np.shape(subject.X)
    data = {
        "source": subject.source,
        "records": len(subject),
        "features": int(np.prod(shape[1:])) if len(shape) > 1 else 1,
        "label": subject.label,
        "classes": None,
        "quantity": None,
        "columns": [vars(column).copy() for column in subject.columns],
        "notes": [*_describe_notes(subject.notes), *_notes_of_warnings(measured)],
    }
    if is_regressor(measured.model):
        data["quantity"] = {
            "minimum": float(np.min(subject.labels)),
            "maximum": float(np.max(subject.labels)),
        }
    else:
        names, numbers = np.unique(subject.labels, return_counts=True)
        names = [_plain_label(name) for name in names]
        data["classes"] = dict(zip(map(str, names), numbers.tolist(), strict=True))
    return data


def _describe_notes(notes):
    # In a wide table, many columns may have the same.
    columns = {}
    for note in notes:
        columns.setdefault((note.reason, note.option), []).append(note.column)
    return [
        {
            "columns": [str(name) for name in names if name is not None],
            "reason": reason,
            "option": _fill_in(option, names) or None,
        }
        for (reason, option), names in columns.items()
    ]


def _fill_in(option, names):
    if len(names) > 1 or not option.endswith(" COL"):
        return option
    return option.removesuffix("COL") + shlex.quote(str(names[0]))


def _notes_of_warnings(measured):
    return [
        {"columns": [], "reason": text, "option": None} for text in measured.warnings
    ]


def _describe_model(measured, title):
    model = parts_of(measured.model).model
    return {
        "name": title or type(model).__name__,
        "text": " ".join(repr(measured.given).split()),
        "task": "regression" if is_regressor(model) else "classification",
        "given_fitted": measured.given_fitted,
        "performance": _describe_performance(measured),
    }


def _describe_performance(measured):
    found = measured.performance
    if found is None:
        return None
    regression = is_regressor(measured.model)
    return {
        "measure": "r2" if regression else "accuracy",
        "on": "test data" if found.is_test else "records left out",
        "folds": found.folds,
        "estimate": _estimate(measure_of(measured.model)(found.y, found.predicted)),
        "training": found.training,
        "baseline": None if regression else _describe_baseline(measured),
        "by_class": None if regression else _describe_classes(measured),
    }


def _names_of_classes(measured):
    """Return the name of each label that the model knows."""
    subject = measured.subject
    pairs = zip(subject.y.tolist(), subject.labels.tolist(), strict=True)
    return {known: str(_plain_label(name)) for known, name in dict(pairs).items()}


def _describe_baseline(measured):
    names, numbers = np.unique(measured.performance.y, return_counts=True)
    most = numbers.argmax()
    name = _names_of_classes(measured).get(_plain_label(names[most]), str(names[most]))
    return {"value": float(numbers[most] / numbers.sum()), "class": name}


def _describe_classes(measured):
    found, names = measured.performance, _names_of_classes(measured)
    right = found.y == found.predicted
    return {
        names.get(_plain_label(value), str(value)): float(
            right[found.y == value].mean()
        )
        for value in np.unique(found.y)
    }


def _describe_risk(measured):
    n_records = len(measured.subject)
    description = {
        "n_shadows": measured.settings.n_shadows,
        "confidence_level": _CONFIDENCE_LEVEL,
        "mean": None,
        "at_risk": {
            "false_discovery_rate": measured.settings.fdr,
            "records": int(measured.at_risk.sum()),
            "part": float(measured.at_risk.mean()),
        },
        "highest": None,
        "not_measured": int(n_records - measured.measured.sum()),
        "detection_limit": None,
        "distribution": None,
    }
    if measured.risk is None:
        return description
    risk = measured.risk
    by_measured = success_by_group(risk, measured.measured, correction="none")
    last = {key: by_measured[key][-1] for key in ("attack_success", "low", "high")}
    description["mean"] = _estimate(last.values())
    limit = detection_limit(risk, fdr=measured.settings.fdr)
    description["detection_limit"] = _plain(limit)
    known = np.flatnonzero(measured.measured)
    first = rank(risk, measured.measured, measured.at_risk)
    highest = first[-known.size]
    description["highest"] = {
        "record": _plain(measured.subject.index[highest]),
        "estimate": _estimate((risk.scores_[highest], *risk.interval_[highest])),
    }
    quantiles = np.quantile(risk.scores_[known], list(_QUANTILES.values()))
    description["distribution"] = dict(zip(_QUANTILES, quantiles.tolist(), strict=True))
    return description


def _describe_scores(measured):
    if measured.risk is None:
        return {}
    return {
        name: {
            "title": words_of(name).title,
            "meaning": words_of(name).meaning,
            "direction": "higher = more exposed",
            "missing": int(np.isnan(values).sum()),
            "weight": _plain(measured.risk.weights_.get(name)),
        }
        for name, values in _scores_of(measured).items()
    }


def _scores_of(measured):
    covariates = measured.risk.covariates_
    return {name: np.asarray(covariates[name]) for name in covariates}


def _describe_records(measured):
    subject, risk = measured.subject, measured.risk
    unknown = np.full(len(subject), np.nan)
    success, low, high = unknown, unknown, unknown
    if risk is not None:
        success, (low, high) = risk.scores_, risk.interval_.T
    hide = np.where(measured.measured, 0.0, np.nan)
    records = {
        "record": [_plain(name) for name in subject.index],
        **({} if subject.ids is None else {"id": list(subject.ids)}),
        "label": [_plain_label(label) for label in subject.labels],
        "risk": _plain_column(success + hide),
        "risk_low": _plain_column(low + hide),
        "risk_high": _plain_column(high + hide),
        "at_risk": measured.at_risk.tolist(),
        "reasons": [_words.join_reasons(found) for found in measured.reasons],
    }
    for column, names in subject.groups.items():
        records[_free_name(column, records)] = [str(name) for name in names]
    if risk is not None:
        for name, values in _scores_of(measured).items():
            records[_free_name(name, records)] = _plain_column(values)
    return records


def _free_name(name, taken):
    return name if name not in {"low", "high", *taken} else f"{name} (group)"


def _describe_exposed(measured, records, row):
    def estimate():
        ends = (records[key][row] for key in ("risk", "risk_low", "risk_high"))
        return dict(zip(("value", "low", "high"), ends, strict=True))

    scores = {} if measured.risk is None else _scores_of(measured)
    return {
        "record": records["record"][row],
        "id": records["id"][row] if "id" in records else None,
        "label": records["label"][row],
        "risk": estimate() if records["risk"][row] is not None else None,
        "at_risk": records["at_risk"][row],
        "reasons": [dict(reason) for reason in measured.reasons[row]],
        "scores": {name: _plain(values[row]) for name, values in scores.items()},
    }


def _estimate(values):
    ends = zip(("value", "low", "high"), values, strict=True)
    return {end: _plain(value) for end, value in ends}


def _plain_column(values):
    # Infinite scores become the largest numbers.
    finite = np.where(np.isnan(values), np.nan, np.nan_to_num(values))
    return [None if value != value else value for value in finite.tolist()]


def _plain_label(label):
    return label.item() if isinstance(label, np.generic) else label


def _plain(value):
    """Return a value as JSON has it; None for NaN."""
    value = _plain_label(value)
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else float(np.nan_to_num(value))
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return str(value)
