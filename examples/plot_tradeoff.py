"""Draw how well a record of given leverage can be attacked, in theory and measured.

In a linear model with normal errors, the leverage of a record alone determines the
error rates of the best attack on it. The labels of 100 records are drawn again and
again, and a model is fitted each time. The attack sees each record once with the label
that the model was fitted to, and once with a new one. The points are its error rates,
the curves are the theory.

    python examples/plot_tradeoff.py
"""

import matplotlib.pyplot as plt
import numpy as np

from skpriv import LeverageAttack
from skpriv.plot import TradeoffDisplay


def main():
    """Simulate, draw, and print the largest distance of a point from its curve."""
    rng = np.random.default_rng(0)
    n_records, n_trials = 100, 600
    X = rng.standard_t(2, size=(n_records, 8))  # a few records are far from the others
    mean = X.sum(axis=1)
    scores = np.empty((2, n_trials, n_records))
    for trial in range(n_trials):
        y, new = mean + rng.normal(size=(2, n_records))
        attack = LeverageAttack().fit(X, y)
        scores[:, trial] = attack.scores_, attack.score_samples(X, new)
    membership = np.ones_like(scores)
    membership[1] = 0
    display = TradeoffDisplay.from_predictions(
        attack.leverage_,
        membership.reshape(-1, n_records),
        scores.reshape(-1, n_records),
        name="LeverageAttack",
    )
    for leverage, fnr, points in zip(
        display.leverage, display.fnr, display.measured, strict=True
    ):
        distance = np.abs(np.interp(points.fpr, display.fpr, fnr) - points.fnr).max()
        print(f"Leverage {leverage:.2f}: largest distance {distance:.3f}")
    plt.show()


if __name__ == "__main__":
    main()
