"""Finished shadows on disk: written completely or not at all, and checked when read."""

import hashlib
import io
import json
import os
import tempfile
import warnings
import zlib
from pathlib import Path

import numpy as np

from skpriv.attacks._shadows._fingerprint import difference, is_fingerprint
from skpriv.attacks._shadows._training import FinishedShadow
from skpriv.utils._files import replace_whole

_MANIFEST = "manifest.json"
_FORMAT = "skpriv shadows 2"
_CHECKSUM_SIZE = 4


class ShadowCache:
    """Signals of finished shadows in a folder.

    Each shadow is a file of its own, which is put in place when it is complete: a run
    may be killed at any time, and two runs may share the folder. Each file carries the
    digest of the run that it belongs to, and a checksum.

    Parameters
    ----------
    folder : str or path-like
        Created if it does not exist.
    fingerprint : dict
        What the signals depend on, as JSON data; see `fingerprint`.
    versions : dict of str to str
        Versions of the packages that compute the signals.

    Raises
    ------
    ValueError
        If the folder belongs to a run with another fingerprint or other versions, in
        which case the message says what differs. If the folder cannot be created, read
        or written.
    """

    def __init__(self, folder, fingerprint, versions):
        self._given = folder
        if not os.fspath(folder):
            raise ValueError(self._unusable("it is empty"))
        self.folder = Path(folder)
        content = json.dumps(
            {"format": _FORMAT, "versions": versions, "fingerprint": fingerprint},
            sort_keys=True,
        )
        self._digest = hashlib.sha256(content.encode()).hexdigest()
        try:
            self._open(content)
        except OSError as error:
            raise ValueError(self._unusable(error)) from error

    def _unusable(self, reason):
        return (
            f"cache_dir must be a folder that can be created, read and written, got "
            f"{str(self._given)!r} ({reason})."
        )

    def _open(self, content):
        self.folder.mkdir(parents=True, exist_ok=True)
        manifest = self.folder / _MANIFEST
        if manifest.exists():
            self._compare(_read_manifest(manifest), json.loads(content))
        else:
            replace_whole(manifest, content.encode())

    def _compare(self, known, new):
        old, now = known["versions"], new["versions"]
        # A package that only one of them uses comes with another parameter, which the
        # fingerprint names.
        changed = [
            f"{name} {old[name]} (now {now[name]})"
            for name in sorted({*old} & {*now})
            if old[name] != now[name]
        ]
        if changed:
            raise ValueError(
                f"cache_dir: {self.folder} was created with {', '.join(changed)}, and "
                "shadows of different versions must not be mixed. Use another folder, "
                "or restore the versions."
            )
        known, new = known["fingerprint"], new["fingerprint"]
        differing = [
            difference(name, known.get(name), new.get(name))
            for name in sorted({*known, *new})
            if known.get(name) != new.get(name)
        ]
        if differing:
            raise ValueError(
                f"cache_dir: {self.folder} was created with other settings. Changed: "
                f"{'; '.join(differing)}. Use another folder, or restore them."
            )

    def _path(self, shadow):
        return self.folder / f"shadow-{shadow:05d}.npz"

    def has(self, shadow):
        """Tell whether there is a file for a shadow."""
        return self._path(shadow).exists()

    def save(self, shadow, members):
        """Write a finished shadow.

        Parameters
        ----------
        shadow : FinishedShadow
        members : ndarray of shape (n_records,), dtype bool
            The records that it was trained on.

        Raises
        ------
        OSError
            If the folder cannot be written.
        """
        path = self._path(shadow.number)
        payload = io.BytesIO()
        np.savez(
            payload,
            digest=np.array(self._digest),
            shadow=np.array(shadow.number),
            members=np.packbits(members),
            signals=shadow.signals,
            saturated=np.packbits(shadow.saturated),
        )
        try:
            if path.is_dir():
                self._set_aside(path)
            replace_whole(path, payload.getvalue() + _checksum(payload.getvalue()))
        except OSError as error:
            raise OSError(self._unusable(error)) from error

    def _set_aside(self, path):
        """Move away a folder, which a file cannot replace, with its content."""
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
        shadow : FinishedShadow or None
            None if there is no file or, with a warning, if the file is damaged.

        Raises
        ------
        ValueError
            If the file is intact, but belongs to another run.
        """
        path = self._path(shadow)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError:
            content = b""
        payload = content[:-_CHECKSUM_SIZE]
        if not payload or content[-_CHECKSUM_SIZE:] != _checksum(payload):
            warnings.warn(
                f"cache_dir: {path} is damaged or not a shadow; the shadow is trained "
                "again.",
                stacklevel=4,
            )
            return None
        with np.load(io.BytesIO(payload), allow_pickle=False) as archive:
            found = {name: archive[name] for name in archive.files}
        owner = found["digest"].item(), int(found["shadow"])
        if owner != (self._digest, shadow) or not np.array_equal(
            found["members"], np.packbits(members)
        ):
            raise ValueError(f"cache_dir: {path} belongs to another run; remove it.")
        saturated = np.unpackbits(found["saturated"], count=members.size).astype(bool)
        return FinishedShadow(shadow, found["signals"], saturated)


def _checksum(payload):
    return zlib.crc32(payload).to_bytes(_CHECKSUM_SIZE, "little")


def _read_manifest(path):
    try:
        known = json.loads(path.read_text())
        if known["format"] != _FORMAT or not isinstance(known["versions"], dict):
            raise ValueError
        if not is_fingerprint(known["fingerprint"]):
            raise ValueError
    except (ValueError, KeyError, TypeError, IsADirectoryError):
        raise ValueError(
            f"cache_dir: {path} is not the manifest of a shadow cache; use another "
            "folder, or empty this one."
        ) from None
    return known


class CachedShadows:
    """Shadows that are read from a cache where it has them, and written to it.

    It has the interface of `Shadows`.

    Parameters
    ----------
    shadows : Shadows
    cache : ShadowCache
    """

    def __init__(self, shadows, cache):
        self._shadows = shadows
        self._cache = cache

    def signals(self, which):
        """Read or train shadows, and yield each one; see `Shadows.signals`."""
        membership = self._shadows.design.membership
        remaining = set()
        for number in which:
            found = self._cache.load(number, membership[number])
            if found is None:
                remaining.add(number)
            else:
                yield found
        if not remaining:
            return
        damaged = {number for number in remaining if self._cache.has(number)}
        for shadow in self._shadows.signals(self._missing(sorted(remaining), damaged)):
            self._cache.save(shadow, membership[shadow.number])
            remaining.remove(shadow.number)
            yield shadow
        # Another run has finished these in the meantime.
        yield from self.signals(sorted(remaining))

    def _missing(self, numbers, damaged):
        """Yield the shadows to train, except those that another run finishes first."""
        for number in numbers:
            if number in damaged or not self._cache.has(number):
                yield number

    def target_signals(self, target):
        """Return the signals at a model; see `Shadows.target_signals`."""
        return self._shadows.target_signals(target)

    def signals_of_all(self, model):
        """Return the signals at a model; see `Shadows.signals_of_all`."""
        return self._shadows.signals_of_all(model)
