"""How exposed records are, and how far cheap scores tell, on Adult and Bank.

    python benchmarks/attacks_agreement.py --data FOLDER [--rows 2000] [--shadows 128]

FOLDER holds adult.csv.gz and bank.csv.gz (UCI). First a table of LiRA on logistic
regression and k-NN: mean attack success; AUC and TPR, means over all shadows as
targets, each left out with its partner. Then Spearman's correlation of each cheap
score with LiRA's per-record success, beside what a perfect score attains. Last, how
LiRA on k-NN comes to the exact success as shadows grow.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from skpriv import (
    GLSScorer,
    KNNLeaveOneOutScorer,
    KNNShapleyScorer,
    LiRAAttack,
    LossAttack,
    WaKAScorer,
)
from skpriv.metrics import attack_report, score_agreement


def load(folder, name, n_rows, seed=0):
    """Rows of a data set, encoded and standardised, and their labels."""
    frame = pd.read_csv(Path(folder) / f"{name}.csv.gz").sample(
        n_rows, random_state=seed
    )
    y = frame.pop(frame.columns[-1]).to_numpy(dtype=str)
    X = pd.get_dummies(frame, dtype=float)
    X = X.loc[:, X.sum() > 0]
    return StandardScaler().fit_transform(X), y


def models():
    return {
        "logistic": LogisticRegression(solver="newton-cholesky", tol=1e-8),
        "1-NN": KNeighborsClassifier(1),
        "5-NN": KNeighborsClassifier(5),
    }


def cheap_scores(name, model, X, y):
    """Scores that need no shadow model; higher: more exposed."""
    # A high loss is what sets a record apart from the others.
    scores = {"loss": -LossAttack(model).fit(X, y).scores_}
    if name == "logistic":
        scores["GLS"] = GLSScorer(model).fit(X, y).scores_
        power = GLSScorer(model, variant="attack_power").fit(X, y)
        scores["attack power"] = power.scores_
        return scores
    k = model.n_neighbors
    scores["self-WaKA"] = WaKAScorer(k).fit(X, y).scores_
    scores["self-Shapley"] = KNNShapleyScorer(k).fit(X, y).scores_
    scores["leave-one-out"] = KNNLeaveOneOutScorer(k).fit(X, y).scores_
    scores["exact success"] = WaKAScorer(k).fit(X, y).attack_success(X, y)
    return scores


def roc_of_shadows(attack):
    """AUC and TPR at 0.1 % and 1 % FPR, means over shadows as targets."""
    reports = [
        attack_report(member, scores, fprs=(0.001, 0.01))
        for member, scores in zip(
            attack.membership_, attack.shadow_scores(), strict=True
        )
    ]
    tpr = np.mean([report.tpr for report in reports], axis=0)
    return np.mean([report.auc for report in reports]), *tpr


def measure(data, n_rows, n_shadows):
    rows, agreement = [], []
    for name in ("adult", "bank"):
        X, y = load(data, name, n_rows)
        for kind, model in models().items():
            attack = LiRAAttack(
                model, n_shadows=n_shadows, n_jobs=2, random_state=0
            ).fit(X, y)
            success, halves = attack.attack_success_, attack.attack_success_halves_
            rows.append((name, kind, success.mean(), *roc_of_shadows(attack)))
            for score, values in cheap_scores(kind, model, X, y).items():
                result = score_agreement(success, values, halves=halves)
                agreement.append(
                    (name, kind, score, result.spearman, result.attainable)
                )
    columns = ["data", "model", "success", "AUC", "TPR at 0.1 %", "TPR at 1 %"]
    print(pd.DataFrame(rows, columns=columns).round(4).to_string(index=False))
    columns = ["data", "model", "score", "Spearman", "attainable"]
    print(pd.DataFrame(agreement, columns=columns).round(3).to_string(index=False))


def convergence(data, n_rows):
    X, y = load(data, "adult", n_rows)
    rows = []
    for k in (1, 5):
        exact = WaKAScorer(k).fit(X, y).attack_success(X, y)
        for n_shadows in (64, 256, 1024):
            attack = LiRAAttack(
                KNeighborsClassifier(k), n_shadows=n_shadows, random_state=0
            ).fit(X, y)
            spearman = score_agreement(exact, attack.attack_success_).spearman
            mean = attack.attack_success_.mean()
            rows.append((k, n_shadows, spearman, mean, exact.mean()))
    columns = ["k", "shadows", "Spearman with exact", "mean success", "exact mean"]
    print(pd.DataFrame(rows, columns=columns).round(4).to_string(index=False))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder of the data sets")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--shadows", type=int, default=128)
    arguments = parser.parse_args()
    convergence(arguments.data, arguments.rows)
    measure(arguments.data, arguments.rows, arguments.shadows)


if __name__ == "__main__":
    main()
