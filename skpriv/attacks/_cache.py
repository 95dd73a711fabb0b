"""Finished shadows on disk: written whole or not at all, read only if they fit."""

import json
import lzma
import os
import re
import struct
import tempfile
import warnings
import zipfile
import zlib
from itertools import pairwise
from pathlib import Path
from pickle import PicklingError
from types import BuiltinFunctionType, CodeType, FunctionType

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

_MANIFEST = "manifest.json"
_FORMAT = "skpriv shadows 1"
_ROWS = re.compile(r"(\d+)( x \d+)* [0-9a-f]+ (?P<checksums>[0-9a-f]*)")

# What zipfile, its decompressors and numpy raise at bytes that are no shadow.
_DAMAGE = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    TypeError,
    AttributeError,
    RuntimeError,
    MemoryError,
    SyntaxError,
    OverflowError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)


class ShadowCache:
    """Signals of finished shadows in a folder.

    Each shadow is a file of its own, moved into place when it is complete, so that
    a run may be killed at any time, and two may share the folder. Each file carries
    the fingerprint of the run that it belongs to.

    Parameters
    ----------
    folder : str or path-like
        Made if it does not exist.
    fingerprint : dict of str to str
        What the signals depend on, by name, as made by `fingerprint`.

    Raises
    ------
    ValueError
        If the folder belongs to a run with another fingerprint; the message says
        what differs. If there can be no such folder, or it can not be written.
    """

    def __init__(self, folder, fingerprint):
        self._given = folder
        if not os.fspath(folder):
            raise ValueError(self._unusable("it is empty"))
        self.folder = Path(folder)
        self._digest = joblib.hash(fingerprint)
        try:
            self._open(fingerprint)
        except OSError as error:
            raise ValueError(self._unusable(error)) from error

    def _unusable(self, reason):
        return (
            f"cache_dir is {str(self._given)!r}; it wants a folder that can be made, "
            f"read and written ({reason})."
        )

    def _open(self, fingerprint):
        self.folder.mkdir(parents=True, exist_ok=True)
        manifest = self.folder / _MANIFEST
        if manifest.exists():
            self._compare(manifest, fingerprint)
        else:
            content = json.dumps({"format": _FORMAT, "fingerprint": fingerprint})
            self._write(manifest, lambda file: file.write(content.encode()))

    def _compare(self, manifest, fingerprint):
        try:
            known = json.loads(manifest.read_text())
            if known["format"] != _FORMAT:
                raise KeyError
            known = known["fingerprint"]
            if not _is_fingerprint(known):
                raise ValueError
        except (ValueError, KeyError, TypeError, IsADirectoryError):
            raise ValueError(
                f"cache_dir: {manifest} is not the manifest of a shadow cache; give "
                "another folder, or empty this one."
            ) from None
        differing = [
            _difference(name, known.get(name), fingerprint.get(name))
            for name in sorted({*known, *fingerprint})
            if known.get(name) != fingerprint.get(name)
        ]
        if differing:
            raise ValueError(
                f"cache_dir: {self.folder} was begun with other settings. Changed: "
                f"{'; '.join(differing)}. Give another folder, or restore them."
            )

    def _write(self, path, write):
        handle, temporary = tempfile.mkstemp(prefix=".writing-", dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def _path(self, shadow):
        return self.folder / f"shadow-{shadow:05d}.npz"

    def has(self, shadow):
        """Whether a shadow's file is there."""
        return self._path(shadow).exists()

    def save(self, shadow, members, signals, saturated):
        """Write a finished shadow.

        Parameters
        ----------
        shadow : int
        members : ndarray of shape (n_records,), dtype bool
        signals : ndarray of shape (n_records,), dtype float32
        saturated : ndarray of shape (n_records,), dtype bool

        Raises
        ------
        OSError
            If the folder can not be written.
        """
        path = self._path(shadow)
        try:
            if path.is_dir():
                self._set_aside(path)
            self._write(
                path,
                lambda file: np.savez(
                    file,
                    digest=np.array(self._digest),
                    shadow=np.array(shadow),
                    members=np.packbits(members),
                    signals=signals,
                    saturated=np.packbits(saturated),
                ),
            )
        except OSError as error:
            raise OSError(self._unusable(error)) from error

    def _set_aside(self, path):
        """Move a folder that no file can replace; what is in it may be wanted."""
        aside = tempfile.mkdtemp(prefix="aside-", dir=self.folder)
        path.rename(Path(aside) / path.name)

    def load(self, shadow, members):
        """Read a finished shadow.

        Parameters
        ----------
        shadow : int
        members : ndarray of shape (n_records,), dtype bool
            The records that it must have been trained on.

        Returns
        -------
        signals, saturated : ndarray of shape (n_records,), or None
            None if the file is missing, or, with a warning, if it is damaged.

        Raises
        ------
        ValueError
            If the file is whole, but of another run.
        """
        path = self._path(shadow)
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                content = {name: archive[name] for name in archive.files}
            owner = content["digest"].item(), int(content["shadow"])
            signals = content["signals"]
            bits = content["members"], content["saturated"]
        except FileNotFoundError:
            return None
        except _DAMAGE:
            warnings.warn(
                f"cache_dir: {path} is damaged or no shadow; it is trained again.",
                stacklevel=4,
            )
            return None
        if (
            owner != (self._digest, shadow)
            or signals.shape != members.shape
            or not np.array_equal(bits[0], np.packbits(members))
        ):
            raise ValueError(f"cache_dir: {path} belongs to another run; remove it.")
        return signals, np.unpackbits(bits[1], count=members.size).astype(bool)


class CollectedSignals:
    """Signals that have come in so far, and the cache that they are kept in.

    Parameters
    ----------
    membership : ndarray of shape (n_shadows, n_records), dtype bool
    cache : ShadowCache or None
    """

    def __init__(self, membership, cache):
        self.signals = np.empty(membership.shape, dtype=np.float32)
        self.saturated = np.zeros(membership.shape[1], dtype=np.int32)
        self._done = np.zeros(len(membership), dtype=bool)
        self._cache = cache
        self._membership = membership

    def add(self, shadow, signals, saturated):
        """Take a shadow that has just been trained."""
        if self._cache is not None:
            self._cache.save(shadow, self._membership[shadow], signals, saturated)
        self._take(shadow, signals, saturated)

    def _take(self, shadow, signals, saturated):
        self.signals[shadow] = signals
        self.saturated += saturated
        self._done[shadow] = True

    def resume(self):
        """Read what the cache has and is not here yet; yield its number."""
        if self._cache is None:
            return
        for shadow in np.flatnonzero(~self._done):
            found = self._cache.load(shadow, self._membership[shadow])
            if found is not None:
                self._take(shadow, *found)
                yield int(shadow)

    def missing(self):
        """Yield shadows to train, less those that another run finishes meanwhile."""
        damaged = np.flatnonzero(~self._done)
        on_disk = {s for s in damaged if self._cache is not None and self._cache.has(s)}
        for shadow in damaged:
            if self._cache is None or shadow in on_disk or not self._cache.has(shadow):
                yield int(shadow)


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
        if name.rpartition("__")[2] not in ("random_state", "n_jobs", "verbose")
    }


def _describe(name, value):
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, float, str, type(None))):
        return repr(value)
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "get_params") and not isinstance(value, FrozenEstimator):
        # Its parameters have entries of their own.
        return _describe(name, type(value))
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_describe(name, item) for item in value)}]"
    try:
        body = joblib.hash(_describe_body(value)) if hasattr(value, "__code__") else ""
        return f"{type(value).__name__} {joblib.hash(value)}{body}"
    except (PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"cache_dir needs {name} to be picklable, to tell whether it changed; got "
            f"{value!r}."
        ) from error


def _describe_body(function, seen=()):
    """What a function does: its code, and the values bound to it and named in it."""
    # A function may hold itself in its closure.
    seen = (*seen, function.__code__)
    keywords = function.__kwdefaults__ or {}
    return [
        _describe_code(function.__code__, function.__globals__),
        [_describe_bound(value, seen) for value in function.__defaults__ or ()],
        [[name, _describe_bound(keywords[name], seen)] for name in sorted(keywords)],
        [_describe_cell(cell, seen) for cell in function.__closure__ or ()],
    ]


def _describe_cell(cell, seen):
    try:
        value = cell.cell_contents
    except ValueError:
        return "empty"
    return _describe_bound(value, seen)


def _describe_bound(value, seen):
    if isinstance(value, FunctionType):
        # A decorator hides the function that it holds from pickle.
        return "seen" if value.__code__ in seen else _describe_body(value, seen)
    try:
        return joblib.hash(value)
    except (PicklingError, AttributeError, TypeError):
        return f"{type(value).__module__}.{type(value).__qualname__}"


def _describe_code(code, variables):
    """Bytes, constants, names and simple globals, alike in every process."""
    constants = [
        _describe_code(value, variables)
        if isinstance(value, CodeType)
        # Their order is that of hashes of strings, which differ between processes.
        else sorted(map(repr, value))
        if isinstance(value, frozenset)
        else repr(value)
        for value in code.co_consts
    ]
    names = [[name, _describe_global(variables.get(name))] for name in code.co_names]
    return [code.co_code, constants, names]


def _describe_global(value):
    if isinstance(value, (np.ufunc, BuiltinFunctionType)):
        return f"{getattr(value, '__module__', None)}.{value.__name__}"
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


def _is_fingerprint(known):
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


def _difference(name, known, new):
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
