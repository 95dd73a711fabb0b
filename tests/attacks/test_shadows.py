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
    train_model,
)

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
        train_model(estimator, X, Y, seed).predict_proba(X) for seed in (3, 3, 4)
    )
    assert_array_equal(first, again)
    assert (first != other).any()
    assert joblib.hash(estimator) == before


def test_noise_has_the_scale_asked_for_and_repeats():
    wide = np.repeat(X, 50, axis=0)
    queries = list(augmented(wide, 0.3, 0, noise_scale(wide, 0.3)))
    assert len(queries) == 5
    assert queries[0] is wide
    for noisy in queries[1:]:
        # 7,500 draws.
        assert_allclose((noisy - wide).std(axis=0), 0.3 * wide.std(axis=0), rtol=0.05)
    for query, again in zip(
        queries, augmented(wide, 0.3, 0, noise_scale(wide, 0.3)), strict=True
    ):
        assert_array_equal(query, again)


def test_callable_gives_its_queries():
    queries = list(augmented(X, lambda X, rng: [X, X + rng.normal()], 0))
    assert len(queries) == 2
    assert_array_equal(queries[0], X)
    with pytest.raises(ValueError, match="augmentations returned a matrix of 3 rows"):
        list(augmented(X, lambda X, rng: [X[:3]], 0))
