import numpy as np
import pandas as pd
import pytest

from skpriv.datasets import TableError
from skpriv.datasets._label import class_codes


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
    found_codes, found_classes = class_codes(label(values, dtype))
    assert found_classes == classes
    np.testing.assert_array_equal(found_codes, codes)


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
def test_missing_label_is_refused_and_found(missing):
    with pytest.raises(TableError, match=r"'y' has no value in 2 records .* record 2"):
        class_codes(label(["a", missing, "b", missing]))


@pytest.mark.parametrize("values", [["a", "a"], [1, 1], [True, True], ["a"]])
def test_one_class_is_refused(values):
    with pytest.raises(TableError, match=r"'y' has one class only, '(a|1|True)'"):
        class_codes(label(values))


@pytest.mark.parametrize(
    "values", [np.linspace(0, 1, 500).round(1) * 1.37 ** np.arange(500)]
)
def test_quantity_is_refused_with_advice(values):
    with pytest.raises(TableError, match=r"'y' is a quantity .*pandas\.cut"):
        class_codes(label(values))


def test_infinite_label_is_refused_and_found():
    with pytest.raises(TableError, match=r"'y' has a number that is infinite .* 2"):
        class_codes(label([1.0, np.inf, 2.0]))


def test_many_whole_numbers_are_a_quantity_and_a_hundred_are_classes():
    rows = np.arange(1000)
    assert len(class_codes(label(rows % 100))[1]) == 100
    with pytest.raises(TableError, match=r"'y' is a quantity .101 different"):
        class_codes(label(rows % 101))


def test_few_fractions_are_classes():
    assert len(class_codes(label(np.arange(100) % 20 / 2))[1]) == 20


def test_text_that_names_the_record_is_refused():
    with pytest.raises(TableError, match="'y' has 6 different values in 10 records"):
        class_codes(label(list("abcdefffff")))
