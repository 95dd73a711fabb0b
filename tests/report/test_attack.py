"""What is said of the attack on the shadow models."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skpriv import LiRAAttack
from skpriv.report._attack import describe_attack


@pytest.fixture(scope="module")
def attack():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 30)), rng.integers(0, 2, 400)
    return LiRAAttack(LogisticRegression(C=100), n_shadows=8, random_state=0).fit(X, y)


def test_rates_that_can_be_measured_are_told(attack):
    told = describe_attack(attack)
    small, large = (point["estimate"] for point in told["tpr"])
    assert small["value"] is None  # 200 non-members
    assert large["low"] <= large["value"] <= large["high"]
    assert told["auc"]["value"] > 0.55


def test_curve_is_short_and_ends_at_one(attack):
    roc = describe_attack(attack)["roc"]
    assert len(roc["fpr"]) <= 200
    assert roc["fpr"][0] == pytest.approx(1 / 200)
    assert roc["tpr"][-1] == roc["fpr"][-1] == 1.0
    assert np.all(np.diff(roc["tpr"]) >= 0)
