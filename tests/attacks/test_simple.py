import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from skpriv import LossAttack, RMIAAttack, WaKAAttack, WaKAScorer
from skpriv.metrics import attack_report

X, Y = load_iris(return_X_y=True)
LABELS = np.random.default_rng(0).permutation(Y)
MEMBER = np.arange(Y.size) % 2 == 0


def test_loss_attack_is_minus_the_cross_entropy():
    attack = LossAttack(LogisticRegression(max_iter=1000)).fit(X, Y)
    log_p = attack.target_.predict_log_proba(X)[np.arange(150), Y]
    assert_allclose(attack.scores_, log_p, rtol=1e-9)
    new = X + 0.3
    log_p = attack.target_.predict_log_proba(new)[np.arange(150), Y]
    assert_allclose(attack.score_samples(new, Y), log_p, rtol=1e-9)


def test_loss_attack_finds_members_of_a_target_that_overfits():
    target = DecisionTreeClassifier(random_state=0).fit(X[MEMBER], LABELS[MEMBER])
    attack = LossAttack(target=target).fit(X, LABELS)
    assert attack.target_ is target
    assert attack_report(MEMBER, attack.scores_).auc > 0.75


def _mean_probability(signals, side):
    return np.array(
        [np.exp(s[m]).mean() for s, m in zip(signals.T, side.T, strict=True)]
    )


@pytest.mark.parametrize("mode", ["online", "offline"])
@pytest.mark.parametrize("gamma", [1.0, 1.5])
def test_rmia_is_the_share_of_records_exceeded(mode, gamma):
    attack = RMIAAttack(
        GaussianNB(), mode=mode, gamma=gamma, offline_slope=0.4, random_state=0
    ).fit(X, LABELS)
    outside = _mean_probability(attack.signals_, ~attack.membership_)
    inside = _mean_probability(attack.signals_, attack.membership_)
    if mode == "offline":
        inside = 0.4 * outside + 0.6
    ratios = np.exp(attack.target_signals_) / ((inside + outside) / 2)
    expected = [(ratio / gamma > ratios).mean() for ratio in ratios]
    # A ratio that equals another but for rounding is one record of 150.
    assert_allclose(attack.scores_, expected, atol=1.01 / 150)
    assert np.mean(attack.scores_ != expected) < 0.05


def test_rmia_finds_members_with_two_shadows():
    target = DecisionTreeClassifier(random_state=0).fit(X[MEMBER], LABELS[MEMBER])
    attack = RMIAAttack(target=target, n_shadows=2, random_state=0).fit(X, LABELS)
    assert attack_report(MEMBER, attack.scores_).auc > 0.75


def test_rmia_scores_new_rows_offline_with_the_models():
    attack = RMIAAttack(
        GaussianNB(), mode="offline", store_models=True, random_state=0
    ).fit(X, LABELS)
    new = X + 0.3

    def ratios(rows, outside):
        p = attack.target_.predict_proba(rows)[np.arange(150), LABELS]
        return p / (0.65 * outside + 0.35)

    outside = _mean_probability(attack.signals_, ~attack.membership_)
    population = ratios(X, outside)
    outside = np.mean(
        [m.predict_proba(new)[np.arange(150), LABELS] for m in attack.models_], axis=0
    )
    expected = [(ratio > population).mean() for ratio in ratios(new, outside)]
    # A ratio that equals another but for rounding is one record of 150.
    assert_allclose(attack.score_samples(new, LABELS), expected, atol=2.01 / 150)
    online = RMIAAttack(GaussianNB(), store_models=True).fit(X, Y)
    with pytest.raises(ValueError, match="mode wants 'offline' to score"):
        online.score_samples(X + 0.01, Y)


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
    with pytest.raises(ValueError, match=r"wants a k-NN of n_neighbors=3 with equal"):
        WaKAAttack(3, target=target.fit(X, Y)).fit(X, Y)
