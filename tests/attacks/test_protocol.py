"""What an attack offers to those who measure it is all that they need."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from skpriv import LeverageAttack, LiRAAttack, LossAttack, RMIAAttack, WaKAAttack
from skpriv.base import AttackMixin
from skpriv.evaluation import membership_game, onion_effect
from skpriv.utils._training import fit_clone

X, Y = load_iris(return_X_y=True)
TREE = DecisionTreeClassifier(random_state=0)


class Confidence(AttackMixin, BaseEstimator):
    """An attack by someone else: the probability of the label."""

    def __init__(self, target=None):
        self.target = target

    def shadow_estimator(self):
        return DecisionTreeClassifier(random_state=0)

    def fit(self, X, y):
        self.target_ = self.target or self.shadow_estimator().fit(X, y)
        self._remember_records(X, y)
        return self

    def _validate_rows(self, X):
        return X

    def _score_records(self):
        return self._score_new_rows(self._records.X, self._records.y)

    def _score_new_rows(self, X, y):
        return self.target_.predict_proba(X)[np.arange(len(y)), y]


def test_an_attack_with_the_documented_methods_can_be_measured():
    labels = np.random.default_rng(0).permutation(Y)
    game = membership_game(Confidence(), X, labels, fprs=[0.1], random_state=0)
    assert game.auc[0] > 0.75
    target = TREE.fit(X, Y)
    effects = [onion_effect(Confidence(given), X, Y) for given in (None, target)]
    assert_array_equal(effects[0].after, effects[1].after)


@pytest.mark.parametrize(
    ("attack", "kind"),
    [
        (LiRAAttack(target=TREE), DecisionTreeClassifier),
        (LiRAAttack(target=FrozenEstimator(TREE)), DecisionTreeClassifier),
        (RMIAAttack(GaussianNB(), target=TREE), GaussianNB),
        (LossAttack(target=TREE), DecisionTreeClassifier),
        (WaKAAttack(3, target=KNeighborsClassifier(3)), KNeighborsClassifier),
        (LeverageAttack(target=LinearRegression()), LinearRegression),
    ],
)
def test_an_attack_without_its_target_trains_one_of_the_same_kind(attack, kind):
    before = attack.target
    copy = attack.without_target()
    assert attack.target is before
    assert copy.target is None
    assert type(copy) is type(attack)
    assert type(copy.shadow_estimator()) is kind
    assert not hasattr(copy.shadow_estimator(), "classes_")


def test_pairs_of_signals_are_those_of_complementary_shadows():
    attack = LiRAAttack(TREE, n_shadows=6, random_state=0).fit(X, Y)
    in_, out = attack.signal_pairs()
    assert in_.shape == out.shape == (3, 150)
    for record in (0, 70):
        member = attack.membership_[:, record]
        assert_array_equal(in_[:, record], attack.signals_[member, record])
        assert_array_equal(out[:, record], attack.signals_[~member, record])
    some = [5, 60]
    assert_array_equal(attack.signal_pairs(some)[0], in_[:, some])
    hits = attack.shadow_hits()
    assert_array_equal(
        np.nanmean(attack.hit_pairs(), axis=(0, 1)), np.nanmean(hits, axis=0)
    )


def test_a_shadow_can_be_trained_again_from_its_seed():
    attack = LiRAAttack(
        DecisionTreeClassifier(max_features=1),
        n_shadows=6,
        store_models=True,
        random_state=0,
    ).fit(X, Y)
    for shadow in (0, 5):
        rows = attack.membership_[shadow]
        model = fit_clone(
            attack.shadow_estimator(),
            X[rows],
            Y[rows],
            seed=attack.shadow_seeds_[shadow],
        )
        assert_array_equal(
            model.predict_proba(X), attack.models_[shadow].predict_proba(X)
        )
