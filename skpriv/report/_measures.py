"""What would help: each measure is tried on this very model and these very records.

The settings of a model that protect its records are one table, and each other measure
is one function. A measure that is tried refits everything, with the same seeds.
"""

import math
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.neural_network import MLPClassifier, MLPRegressor

from skpriv import RiskEstimator
from skpriv.evaluation import records_at_risk
from skpriv.report._performance import (
    accuracy,
    is_neighbors,
    predict_left_out,
    r2,
)
from skpriv.report._progress import Silent
from skpriv.utils._optional import import_optional
from skpriv.utils._pipelines import last_step, parts_of, replace_last_step
from skpriv.utils._sklearn import safe_indexing
from skpriv.utils._text import count
from skpriv.utils._training import fit_clone

# A value of a category that fewer records have is merged with others.
_FEWEST_ALIKE = 10
_FEWEST_SHADOWS, _MOST_SHADOWS = 8, 16
_MOST_EXPOSED = 10
# At most a tenth of the records is left out.
_LEFT_OUT_OF = 10
_MOST_NAMES = 3
_LONGEST_REASON = 160
_GUARANTEE = {
    "name": "differential privacy",
    "change": "train with differential privacy, for example by Opacus or diffprivlib",
    "after": None,
    "note": "the only measure with a guarantee for each person; it is not tried here",
}


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


def _is_skorch(model):
    return any(kind.__module__.startswith("skorch.") for kind in type(model).__mro__)


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
        _is_skorch,
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
        _is_skorch,
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


@dataclass(frozen=True)
class Records:
    """The records that a model is trained on, as it takes them and as people do.

    Attributes
    ----------
    X : {ndarray, sparse matrix, DataFrame} of shape (n_records, ...)
    y : ndarray of shape (n_records,)
    frame : DataFrame of shape (n_records, n_columns) or None
        The columns as people know them. None: no column is changed.
    encode : callable or None
        Makes `X` of `frame`. None: `X` has the same columns.
    """

    X: Any
    y: np.ndarray
    frame: Any = None
    encode: Callable | None = None

    def with_columns(self, columns):
        """Return the rows with other values in some columns.

        Parameters
        ----------
        columns : dict of str to Series of shape (n_records,)

        Returns
        -------
        X : {ndarray, DataFrame}
        """
        if self.encode is not None:
            return self.encode(self.frame.assign(**columns))
        X = self.X.copy()
        for name, values in columns.items():
            place = self.frame.columns.get_loc(name)
            if isinstance(X, np.ndarray):
                X[:, place] = values
            else:
                X.isetitem(place, values.set_axis(X.index))
        return X

    @property
    def has_columns(self):
        """Whether columns can be changed."""
        if self.frame is None or self.encode is not None:
            return self.frame is not None
        return isinstance(self.X, np.ndarray) or hasattr(self.X, "isetitem")


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


@dataclass(frozen=True)
class Procedure:
    """How a measure is measured.

    Attributes
    ----------
    n_shadows, fdr, n_jobs, random_state
        As in `measure_options`.
    """

    n_shadows: int
    fdr: float
    n_jobs: int | None
    random_state: int | None


def measure_options(
    model,
    records,
    risk,
    *,
    reasons=(),
    performance=None,
    fdr=0.05,
    n_shadows=16,
    n_jobs=None,
    random_state=0,
    progress=None,
):
    """Try what would protect the records better, and measure what it does.

    Parameters
    ----------
    model : classifier or regressor
        The audited model. Its copies are fitted.
    records : Records
    risk : RiskEstimator
        Fitted on the records; its shadows and seed are those of the audit.
    reasons : sequence of list of dict, default=()
        Why each record is exposed.
    performance : dict, default=None
        Accuracy or R² of the model on records left out, with its interval. None: it is
        measured.
    fdr : float, default=0.05
        The false discovery rate of the records at risk.
    n_shadows : int, default=16
        The number of shadows of the audit. Between 8 and 16 are trained for each
        measure.
    n_jobs : int, default=None
    random_state : int, default=0
    progress : Silent, default=None

    Returns
    -------
    measures : dict or None
        "before" and "tried", as in the summary of an audit. What cannot be tried has
        None for "after", and a note that says why. None if no copy of the model can be
        trained, since it is frozen.
    """
    if parts_of(model).frozen:
        return None
    progress = Silent() if progress is None else progress
    shadows = min(max(n_shadows, _FEWEST_SHADOWS), _MOST_SHADOWS)
    procedure = Procedure(shadows, fdr, n_jobs, random_state)
    plain = Trial("", "", clone(model), records.X)
    at_risk = _is_at_risk(risk, records.y, fdr)
    with warnings.catch_warnings():
        # On convergence, for example; the model that is audited has warned of them.
        warnings.simplefilter("ignore")
        if shadows != n_shadows:
            risk = _estimate_risk(plain, records.y, procedure)
            performance = performance or _perform(plain, records.y, procedure)
        elif performance is None:
            performance = _perform(plain, records.y, procedure)
        before = _figures(risk, records.y, performance, fdr)
        trials = list(_trials(plain.model, records, risk, at_risk, reasons))
        tried = []
        with progress.step("trying what would help", len(trials)):
            for trial in trials:
                tried.append(_try(trial, records.y, at_risk, procedure))
                progress.advance()
    return {"before": before, "tried": [*tried, dict(_GUARANTEE)]}


def _trials(model, records, risk, at_risk, reasons):
    order = np.argsort(-risk.scores_, kind="stable")
    exposed = order[at_risk[order]] if at_risk.any() else order[:_MOST_EXPOSED]
    yield from _settings(model, records)
    if records.has_columns:
        yield from _merged_values(model, records)
        yield from _column_left_out(model, records, reasons, exposed)
    yield from _records_left_out(model, records, at_risk, exposed)


def _settings(model, records):
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
        better = setting.change(value, len(records.y))
        if better is None:
            continue
        before = "" if value is None else f" in place of {_show(value)}"
        yield Trial(
            setting.name,
            f"{name} = {_show(better)}{before}",
            _with_parameter(model, name, better),
            records.X,
        )


def _with_parameter(model, name, value):
    return replace_last_step(
        model, lambda last: clone(last).set_params(**{name: value})
    )


def _show(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _merged_values(model, records):
    """Let the values that few records have become one, in each column of categories."""
    columns, changed = {}, np.zeros(len(records.y), dtype=bool)
    for name in records.frame.columns:
        values = records.frame[name]
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
            records.with_columns(columns),
        )


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


def _column_left_out(model, records, reasons, exposed):
    """Leave out the column that exposes most: all records have one value of it."""
    names = Counter(
        reason["column"]
        for record in exposed
        for reason in (reasons[record] if len(reasons) else ())
        if reason["kind"] == "rare_value" and reason["column"] in records.frame.columns
    )
    if not names or records.frame.shape[1] < 2:
        return
    ((name, number),) = names.most_common(1)
    values = records.frame[name]
    usual = values.mode()
    if usual.empty:
        return
    one_value = values.mask(np.ones(len(values), dtype=bool), usual.iloc[0])
    yield Trial(
        "column left out",
        f"'{name}', which {count(number, 'exposed record')} "
        f"{'has' if number == 1 else 'have'} a rare value of, is the same for all",
        model,
        records.with_columns({name: one_value}),
    )


def _records_left_out(model, records, at_risk, exposed):
    number, most = int(at_risk.sum()), max(1, len(records.y) // _LEFT_OUT_OF)
    if not number:
        return
    left_out = exposed[:most]
    kept = np.ones(len(records.y), dtype=bool)
    kept[left_out] = False
    what = f"the {count(number, 'record')} at risk"
    if number > most:
        what = f"the {most:,} most exposed of the {number:,} records at risk"
    elif number == 1:
        what = "the record at risk"
    yield Trial(
        "most exposed records left out",
        f"{what} {'is' if left_out.size == 1 else 'are'} not trained on",
        model,
        records.X,
        kept,
    )


def _listed(names):
    shown = ", ".join(f"'{name}'" for name in names[:_MOST_NAMES])
    n_more = len(names) - _MOST_NAMES
    return shown + (f" and {count(n_more, 'more column')}" if n_more > 0 else "")


def _try(trial, y, at_risk, procedure):
    entry = {"name": trial.name, "change": trial.change, "after": None, "note": None}
    try:
        performance = _perform(trial, y, procedure)
        risk = _estimate_risk(trial, y, procedure)
    except (ValueError, TypeError, ArithmeticError) as error:
        entry["note"] = f"it could not be tried: {_first_line(error)}"
        return entry
    labels = y if trial.kept is None else y[trial.kept]
    entry["after"] = _figures(risk, labels, performance, procedure.fdr)
    if trial.kept is not None:
        now = _is_at_risk(risk, labels, procedure.fdr)
        number = int((now & ~at_risk[trial.kept]).sum())
        are, were = ("is", "was") if number == 1 else ("are", "were")
        entry["note"] = (
            f"of the {count(len(labels), 'record')} that are left, {number:,} {are} at "
            f"risk now that {were} not before"
        )
    return entry


def _first_line(error):
    line = str(error).strip().partition("\n")[0].removesuffix(".")
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 3] + "..."


def _estimate_risk(trial, y, procedure):
    X = trial.X
    if trial.kept is not None:
        X, y = safe_indexing(X, np.flatnonzero(trial.kept)), y[trial.kept]
    return RiskEstimator(
        trial.model,
        n_shadows=procedure.n_shadows,
        n_jobs=procedure.n_jobs,
        random_state=procedure.random_state,
    ).fit(X, y)


def _perform(trial, y, procedure):
    """Predict all records by models that were not trained on them."""
    seed = procedure.random_state
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
    measure = r2 if is_regressor(trial.model) else accuracy
    return dict(zip(("value", "low", "high"), measure(y, predicted), strict=True))


def _figures(risk, y, performance, fdr):
    measured = _can_be_measured(risk, y)
    return {
        "performance": performance,
        "mean_risk": float(risk.scores_[measured].mean()),
        "at_risk": int(_is_at_risk(risk, y, fdr).sum()),
        "highest": float(risk.scores_[measured].max()),
        "records": len(y),
    }


def _is_at_risk(risk, y, fdr):
    found = np.zeros(len(y), dtype=bool)
    found[records_at_risk(risk, fdr=fdr).records] = True
    return found & _can_be_measured(risk, y)


def _can_be_measured(risk, y):
    """Tell which records leave others of their class when they are left out."""
    if not hasattr(risk, "classes_"):
        return np.ones(len(y), dtype=bool)
    _, codes, numbers = np.unique(y, return_inverse=True, return_counts=True)
    return numbers[codes] > 1
