import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skpriv import (
    GLSScorer,
    LeverageAttack,
    LiRAAttack,
    LossAttack,
    RMIAAttack,
    WaKAAttack,
    WaKAScorer,
)
from skpriv.evaluation import cross_val_membership, membership_game
from skpriv.metrics import attack_report

X, Y = load_iris(return_X_y=True)
LABELS = np.random.default_rng(0).permutation(Y)
TREE = DecisionTreeClassifier(random_state=0)


@pytest.mark.parametrize(
    "attack",
    [
        LossAttack(TREE),
        LiRAAttack(TREE, n_shadows=12, random_state=0),
        RMIAAttack(TREE, random_state=0),
        WaKAAttack(1),
    ],
    ids=lambda attack: type(attack).__name__,
)
def test_attacks_win_the_game_against_models_that_overfit(attack):
    game = membership_game(attack, X, LABELS, n_rounds=2, fprs=[0.1], random_state=0)
    assert game.membership.shape == game.scores.shape == (2, 150)
    assert_array_equal(game.membership[1], ~game.membership[0])
    assert (np.abs(game.membership.sum(axis=1) - 75) <= 0).all()
    assert (game.auc > 0.75).all()
    assert game.tpr.shape == (2, 1)
    pooled = attack_report(game.membership.ravel(), game.scores.ravel(), fprs=[0.1])
    assert game.report.auc == pooled.auc
    assert not hasattr(attack, "target_")


class RandomScore(BaseEstimator):
    def fit(self, X, y):
        return self

    def score_samples(self, X, y=None):
        return np.random.default_rng(0).normal(size=len(X))


def test_scores_that_know_nothing_win_half_of_the_time():
    game = membership_game(RandomScore(), X, Y, n_rounds=50, fprs=[0.1], random_state=0)
    assert abs(game.auc.mean() - 0.5) < 5 * game.auc.std() / np.sqrt(50)


def test_scorer_is_fitted_on_the_members_alone():
    for scorer in (WaKAScorer(3), make_pipeline(StandardScaler(), WaKAScorer(3))):
        game = membership_game(scorer, X, Y, fprs=[0.1], random_state=0)
        member = game.membership[0]
        fitted = scorer.fit(X[member], Y[member])
        rows = X if scorer.__class__ is WaKAScorer else fitted[0].transform(X)
        last = scorer if scorer.__class__ is WaKAScorer else fitted[1]
        assert_allclose(game.scores[0], last.score_samples(rows, Y))


def test_target_of_the_game_is_trained_on_the_members():
    attack = LossAttack(KNeighborsClassifier(3))
    game = membership_game(attack, X, LABELS, fprs=[0.1], random_state=3)
    member = game.membership[0]
    target = KNeighborsClassifier(3).fit(X[member], LABELS[member])
    expected = LossAttack(target=target).fit(X, LABELS).scores_
    assert_array_equal(game.scores[0], expected)


def test_game_does_not_depend_on_the_number_of_jobs():
    attack = LiRAAttack(TREE, n_shadows=6, random_state=0)
    alone, together = (
        membership_game(
            attack, X, Y, n_rounds=3, fprs=[0.1], n_jobs=n_jobs, random_state=0
        )
        for n_jobs in (1, 2)
    )
    assert_array_equal(alone.scores, together.scores)


def test_training_rows_of_a_fold_are_its_members():
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    result = cross_val_membership(LossAttack(TREE), X, LABELS, cv=cv, fprs=[0.1])
    for fold, (train, test) in enumerate(cv.split(X, LABELS)):
        assert result.membership[fold, train].all()
        assert not result.membership[fold, test].any()
    assert (result.auc > 0.75).all()


def test_rows_that_a_fold_leaves_out_have_no_score():
    cv = ShuffleSplit(2, train_size=60, test_size=40, random_state=0)
    result = cross_val_membership(LossAttack(TREE), X, LABELS, cv=cv, fprs=[0.1])
    assert (np.isnan(result.scores).sum(axis=1) == 50).all()
    assert result.report.n_members == 120
    assert result.report.n_nonmembers == 80


def test_attacks_that_cannot_play_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="Put the transformers into the estimator of"):
        membership_game(make_pipeline(StandardScaler(), LossAttack()), X, y)
    with pytest.raises(
        ValueError, match="must not be a LeverageAttack, which is fitted on"
    ):
        membership_game(LeverageAttack(), X, y)


def test_scores_that_are_cross_fitted_cannot_play():
    """They would win against a model that ignores the data, by how they are made."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), rng.integers(0, 2, 200)
    model = LogisticRegression(C=1e-6)
    result = membership_game(GLSScorer(model), X, y, n_rounds=6, random_state=0)
    low, high = result.report.auc_interval
    assert low < 0.5 < high
    crossed = GLSScorer(model, cv=3)
    for attack in crossed, make_pipeline(StandardScaler(), crossed):
        for play in membership_game, cross_val_membership:
            with pytest.raises(ValueError, match="GLSScorer with cv=3: it scores"):
                play(attack, X, y)


def test_rates_are_checked_before_the_game():
    with pytest.raises(ValueError, match=r"fprs must be .* it is \[2\]"):
        membership_game(LossAttack("none that could be trained"), X, Y, fprs=[2])


def test_infinite_scores_can_play():
    X, y = load_iris(return_X_y=True)
    attack = WaKAAttack(1, statistic="likelihood_ratio")
    game = membership_game(attack, X, y, fprs=[0.1], random_state=0)
    assert 0 <= game.report.auc <= 1
