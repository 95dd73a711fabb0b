"""Predicted against measured success of LiRA, record by record, on Adult.

    python benchmarks/leverage_attack_power.py --data FOLDER

Trains 128 shadow models on balanced halves, measures the success of LiRA against each
record with each pair of complementary shadows left out, and compares it with what
`GLSScorer(variant="attack_power")` predicts from one fit. FOLDER holds adult.csv.gz.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skpriv import GLSScorer


def load_adult(folder, n_rows, seed):
    table = pd.read_csv(Path(folder) / "adult.csv.gz").sample(n_rows, random_state=seed)
    y = (table.pop("income").str.strip().str.startswith(">50K")).to_numpy().astype(int)
    numbers = table.select_dtypes("number").columns
    words = table.columns.difference(numbers)
    encode = make_column_transformer(
        ("passthrough", numbers), (OneHotEncoder(sparse_output=False), words)
    )
    return make_pipeline(encode, StandardScaler()).fit_transform(table), y


def shadow_signals(model, X, y, n_shadows, rng):
    """Confidence of each shadow in each record's label, and who was in which."""
    inside = np.zeros((n_shadows, len(y)), dtype=bool)
    signals = np.empty((n_shadows, len(y)))
    for pair in range(n_shadows // 2):
        for c in np.unique(y):
            members = rng.permutation(np.flatnonzero(y == c))
            inside[2 * pair, members[: (len(members) + pair % 2) // 2]] = True
        inside[2 * pair + 1] = ~inside[2 * pair]
    for half, signal in zip(inside, signals, strict=True):
        # log p - log(1 - p) of the own label, which a saturated p would not give.
        signal[:] = model.fit(X[half], y[half]).decision_function(X) * (2 * y - 1)
    return signals, inside


def attack_success(signals, inside):
    """Success of LiRA with pooled variances, each pair left out in its turn."""
    n_shadows = len(signals)
    hits = np.zeros((2, signals.shape[1]))
    for pair in range(0, n_shadows, 2):
        rest = np.setdiff1d(np.arange(n_shadows), [pair, pair + 1])
        s, m = signals[rest], inside[rest]
        mean_in = (s * m).sum(axis=0) / m.sum(axis=0)
        mean_out = (s * ~m).sum(axis=0) / (~m).sum(axis=0)
        sum_in = ((s - mean_in) ** 2 * m).sum(axis=0)
        sum_out = ((s - mean_out) ** 2 * ~m).sum(axis=0)
        variance_in = sum_in / (m.sum(axis=0) - 1)
        variance_out = sum_out / ((~m).sum(axis=0) - 1)
        for shadow in (pair, pair + 1):
            ratio = np.log(variance_out / variance_in) / 2
            ratio += (signals[shadow] - mean_out) ** 2 / variance_out / 2
            ratio -= (signals[shadow] - mean_in) ** 2 / variance_in / 2
            right = (ratio > 0) == inside[shadow]
            hits[0] += right & inside[shadow]
            hits[1] += right & ~inside[shadow]
    return (hits[0] + hits[1]) / n_shadows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder of adult.csv.gz")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--shadows", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    X, y = load_adult(options.data, options.rows, options.seed)
    model = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-8)
    rng = np.random.default_rng(options.seed)
    signals, inside = shadow_signals(model, X, y, options.shadows, rng)
    measured = attack_success(signals, inside)
    predicted = GLSScorer(model, variant="attack_power").fit(X, y).scores_
    leverage = GLSScorer(model).fit(X, y).scores_
    rank = {
        name: float(spearmanr(scores, measured).statistic)
        for name, scores in {"attack_power": predicted, "leverage": leverage}.items()
    }
    print(
        json.dumps(
            {
                "features": X.shape[1],
                "mean_predicted": round(float(predicted.mean()), 4),
                "mean_measured": round(float(measured.mean()), 4),
                "rank_correlation": {k: round(v, 3) for k, v in rank.items()},
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
