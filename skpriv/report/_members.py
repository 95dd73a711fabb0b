"""Which records of a table a model was trained on."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from skpriv.datasets import TableError, encode_table

_YES = {"1", "1.0", "true", "yes", "y", "t"}
_NO = {"0", "0.0", "false", "no", "n", "f"}


class Rest(NamedTuple):
    """Records of a table that a model was not trained on.

    Attributes
    ----------
    frame : DataFrame of shape (n_rest, n_columns)
    X : ndarray of shape (n_rest, n_features)
        Encoded like the training records.
    y : ndarray of shape (n_rest,)
        Classes are numbered like those of the training records, -1 being another one.
    """

    frame: object
    X: np.ndarray
    y: np.ndarray


class Members(NamedTuple):
    """The records that a model was trained on.

    Attributes
    ----------
    mask : ndarray of shape (n_records,), dtype bool
        True for a training record.
    column : str or None
        The column that says so, which is no feature. None if a file does.
    """

    mask: np.ndarray
    column: str | None

    @property
    def places(self):
        """The number of each training record in the table, from 1."""
        return np.flatnonzero(self.mask) + 1


def read_members(source, table, ids=None):
    """Read which records of a table a model was trained on.

    Parameters
    ----------
    source : str
        A column of the table that holds 1 and 0, true and false, or yes and no. Or a
        text file with a training record in each line: its number in the table, from 1,
        or, with `ids`, its identifier.
    table : DataFrame of shape (n_records, n_columns)
    ids : sequence of str of shape (n_records,), default=None
        The identifiers of the records. One that several records have stands for all
        of them.

    Returns
    -------
    members : Members

    Raises
    ------
    TableError
        If there is neither such a column nor such a file, if it holds something else,
        or if there is no training record.
    """
    if source in table.columns:
        members = Members(_from_column(table[source]), source)
    else:
        members = Members(_from_file(source, len(table), ids), None)
    if not members.mask.any():
        raise TableError(f"--members {source}: no record is a training record")
    return members


def _from_column(column):
    values = [str(value).strip().casefold() for value in column.tolist()]
    mask = np.array([value in _YES for value in values], dtype=bool)
    for row, value in enumerate(values):
        if value not in _YES and value not in _NO:
            shown = "no value" if column.isna().iloc[row] else repr(value[:40])
            raise TableError(
                f"--members {column.name}: the column must hold 1 and 0, true and "
                f"false, or yes and no; record {row + 1} has {shown}"
            )
    return mask


def _from_file(path, n_records, ids):
    places = {}
    for place, name in enumerate(range(1, n_records + 1) if ids is None else ids):
        places.setdefault(str(name), []).append(place)
    mask = np.zeros(n_records, dtype=bool)
    for number, line in enumerate(_read_lines(path), start=1):
        if not (name := line.strip()):
            continue
        if ids is None and name.isdecimal():
            name = str(int(name))
        if name not in places:
            wanted = "an identifier in the column of --id"
            if ids is None:
                wanted = f"the number of a record, from 1 to {n_records:,}"
            raise TableError(
                f"--members {path}: line {number} must be {wanted}; it is {name[:40]!r}"
            )
        mask[places[name]] = True
    return mask


def _read_lines(path):
    try:
        return Path(path).read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError as error:
        raise TableError(
            f"--members {path}: there is no such column in the table, and no such file"
        ) from error
    except UnicodeDecodeError as error:
        raise TableError(f"--members {path}: is not a text file in UTF-8") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TableError(f"--members {path}: cannot be read: {reason}") from error


def encode_members(table, label, mask, **options):
    """Encode the training records of a table, and the others like them.

    Parameters
    ----------
    table : DataFrame of shape (n_records, n_columns)
    label : str
    mask : ndarray of shape (n_records,), dtype bool
        True for a training record.
    **options
        Passed to `encode_table`.

    Returns
    -------
    encoded : EncodedTable
        The training records.
    rest : Rest or None
        The others; None if there are none.

    Raises
    ------
    TableError
    """
    whole = encode_table(table, label, **options)
    if mask.all():
        return whole, None
    part = table[mask]
    part.attrs = table.attrs
    encoded = encode_table(part, label, **{**options, "task": whole.task})
    frame, y = whole.frame[~mask], whole.y[~mask]
    if whole.classes is not None:
        known = {name: code for code, name in enumerate(encoded.classes)}
        codes = np.array([known.get(name, -1) for name in whole.classes])
        y = codes[y]
    return encoded, Rest(frame, encoded.encoder.transform(frame), y)
