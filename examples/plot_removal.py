"""Draw what removing the most exposed records does to a model, and to the others.

The records of a 5-nearest-neighbour model are scored by WaKA. First, the model is
trained without the most exposed records, without the least exposed, and without random
ones. Then the most exposed tenth is removed, and the exposure of the others is computed
again: for most it falls, but some that were hidden beneath the others are now the most
exposed (the onion effect).

    python examples/plot_removal.py
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from skpriv import WaKAScorer
from skpriv.plot import MinimizationDisplay, OnionEffectDisplay


def main():
    """Draw both pictures, and print what they show."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    scorer = WaKAScorer(n_neighbors=5).fit(X_train, y_train)

    removal = MinimizationDisplay.from_estimator(
        KNeighborsClassifier(5),
        X_train,
        y_train,
        scorer.scores_,
        X_test,
        y_test,
        fractions=[0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
        random_state=0,
    )
    onion = OnionEffectDisplay.from_estimator(scorer, X_train, y_train, name="WaKA")

    print("Macro F1 without a tenth and without half of the records")
    for name, curve in removal.curves.items():
        print(f"  {name:24s} {curve.macro_f1[1]:.3f}  {curve.macro_f1[5]:.3f}")
    print(
        f"Highest exposure without the {onion.n_removed} most exposed: "
        f"{onion.before.max():.3f} before, {onion.after.max():.3f} after"
    )
    plt.show()


if __name__ == "__main__":
    main()
