"""What would help: each measure is tried on this very model and these very records.

The settings of a model that protect its records are one table, and each other measure
is one function. A measure that is tried refits everything, with the same seeds.
"""

import math
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.neural_network import MLPClassifier, MLPRegressor

from skpriv.evaluation import records_at_risk
from skpriv.report._conduct import can_be_measured, measure_of, rank
from skpriv.report._models import is_skorch
from skpriv.report._performance import is_neighbors, predict_left_out
from skpriv.risk import RiskEstimator
from skpriv.utils._optional import import_optional
from skpriv.utils._pipelines import last_step, parts_of, replace_last_step
from skpriv.utils._sklearn import safe_indexing
from skpriv.utils._text import count
from skpriv.utils._training import fit_clone

# An audit that took longer is not repeated for each measure, unless asked to.
MOST_SECONDS = 10.0
# A value of a category that fewer records have is merged with others.
_FEWEST_ALIKE = 10
_MOST_SHADOWS = 16
_MOST_EXPOSED = 10
# At most a tenth of the records is left out.
_LEFT_OUT_OF = 10
_MOST_NAMES = 3
# A column of no more different numbers may hold codes.
_MOST_CODES = 20
_LONGEST_REASON = 160


class Setting(NamedTuple):
    """A parameter of a model by which its records are protected better.

    Attributes
    ----------
    name : str
        Of the measure.
    applies : callable
        Takes the model at the end of a Pipeline, and tells whether it has the setting.
    parameter : str
    change : callable
        Takes the value of the parameter, and the number of records. Returns the value
        that protects better; None if there is none.
    """

    name: str
    applies: Callable
    parameter: str
    change: Callable


def _made_by(*modules):
    return lambda model: type(model).__module__.startswith(modules)


def _is_perceptron(model):
    return isinstance(model, MLPClassifier | MLPRegressor)


def _stops_early(model):
    return _is_perceptron(model) and model.solver != "lbfgs"


def _smaller_c(c, n_records):
    return c / 10 if math.isfinite(c) else 1.0


def _larger_leaves(leaves, n_records):
    if isinstance(leaves, float):
        larger = min(5 * leaves, 0.5)
    else:
        larger = min(max(10, 5 * leaves), n_records // 10)
    return larger if larger > leaves else None


def _more_neighbors(k, n_records):
    # A shadow model has half of the records.
    more = min(4 * k, n_records // 4)
    return more if more > k else None


_SETTINGS = (
    Setting(
        "stronger penalty",
        _made_by("sklearn.linear_model", "sklearn.svm"),
        "C",
        _smaller_c,
    ),
    Setting(
        "stronger penalty",
        _made_by("sklearn.linear_model", "sklearn.kernel_ridge"),
        "alpha",
        lambda alpha, n_records: 10 * alpha if np.ndim(alpha) == 0 else None,
    ),
    Setting(
        "stronger penalty",
        _is_perceptron,
        "alpha",
        lambda alpha, n_records: max(10 * alpha, 0.1),
    ),
    Setting(
        "stronger penalty",
        is_skorch,
        "optimizer__weight_decay",
        lambda decay, n_records: max(10 * (decay or 0), 0.01),
    ),
    Setting(
        "shorter training",
        _stops_early,
        "early_stopping",
        lambda stops, n_records: None if stops else True,
    ),
    Setting(
        "shorter training",
        is_skorch,
        "max_epochs",
        lambda epochs, n_records: epochs // 2 or None,
    ),
    Setting(
        "larger leaves",
        _made_by("sklearn.tree", "sklearn.ensemble"),
        "min_samples_leaf",
        _larger_leaves,
    ),
    Setting("more neighbours", is_neighbors, "n_neighbors", _more_neighbors),
)


class Trial(NamedTuple):
    """A measure to try.

    Attributes
    ----------
    name, change : str
    model : estimator
    X : {ndarray, sparse matrix, DataFrame} of shape (n_records, ...)
    kept : ndarray of shape (n_records,), dtype bool, or None
        The records to train on. None: all.
    """

    name: str
    change: str
    model: Any
    X: Any
    kept: np.ndarray | None = None


def measure_options(measured):
    """Try what would protect the records better, and measure what it does.

    Parameters
    ----------
    measured : Measured
        What an audit has measured. At most 16 shadows are trained for each measure; if
        the audit had more, its own figures are measured again with 16.

    Returns
    -------
    measures : dict or None
        "before" and "tried", as in the summary of an audit, and "not_tried": the
        measures that could not be tried, and why. None if nothing was measured, or no
        copy of the model can be trained, since it is frozen.
    """
    if measured.risk is None or parts_of(measured.given).frozen:
        return None
    settings = replace(
        measured.settings,
        n_shadows=min(measured.settings.n_shadows, _MOST_SHADOWS),
        cache_dir=None,
    )
    model = clone(measured.given)
    tried, not_tried = [], []
    with warnings.catch_warnings():
        # On convergence, for example; the audit itself has told them.
        warnings.simplefilter("ignore")
        trials = list(_trials(model, measured))
        with settings.progress.step("trying what would help", len(trials) + 1):
            before = _before(measured, model, settings)
            settings.progress.advance()
            for trial in trials:
                entry = {"name": trial.name, "change": trial.change}
                try:
                    tried.append(entry | _try(trial, measured, settings))
                except (ValueError, TypeError, ArithmeticError) as error:
                    not_tried.append(entry | {"reason": _first_line(error)})
                settings.progress.advance()
    return {"before": before, "tried": tried, "not_tried": not_tried}


def _before(measured, model, settings):
    y, plain = measured.subject.y, Trial("", "", model, measured.subject.X)
    found, risk = measured.performance, measured.risk
    if settings.n_shadows != measured.settings.n_shadows:
        risk = _estimate_risk(plain, y, settings)
    if found.is_test or measured.settings.cv is not None:
        performance = _perform(plain, y, settings)
    else:
        performance = _estimate(measure_of(model)(found.y, found.predicted))
    return _figures(risk, y, performance, settings)


def _trials(model, measured):
    subject, at_risk, order = measured.subject, measured.at_risk, measured.order
    exposed = order[at_risk[order]] if at_risk.any() else order[:_MOST_EXPOSED]
    yield from _settings(model, subject)
    if _has_columns(subject):
        yield from _merged_values(model, subject)
        yield from _capped_numbers(model, subject)
        yield from _column_left_out(model, subject, measured.reasons, exposed)
    yield from _records_left_out(model, subject, at_risk, exposed)


def _settings(model, subject):
    """Change one parameter of the model at the end of Pipelines at a time."""
    last = last_step(model)
    parameters = last.get_params()
    for setting in _SETTINGS:
        name = setting.parameter
        if not setting.applies(last) or (name not in parameters and "__" not in name):
            continue
        value = parameters.get(name)
        if value is None and name in parameters:
            continue
        better = setting.change(value, len(subject.y))
        if better is None:
            continue
        before = "" if value is None else f" in place of {_show(value)}"
        yield Trial(
            setting.name,
            f"{name} = {_show(better)}{before}",
            _with_parameter(model, name, better),
            subject.X,
        )


def _with_parameter(model, name, value):
    return replace_last_step(
        model, lambda last: clone(last).set_params(**{name: value})
    )


def _show(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _merged_values(model, subject):
    """Let the values that few records have become one, in each column of categories."""
    columns, changed = {}, np.zeros(len(subject.y), dtype=bool)
    for name, values in _used_columns(subject):
        merged = _values_to_merge(values) if _is_category(values) else []
        if merged:
            is_rare = values.isin(merged[1:])
            columns[name] = values.mask(is_rare, merged[0])
            changed |= is_rare.to_numpy()
    if columns:
        yield Trial(
            "rare values merged",
            f"in {_listed(list(columns))}, values that fewer than {_FEWEST_ALIKE} "
            f"records have become one value; {count(int(changed.sum()), 'record')} "
            "changed",
            model,
            _with_columns(subject, columns),
        )


def _used_columns(subject):
    """Yield the columns, without those that identify the records or say nothing."""
    for column in subject.columns:
        if column.left_out is None:
            yield column.name, subject.frame[column.name]


def _is_category(values):
    types = import_optional("pandas", extra="report").api.types
    is_number = types.is_numeric_dtype(values) or types.is_datetime64_any_dtype(values)
    is_time = types.is_timedelta64_dtype(values)
    return types.is_bool_dtype(values) or not (is_number or is_time)


def _values_to_merge(values):
    """List values that become one, under the name of the first and most frequent.

    Encoders know that name, whatever values they take.
    """
    numbers = values.value_counts()
    numbers = numbers[numbers > 0]
    rare = list(numbers.index[numbers < _FEWEST_ALIKE])
    others = list(numbers.index[numbers >= _FEWEST_ALIKE])
    if rare and others and numbers[rare].sum() < _FEWEST_ALIKE:
        rare.insert(0, others[-1])
    return rare if len(rare) > 1 else []


def _capped_numbers(model, subject):
    """Let the extreme numbers of each quantity be those of others too."""
    columns, changed = {}, np.zeros(len(subject.y), dtype=bool)
    for name, values in _used_columns(subject):
        if not _is_quantity(values):
            continue
        ordered = np.sort(values.dropna().to_numpy())
        if ordered.size >= _FEWEST_ALIKE * _LEFT_OUT_OF:
            capped = values.clip(ordered[_FEWEST_ALIKE - 1], ordered[-_FEWEST_ALIKE])
            columns[name] = capped
            changed |= (capped != values).to_numpy() & values.notna().to_numpy()
    if columns:
        yield Trial(
            "extreme numbers capped",
            f"in {_listed(list(columns))}, numbers beyond the {_FEWEST_ALIKE}th "
            "highest and lowest become equal to it; "
            f"{count(int(changed.sum()), 'record')} changed",
            model,
            _with_columns(subject, columns),
        )


def _is_quantity(values):
    types = import_optional("pandas", extra="report").api.types
    is_number = types.is_numeric_dtype(values) and not types.is_bool_dtype(values)
    return is_number and values.nunique() > _MOST_CODES


def _column_left_out(model, subject, reasons, exposed):
    """Leave out the column that exposes most: all records have one value of it."""
    used = dict(_used_columns(subject))
    names = Counter(
        reason["column"]
        for record in exposed
        for reason in reasons[record]
        if reason["kind"] == "rare_value" and reason["column"] in used
    )
    if not names or len(used) < 2:
        return
    ((name, number),) = names.most_common(1)
    values = used[name]
    usual = values.mode()
    if usual.empty:
        return
    one_value = values.mask(np.ones(len(values), dtype=bool), usual.iloc[0])
    yield Trial(
        "column left out",
        f"trained as if '{name}' were the same for all; "
        f"{count(number, 'exposed record')} {'has' if number == 1 else 'have'} a rare "
        "value of it",
        model,
        _with_columns(subject, {name: one_value}),
    )


def _records_left_out(model, subject, at_risk, exposed):
    number, most = int(at_risk.sum()), max(1, len(subject.y) // _LEFT_OUT_OF)
    if not number:
        return
    left_out = exposed[:most]
    kept = np.ones(len(subject.y), dtype=bool)
    kept[left_out] = False
    what = f"the {count(number, 'record')} at risk"
    if number > most:
        what = f"the {most:,} most exposed of the {number:,} records at risk"
    elif number == 1:
        what = "the record at risk"
    yield Trial(
        "most exposed left out",
        f"{what} {'is' if len(left_out) == 1 else 'are'} not trained on",
        model,
        subject.X,
        kept,
    )


def _has_columns(subject):
    """Tell whether the model's features can be made of changed columns."""
    if subject.frame is None or subject.encode is not None:
        return subject.frame is not None
    X = subject.X
    return isinstance(X, np.ndarray) or hasattr(X, "isetitem")


def _with_columns(subject, columns):
    """Return the rows that the model takes, with other values in some columns."""
    if subject.encode is not None:
        return subject.encode(subject.frame.assign(**columns))
    X = subject.X.copy()
    for name, values in columns.items():
        place = subject.frame.columns.get_loc(name)
        if isinstance(X, np.ndarray):
            X[:, place] = values
        else:
            X.isetitem(place, values.set_axis(X.index))
    return X


def _listed(names):
    shown = ", ".join(f"'{name}'" for name in names[:_MOST_NAMES])
    n_more = len(names) - _MOST_NAMES
    return shown + (f" and {count(n_more, 'more column')}" if n_more > 0 else "")


def _try(trial, measured, settings):
    y = measured.subject.y
    performance = _perform(trial, y, settings)
    risk = _estimate_risk(trial, y, settings)
    labels = y if trial.kept is None else y[trial.kept]
    note = None
    if trial.kept is not None:
        now = _is_at_risk(risk, labels, settings.fdr)
        number = int((now & ~measured.at_risk[trial.kept]).sum())
        are, were = ("is", "was") if number == 1 else ("are", "were")
        note = (
            f"of the {count(len(labels), 'record')} that are left, {number:,} {are} at "
            f"risk now that {were} not before"
        )
    return {"after": _figures(risk, labels, performance, settings), "note": note}


def _first_line(error):
    line = str(error).strip().partition("\n")[0].removesuffix(".")
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 3] + "..."


def _estimate_risk(trial, y, settings):
    X = trial.X
    if trial.kept is not None:
        X, y = safe_indexing(X, np.flatnonzero(trial.kept)), y[trial.kept]
    return RiskEstimator(
        trial.model,
        n_shadows=settings.n_shadows,
        n_jobs=settings.n_jobs,
        random_state=settings.random_state,
    ).fit(X, y)


def _perform(trial, y, settings):
    """Predict all records by models that were not trained on them."""
    seed = settings.random_state
    kept = np.ones(len(y), dtype=bool) if trial.kept is None else trial.kept
    inside, outside = np.flatnonzero(kept), np.flatnonzero(~kept)
    X = safe_indexing(trial.X, inside)
    found, _ = predict_left_out(trial.model, X, y[inside], seed=seed)
    predicted = np.empty(len(y), dtype=found.dtype)
    predicted[inside] = found
    if outside.size:
        model = fit_clone(trial.model, X, y[inside], seed=seed)
        rows = safe_indexing(trial.X, outside)
        predicted[outside] = np.asarray(model.predict(rows)).reshape(-1)
    return _estimate(measure_of(trial.model)(y, predicted))


def _estimate(values):
    values = [None if np.isnan(value) else float(value) for value in values]
    return dict(zip(("value", "low", "high"), values, strict=True))


def _figures(risk, y, performance, settings):
    measured = can_be_measured(risk.attack_.target_, y)
    at_risk = _is_at_risk(risk, y, settings.fdr)
    first = rank(risk, measured, at_risk)[len(y) - measured.sum()]
    return {
        "performance": performance,
        "mean_risk": float(risk.scores_[measured].mean()),
        "at_risk": int(at_risk.sum()),
        "highest": float(risk.scores_[first]),
        "records": len(y),
    }


def _is_at_risk(risk, y, fdr):
    found = np.zeros(len(y), dtype=bool)
    found[records_at_risk(risk, fdr=fdr).records] = True
    return found & can_be_measured(risk.attack_.target_, y)
