import datetime
import decimal

import numpy as np
import pandas as pd
import pytest

from skpriv.datasets import TableError, describe_columns

N = 60


def describe(values, name="col", dtype=None):
    (column,) = describe_columns(pd.DataFrame({name: pd.Series(values, dtype=dtype)}))
    return column


@pytest.mark.parametrize(
    ("values", "dtype", "kind"),
    [
        ([1, 2, 2], None, "number"),
        ([1.5, np.nan, 2], None, "number"),
        ([1, None, 2], "Int64", "number"),
        ([decimal.Decimal("1.5"), None, decimal.Decimal(2)], object, "number"),
        ([2**70, 1, 1], object, "number"),
        ([True, False, True], None, "category"),
        ([True, None, False], "boolean", "category"),
        (["x", "y", None], None, "category"),
        (["x", 1, 2.5], object, "category"),
        ([[1], [2], None], object, "category"),
        ([1, 2, 2], "category", "category"),
        (["2024-02-29", "2024-03-01", None], None, "date"),
        (["2024-02-29 13:05:00+01:00", "2024-03-01T00:00Z"], None, "date"),
        (["2024-02-30", "2024-03-01"], None, "category"),
        (["2024-02-29", "soon"], None, "category"),
        ([datetime.date(2024, 2, 29), datetime.date(2024, 3, 1)], object, "date"),
        (["2024-02-29", "2024-03-01"], "datetime64[ns]", "date"),
        (["1 days", "2 days"], "timedelta64[ns]", "date"),
    ],
)
def test_kind_of_a_column(values, dtype, kind):
    column = describe(values, dtype=dtype)
    assert column.kind == kind
    assert column.left_out is None
    assert column.n_missing == sum(pd.isna(v) is True for v in values)


@pytest.mark.parametrize(
    ("values", "left_out"),
    [
        ([7] * N, "constant"),
        (["x"] * N, "constant"),
        ([np.nan] * N, "empty"),
        ([None] * N, "empty"),
        ([7] * (N - 1) + [np.nan], None),
        ([f"name {i}" for i in range(N)], "identifier"),
        ([f"name {i % 50}" for i in range(N)], None),
        (list(range(100, 100 + N))[::-1], "identifier"),
        ([i * i for i in range(N)], None),
        ([i + 0.5 for i in range(N)], None),
        (list(range(9)), None),
    ],
)
def test_columns_that_say_nothing_are_left_out(values, left_out):
    assert describe(values).left_out == left_out


@pytest.mark.parametrize("name", ["id", "ID", "customer_id", "customer id", "uuid"])
def test_different_whole_numbers_under_an_identifier_name_are_left_out(name):
    values = [i * i for i in range(N)]
    assert describe(values, name).left_out == "identifier"
    assert describe([*values[:-1], 0], name).left_out is None
    assert describe(values, "paid").left_out is None


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e200])
def test_number_that_cannot_be_scaled_is_refused_and_found(value):
    with pytest.raises(TableError, match=r"'col' has a number .* in record 3"):
        describe([1.0, np.nan, value, 2.0])
