"""Read a table from a file, or take the bundled one."""

import csv
import gzip
import io
import warnings
import zlib
from collections import Counter
from itertools import chain
from pathlib import Path

from sklearn.datasets import load_breast_cancer

from skpriv.datasets._errors import TableError
from skpriv.utils._optional import import_optional

DEFAULT_LABEL = "diagnosis"

_DELIMITERS = ",;\t"


def load_default_table():
    """Return the breast cancer data that scikit-learn bundles.

    Returns
    -------
    table : DataFrame of shape (569, 31)
        Thirty measurements of a tumour and `DEFAULT_LABEL`, "malignant" or "benign".
    """
    import_optional("pandas", extra="report")
    bunch = load_breast_cancer(as_frame=True)
    return bunch.data.assign(**{DEFAULT_LABEL: bunch.target_names[bunch.target]})


def read_table(path):
    """Read a CSV or Parquet file.

    Parameters
    ----------
    path : str or path-like
        A file whose name ends in ``.csv``, ``.csv.gz`` or ``.parquet``. A CSV file is
        UTF-8 text with one line of column names; its values are separated by commas,
        semicolons or tabs, whichever is most frequent in that line.

    Returns
    -------
    table : DataFrame of shape (n_records, n_columns)
        One row a record, in the order of the file; the column names are strings.

    Raises
    ------
    TableError
        If the file cannot be read, is empty, or names a column twice.
    """
    path = Path(path)
    name = path.name.lower()
    read = next((_READERS[end] for end in _READERS if name.endswith(end)), None)
    if read is None:
        wanted = ", ".join(_READERS)
        raise TableError(f"{path}: the file name must end in one of {wanted}")
    try:
        if path.is_dir():
            raise TableError(f"{path}: is a folder, not a file")
        table = read(path)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise TableError(f"{path}: cannot be read: {reason}") from error
    if not len(table):
        raise TableError(f"{path}: has column names but no records")
    return table


def _read_csv(path, opener=open):
    with (
        opener(path, "rb") as raw,
        io.TextIOWrapper(raw, "utf-8-sig", newline="") as text,
    ):
        try:
            return _parse_csv(text, path)
        except UnicodeDecodeError as error:
            raise TableError(
                f"{path}: is not UTF-8 text (byte 0x{error.object[error.start]:02x}); "
                "save it as CSV in UTF-8"
            ) from error


def _read_csv_gz(path):
    return _read_csv(path, opener=gzip.open)


def _parse_csv(text, path):
    pandas = import_optional("pandas", extra="report")
    first = text.readline()
    if not first.strip():
        raise TableError(f"{path}: is empty, or begins with an empty line")
    if "\0" in first:
        raise TableError(f"{path}: is not text")
    delimiter = max(_DELIMITERS, key=first.count)
    lines = chain([first], text)
    try:
        names = next(csv.reader(lines, delimiter=delimiter, strict=True))
        _check_names(names, path)
        with warnings.catch_warnings():
            # Lines longer than the first: pandas would warn and cut them.
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            return pandas.read_csv(
                text,
                sep=delimiter,
                header=None,
                names=names,
                index_col=False,
                low_memory=False,
            )
    except pandas.errors.EmptyDataError:
        return pandas.DataFrame(columns=names)
    except pandas.errors.ParserWarning as error:
        raise TableError(
            f"{path}: some lines have more values than there are column names"
        ) from error
    except (csv.Error, pandas.errors.ParserError) as error:
        raise TableError(f"{path}: is not a CSV file: {error}") from error


def _read_parquet(path):
    pyarrow = import_optional("pyarrow", extra="report")
    parquet = import_optional("pyarrow.parquet", extra="report")
    import_optional("pandas", extra="report")
    try:
        with parquet.ParquetFile(path) as file:
            content = file.read()
        _check_names(content.column_names, path)
        content.validate(full=True)
        table = content.to_pandas()
    except TableError:
        raise
    except (pyarrow.ArrowException, ValueError, TypeError, LookupError) as error:
        # Of a damaged file any part may be nonsense: the data, a name, pandas' notes.
        raise TableError(
            f"{path}: is not a Parquet file, or damaged: {error}"
        ) from error
    if any(name is not None for name in table.index.names):
        table = table.reset_index()
    table.columns = [str(name) for name in table.columns]
    _check_names(table.columns, path)
    return table


def _check_names(names, path):
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise TableError(
            f"{path}: the column name {twice[0]!r} is there more than once; "
            "give every column a name of its own"
        )


_READERS = {".csv": _read_csv, ".csv.gz": _read_csv_gz, ".parquet": _read_parquet}
