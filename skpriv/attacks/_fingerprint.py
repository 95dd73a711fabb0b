"""What shadows depend on, as text that is alike in every process."""

import re
import sys
import zlib
from dis import get_instructions
from functools import partial
from itertools import pairwise
from pickle import PicklingError
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

# Their estimators are as their versions are.
_LIBRARIES = ("sklearn.", "skorch.", "torch.")
_LOADS_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")
_ROWS = re.compile(r"(\d+)( x \d+)* [0-9a-f]+ (?P<checksums>[0-9a-f]*)")


def fingerprint(X, y, estimator, **settings):
    """Fingerprint of what shadows depend on, one entry a thing that may change.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame}
    y : ndarray of shape (n_records,)
    estimator : estimator
        Each of its parameters gets an entry.
    **settings
        Further parameters.

    Returns
    -------
    fingerprint : dict of str to str

    Raises
    ------
    ValueError
        If a parameter can not be told from another, such as a lambda.
    """
    entries = {"X": _describe_rows(X), "y": _describe_rows(y)}
    parameters = {"estimator": type(estimator), **_own_parameters(estimator)}
    for name, value in {**parameters, **settings}.items():
        entries[name] = _describe(name, value)
    return entries


def _own_parameters(estimator):
    """Parameters that change the fit; seeds are drawn anew for each shadow."""
    return {
        f"estimator__{name}": value
        for name, value in clone(estimator).get_params().items()
        if _bears_on_fit(name)
    }


def _bears_on_fit(name):
    return name.rpartition("__")[2] not in ("random_state", "n_jobs", "verbose")


def _describe(name, value):
    if hasattr(value, "get_params") and not isinstance(value, type | FrozenEstimator):
        # Its parameters have entries of their own.
        value = type(value)
    try:
        return _describe_value(value)
    except (PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"cache_dir needs {name} to be picklable, to tell whether it changed; got "
            f"{value!r}."
        ) from error


def _describe_value(value):
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, float, str, type(None))):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_describe_value, value))}]"
    if isinstance(value, type):
        name = f"{value.__module__}.{value.__qualname__}"
        return name if name.startswith(_LIBRARIES) else name + _hash_of_body(value)
    if hasattr(value, "get_params") and not isinstance(value, FrozenEstimator):
        # Within a list, such as a callback of a net.
        parameters = value.get_params(deep=False).items()
        own = [f"{n}={_describe_value(v)}" for n, v in parameters if _bears_on_fit(n)]
        return f"{_describe_value(type(value))}({', '.join(own)})"
    content = joblib.hash(_in_numpy(value))
    return f"{type(value).__name__} {content}{_hash_of_body(value)}"


def _in_numpy(value):
    """Tensors as arrays, for no two processes pickle a tensor alike."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.nn.Module):
        settings = [
            [name, {k: v for k, v in vars(part).items() if _is_simple(v)}]
            for name, part in value.named_modules()
        ]
        tensors = {k: _in_numpy(v) for k, v in value.state_dict().items()}
        return repr(value), settings, tensors
    if torch is not None and isinstance(value, torch.Tensor):
        return str(value.dtype), value.detach().cpu().double().numpy()
    return value


def _hash_of_body(value):
    """Hash of what a callable or a class does, which its pickle does not tell."""
    body = _describe_body(value, seen={})
    return f" {joblib.hash(body)}" if body else ""


def _describe_body(value, seen):
    """What a callable or a class does: its code, and what is bound to it.

    What is in `seen` has been described, and has its number there.
    """
    if isinstance(value, FunctionType):
        return _describe_function(value, seen)
    if isinstance(value, type):
        return _describe_class(value, seen)
    if isinstance(value, MethodType):
        owner = value.__self__
        kind = owner if isinstance(owner, type) else type(owner)
        return [_describe_function(value.__func__, seen), _describe_class(kind, seen)]
    if isinstance(value, partial):
        bound = [*value.args, *value.keywords.items()]
        return [
            _describe_body(value.func, seen),
            [_describe_bound(argument, seen) for argument in bound],
        ]
    if isinstance(value, property):
        return [_describe_body(part, seen) for part in (value.fget, value.fset)]
    if hasattr(value, "__wrapped__"):
        # A cache around a function; a static or a class method.
        return _describe_body(value.__wrapped__, seen)
    return _describe_class(type(value), seen) if callable(value) else []


def _describe_function(function, seen):
    if function in seen:
        return f"seen {seen[function]}"
    seen[function] = len(seen)
    keywords = function.__kwdefaults__ or {}
    return [
        _describe_code(function.__code__, function, seen),
        [_describe_bound(value, seen) for value in function.__defaults__ or ()],
        [[name, _describe_bound(keywords[name], seen)] for name in sorted(keywords)],
        [_describe_cell(cell, seen) for cell in function.__closure__ or ()],
    ]


def _describe_class(kind, seen):
    """What is written in a class, and in those beside it that it is derived from."""
    if kind in seen:
        return f"seen {seen[kind]}"
    seen[kind] = len(seen)
    members = {
        name: value
        for name, value in vars(kind).items()
        if _is_simple(value)
        or isinstance(value, FunctionType | property | staticmethod | classmethod)
    }
    return [
        [
            [name, _describe_bound(members[name], seen)]
            for name in sorted(members)
            if name not in ("__doc__", "__firstlineno__")
        ],
        [
            _describe_class(base, seen)
            for base in kind.__bases__
            if base.__module__ == kind.__module__
        ],
    ]


def _describe_cell(cell, seen):
    try:
        value = cell.cell_contents
    except ValueError:
        return "empty"
    return _describe_bound(value, seen)


def _describe_bound(value, seen):
    if isinstance(value, FunctionType | property | staticmethod | classmethod):
        # A decorator hides the function that it holds from pickle.
        return _describe_body(value, seen)
    if isinstance(value, (list, tuple)):
        return [_describe_bound(item, seen) for item in value]
    try:
        return joblib.hash(_in_numpy(value))
    except (PicklingError, AttributeError, TypeError):
        return f"{type(value).__module__}.{type(value).__qualname__}"


def _describe_code(code, function, seen):
    """Bytes, constants, names and what they stand for, alike in every process."""
    constants = [
        _describe_code(value, function, seen)
        if isinstance(value, CodeType)
        # Their order is that of hashes of strings, which differ between processes.
        else sorted(map(repr, value))
        if isinstance(value, frozenset)
        else repr(value)
        for value in code.co_consts
    ]
    variables = {
        step.argval for step in get_instructions(code) if step.opname in _LOADS_GLOBAL
    }
    names = [
        [name, _describe_global(function.__globals__.get(name), function, seen)]
        if name in variables
        else name
        for name in code.co_names
    ]
    return [code.co_code, constants, names]


def _describe_global(value, function, seen):
    if isinstance(value, (np.ufunc, BuiltinFunctionType)):
        return f"{getattr(value, '__module__', None)}.{value.__name__}"
    helper = getattr(value, "__wrapped__", value)
    kind = helper if isinstance(helper, FunctionType | type) else type(helper)
    # What is written beside a function is edited with it; libraries are not.
    if kind.__module__ == function.__module__:
        return _describe_body(kind, seen)
    if isinstance(value, partial):
        return _describe_body(value, seen)
    if isinstance(value, (np.ndarray, list, dict, set)):
        return _describe_bound(value, seen)
    return repr(value) if _is_simple(value) else ""


def _is_simple(value):
    if isinstance(value, tuple):
        return all(map(_is_simple, value))
    return isinstance(value, (bool, int, float, complex, str, bytes, np.number))


def _describe_rows(X):
    """Shape, one checksum a row, and a hash of the whole."""
    shape = " x ".join(str(n) for n in X.shape)
    # The hash of an array is that of its memory, its strides included; a copy has
    # the strides of its shape, which np.ascontiguousarray leaves as they are for a
    # single column.
    content = np.array(X, order="C") if isinstance(X, np.ndarray) else X
    return f"{shape} {joblib.hash(content)} {_checksums(X)}"


def is_fingerprint(known):
    """Whether what a manifest holds has the form that `fingerprint` gives."""
    if not isinstance(known, dict):
        return False
    if not all(isinstance(value, str) for value in known.values()):
        return False
    rows = [_ROWS.fullmatch(known.get(name, "")) for name in ("X", "y")]
    return all(row and len(row["checksums"]) == 4 * int(row[1]) for row in rows)


def _checksums(X):
    if sp.issparse(X):
        X = X.tocsr()
        rows = (
            X.indices[start:end].tobytes() + X.data[start:end].tobytes()
            for start, end in pairwise(X.indptr)
        )
    else:
        values = np.asarray(X)
        if values.dtype.kind in "OUS":
            rows = (repr(row).encode() for row in values.tolist())
        else:
            rows = (row.tobytes() for row in values)
    # Two bytes a row tell which row changed; the hash tells that one did.
    return "".join(f"{zlib.crc32(row) & 0xFFFF:04x}" for row in rows)


def difference(name, known, new):
    if name in ("X", "y") and known and new:
        shape, _, known_rows = known.rsplit(" ", 2)
        new_shape, _, new_rows = new.rsplit(" ", 2)
        if shape != new_shape:
            return f"{name} (its shape was {shape}, and is {new_shape})"
        pairs = zip(
            *(
                [rows[i : i + 4] for i in range(0, len(rows), 4)]
                for rows in (known_rows, new_rows)
            ),
            strict=True,
        )
        rows = [i for i, (a, b) in enumerate(pairs) if a != b]
        if not rows:
            return f"{name} (its type, its index, or the names of its columns)"
        more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
        return f"{name} (rows {', '.join(map(str, rows[:5]))}{more})"
    return f"{name} (was {known}, is {new})"
