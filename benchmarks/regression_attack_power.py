"""Predicted against measured success of LiRA on regressions, record by record.

    python benchmarks/regression_attack_power.py --data FOLDER

For each model, 2,048 shadow models measure the success on each record, counted and from
the means and variances of the signals (`estimated_success_`).
`GLSScorer(variant="attack_power")` predicts it from one fit. FOLDER holds adult.csv.gz:
ridge regression predicts the hours per week of 2,000 people. The data of the other
models are simulated.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.compose import make_column_transformer
from sklearn.linear_model import (
    GammaRegressor,
    HuberRegressor,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skpriv import GLSScorer, LiRAAttack


def adult_hours(folder, n_rows, seed):
    """Hours per week, and the other columns, scaled or one-hot."""
    table = pd.read_csv(Path(folder) / "adult.csv.gz").sample(n_rows, random_state=seed)
    y = table.pop("hours_per_week").to_numpy().astype(float)
    numbers = table.select_dtypes("number").columns
    encode = make_column_transformer(
        (StandardScaler(), numbers),
        (OneHotEncoder(sparse_output=False), table.columns.difference(numbers)),
    )
    return encode.fit_transform(table), y


def simulated(draw, seed, n_rows=1000, n_features=20):
    """Rows with heavy tails, so that leverages differ, and targets."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(5, size=(n_rows, n_features))
    return X, draw(rng, X @ rng.normal(scale=0.1, size=n_features))


def cases(folder, seed):
    """Yield names, models and their data."""
    yield "ridge, Adult", Ridge(1.0), adult_hours(folder, 2000, seed)
    newton = {"solver": "newton-cholesky", "tol": 1e-8}
    log_link = {
        "Poisson": (
            PoissonRegressor(alpha=1e-3, **newton),
            lambda rng, f: rng.poisson(np.exp(1 + f)),
        ),
        "Gamma": (
            GammaRegressor(alpha=1e-3, **newton),
            lambda rng, f: rng.gamma(2.0, np.exp(1 + f) / 2),
        ),
        "Tweedie, power 1.5": (
            TweedieRegressor(power=1.5, alpha=1e-3, **newton),
            lambda rng, f: rng.gamma(rng.poisson(np.exp(1 + f)) + 1e-9),
        ),
    }
    for name, (model, draw) in log_link.items():
        yield name, model, simulated(draw, seed)
    yield (
        "Huber",
        HuberRegressor(alpha=1e-2, max_iter=1000, tol=1e-6),
        simulated(lambda rng, f: f + rng.standard_t(3, size=f.size), seed),
    )


def compare(model, X, y, n_shadows, seed):
    """Return the columns of the table."""
    began = time.perf_counter()
    predicted = GLSScorer(model, variant="attack_power").fit(X, y).scores_
    seconds = time.perf_counter() - began
    leverage = GLSScorer(model).fit(X, y).scores_
    attack = LiRAAttack(model, n_shadows=n_shadows, random_state=seed).fit(X, y)
    counted, estimated = attack.attack_success_, attack.estimated_success_
    return [
        f"{seconds:.2f}",
        f"{predicted.mean():.4f}",
        f"{counted.mean():.4f}",
        f"{estimated.mean():.4f}",
        f"{spearmanr(predicted, counted).statistic:.3f}",
        f"{spearmanr(predicted, estimated).statistic:.3f}",
        f"{spearmanr(leverage, estimated).statistic:.3f}",
        f"{np.polyfit(predicted, counted, 1)[0]:.3f}",
        f"{np.polyfit(predicted, estimated, 1)[0]:.3f}",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder of adult.csv.gz")
    parser.add_argument("--shadows", type=int, default=2048)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    headings = [
        "model",
        "seconds",
        "mean predicted",
        "counted",
        "from moments",
        "rank corr. counted",
        "from moments",
        "of leverage",
        "slope counted",
        "from moments",
    ]
    print("| " + " | ".join(headings) + " |")
    print("| --- " * len(headings) + "|")
    for name, model, (X, y) in cases(options.data, options.seed):
        row = compare(model, X, y, options.shadows, options.seed)
        print("| " + " | ".join([name, *row]) + " |", flush=True)


if __name__ == "__main__":
    main()
