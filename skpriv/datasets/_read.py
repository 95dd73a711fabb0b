"""Read a table from a file, or take the bundled one."""

import gzip
import io
import sys
import zlib
from functools import partial
from pathlib import Path

from sklearn.datasets import load_breast_cancer

from skpriv.datasets._clean import clean_table
from skpriv.datasets._delimited import check_names, name_columns, read_delimited
from skpriv.datasets._errors import TableError
from skpriv.datasets._notes import Note
from skpriv.utils._optional import import_optional

DEFAULT_LABEL = "diagnosis"

_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_PARQUET = b"PAR1"


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


def read_table(
    path,
    *,
    label=None,
    sep=None,
    decimal=None,
    encoding=None,
    day_first=None,
    missing=(),
    text=(),
    number=(),
):
    """Read a file of separated values, an Excel sheet or a Parquet file.

    Parameters
    ----------
    path : str or path-like
        A file whose name ends in ``.csv``, ``.tsv``, ``.txt`` (each also followed by
        ``.gz``), ``.xlsx``, ``.xls``, ``.ods`` or ``.parquet``; "-" is standard input.
        The first line, or row of the first sheet, holds the column names.
    label : str, default=None
        The label column. In the others, "?", "-", "unknown" and the like among numbers
        are taken as missing; in this one they may be classes.
    sep : str, default=None
        The separator of a text file. None: comma, semicolon, tab or bar, whichever
        the lines show.
    decimal : {".", ","}, default=None
        The decimal mark of columns that do not tell.
    encoding : str, default=None
        Of a text file. None: UTF-8, or what a byte order mark says, else Windows-1252.
    day_first : bool, default=None
        Whether the day stands before the month in columns of dates that do not tell.
    missing : sequence of str, default=()
        Texts that stand for a missing value in every column.
    text, number : sequence of str, default=()
        Columns to be taken as text, and as numbers.

    Returns
    -------
    table : DataFrame of shape (n_records, n_columns)
        One row per record, in the order of the file; the column names are strings.
        ``table.attrs["notes"]`` is a list of `Note`: what was decided, and the option
        that decides otherwise.

    Raises
    ------
    TableError
        If the file cannot be read, is empty, or names a column twice.
    """
    try:
        data, read = _open(path)
        table, found_sep, notes = read(data, sep, encoding)
        if not len(table):
            raise TableError("has column names but no records")
    except TableError as error:
        raise TableError(f"{path}: {error}") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise TableError(f"{path}: cannot be read: {reason}") from error
    table = clean_table(
        table,
        label=label,
        decimal=decimal,
        day_first=day_first,
        missing=missing,
        text=text,
        number=number,
        prefer="," if found_sep == ";" else ".",
    )
    table.attrs["notes"] = notes + table.attrs["notes"]
    return table


def _open(path):
    if str(path) == "-":
        return _open_stream(sys.stdin.buffer)
    path = Path(path)
    name = path.name.lower().removesuffix(".gz")
    read = next((_READERS[end] for end in _READERS if name.endswith(end)), None)
    if read is None:
        endings = ", ".join(_READERS)
        raise TableError(
            f"the file name must end in one of {endings}, or these and .gz"
        )
    if path.is_dir():
        raise TableError("is a folder, not a file")
    data = path.read_bytes()
    if path.name.lower().endswith(".gz") or data.startswith(_GZIP):
        data = gzip.decompress(data)
    return data, read


def _open_stream(stream):
    data = stream.read()
    if data.startswith(_GZIP):
        data = gzip.decompress(data)
    for start, read in ((_PARQUET, _read_parquet), (_ZIP, _read_sheet)):
        if data.startswith(start):
            return data, read
    return data, read_delimited


def _read_sheet(data, sep, encoding):
    pandas = import_optional("pandas", extra="report")
    calamine = import_optional("python_calamine", extra="report")
    try:
        with pandas.ExcelFile(io.BytesIO(data), engine="calamine") as book:
            sheets = book.sheet_names
            cells = pandas.read_excel(
                book, header=None, dtype=object, keep_default_na=False, na_values=""
            )
    except (calamine.CalamineError, ValueError, LookupError, OSError) as error:
        raise TableError(f"is not a spreadsheet, or damaged: {error}") from error
    if cells.empty:
        raise TableError(f"sheet {sheets[0]!r} is empty")
    first = ["" if cell != cell else str(cell) for cell in cells.iloc[0]]
    # The names of the rows may have no name, so the first cell of a table may be empty.
    is_title = first.count("") == len(first) - 1 > 0 and first[0] != ""
    if is_title or first.count("") > len(first) / 2:
        raise TableError(
            f"sheet {sheets[0]!r}: row 1 must hold the column names, but "
            f"{first.count('')} of its {len(first)} cells are empty; remove what "
            "stands above the table"
        )
    names = name_columns(first)
    table = cells.iloc[1:].reset_index(drop=True).set_axis(names, axis=1)
    table = table[~table.isna().all(axis=1)].reset_index(drop=True)
    notes = []
    if len(sheets) > 1:
        reason = f"sheet {sheets[0]!r} is read, {len(sheets) - 1} more sheets are not"
        notes = [Note(None, reason, "")]
    reason = (
        "no row has a value; if these are formulas, open the file in a spreadsheet "
        "program and save it, so that their values are in it"
    )
    empty = [name for name in names if len(table) and table[name].isna().all()]
    return table, None, notes + [Note(name, reason, "") for name in empty]


def _read_parquet(data, sep, encoding):
    pyarrow = import_optional("pyarrow", extra="report")
    parquet = import_optional("pyarrow.parquet", extra="report")
    import_optional("pandas", extra="report")
    try:
        with parquet.ParquetFile(pyarrow.BufferReader(data)) as file:
            content = file.read()
        check_names(content.column_names)
        content.validate(full=True)
        table = content.to_pandas()
    except TableError:
        raise
    except (pyarrow.ArrowException, ValueError, TypeError, LookupError) as error:
        # Of a damaged file any part may be nonsense: the data, a name, pandas' notes.
        raise TableError(f"is not a Parquet file, or damaged: {error}") from error
    if any(name is not None for name in table.index.names):
        table = table.reset_index()
    table.columns = [str(name) for name in table.columns]
    check_names(list(table.columns))
    return table, None, []


_TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".tab", ".psv")
_USUAL = {".tsv": "\t", ".tab": "\t", ".psv": "|"}
_SHEET_ENDINGS = (".xlsx", ".xlsm", ".xls", ".ods")
_READERS = {
    **{end: partial(read_delimited, usual=_USUAL.get(end)) for end in _TEXT_ENDINGS},
    **dict.fromkeys(_SHEET_ENDINGS, _read_sheet),
    ".parquet": _read_parquet,
}
