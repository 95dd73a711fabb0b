import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skpriv.attacks._shadows import (
    augmented,
    complementary_halves,
    noise_scale,
)
from skpriv.utils._training import fit_clone

X, Y = load_iris(return_X_y=True)


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


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(3),
        make_pipeline(StandardScaler(), BaggingClassifier(DecisionTreeClassifier())),
        GridSearchCV(DecisionTreeClassifier(max_features=1), {"max_depth": [2, 3]}),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_nested_random_states_are_seeded(estimator):
    before = joblib.hash(estimator)
    first, again, other = (
        fit_clone(estimator, X, Y, seed=seed).predict_proba(X) for seed in (3, 3, 4)
    )
    assert_array_equal(first, again)
    assert (first != other).any()
    assert joblib.hash(estimator) == before


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
