"""Labels are numbered by the classes that were fitted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from skpriv.utils._labels import (
    Labels,
    check_no_label_is_missing,
    check_same_kind_of_label,
)

KINDS = [
    np.array([3, -1, 7]),
    np.array([0.5, 2.0, -1.0]),
    np.array(["b", "a", "cc"]),
    np.array(["b", "a", "cc"], dtype=object),
    np.array([True, False]),
]


@pytest.mark.parametrize("classes", KINDS, ids=lambda c: c.dtype.str)
@given(data=st.data())
def test_codes_are_positions_in_the_classes(classes, data):
    codes = data.draw(st.lists(st.integers(0, len(classes) - 1), min_size=1))
    assert_array_equal(Labels(classes).codes(classes[codes]), codes)


@pytest.mark.parametrize("classes", KINDS, ids=lambda c: c.dtype.str)
def test_learnt_classes_are_sorted_and_their_codes_find_them_again(classes):
    y = np.repeat(classes, 2)
    labels, codes = Labels.of(y)
    assert_array_equal(labels.classes, np.sort(classes))
    assert_array_equal(labels.classes[codes], y)


def test_unknown_labels_are_named_or_get_the_given_code():
    labels = Labels(np.array([1, 2]))
    assert_array_equal(
        labels.codes(np.array([2, 5, 1, -3]), unknown=-1), [1, -1, 0, -1]
    )
    with pytest.raises(
        ValueError, match=r"not seen in fit: \[-3, 5\].* among \[1, 2\]"
    ):
        labels.codes(np.array([2, 5, 1, -3]))
    with pytest.raises(ValueError, match=r"\[0, 1, 2, 3, 4\] and 95 more"):
        Labels(np.arange(100)).codes(np.array([100]))


def test_a_longer_string_than_any_class_is_unknown():
    labels = Labels(np.array(["a", "b"]))
    assert_array_equal(labels.codes(np.array(["abc", "b"]), unknown=-1), [-1, 1])


@pytest.mark.parametrize(
    ("given", "fitted"),
    [(["a"], [1]), ([1.0], ["a"]), (np.array(["a"], dtype=object), [True])],
)
def test_numbers_and_strings_are_not_labels_of_one_kind(given, fitted):
    with pytest.raises(ValueError, match="y has labels that are"):
        check_same_kind_of_label(np.asarray(given), np.asarray(fitted))


def test_labels_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"shape \(2, 1\), .* in fit had shape \(3,\)"):
        check_same_kind_of_label(np.zeros((2, 1)), np.zeros(3))


@pytest.mark.parametrize("labels", [[None, "a"], np.array(["a", None], dtype=object)])
def test_a_missing_label_is_named(labels):
    with pytest.raises(ValueError, match="y contains None; every row must have a lab"):
        check_no_label_is_missing(labels)


def test_an_na_of_pandas_is_a_missing_label():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="y contains <NA>"):
        check_no_label_is_missing(pd.array(["a", None], dtype="string"))


def test_no_labels_at_all_are_left_to_other_checks():
    check_no_label_is_missing(None)
