"""Which records of a table a model was trained on."""

import numpy as np
import pandas as pd
import pytest

from skpriv.datasets import TableError
from skpriv.report._members import encode_members, read_members


@pytest.fixture
def table():
    return pd.DataFrame({"age": [31, 42, 53, 64], "trained": [1, 0, 1, 0]})


@pytest.mark.parametrize(
    "values",
    [
        [True, False, True, False],
        [1, 0, 1, 0],
        [1.0, 0.0, 1.0, 0.0],
        ["yes", "no", " Yes", "NO"],
        ["TRUE", "false", "T", "f"],
    ],
)
def test_column_of_truths_is_a_mask(table, values):
    members = read_members("trained", table.assign(trained=values))
    assert members.mask.tolist() == [True, False, True, False]
    assert members.column == "trained"


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ([1, 0, 2, 0], "record 3 has '2'"),
        (["yes", "perhaps", "no", "no"], "record 2 has 'perhaps'"),
        ([1, None, 1, 0], "record 2 has no value"),
        ([0, 0, 0, 0], "no record is a training record"),
    ],
)
def test_column_of_something_else_is_a_fault(table, values, fault):
    with pytest.raises(TableError, match=fault):
        read_members("trained", table.assign(trained=values))


def test_file_of_numbers_counts_from_one(table, tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("1\n\n 03 \r\n1\n")
    members = read_members(str(path), table)
    assert members.mask.tolist() == [True, False, True, False]
    assert members.column is None


def test_file_of_identifiers_marks_all_their_records(table, tmp_path):
    path = tmp_path / "people.txt"
    path.write_text("\ufeffb\n7\n", encoding="utf-8")
    members = read_members(str(path), table, ids=["a", "b", "7", "b"])
    np.testing.assert_array_equal(members.mask, [False, True, True, True])


@pytest.mark.parametrize(
    ("content", "ids", "fault"),
    [
        (b"1\n5\n", None, "line 2 must be the number of a record, from 1 to 4; it is"),
        (b"0\n", None, "line 1 must be the number"),
        (b"-1\n", None, "it is '-1'"),
        (b"1.5\n", None, "it is '1.5'"),
        (b"\n\n", None, "no record is a training record"),
        (b"x\n", list("abcd"), "line 1 must be an identifier in the column of --id"),
        (b"\xff\xfe\x00", None, "is not a text file in UTF-8"),
    ],
)
def test_file_of_something_else_is_a_fault(table, tmp_path, content, ids, fault):
    path = tmp_path / "rows.txt"
    path.write_bytes(content)
    with pytest.raises(TableError, match=fault) as caught:
        read_members(str(path), table, ids)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "fault"),
    [("trainde", "no such column in the table, and no such file"), (".", "cannot be")],
)
def test_neither_column_nor_file_is_a_fault(table, tmp_path, name, fault):
    with pytest.raises(TableError, match=fault):
        read_members(str(tmp_path / name), table)


def test_others_are_encoded_like_the_training_records():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.normal(size=30),
            "job": ["a", "b", "c"] * 10,
            "y": ["no", "yes"] * 15,
        }
    )
    table.loc[29, "y"] = "never"
    mask = np.arange(30) < 20
    encoded, rest = encode_members(table, "y", mask)
    assert encoded.X.shape[0] == encoded.y.size == 20
    np.testing.assert_allclose(encoded.X[:, 0].mean(), 0, atol=1e-12)
    assert encoded.classes == ["no", "yes"]
    np.testing.assert_array_equal(rest.X, encoded.encoder.transform(table[20:]))
    assert rest.y.tolist() == [0, 1] * 4 + [0, -1]
    encoded, rest = encode_members(table, "y", np.ones(30, dtype=bool))
    assert encoded.X.shape[0] == 30
    assert rest is None
