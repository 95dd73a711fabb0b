"""Finished shadows on disk: written whole or not at all, read only if they fit."""

import json
import lzma
import os
import struct
import tempfile
import warnings
import zipfile
import zlib
from pathlib import Path

import joblib
import numpy as np

from skpriv.attacks._fingerprint import difference, is_fingerprint

_MANIFEST = "manifest.json"
_FORMAT = "skpriv shadows 1"

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
            if not is_fingerprint(known):
                raise ValueError
        except (ValueError, KeyError, TypeError, IsADirectoryError):
            raise ValueError(
                f"cache_dir: {manifest} is not the manifest of a shadow cache; give "
                "another folder, or empty this one."
            ) from None
        differing = [
            difference(name, known.get(name), fingerprint.get(name))
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
