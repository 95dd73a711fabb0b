"""Text files of separated values: encoding, separator, lines."""

import codecs
import csv
import io
import re
from contextlib import contextmanager
from itertools import islice
from shlex import quote

from skpriv.datasets._errors import TableError
from skpriv.datasets._notes import Note, quote_values
from skpriv.utils._optional import import_optional

_SEPARATORS = [",", ";", "\t", "|"]
# What CleverCSV looks at; it takes a tenth of a second for so many characters.
_SAMPLE = 20_000
_LINES_AT_ONCE = 20_000
# Larger than any text that is read; the largest that the csv module takes everywhere.
_LONGEST_CELL = 2**31 - 1
_NUMBER = re.compile(r"\s*[+-]?[0-9][0-9.,:'/ -]*\s*")
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # begins as that of UTF-16
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Excel reads the separator from such a first line, and some programs write it.
_BYTE_ORDER_MARK = "\ufeff"
_SEPARATOR_LINE = re.compile(r'\ufeff?"?sep=(.)"?[ \t]*(\r\n|\r|\n)', re.IGNORECASE)


@contextmanager
def _cells_of_any_length():
    # The limit is one for the whole process.
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


@_cells_of_any_length()
def read_delimited(data, sep=None, encoding=None, usual=None):
    """Read separated values as text.

    Parameters
    ----------
    data : bytes
    sep : str, default=None
        The separator; None: comma, semicolon, tab or bar, whichever the lines show.
    encoding : str, default=None
        None: UTF-8, or what a byte order mark says, else Windows-1252.
    usual : str, default=None
        The separator of files with such a name; taken if it is in the first line.

    Returns
    -------
    table : DataFrame of str
        An empty cell is an empty text.
    sep : str
    notes : list of Note

    Raises
    ------
    TableError
        If the data are no such text, or a line has more or fewer values than there
        are column names. The message does not name the file.
    """
    text, encoding, notes = _decode(data, encoding)
    if "\0" in text:
        raise TableError("is not text (or is UTF-16: give --encoding utf-16)")
    if not text or text.isspace():
        raise TableError("is empty")
    line = _SEPARATOR_LINE.match(text)
    start = line.end() if line else int(text[0] == _BYTE_ORDER_MARK)
    if sep is None:
        sample = text[start : start + _SAMPLE]
        sep, more = (line[1], []) if line else _find_separator(sample, usual)
        notes = notes + more
    # After every separator, or it belongs to the values.
    unspaced = re.compile(f"{re.escape(sep)}(?! )").search(text, start)
    spaced = unspaced is None and text.find(sep, start) >= 0
    names = next(csv.reader([_first_line(text, start)], delimiter=sep), [])
    is_simple = '"' not in text and not (line or spaced) and len(names) > 1
    del text
    table = None
    if is_simple and encoding.startswith("utf-8"):
        table = _read_simple_rows(data, sep, names)
    if table is None:
        lines = io.TextIOWrapper(io.BytesIO(data), encoding, newline="")
        lines.read(start)
        table = _read_rows(lines, sep, spaced, 1 if line else 0)
    return table, sep, notes + list(_notes_of_names(table.columns))


def _first_line(text, start):
    lines = text[start : start + _SAMPLE].splitlines()
    return lines[0] if len(lines) > 1 else text[start:].splitlines()[0]


def _decode(data, encoding):
    if encoding is not None:
        try:
            return data.decode(encoding), encoding, []
        except LookupError as error:
            raise TableError(
                f"--encoding: {encoding!r} is not a known encoding"
            ) from error
        except UnicodeError as error:
            raise TableError(f"is not {encoding} text: {error}") from error
    marks = (mark for mark in _BYTE_ORDER_MARKS if data.startswith(mark))
    encoding = _BYTE_ORDER_MARKS.get(next(marks, None), "utf-8")
    try:
        return data.decode(encoding), encoding, []
    except UnicodeDecodeError as error:
        byte = data[error.start]
        if encoding != "utf-8" or b"\0" in data:
            raise TableError(f"is not text: {error}") from error
    # Some bytes mean nothing in Windows-1252, in Latin-1 all do.
    undefined = any(byte in data for byte in b"\x81\x8d\x8f\x90\x9d")
    encoding = "latin-1" if undefined else "cp1252"
    reason = (
        f"the file is not UTF-8 text (byte 0x{byte:02x}) and is read as {encoding}, "
        "for Western European languages"
    )
    return data.decode(encoding), encoding, [Note(None, reason, "--encoding NAME")]


def _find_separator(sample, usual):
    """Find the separator, and note others that would give a table too."""
    first = sample.split(maxsplit=0)[0].splitlines()[0]
    if usual is not None and usual in first:
        return usual, []
    whole_lines = sample[: sample.rfind("\n") + 1] or sample
    is_cut = len(sample) == _SAMPLE
    tables = {sep: _split(whole_lines, sep, is_cut) for sep in _SEPARATORS}
    if not any(tables.values()):
        sep = _guess_separator(whole_lines, first)
        return sep, [] if sep in first else list(_notes_of_words(whole_lines))
    # In a sentence a blank follows the comma.
    separators = [sep for sep, rows in tables.items() if rows]
    without_blanks = [sep for sep in separators if not _begin_with_blanks(tables[sep])]
    separators = without_blanks or separators
    # Among equals, not the comma, which is the most frequent in ordinary text.
    found = max(separators[::-1], key=lambda sep: _part_of_numbers(tables[sep]))
    notes = [
        Note(
            None,
            f"the values are split at {found!r}, though {sep!r} also gives every line "
            "the same number of them",
            f"--sep {quote(sep) if sep.strip() else 'tab'}",
        )
        for sep in separators
        if sep != found
    ]
    return found, notes


def _split(text, sep, is_cut):
    """Rows of the same number of cells, more than one; none if it is not the same."""
    lines = io.StringIO(text, newline="")
    rows = [row for row in csv.reader(lines, delimiter=sep) if "".join(row).strip()]
    # A value with several lines may be cut.
    rows = rows[:-1] if is_cut else rows
    sizes = {len(row) for row in rows}
    return rows if len(sizes) == 1 and sizes.pop() > 1 else []


def _begin_with_blanks(rows):
    names, *others = (any(cell.startswith(" ") for cell in row[1:]) for row in rows)
    return names or all(others)


def _part_of_numbers(rows):
    cells = [cell for row in rows[1:] for cell in row]
    return sum(bool(_NUMBER.fullmatch(cell)) for cell in cells) / max(1, len(cells))


def _notes_of_words(text):
    lines = [line for line in text.splitlines() if line.strip()]
    sizes = {len(line.split(" ")) for line in lines}
    if len(lines) > 1 and len(sizes) == 1 and (size := sizes.pop()) > 1:
        reason = f"one column is read, though every line has {size} words"
        yield Note(None, reason, "--sep ' '")


def _guess_separator(whole_lines, first):
    clevercsv = import_optional("clevercsv", extra="report")
    try:
        dialect = clevercsv.Detector().detect(whole_lines, delimiters=_SEPARATORS)
    except (clevercsv.Error, TypeError, AttributeError, ValueError, IndexError):
        # It is made for tables, and fails in several ways on other texts.
        dialect = None
    if dialect is not None and dialect.delimiter in _SEPARATORS:
        return dialect.delimiter
    return max(_SEPARATORS, key=first.count)


def _read_simple_rows(data, sep, names):
    """Read rows without quotation marks, fast; None if some row needs a closer look."""
    pyarrow = import_optional("pyarrow", extra="report")
    reader = import_optional("pyarrow.csv", extra="report")
    names = name_columns(names)
    try:
        return reader.read_csv(
            pyarrow.BufferReader(data),
            reader.ReadOptions(column_names=names, skip_rows=1, block_size=len(data)),
            reader.ParseOptions(delimiter=sep, quote_char=False),
            reader.ConvertOptions(
                column_types=dict.fromkeys(names, pyarrow.large_string()),
                strings_can_be_null=False,
            ),
        ).to_pandas()
    except (pyarrow.ArrowInvalid, OverflowError):
        return None


def _read_rows(lines, sep, spaced, n_before):
    pyarrow = import_optional("pyarrow", extra="report")
    import_optional("pandas", extra="report")
    reader = csv.reader(lines, delimiter=sep, strict=True, skipinitialspace=spaced)
    try:
        rows = _rows_with_values(reader, n_before)
        names = next(rows, [])
        if not names:
            raise TableError("is empty")
        names = name_columns(names)
        place = reader.line_num + n_before
        schema = pyarrow.schema([(name, pyarrow.large_string()) for name in names])
        parts = []
        whole = _checked(rows, names, place, reader, n_before)
        while some := list(islice(whole, _LINES_AT_ONCE)):
            columns = map(list, zip(*some, strict=True))
            parts.append(pyarrow.table(list(columns), schema=schema))
    except UnicodeEncodeError as error:
        raise TableError(f"is not text: {error}") from error
    return pyarrow.concat_tables([schema.empty_table(), *parts]).to_pandas()


def _rows_with_values(reader, n_before):
    line = n_before + 1
    try:
        for row in reader:
            line = reader.line_num + n_before + 1
            if len(row) > 1 or "".join(row).strip():
                yield row
    except csv.Error as error:
        # A quotation mark that is never closed shows at the end of the file.
        raise TableError(
            f"is not a CSV file: line {line}: {error}; a value with quotation marks "
            "must be enclosed in quotation marks, and those inside must be doubled"
        ) from error


def _checked(rows, names, place, reader, n_before):
    for row in rows:
        if len(row) != len(names):
            line = reader.line_num + n_before
            kind = "fewer" if len(row) < len(names) else "more"
            raise TableError(
                f"line {line} has {kind} values than there are column names "
                f"({len(row)} for {len(names)}); {_hint(line, row, names, place)}"
            )
        yield row


def _hint(line, row, names, place):
    shown = quote_values(names)
    if len(names) == 1:
        return (
            f"remove line {place}, {shown}, if it is a title, or give the separator "
            "with --sep"
        )
    if len(row) < len(names):
        return f"the file may be cut off; complete or remove line {line}"
    return (
        f"correct line {line}, or line {place} if it does not name the columns: {shown}"
    )


def name_columns(cells):
    """Make the cells of a first row the names of columns.

    Parameters
    ----------
    cells : sequence of str

    Returns
    -------
    names : list of str
        Columns without a name are called as pandas calls them.

    Raises
    ------
    TableError
        If two columns have one name.
    """
    cells = [cell.strip() for cell in cells]
    names = [cell or f"Unnamed: {place}" for place, cell in enumerate(cells)]
    check_names(names)
    return names


def check_names(names):
    """Raise a `TableError` if two columns have one name.

    Parameters
    ----------
    names : sequence of str
    """
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise TableError(
            f"the column name {twice[0]!r} occurs more than once; give every column "
            "a different name"
        )


def _notes_of_names(names):
    values = [name for name in names if re.fullmatch(r"-?\d+[.,]\d+|-?\d{5,}", name)]
    if values:
        reason = (
            f"the first line is taken for the column names, but {quote_values(values)} "
            "may be a value; add a line of names if there is none"
        )
        yield Note(None, reason, "")
