"""The queries of each record: noise, and what a callable returns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from skpriv.attacks._shadows._queries import augmented, noise_scale

X, _ = load_iris(return_X_y=True)


def test_noise_has_the_scale_asked_for_and_repeats():
    scale = noise_scale(X, 0.3)
    queries = [list(augmented(X, 0.3, seed, scale)) for seed in range(2000)]
    assert len(queries[0]) == 5
    assert queries[0][0] is X
    shifts = np.array([[noisy[0] - X[0] for noisy in one[1:]] for one in queries])
    # Of 2,000 draws the standard deviation has an error of 1.6 %.
    assert_allclose(shifts.std(axis=0), np.tile(0.3 * X.std(axis=0), (4, 1)), rtol=0.08)
    for query, again in zip(queries[7], augmented(X, 0.3, 7, scale), strict=True):
        assert_array_equal(query, again)


def test_noise_shifts_each_row_as_if_it_were_alone():
    scale = noise_scale(X, 0.3)
    for together, alone in zip(
        augmented(X, 0.3, 0, scale), augmented(X[[77]], 0.3, 0, scale), strict=True
    ):
        assert_array_equal(together[[77]], alone)


def test_noise_does_not_lean_to_a_side():
    _, *noisy = augmented(X, 0.3, 0, noise_scale(X, 0.3))
    assert_allclose(np.mean(noisy, axis=0), X, rtol=1e-12)
    assert (noisy[0] != noisy[2]).all()


def test_callable_gives_its_queries():
    queries = list(augmented(X, lambda X, rng: [X, X + rng.normal()], 0))
    assert len(queries) == 2
    assert_array_equal(queries[0], X)
    with pytest.raises(ValueError, match="augmentations returned a matrix of 3 rows"):
        list(augmented(X, lambda X, rng: [X[:3]], 0))
