"""Models that a user names: in a file, or in a Python module.

A file of skops is checked before it is loaded: it can hold nothing but types that are
trusted. A file of pickle or joblib cannot be checked, and runs code when it is loaded.
"""

import re
import sys
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.frozen import FrozenEstimator

from skpriv.report._conduct import is_fitted
from skpriv.utils._optional import import_optional
from skpriv.utils._pipelines import last_step
from skpriv.utils._sklearn import safe_indexing
from skpriv.utils._text import count

PICKLE = "pickle"

_PICKLES = (".pkl", ".pickle", ".joblib")
_SKOPS = ".skops"
_OBJECT = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_MOST_SHOWN = 8
_LONGEST_REASON = 200


class ModelError(ValueError):
    """A model cannot be used; the message is one line that names the fault."""


@dataclass(frozen=True)
class GivenModel:
    """A model that a user named.

    Attributes
    ----------
    estimator : estimator
        A classifier or regressor, or a Pipeline that ends in one.
    source : str
        The file or the object that it came from.
    fitted : bool
        Whether it is fitted already.
    notes : list of str
        What a person should check, for example that another version saved it.
    """

    estimator: BaseEstimator
    source: str
    fitted: bool
    notes: list[str] = field(default_factory=list)


def load_model(source, *, trust=()):
    """Load the model that a user named.

    Parameters
    ----------
    source : str
        One of

        - a file of skops, whose name ends in ``.skops``;
        - a file of pickle or joblib, whose name ends in ``.pkl``, ``.pickle`` or
          ``.joblib``;
        - ``package.module:object``, where the object is an estimator, or a class or a
          function that makes one when it is called without arguments. The module is
          looked for in the current directory first.
    trust : sequence of str, default=()
        What may be loaded: the full names of types in a skops file that skops does not
        trust by itself, and "pickle" for files of pickle and joblib, which run code
        when they are loaded.

    Returns
    -------
    model : GivenModel

    Raises
    ------
    ModelError
        If there is no such file or object, if it may not be loaded, or if it is not a
        classifier or regressor.
    ImportError
        If skops is not installed.
    """
    suffix = Path(source).suffix.lower()
    if suffix == _SKOPS:
        load = _load_skops
    elif suffix in _PICKLES:
        load = _load_pickle
    elif _OBJECT.fullmatch(source):
        load = _import_object
    else:
        raise ModelError(
            f"{source}: is not a model; it must be a file that ends in .skops, .pkl, "
            ".pickle or .joblib, or package.module:object"
        )
    with _noting_versions() as notes:
        estimator = load(source, trust)
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    _check_model(estimator, source)
    return GivenModel(estimator, source, is_fitted(estimator), notes)


@contextmanager
def _noting_versions():
    """Turn warnings about the version that saved a model into a note."""
    notes = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    versions = {}
    for warning in caught:
        message = warning.message
        if isinstance(message, InconsistentVersionWarning):
            saved = message.original_sklearn_version, message.current_sklearn_version
            versions.setdefault(saved, message.estimator_name)
    notes += [
        f"the model was saved with scikit-learn {saved} and loaded with {current}, "
        "where it may predict differently"
        for saved, current in versions
    ]


def _load_skops(path, trust):
    io = import_optional("skops.io", extra="report")
    _check_file(path)
    trust = [name for name in trust if name != PICKLE]
    with naming_failure(path, "cannot be loaded as a file of skops"):
        found = io.get_untrusted_types(file=path)
        untrusted = sorted(set(found) - set(trust))
        if untrusted:
            raise ModelError(
                f"{path}: holds types that are not trusted: {', '.join(untrusted)}; if "
                "you trust them and whoever made the file, add --trust "
                f"{','.join(untrusted)}"
            )
        return io.load(path, trusted=[name for name in found if name in trust])


def _load_pickle(path, trust):
    _check_file(path)
    if PICKLE not in trust:
        raise ModelError(
            f"{path}: loading a file of pickle or joblib runs whatever code is in it; "
            f"if you trust whoever made the file, add --trust {PICKLE}, or save the "
            "model with skops"
        )
    import joblib

    with naming_failure(path, "cannot be loaded as a file of pickle or joblib"):
        return joblib.load(path)


def _check_file(path):
    if not Path(path).exists():
        raise ModelError(f"{path}: no such file")
    if not Path(path).is_file():
        raise ModelError(f"{path}: is not a file")


def _import_object(source, trust):
    module_name, _, path = source.partition(":")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        # It stays there, for what the module imports later.
        sys.path.insert(0, str(Path.cwd()))
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise ModelError(
                f"{source}: importing {module_name} failed: {_reason(error)}"
            ) from error
        raise ModelError(
            f"{source}: no module {error.name!r} in the current directory or installed"
        ) from error
    except (Exception, SystemExit) as error:
        raise ModelError(
            f"{source}: importing {module_name} failed: {_reason(error)}"
        ) from error
    found = module
    for name in path.split("."):
        if not hasattr(found, name):
            raise ModelError(f"{source}: {module_name} has no {path!r}")
        found = getattr(found, name)
    makes_model = isinstance(found, type) or not hasattr(found, "fit")
    if makes_model and callable(found):
        with naming_failure(source, f"calling {path}() failed"):
            found = found()
    return found


@contextmanager
def naming_failure(source, what):
    """Raise any error of a model as a `ModelError`, one line that says where.

    Parameters
    ----------
    source, what : str
        Which model, and what failed.
    """
    try:
        yield
    except ModelError:
        raise
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        raise ModelError(f"{source}: {what}: {_reason(error)}") from error


def _reason(error):
    lines = str(error).strip().splitlines()
    reason = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    if len(reason) > _LONGEST_REASON:
        reason = reason[: _LONGEST_REASON - 3] + "..."
    return reason


def _check_model(estimator, source):
    name = type(estimator).__name__
    for method in ("fit", "predict", "get_params"):
        if not callable(getattr(estimator, method, None)):
            raise ModelError(
                f"{source}: holds {_article(name)} {name}, which has no {method}, so "
                "it is not a model"
            )
    if not is_classifier(estimator) and not is_regressor(estimator):
        raise ModelError(
            f"{source}: holds {_article(name)} {name}, which is neither a classifier "
            "nor a regressor"
        )


def _article(noun):
    return "an" if noun[:1].lower() in "aeiou" else "a"


def features_for(model, frame, encode):
    """Return a table's features in the form that a model takes.

    A fitted model takes the columns that it was trained on, by their names or, if it
    knows none, by their number. A model that is not fitted takes the columns as they
    are if it has a ColumnTransformer, and otherwise their encoding as numbers.

    Parameters
    ----------
    model : GivenModel
    frame : DataFrame of shape (n_records, n_columns)
        The columns, as they are in the table.
    encode : callable
        Takes `frame`, and returns an ndarray of shape (n_records, n_features).

    Returns
    -------
    X : DataFrame or ndarray of shape (n_records, n_features)

    Raises
    ------
    ModelError
        If a fitted model was trained on other columns than the table has, or cannot
        predict.
    """
    if not model.fitted:
        if _selects_columns(model.estimator):
            return frame
        return _as_numbers(model, encode(frame))
    names = getattr(model.estimator, "feature_names_in_", None)
    if names is not None:
        X = _named_features(model, list(names), frame)
    else:
        X = _as_numbers(model, _counted_features(model, frame, encode))
    with naming_failure(model.source, "the model cannot predict the first record"):
        model.estimator.predict(safe_indexing(X, [0]))
    return X


def _as_numbers(model, X):
    """Networks of skorch take the type of their weights only."""
    return np.asarray(X, np.float32) if is_skorch(model.estimator) else X


def _counted_features(model, frame, encode):
    n_features = getattr(model.estimator, "n_features_in_", None)
    are_numbers = all(
        isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in frame.dtypes
    )
    if are_numbers and n_features in (None, frame.shape[1]):
        return frame.to_numpy(dtype=np.float64)
    encoded = encode(frame)
    if n_features in (None, encoded.shape[1]):
        return encoded
    raise ModelError(
        f"{model.source}: the model was trained on {count(n_features, 'feature')}, but "
        f"the table has {count(frame.shape[1], 'column')} beside the label, which are "
        f"{count(encoded.shape[1], 'feature')} when encoded as numbers"
    )


def _named_features(model, names, frame):
    columns = list(frame.columns)
    missing = [name for name in names if name not in columns]
    if missing:
        raise ModelError(
            f"{model.source}: the model was trained on {_listed(missing)}, which the "
            f"table does not have; it has {_listed(columns)} beside the label"
        )
    return frame[names]


def _listed(names):
    shown = ", ".join(repr(str(name)) for name in names[:_MOST_SHOWN])
    n_more = len(names) - _MOST_SHOWN
    return shown + (f" and {n_more} more" if n_more > 0 else "")


def _selects_columns(estimator):
    parts = [estimator, *estimator.get_params(deep=True).values()]
    return any(isinstance(part, ColumnTransformer) for part in parts)


def labels_for(model, y, classes):
    """Return a table's labels as a model knows them.

    Parameters
    ----------
    model : GivenModel
    y : ndarray of shape (n_records,)
        The class of each record, a place in `classes`, or the quantity.
    classes : list of str or None
        The names of the classes; None if the label is a quantity.

    Returns
    -------
    labels : ndarray of shape (n_records,)
        For a fitted classifier the same labels as in its training. For one that is not
        fitted the names of the classes, or their places if it is a network, which takes
        numbers only. For a regressor the quantity.

    Raises
    ------
    ModelError
        If the model is for classes and the label is a quantity, or the reverse, or if
        a fitted model does not know a label.
    """
    if is_classifier(model.estimator) and classes is None:
        raise ModelError(
            f"{model.source}: the model predicts classes, but the label column is a "
            "quantity; add --classes if its numbers are classes"
        )
    if is_regressor(model.estimator) and classes is not None:
        raise ModelError(
            f"{model.source}: the model predicts a quantity, but the label column "
            "holds classes; add --quantity if they are a quantity"
        )
    if classes is None:
        return y
    if not model.fitted:
        return y if is_skorch(model.estimator) else np.array(classes)[y]
    return _known_labels(model, classes)[y]


def _known_labels(model, classes):
    learnt = np.asarray(model.estimator.classes_)
    by_name = {_label_name(label): label for label in learnt.tolist()}
    unknown = [name for name in classes if name not in by_name]
    if unknown:
        raise ModelError(
            f"{model.source}: the model does not know the label {unknown[0]!r}; its "
            f"classes are {_listed(list(by_name))}"
        )
    return np.array([by_name[name] for name in classes], dtype=learnt.dtype)


def _label_name(label):
    """Name a label as `datasets.encode_table` does."""
    if isinstance(label, float) and label % 1 == 0:
        return f"{label:.0f}"
    return str(label)


def is_skorch(estimator):
    """Tell whether a model ends in a network of skorch, which takes numbers only.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    is_skorch : bool
    """
    kinds = type(last_step(estimator)).__mro__
    return any(kind.__module__.startswith("skorch.") for kind in kinds)
