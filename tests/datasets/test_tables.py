import re

import pandas as pd
import pytest
from tables import CASES

from skpriv.datasets import TableError, read_table


def plain(value):
    return None if pd.isna(value) else value


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_file_becomes_what_it_is(tmp_path, case):
    content = case.content
    path = tmp_path / case.name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if case.error is not None:
        with pytest.raises(TableError, match=case.error) as caught:
            read_table(path, **case.options)
        assert "\n" not in str(caught.value)
        assert str(path) in str(caught.value)
        return
    table = read_table(path, **case.options)
    found = {name: [plain(value) for value in table[name]] for name in table}
    assert found == case.columns
    for name, values in case.columns.items():
        is_number = not isinstance(values[0], str | pd.Timestamp)
        assert pd.api.types.is_numeric_dtype(table[name]) == is_number
    notes = table.attrs["notes"]
    assert {note.column for note in notes} == set(case.notes)
    for column, words in case.notes.items():
        assert any(n.column == column and re.search(words, n.reason) for n in notes)
