"""Counting the votes of k-NN shadows gives what refitting them gives."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr
from sklearn.neighbors import KNeighborsClassifier

from skpriv import LiRAAttack, WaKAScorer
from skpriv.attacks import _shadow_attack
from skpriv.attacks._shadows import _neighbors


def _data(n_records=80, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_records, 4))
    return X, rng.integers(0, n_classes, n_records)


def _fit(estimator, X, y, fast=True, **parameters):
    attack = LiRAAttack(estimator, n_shadows=12, random_state=0, **parameters)
    with pytest.MonkeyPatch.context() as patch:
        if not fast:
            patch.setattr(_shadow_attack, "can_count", lambda *_: False)
        return attack.fit(X, y)


@pytest.mark.parametrize(
    "estimator",
    [
        KNeighborsClassifier(1),
        KNeighborsClassifier(5),
        KNeighborsClassifier(40),
        KNeighborsClassifier(5, metric="manhattan", algorithm="brute"),
        KNeighborsClassifier(3, p=3, algorithm="kd_tree", n_jobs=2),
    ],
)
@pytest.mark.parametrize("signal", ["logit", "hinge", "loss"])
def test_one_search_gives_the_bits_of_refitting(estimator, signal):
    X, y = _data()
    fast = _fit(estimator, X, y, signal=signal)
    slow = _fit(estimator, X, y, fast=False, signal=signal)
    for name in ("signals_", "saturated_", "target_signals_", "attack_success_"):
        assert_array_equal(getattr(fast, name), getattr(slow, name), err_msg=name)


@pytest.mark.parametrize("make", [sp.csr_array, np.asarray])
def test_list_that_is_too_short_is_searched_again(monkeypatch, make):
    X, y = _data()
    expected = _fit(KNeighborsClassifier(4), X, y).signals_
    monkeypatch.setattr(_neighbors, "_length_of_list", lambda *_: 5)
    assert_array_equal(_fit(KNeighborsClassifier(4), make(X), y).signals_, expected)


def test_votes_are_those_of_the_nearest_members():
    rng = np.random.default_rng(0)
    neighbors = np.stack([rng.permutation(12) for _ in range(6)]).astype(np.int32)
    members, y = rng.random(12) < 0.5, rng.integers(0, 3, 12)
    counts = np.empty((6, 3))
    found = _neighbors.nearest_member_votes(
        _neighbors.Neighbors(neighbors, y), members, 4, counts
    )
    for row in range(6):
        nearest = [r for r in neighbors[row] if members[r]][:4]
        assert found[row] == len(nearest)
        assert_array_equal(counts[row], np.bincount(y[nearest], minlength=3))


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        (KNeighborsClassifier(3, weights="distance"), {}),
        (KNeighborsClassifier(3), {"augmentations": 0.1}),
        (KNeighborsClassifier(3), {"store_models": True}),
    ],
)
def test_what_one_search_cannot_do_is_refitted(monkeypatch, estimator, parameters):
    monkeypatch.setattr(_shadow_attack, "NearestNeighborShadows", None)
    X, y = _data()
    attack = LiRAAttack(estimator, n_shadows=6, random_state=0, **parameters)
    assert np.isfinite(attack.fit(X, y).signals_).all()


def test_more_neighbors_than_a_shadow_has_records_is_an_error():
    X, y = _data()
    with pytest.raises(ValueError, match="n_neighbors is 41, but a shadow has only 40"):
        _fit(KNeighborsClassifier(41), X, y)


@pytest.mark.parametrize("n_neighbors", [1, 3])
def test_shadows_come_to_the_exact_success(n_neighbors):
    X, y = _data(300, 2)
    y[:150] = X[:150, 0] > 0
    exact = WaKAScorer(n_neighbors).fit(X, y).attack_success(X, y)
    attack = LiRAAttack(
        KNeighborsClassifier(n_neighbors),
        n_shadows=1024,
        variance="record",
        random_state=0,
    )
    success = attack.fit(X, y).attack_success_
    assert spearmanr(success, exact)[0] > 0.9
    # No test is better except by chance: 1,024 shadows have an error of 0.016.
    assert (success - exact).max() < 5 * 0.016
    # Two normal densities are not quite the best test for a few levels of loss.
    assert_allclose(success.mean(), exact.mean(), atol=0.05)
