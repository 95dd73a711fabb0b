"""Halves of the records are balanced, stratified and complementary."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skpriv.utils._halves import complementary_halves


@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5), seed=st.integers(0, 99)
)
@settings(deadline=None)
def test_halves_are_complementary_balanced_and_stratified(sizes, seed):
    y = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    halves = complementary_halves(y, 3, seed)
    assert_array_equal(halves[1::2], ~halves[::2])
    for half in halves:
        assert abs(half.sum() - y.size / 2) <= 0.5
        for label, size in enumerate(sizes):
            assert abs(half[y == label].sum() - size / 2) <= 1


def test_every_record_of_an_odd_class_has_its_turn():
    halves = complementary_halves(np.array([0, 0, 0, 1, 1, 1, 2]), 500, 0)[::2]
    # Five standard errors of 500 draws.
    assert_allclose(halves.mean(axis=0), 0.5, atol=5 * 0.5 / np.sqrt(500))
