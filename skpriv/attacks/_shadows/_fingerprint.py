"""What the signals of shadows depend on, as JSON that is the same in every process."""

import base64
import hashlib
import inspect
import sys
import zlib
from functools import cache, partial, reduce
from itertools import pairwise
from pickle import PicklingError
from types import CodeType, FunctionType, MethodType

import numpy as np
import scipy.sparse as sp
from joblib.hashing import NumpyHasher
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

# Their code is known by their versions.
_LIBRARIES = {"numpy", "scipy", "sklearn", "skorch", "torch"}
_NAMES = {"sklearn": "scikit-learn"}
_SIMPLE = (bool, int, float, complex, str, bytes, type(None))
# Two bytes per row are enough to tell which rows changed: the hash of all rows tells
# that some did.
_CHECKSUM = np.dtype("<u2")


def fingerprint(X, y, estimator, **settings):
    """Describe what shadows depend on, one entry for each thing that may change.

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
    entries : dict
        JSON data: ``X`` and ``y`` as returned by `describe_rows`, and the values of
        the parameters by name.
    versions : dict
        The versions of skpriv and of the packages that the values come from.

    Raises
    ------
    ValueError
        If it cannot be told whether a parameter has changed: a function without a
        source, for example.
    """
    entries = {"X": describe_rows(X), "y": describe_rows(y)}
    parameters = {
        f"estimator__{name}": value
        for name, value in clone(estimator).get_params().items()
        if _affects_fit(name)
    }
    description = _Description()
    for name, value in {"estimator": estimator, **parameters, **settings}.items():
        entries[name] = description.of_parameter(name, value)
    return entries, description.versions()


def _affects_fit(name):
    # Each shadow has a seed of its own.
    return name.rpartition("__")[2] not in ("random_state", "n_jobs", "verbose")


class _Description:
    """Describe values as JSON data, and collect the packages that they come from."""

    def __init__(self):
        self._packages = {"numpy", "skpriv", "sklearn"}
        self._described = set()

    def versions(self):
        found = {
            _NAMES.get(name, name): getattr(sys.modules.get(name), "__version__", None)
            for name in sorted(self._packages)
        }
        return {name: str(version) for name, version in found.items() if version}

    def of_parameter(self, name, value):
        if _is_estimator(value):
            # Its parameters have entries of their own.
            value = type(value)
        try:
            return self.of(value)
        except (PicklingError, AttributeError, TypeError, OSError, KeyError) as error:
            raise ValueError(
                f"cache_dir needs {name} to have a source, or else to be picklable, "
                f"to tell whether it has changed; got {value!r}."
            ) from error

    def of(self, value):
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, _SIMPLE):
            return repr(value)
        if isinstance(value, list | tuple):
            return [self.of(item) for item in value]
        if isinstance(value, dict):
            return sorted(([self.of(k), self.of(v)] for k, v in value.items()), key=str)
        if isinstance(value, set | frozenset):
            return sorted((self.of(item) for item in value), key=str)
        if isinstance(value, partial):
            return ["partial", *map(self.of, (value.func, value.args, value.keywords))]
        if isinstance(value, MethodType):
            return ["method", value.__name__, self.of(value.__self__)]
        # A class and a function have a name; the objects of a class do not.
        if hasattr(value, "__qualname__") and getattr(value, "__module__", None):
            return self._of_code(value)
        return [self._of_code(type(value)), self._of_state(value)]

    def _of_code(self, code):
        """Name of a class or a function, and a hash of the modules that define it."""
        name = f"{code.__module__}.{code.__qualname__}"
        defining = inspect.getmro(code) if isinstance(code, type) else [code]
        sources = sorted({self._source(part) for part in defining} - {None})
        if not sources:
            return name
        return f"{name} (source {_digest(''.join(sources))})"

    def _source(self, code):
        """Source of what defines some code; None if a version tells.

        That is the module, or the class or function itself, with all that it uses, if
        it is defined in a notebook or within a function.
        """
        package = code.__module__.partition(".")[0]
        if package in sys.stdlib_module_names:
            return None
        self._packages.add(package)
        module = sys.modules[code.__module__]
        file = getattr(module, "__file__", None)
        compiled = file and not file.endswith(".py") and package != "__main__"
        if package in _LIBRARIES or compiled:
            return None
        if file and _is_member(code, module):
            return inspect.getsource(module)
        return str(self._of_local(code))

    def _of_local(self, code):
        """Describe a class or a function by its own source and what it refers to."""
        if id(code) in self._described:
            return code.__qualname__  # it refers to itself
        self._described.add(id(code))
        if not isinstance(code, type):
            return self._of_function(code)
        members = sorted(vars(code).items())
        return [code.__qualname__, *([n, self._of_member(m)] for n, m in members)]

    def _of_member(self, member):
        if isinstance(member, staticmethod | classmethod):
            member = member.__func__
        if isinstance(member, property):
            return [self._of_member(f) for f in (member.fget, member.fset) if f]
        if isinstance(member, FunctionType):
            return self._of_function(member)
        return repr(member) if _is_simple(member) else type(member).__name__

    def _of_function(self, function):
        function = inspect.unwrap(function)
        body = inspect.getsource(function)
        if function.__name__ == "<lambda>":  # one of several in the line, maybe
            body = [body, _instructions(function.__code__)]
        used = inspect.getclosurevars(function)
        given = [function.__defaults__, function.__kwdefaults__]
        names = {**used.nonlocals, **used.globals}
        others = [[name, self._of_used(v)] for name, v in sorted(names.items())]
        return [body, self.of(given), others]

    def _of_used(self, value):
        if inspect.ismodule(value):
            package = value.__name__.partition(".")[0]
            if package not in sys.stdlib_module_names:
                self._packages.add(package)
            return value.__name__
        if isinstance(value, FunctionType | type) and id(value) in self._described:
            return value.__qualname__
        return self.of(value)

    def _of_state(self, value):
        if _is_estimator(value):
            parameters = value.get_params(deep=False).items()
            return {n: self.of(v) for n, v in sorted(parameters) if _affects_fit(n)}
        torch = sys.modules.get("torch")
        # No two processes pickle a tensor alike.
        if torch is not None and isinstance(value, torch.nn.Module):
            return [self._of_module(part) for part in value.named_modules()]
        if torch is not None and isinstance(value, torch.Tensor):
            return [str(value.dtype), _hash(value.detach().cpu().double().numpy())]
        return _hash(value)

    def _of_module(self, named):
        name, part = named
        settings = {k: self.of(v) for k, v in vars(part).items() if _is_simple(v)}
        tensors = {k: self._of_state(v) for k, v in part.state_dict().items()}
        return [name, self._of_code(type(part)), settings, tensors]


def _digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _simple(constant):
    """Put a set, whose order differs in every process, in order."""
    if isinstance(constant, frozenset):
        return sorted(map(repr, constant))
    return repr(constant)


def _is_member(code, module):
    """Tell whether code is what its module has by its name."""
    try:
        return reduce(getattr, code.__qualname__.split("."), module) is code
    except AttributeError:
        return False


def _instructions(code):
    constants = [
        _instructions(part) if isinstance(part, CodeType) else str(_simple(part))
        for part in code.co_consts
    ]
    return [code.co_code.hex(), code.co_names, code.co_varnames, constants]


class _Hasher(NumpyHasher):
    """Hash values as joblib does, but distributions of scipy by their parameters.

    They hold a copy of numpy's global random state, which differs in every process and
    which a search over them does not use.
    """

    def __init__(self):
        super().__init__("md5")
        self._distributions = set()

    def save(self, value):
        if _is_distribution(type(value)):
            value = self._parameters(value)
        super().save(value)

    def _parameters(self, distribution):
        if id(distribution) in self._distributions:
            # A distribution may hold methods of its own.
            return "itself"
        self._distributions.add(id(distribution))
        state = distribution.__getstate__().items()
        kept = {k: v for k, v in state if not isinstance(v, np.random.RandomState)}
        return type(distribution), kept


# Asked about every element of an array of objects.
@cache
def _is_distribution(kind):
    return any(base.__module__.startswith("scipy.stats") for base in kind.__mro__)


def _hash(value):
    return _Hasher().hash(value)


def _is_estimator(value):
    return hasattr(value, "get_params") and not isinstance(
        value, type | FrozenEstimator
    )


def _is_simple(value):
    if isinstance(value, tuple):
        return all(map(_is_simple, value))
    return isinstance(value, _SIMPLE)


def describe_rows(X):
    """Describe rows so that changed ones can be named.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame}

    Returns
    -------
    entry : dict
        ``shape``; ``hash`` of the whole; ``checksums`` of the rows, as base64.
    """
    # The hash of an array depends on its strides; a copy has the strides of its shape,
    # which np.ascontiguousarray would leave as they are for a single column.
    content = np.array(X, order="C") if isinstance(X, np.ndarray) else X
    checksums = np.array([zlib.crc32(row) & 0xFFFF for row in _bytes(X)], _CHECKSUM)
    return {
        "shape": list(X.shape),
        "hash": _hash(content),
        "checksums": base64.b64encode(checksums.tobytes()).decode(),
    }


def _bytes(X):
    """Yield the bytes of each row."""
    if sp.issparse(X):
        X = X.tocsr()
        for start, end in pairwise(X.indptr):
            yield X.indices[start:end].tobytes() + X.data[start:end].tobytes()
        return
    values = np.asarray(X)
    if values.dtype.kind in "OUS":
        yield from (repr(row).encode() for row in values.tolist())
    else:
        yield from (row.tobytes() for row in values)


def is_fingerprint(known):
    """Tell whether what a manifest holds has the form that `fingerprint` returns."""
    try:
        return all(
            len(_checksums(known[name])) == known[name]["shape"][0]
            and isinstance(known[name]["hash"], str)
            for name in ("X", "y")
        )
    except (KeyError, IndexError, TypeError, ValueError):
        return False


def _checksums(entry):
    return np.frombuffer(base64.b64decode(entry["checksums"], validate=True), _CHECKSUM)


def difference(name, known, new):
    """Say in words how two entries of a fingerprint differ.

    Parameters
    ----------
    name : str
        The entry.
    known, new : JSON data or None
        None: there is no such entry.

    Returns
    -------
    words : str
    """
    if name in ("X", "y"):
        return f"{name} ({_difference_of_rows(known, new)})"
    if isinstance(known, list | dict) or isinstance(new, list | dict):
        return name
    return f"{name} (was {known}, is {new})"


def _difference_of_rows(known, new):
    shapes = (" x ".join(map(str, entry["shape"])) for entry in (known, new))
    if known["shape"] != new["shape"]:
        return "its shape was {}, and is {}".format(*shapes)
    rows = np.flatnonzero(_checksums(known) != _checksums(new))
    if not rows.size:
        return "its type, its index, or the names of its columns"
    more = f" and {rows.size - 5} more" if rows.size > 5 else ""
    return f"rows {', '.join(map(str, rows[:5]))}{more}"
