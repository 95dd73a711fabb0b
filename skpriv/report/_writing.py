"""Reports as JSON and CSV, in files that are written completely or not at all."""

import csv
import json
import os
import re
import sys
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from skpriv.utils._files import PendingFile

# A spreadsheet takes a cell that begins with one of these for a formula.
_BEGINS_FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.I | re.A)


class OutputError(OSError):
    """A file cannot be written; the message is one line that names it."""


def to_json(report):
    """Return a summary as JSON. What is not known is null.

    Parameters
    ----------
    report : dict
        As `summarise` returns it.

    Returns
    -------
    text : str
        The columns of the records take one line each.
    """
    summary = {key: value for key, value in report.items() if key != "records"}
    text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False)
    columns = [
        f"    {_compact(name)}: {_compact(values)}"
        for name, values in report["records"].items()
    ]
    records = ",\n".join(columns)
    return f'{text.removesuffix("}").rstrip()},\n  "records": {{\n{records}\n  }}\n}}\n'


def _compact(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def to_scores_csv(report):
    """Return the scores of every record as CSV, in the order of the table.

    The cell of a missing score is empty. Text that a spreadsheet would run as a
    formula, such as the label ``=1+1``, gets an apostrophe in front of it.

    Parameters
    ----------
    report : dict
        As `summarise` returns it.

    Returns
    -------
    text : str
        One line of column names, then one line per record.
    """
    columns = report["records"]
    lines = []
    # The writer quotes a line end in a cell only if it ends lines itself.
    writer = csv.writer(_Lines(lines.append), lineterminator="\r\n")
    writer.writerow([_without_formula(name) for name in columns])
    safe = [
        [_without_formula(cell) for cell in column]
        if any(isinstance(cell, str) for cell in column)
        else column
        for column in columns.values()
    ]
    writer.writerows(zip(*safe, strict=True))
    return "".join(line.removesuffix("\r\n") + "\n" for line in lines)


class _Lines(NamedTuple):
    write: Callable[[str], None]


def _without_formula(cell):
    if isinstance(cell, str) and _BEGINS_FORMULA.match(cell):
        return cell if _NUMBER.fullmatch(cell) else f"'{cell}"
    return cell


class OutputFiles:
    """Files that are all written completely, or not at all.

    This is a context manager. On entering, an empty temporary file is made beside each
    file, so that a folder that cannot be written to is noticed before the work is done.
    On leaving, the temporary files replace the files. After an exception they are
    removed, and older files stay as they were. Only its owner can read a new file.

    If standard output or standard error goes to a path (such as /dev/stdout), the text
    is written there after what has been printed.

    Parameters
    ----------
    paths : sequence of str or path-like
    inputs : sequence of str or path-like, default=()
        Files that must not be overwritten.

    Raises
    ------
    OutputError
        On entering, if two paths are the same file, if one is an input, a folder or a
        device, or if a file cannot be made. On writing and leaving, if writing fails.
    """

    def __init__(self, paths, inputs=()):
        self.paths = [Path(path) for path in paths]
        self.inputs = [Path(path) for path in inputs]

    def __enter__(self):
        self._outputs = {}
        try:
            for path in self.paths:
                with _naming(path):
                    self._open(path)
        except BaseException:
            self._discard()
            raise
        return self

    def _open(self, path):
        # The target of a link is replaced, not the link.
        target = Path(os.path.realpath(path))
        if target in (output.target for output in self._outputs.values()):
            raise OutputError(f"{path}: is given for two outputs")
        if target in (Path(os.path.realpath(other)) for other in self.inputs):
            raise OutputError(f"{path}: is the input, and would be overwritten")
        stream = _standard_stream(path)
        if stream is not None:
            self._outputs[path] = _StreamOutput(target, stream)
            return
        if target.exists() and not target.is_file():
            raise OutputError(f"{path}: is a folder or a device, not a file")
        if target.exists() and not os.access(target, os.W_OK):
            raise OutputError(f"{path}: cannot be written: it is read-only")
        if not target.parent.is_dir():
            raise OutputError(f"{path}: there is no folder {str(path.parent)!r}")
        self._outputs[path] = PendingFile(target, private=True)

    def write(self, path, text):
        """Write the text of one of the files.

        Parameters
        ----------
        path : str or path-like
            One of `paths`.
        text : str
        """
        path = Path(path)
        with _naming(path):
            self._outputs[path].write(text.encode("utf-8"))

    def __exit__(self, exc_type, exc, traceback):
        try:
            if exc_type is None:
                for path, output in self._outputs.items():
                    with _naming(path):
                        output.commit()
        finally:
            self._discard()

    def _discard(self):
        for output in self._outputs.values():
            output.discard()


class _StreamOutput:
    """Text for a stream, which is kept until all outputs are complete."""

    def __init__(self, target, stream):
        self.target = target
        self._stream = stream
        self._content = b""

    def write(self, content):
        self._content = content

    def commit(self):
        self._stream.flush()
        # The reader of a pipe may have seen enough.
        with (
            suppress(BrokenPipeError),
            open(self._stream.fileno(), "wb", closefd=False) as file,
        ):
            file.write(self._content)

    def discard(self):
        self._content = b""


def _standard_stream(path):
    """Return the standard stream that writes to a path, or None.

    Replacing a file would lose what was, and is to be, printed there.
    """
    for stream in (sys.__stdout__, sys.__stderr__):
        # There is no stream where it was closed before Python started.
        with suppress(OSError, ValueError):
            if stream is not None and os.path.samestat(
                os.stat(path), os.fstat(stream.fileno())
            ):
                return stream
    return None


@contextmanager
def _naming(path):
    """Raise an operating system's error again as one that names the file."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        reason = error.strerror or error
        raise OutputError(f"{path}: cannot be written: {reason}") from error
