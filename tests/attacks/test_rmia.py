"""RMIA scores by the share of records whose ratio is exceeded."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from skpriv import RMIAAttack
from skpriv.metrics import attack_report

X, Y = load_iris(return_X_y=True)
LABELS = np.random.default_rng(0).permutation(Y)
MEMBER = np.arange(Y.size) % 2 == 0


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
    p_out = _mean_probability(attack.signals_, ~attack.membership_)
    p_in = _mean_probability(attack.signals_, attack.membership_)
    if mode == "offline":
        p_in = 0.4 * p_out + 0.6
    ratios = np.exp(attack.target_signals_) / ((p_in + p_out) / 2)
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

    def ratios(rows, p_out):
        p = attack.target_.predict_proba(rows)[np.arange(150), LABELS]
        return p / (0.65 * p_out + 0.35)

    p_out = _mean_probability(attack.signals_, ~attack.membership_)
    population = ratios(X, p_out)
    p_out = np.mean(
        [m.predict_proba(new)[np.arange(150), LABELS] for m in attack.models_], axis=0
    )
    expected = [(ratio > population).mean() for ratio in ratios(new, p_out)]
    # A ratio that equals another but for rounding is one record of 150.
    assert_allclose(attack.score_samples(new, LABELS), expected, atol=2.01 / 150)
    online = RMIAAttack(GaussianNB(), store_models=True).fit(X, Y)
    with pytest.raises(ValueError, match="mode must be 'offline' to score"):
        online.score_samples(X + 0.01, Y)
