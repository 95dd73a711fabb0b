import numpy as np
import pandas as pd
import pytest

from skpriv.datasets import TableError
from skpriv.datasets._label import label_values


def label(values, dtype=None):
    return pd.Series(values, name="y", dtype=dtype)


@pytest.mark.parametrize(
    ("values", "dtype", "classes", "codes"),
    [
        (["b", "a", "b"], None, ["a", "b"], [1, 0, 1]),
        ([10, 9, 10], None, ["9", "10"], [1, 0, 1]),
        ([1.0, 0.0, 1.0], None, ["0", "1"], [1, 0, 1]),
        ([0.5, -1.5, 0.5], None, ["-1.5", "0.5"], [1, 0, 1]),
        ([True, False, True], None, ["False", "True"], [1, 0, 1]),
        (["b", "a", "b"], "category", ["a", "b"], [1, 0, 1]),
        ([10, 9, 10], "Int64", ["9", "10"], [1, 0, 1]),
    ],
)
def test_classes_are_numbered_in_the_order_of_their_values(
    values, dtype, classes, codes
):
    found_codes, found_classes = label_values(label(values, dtype))
    assert found_classes == classes
    np.testing.assert_array_equal(found_codes, codes)


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
def test_missing_label_is_refused_and_found(missing):
    with pytest.raises(TableError, match=r"'y' has no value in 2 records \(first: 2\)"):
        label_values(label(["a", missing, "b", missing]))


@pytest.mark.parametrize("values", [["a", "a"], [1, 1], [True, True], ["a"]])
def test_one_value_is_refused(values):
    with pytest.raises(TableError, match=r"'y' has one value only, '(a|1|True)'"):
        label_values(label(values))


@pytest.mark.parametrize(
    "values",
    [
        np.linspace(0, 1, 500).round(1) * 1.37 ** np.arange(500),
        np.arange(101) % 51 + 0.5,
        np.arange(1000) % 101,
        [1, 2, 3],
        [1, 1, 2, 2, 3, 4],
    ],
)
def test_numbers_of_which_many_differ_are_a_quantity(values):
    found, classes = label_values(label(values))
    assert classes is None
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, values)


def test_infinite_label_is_refused_and_found():
    with pytest.raises(TableError, match=r"'y' has a number that is infinite .* 2"):
        label_values(label([1.0, np.inf, 2.0]))


def test_a_hundred_whole_numbers_are_classes():
    assert len(label_values(label(np.arange(1000) % 100))[1]) == 100


def test_few_fractions_are_classes():
    assert len(label_values(label(np.arange(100) % 20 / 2))[1]) == 20


def test_text_that_names_the_record_is_refused():
    with pytest.raises(TableError, match="'y' has 6 different values in 10 records"):
        label_values(label(list("abcdefffff")))
