"""Records as people know them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skpriv.report._subject import frame_of, known_columns, make_groups, make_subject

FRAME = pd.DataFrame({"sex": ["f", "m", None, "f"], "age": [1.0, 2.0, 3.0, 4.0]})


@pytest.mark.parametrize(
    "groups",
    ["sex", ["sex"], {"sex": FRAME["sex"]}, FRAME[["sex"]], FRAME["sex"]],
    ids=["name", "names", "dict", "frame", "column"],
)
def test_groups_may_be_given_in_any_form(groups):
    found = make_groups(groups, FRAME, 4)
    assert list(found) == ["sex"]
    assert found["sex"].tolist() == ["f", "m", "(missing)", "f"]


def test_a_column_without_a_name_is_a_group():
    assert list(make_groups([1, 2, 1, 2], FRAME, 4)) == ["group"]
    assert make_groups(np.array(["a", "b", "a", "b"]), None, 4)["group"][1] == "b"
    assert make_groups(["a", "b", "a", "b"], None, 4)["group"][1] == "b"


def test_numbers_of_many_values_are_cut_into_bands():
    (bands,) = make_groups({"age": np.arange(100.0)}, None, 100).values()
    names, sizes = np.unique(bands.astype(str), return_counts=True)
    assert sizes.tolist() == [20] * 5
    assert "0 to 19" in names
    (few,) = make_groups({"age": np.arange(100.0) // 10}, None, 100).values()
    assert set(few) == set(map(str, range(10)))


def test_groups_of_nearly_every_record_are_refused():
    names = [f"name {i}" for i in range(300)]
    with pytest.raises(ValueError, match=r"groups\['who'\] must have at most 200"):
        make_groups({"who": names}, None, 300)


def test_rows_with_columns_become_frames():
    X = np.arange(6.0).reshape(3, 2)
    for rows in (
        X,
        pd.DataFrame(X, index=[5, 6, 7]),
        pl.DataFrame(X, schema=["a", "b"]),
    ):
        frame = frame_of(rows)
        np.testing.assert_array_equal(frame.to_numpy(), X)
        assert frame.index.tolist() == [0, 1, 2]
    assert frame_of(np.zeros((2, 2, 2))) is None
    assert frame_of(np.array(["a", "b"])) is None


def test_names_of_columns_are_made_to_differ():
    frame = pd.DataFrame([[1, 2, 3]], columns=["a", "a", 7])
    assert frame_of(frame).columns.tolist() == ["a", "a (2)", "7"]


def test_columns_that_cannot_be_described_are_no_columns():
    frame = pd.DataFrame({"x": [np.inf, 1.0, 2.0], "y": [1e300, 1.0, 2.0]})
    assert [column.n_missing for column in known_columns(frame)] == [1, 1]
    wide = pd.DataFrame(np.zeros((2, 301)))
    assert known_columns(frame_of(wide)) == []
    assert known_columns(None) == []


def test_ids_may_be_a_column_or_values():
    y = [0, 1, 0, 1]
    assert make_subject(FRAME, y, ids="age").ids == ["1.0", "2.0", "3.0", "4.0"]
    assert make_subject(FRAME, y, ids=[9, 8, 7, 6]).ids == ["9", "8", "7", "6"]
    assert make_subject(FRAME, pd.Series(y, name="ill")).label == "ill"
