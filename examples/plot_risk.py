"""Draw which records a forest exposes, how well an attack does, and why.

The risk of each of 569 tumour records is estimated from 16 shadow models. Four
pictures: the risk by record, the ROC curve of the attack that the risk is about, the
measured success by percentile of a score that costs nothing, and the risk of the two
classes and of small and large tumours.

    python examples/plot_risk.py
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from skpriv import RiskEstimator
from skpriv.metrics import epsilon_lower_bound
from skpriv.plot import (
    AttackRocDisplay,
    GroupRiskDisplay,
    RiskDisplay,
    ScoreAgreementDisplay,
)


def main():
    """Estimate the risk, draw it, and print a summary."""
    data = load_breast_cancer()
    X, y = data.data, data.target
    forest = RandomForestClassifier(30, min_samples_leaf=2)
    risk = RiskEstimator(forest, n_shadows=16, random_state=0).fit(X, y)
    attack = risk.attack_

    figure, axes = plt.subplots(2, 2, figsize=(12, 9), layout="constrained")
    by_record = RiskDisplay.from_estimator(risk, ax=axes[0, 0])
    roc = AttackRocDisplay.from_estimator(attack, ax=axes[0, 1])
    by_score = ScoreAgreementDisplay.from_estimator(
        attack, risk.covariates_["out_of_bag"], name="Out-of-bag error", ax=axes[1, 0]
    )
    size = np.where(X[:, 0] > np.median(X[:, 0]), "large", "small")
    groups = np.char.add(np.char.add(data.target_names[y], ", "), size)
    GroupRiskDisplay.from_estimator(risk, groups, ax=axes[1, 1])
    figure.suptitle("A forest on tumour records, attacked by LiRA")

    print(f"Records at risk: {by_record.at_risk.sum()} of {y.size}")
    print(f"AUC of the attack: {roc.auc:.2f}")
    print(f"Rank correlation with the out-of-bag error: {by_score.spearman:.2f}")
    # An estimate, because the targets share their records.
    epsilon = epsilon_lower_bound(attack.membership_, attack.shadow_scores())
    print(f"No ε of differential privacy below {epsilon:.1f} fits the attack")
    plt.show()


if __name__ == "__main__":
    main()
