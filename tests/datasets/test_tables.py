import re
from dataclasses import replace

import pandas as pd
import pytest
from more_tables import MORE_CASES
from tables import CASES

from skpriv.datasets import TableError, read_table

ALL_CASES = CASES | {f"more: {name}": case for name, case in MORE_CASES.items()}


def plain(value):
    if pd.api.types.is_list_like(value):
        return list(value)
    return None if pd.isna(value) else value


def read(path, options):
    try:
        return read_table(path, **options)
    except TableError as error:
        return error


def check(case, path, result):
    if case.error is not None:
        assert isinstance(result, TableError)
        assert re.search(case.error, str(result))
        assert "\n" not in str(result)
        assert str(path) in str(result)
        return
    assert not isinstance(result, TableError), result
    found = {name: [plain(value) for value in result[name]] for name in result}
    assert found == case.columns
    for name, values in case.columns.items():
        is_number = isinstance(values[0], int | float | None)
        if any(value is not None for value in values):
            assert pd.api.types.is_numeric_dtype(result[name]) == is_number
    notes = result.attrs["notes"]
    noted = {note.column for note in notes}
    assert set(case.notes) <= noted <= {*case.notes, *getattr(case, "free", ())}
    for column, words in case.notes.items():
        assert any(n.column == column and re.search(words, n.reason) for n in notes)


def is_right(case, path, result):
    try:
        check(case, path, result)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("case", ALL_CASES.values(), ids=ALL_CASES)
def test_file_becomes_what_it_is(tmp_path, case):
    content = case.content
    path = tmp_path / case.name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = read(path, case.options)
    nothing = {"columns": None, "error": None, "notes": {}, "free": ()}
    others = getattr(case, "others", ())
    if any(is_right(replace(case, **(nothing | o)), path, result) for o in others):
        return
    check(case, path, result)
