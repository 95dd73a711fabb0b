"""Attacks on a k-NN compare its loss with the exact distributions of `WaKAScorer`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier

from skpriv import WaKAAttack, WaKAScorer
from skpriv.metrics import attack_report

X, Y = load_iris(return_X_y=True)
LABELS = np.random.default_rng(0).permutation(Y)
MEMBER = np.arange(Y.size) % 2 == 0


@pytest.mark.parametrize("statistic", ["waka", "likelihood_ratio"])
def test_waka_attack_is_the_scorer_at_the_loss_of_the_target(statistic):
    attack = WaKAAttack(3, statistic=statistic).fit(X, LABELS)
    model = KNeighborsClassifier(3).fit(X, LABELS)
    loss = 1 - model.predict_proba(X)[np.arange(150), LABELS]
    scorer = WaKAScorer(3).fit(X, LABELS)
    method = {"waka": scorer.attack_score, "likelihood_ratio": scorer.likelihood_ratio}
    assert_allclose(attack.scores_, method[statistic](X, LABELS, loss))
    assert_array_equal(attack.attack_success_, scorer.attack_success(X, LABELS))


@pytest.mark.parametrize("statistic", ["waka", "likelihood_ratio"])
def test_waka_attack_finds_members_of_a_target(statistic):
    target = KNeighborsClassifier(3).fit(X[MEMBER], LABELS[MEMBER])
    attack = WaKAAttack(3, target=target, statistic=statistic).fit(X, LABELS)
    scores = np.nan_to_num(attack.scores_, posinf=1e9, neginf=-1e9)
    assert attack_report(MEMBER, scores).auc > 0.7
    new = attack.score_samples(X[:5] + 0.01, LABELS[:5])
    assert not np.isnan(new).any()


def test_waka_attack_counts_missing_votes_as_lost():
    attack = WaKAAttack(10).fit(X[:4], [0, 0, 0, 1])
    assert_allclose(attack._losses(X[:4], np.array([0, 0, 0, 1])), [0.7] * 3 + [0.9])


@pytest.mark.parametrize(
    "target",
    [KNeighborsClassifier(4), KNeighborsClassifier(3, weights="distance")],
)
def test_waka_attack_refuses_a_target_of_another_kind(target):
    with pytest.raises(
        ValueError, match=r"must be a k-NN with n_neighbors=3 and weights"
    ):
        WaKAAttack(3, target=target.fit(X, Y)).fit(X, Y)
