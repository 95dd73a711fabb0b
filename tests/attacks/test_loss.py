"""The loss attack scores by minus the cross-entropy."""

import numpy as np
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skpriv import LossAttack
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
