"""Rows of any kind are picked by number and compared by what they hold."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import torch
from numpy.testing import assert_array_equal
from skorch.helper import SliceDataset, SliceDict

from skpriv._rows import RowEncoder, as_rows
from skpriv.utils._sklearn import safe_indexing

RNG = np.random.default_rng(0)
N = 12
TEXTS = [f"text {i % 7}" for i in range(N)]
NUMBERS = RNG.integers(0, 3, (N, 2)).astype(float)
DATES = pd.date_range("2020-01-01", periods=N, freq="ns")


class _Items(torch.utils.data.Dataset):
    def __len__(self):
        return N

    def __getitem__(self, i):
        return torch.tensor(NUMBERS[i]), i % 2


def _objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


ROWS = {
    "floats": NUMBERS,
    "float32": NUMBERS.astype(np.float32),
    "list": NUMBERS.tolist(),
    "sparse": sp.csr_array(NUMBERS),
    "images": RNG.integers(0, 2, (N, 2, 2)),
    "large integers": 2**60 + np.arange(N)[:, np.newaxis],
    "unsigned": np.uint64(2**63) + np.arange(N, dtype=np.uint64)[:, np.newaxis],
    "texts, list": TEXTS,
    "texts, array": np.array(TEXTS),
    "texts, objects": np.array(TEXTS, dtype=object),
    "texts, Series": pd.Series(TEXTS, index=range(5, N + 5)),
    "texts, polars": pl.Series(TEXTS),
    "dicts": [{"word": i % 3, "other": "x"} for i in range(N)],
    "lists of several lengths": [[1] * (i % 4) for i in range(N)],
    "objects": _objects([np.arange(i % 3) for i in range(N)]),
    "number-like texts": np.array([["1"], ["1.0"], ["01"]] * 4),
    "frame": pd.DataFrame(
        {
            "number": NUMBERS[:, 0],
            "nullable": pd.array([True, None, False] * 4, dtype="boolean"),
            "integer": pd.array([1, None, 2**60, 2**60 + 1] * 3, dtype="Int64"),
            "string": pd.array(["a", None, "b"] * 4, dtype="string"),
            "mixed": _objects([1, "1", None, 2.5] * 3),
            "category": pd.Categorical(["x", "y"] * 6),
            "date": DATES,
            "day": [datetime.date(2020, 1, 1 + i % 5) for i in range(N)],
            "decimal": [Decimal(i % 2) / 3 for i in range(N)],
            "tuple": [(i % 2, "t") for i in range(N)],
        },
        index=RNG.permutation(N),
    ),
    "polars": pl.DataFrame(
        {"a": NUMBERS[:, 0], "b": TEXTS, "c": [None, 1] * 6, "d": [[1], [1, 2]] * 6}
    ),
    "SliceDict": SliceDict(left=NUMBERS, right=NUMBERS[:, :1]),
    "SliceDataset": SliceDataset(_Items()),
    "Dataset": _Items(),
    "tensor": torch.tensor(NUMBERS),
}


def _plain(X, i):
    """One row as nested lists of plain values, with their types where they are no
    numbers."""
    if isinstance(X, _Items):
        return X[i][0].tolist()
    if sp.issparse(X):
        return X[[i]].toarray().tolist()
    if isinstance(X, SliceDict):
        return {name: values[i].tolist() for name, values in X.items()}
    if isinstance(X, pd.DataFrame):
        return repr([X[name].iloc[i] for name in X])
    if isinstance(X, pd.Series):
        return X.iloc[i]
    row = X.row(i) if isinstance(X, pl.DataFrame) else X[i]
    return repr(row.tolist() if hasattr(row, "tolist") else row)


@pytest.mark.parametrize("kind", ROWS)
def test_codes_are_equal_just_where_the_rows_are(kind):
    X = ROWS[kind]
    rows = as_rows(X)
    encoder = RowEncoder().fit(rows)
    keys = encoder.transform(rows)
    keys = keys.toarray() if sp.issparse(keys) else keys
    assert keys.dtype.kind == "f"
    for i in range(N):
        for j in range(i):
            same = np.array_equal(keys[i], keys[j], equal_nan=True)
            assert same == (_plain(X, i) == _plain(X, j)), (i, j)


@pytest.mark.parametrize("kind", ROWS)
def test_picked_rows_have_the_codes_of_their_records(kind):
    rows = as_rows(ROWS[kind])
    encoder = RowEncoder().fit(rows)
    picked = np.array([7, 0, 3])
    keys, all_keys = (
        encoder.transform(as_rows(part)) for part in (safe_indexing(rows, picked), rows)
    )
    if sp.issparse(keys):
        keys, all_keys = keys.toarray(), all_keys.toarray()
    assert_array_equal(keys, all_keys[picked])


def test_a_value_that_no_record_has_is_told_from_one_that_is_missing():
    encoder = RowEncoder().fit(np.array(["a", "b"], dtype=object))
    keys = encoder.transform(np.array(["b", "c", None], dtype=object))
    assert_array_equal(keys.ravel(), [1, -1, -2])


def test_objects_are_compared_by_content():
    encoder = RowEncoder().fit(_objects([{"a": [1, 2]}, {"a": [1, 3]}]))
    keys = encoder.transform(_objects([{"a": [1, 3]}, {"a": [1, 2]}, {"a": []}]))
    assert_array_equal(keys.ravel(), [1, 0, -1])


def test_a_frame_and_its_array_are_the_same_rows():
    frame = pd.DataFrame(NUMBERS, columns=["a", "b"])
    encoder = RowEncoder().fit(frame)
    assert_array_equal(encoder.transform(NUMBERS), encoder.transform(frame))


def test_another_number_of_columns_is_refused():
    encoder = RowEncoder().fit(pd.DataFrame({"a": ["x"], "b": ["y"]}))
    with pytest.raises(ValueError, match=r"X has 1 column, but it had 2 in fit"):
        encoder.transform(pd.DataFrame({"a": ["x"]}))


def test_no_rows_have_no_codes():
    assert RowEncoder().fit(NUMBERS).transform(NUMBERS[:0]).shape == (0, 2)
