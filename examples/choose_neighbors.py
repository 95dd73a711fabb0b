"""Choose k: what a k-NN exposes, and what it is good for.

A grid search over the k of a Pipeline of scaler and scorer. Two figures are measured
on held-out records: how well the best membership attack would do on them if they were
in the training set (0.5 is chance), for the one record in twenty that is exposed most;
and the model's accuracy. More neighbours hide a record better; the table shows what
that costs.

    python examples/choose_neighbors.py
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpriv import WaKAScorer


def safety(pipeline, X, y):
    """Failure of the best attack on the most exposed; higher is safer, at most 0.5."""
    *scaling, scorer = pipeline
    for step in scaling:
        X = step.transform(X)
    return 1 - np.quantile(scorer.attack_success(X, y), 0.95)


def main():
    """Search the grid and print it."""
    X, y = load_breast_cancer(return_X_y=True)
    k = [1, 3, 5, 11, 21, 51]
    exposure = GridSearchCV(
        make_pipeline(StandardScaler(), WaKAScorer()),
        {"wakascorer__n_neighbors": k},
        scoring=safety,
        cv=5,
    ).fit(X, y)
    accuracy = GridSearchCV(
        make_pipeline(StandardScaler(), KNeighborsClassifier()),
        {"kneighborsclassifier__n_neighbors": k},
        cv=5,
    ).fit(X, y)
    print("  k  attack success  accuracy")
    columns = zip(
        k,
        1 - exposure.cv_results_["mean_test_score"],
        accuracy.cv_results_["mean_test_score"],
        strict=True,
    )
    for n_neighbors, attack, right in columns:
        print(f"{n_neighbors:3d}  {attack:14.3f}  {right:8.3f}")

    best = exposure.best_estimator_  # fitted on all records
    order = best.score_samples(X).argsort()[::-1]
    n_neighbors = best[-1].n_neighbors
    print(f"\nThe most exposed records at k = {n_neighbors}: {order[:5].tolist()}")


if __name__ == "__main__":
    main()
