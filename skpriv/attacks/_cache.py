"""Finished shadows on disk: written whole or not at all, read only if they fit."""

import json
import os
import tempfile
import warnings
import zipfile
import zlib
from itertools import pairwise
from pathlib import Path
from pickle import PicklingError
from types import CodeType

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

_MANIFEST = "manifest.json"
_FORMAT = "skpriv shadows 1"


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
        what differs.
    """

    def __init__(self, folder, fingerprint):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._digest = joblib.hash(fingerprint)
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
        except (ValueError, KeyError, TypeError):
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
        """
        self._write(
            self._path(shadow),
            lambda file: np.savez(
                file,
                digest=np.array(self._digest),
                shadow=np.array(shadow),
                members=np.packbits(members),
                signals=signals,
                saturated=np.packbits(saturated),
            ),
        )

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
        except (
            OSError,
            ValueError,
            KeyError,
            EOFError,
            zipfile.BadZipFile,
            zlib.error,
        ):
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
    code = getattr(value, "__code__", None)
    try:
        body = "" if code is None else joblib.hash(_describe_code(code))
        return f"{type(value).__name__} {joblib.hash(value)}{body}"
    except (PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"cache_dir needs {name} to be picklable, to tell whether it changed; got "
            f"{value!r}."
        ) from error


def _describe_code(code):
    """Bytes and constants of a function, alike in every process."""
    constants = [
        _describe_code(value)
        if isinstance(value, CodeType)
        # Their order is that of hashes of strings, which differ between processes.
        else sorted(map(repr, value))
        if isinstance(value, frozenset)
        else repr(value)
        for value in code.co_consts
    ]
    return code.co_code, constants


def _describe_rows(X):
    """Shape, one checksum a row, and a hash of the whole."""
    shape = " x ".join(str(n) for n in X.shape)
    return f"{shape} {joblib.hash(X)} {_checksums(X)}"


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
