"""Risk from a few shadow models against the success that many shadows measure.

    python benchmarks/risk_from_few_fits.py --data FOLDER [--truth FOLDER] [CASE ...]

FOLDER holds adult.csv.gz, bank.csv.gz and mnist10k.npz. The truth of a case is the
success that follows from the means and variances of the signals at 1,024 shadows (512
for the network and the data that come with scikit-learn, 336 for the whole of Adult).
These and the shadows that estimates are made from, five sets of 128, are kept in the
folder of --truth. One row per case and number of shadows goes to standard output, as a
table in Markdown; see risk_from_few_fits.md.
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr
from scipy.stats import spearmanr
from sklearn.base import is_regressor
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from skpriv import LiRAAttack, RiskEstimator

WORDS = make_column_selector(dtype_include=["object", "str"])
NUMBERS = make_column_selector(dtype_include="number")
SET = 128
# Successes that differ by less are the same in practice, such as .997 and 1.
ROUNDING = 0.003


def encode(table):
    """Numbers standardised, one column per frequent word."""
    words = OneHotEncoder(min_frequency=20, sparse_output=False)
    encoder = make_column_transformer((StandardScaler(), NUMBERS), (words, WORDS))
    return encoder.fit_transform(table)


def adult(folder, n_rows=2000, target="income"):
    """Rows of Adult, and whether the income is high or another column."""
    table = pd.read_csv(folder / "adult.csv.gz")
    if n_rows:
        table = table.sample(n_rows, random_state=0)
    y = table.pop(target)
    if target == "income":
        return encode(table), y.str.strip().str.startswith(">50K").to_numpy().astype(
            int
        )
    return encode(table), y.to_numpy().astype(float)


def bank(folder):
    """Rows of Bank marketing, and whether the client subscribed."""
    table = pd.read_csv(folder / "bank.csv.gz").sample(2000, random_state=0)
    y = table.pop("y")
    return encode(table), (y == "yes").to_numpy().astype(int)


def digits(folder):
    """Digits as 50 principal components, 5 % of them with a wrong label."""
    data, rng = np.load(folder / "mnist10k.npz"), np.random.default_rng(0)
    rows = rng.permutation(len(data["labels"]))[:2000]
    X = data["images"][rows].reshape(2000, -1).astype(np.float64) / 255
    y = data["labels"][rows].astype(int)
    wrong = rng.permutation(2000)[:100]
    y[wrong] = (y[wrong] + rng.integers(1, 10, size=100)) % 10
    X = PCA(50, random_state=0).fit_transform(X)
    return X / X[:, 0].std(), y


def bundled(load):
    """Make a loader of data that come with scikit-learn."""
    return lambda folder: load(return_X_y=True)


class Case(NamedTuple):
    """A data set and a model."""

    load: object
    model: object
    n_truth: int = 1024
    n_sets: int = 5


LOGISTIC = LogisticRegression(solver="newton-cholesky", tol=1e-8, max_iter=1000)
NET = MLPClassifier(64, activation="tanh", max_iter=60, learning_rate_init=0.005)
SVM = make_pipeline(StandardScaler(), SVC())
SCALED_LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())
EXTRA_TREES = ExtraTreesClassifier(20, bootstrap=True)
SMALL_FOREST = RandomForestRegressor(20, min_samples_leaf=3)
CASES = {
    "adult_logistic": Case(adult, LOGISTIC),
    "bank_logistic": Case(bank, LOGISTIC),
    "adult_ridge": Case(lambda folder: adult(folder, 2000, "hours_per_week"), Ridge()),
    "adult_forest": Case(adult, RandomForestClassifier(30, min_samples_leaf=2)),
    "adult_boosting": Case(adult, HistGradientBoostingClassifier()),
    "mnist_net": Case(digits, NET, n_truth=512),
    "adult_whole": Case(lambda folder: adult(folder, 0), LOGISTIC, 336, n_sets=1),
    # On which no constant of the estimator was set.
    "cancer_svm": Case(bundled(load_breast_cancer), SVM, n_truth=512),
    "cancer_boosting": Case(
        bundled(load_breast_cancer), GradientBoostingClassifier(n_estimators=20), 512
    ),
    "cancer_logistic": Case(bundled(load_breast_cancer), SCALED_LOGISTIC, 512),
    "diabetes_ridge": Case(bundled(load_diabetes), Ridge(), 512),
    "diabetes_forest": Case(bundled(load_diabetes), SMALL_FOREST, 512),
    "digits_extra_trees": Case(bundled(load_digits), EXTRA_TREES, 512),
}


def shadow_signals(name, case, X, y, folder):
    """Signals and membership of all shadows of a case, stored if a folder is given."""
    path = None if folder is None else folder / f"{name}.npz"
    if path is not None and path.exists():
        stored = np.load(path)
        signals = stored["signals"]
        packed = np.unpackbits(stored["membership"], axis=0, count=len(signals))
        return signals, packed.astype(bool)
    n_shadows = case.n_sets * SET + case.n_truth
    attack = LiRAAttack(case.model, n_shadows=n_shadows, random_state=0).fit(X, y)
    if path is not None:
        packed = np.packbits(attack.membership_, axis=0)
        np.savez(path, signals=attack.signals_, membership=packed)
    return attack.signals_, attack.membership_


class Truth:
    """Success that follows from the moments of many signals.

    Attributes
    ----------
    separation, success : ndarray of shape (n_records,)
    noise : ndarray of shape (n_records,)
        Variance of the separation.
    """

    def __init__(self, signals, membership, y):
        gaps, variance, sign = moments(signals, membership, y)
        scale = np.sqrt(variance)
        self.separation = sign * gaps.mean(axis=0) / scale
        self.noise = (gaps / scale).var(axis=0, ddof=1) / len(gaps)
        self.success = ndtr(self.separation / 2)


def moments(signals, membership, y):
    """Gap of each pair of shadows, variance within a side, and direction of the gap."""
    signals = signals.astype(np.float64)
    first, second = signals[::2], signals[1::2]
    in_ = np.where(membership[::2], first, second)
    out = np.where(membership[::2], second, first)
    variance = (in_.var(axis=0, ddof=1) + out.var(axis=0, ddof=1)) / 2
    sign = 1.0 if y is None else np.where(y > out.mean(axis=0), 1.0, -1.0)
    return in_ - out, variance, sign


def measure(risk, truth, n_top):
    """Compare estimates with the truth."""
    estimated, success = risk.scores_, truth.success
    reach = 1.96 * np.sqrt(risk._variance + truth.noise)
    low, high = (ndtr((risk._separation + sign * reach) / 2) for sign in (-1, 1))
    covered = (success > low - ROUNDING) & (success < high + ROUNDING)
    order = np.argsort(-estimated, kind="stable")
    return [
        np.sqrt(np.mean((estimated - success) ** 2)),
        spearmanr(estimated, success).statistic,
        estimated.mean() - success.mean(),
        success[order[:n_top]].mean() / np.sort(success)[-n_top:].mean(),
        covered.mean(),
        covered[order[: len(order) // 10]].mean(),
    ]


def compare(estimated, truth):
    """Error and rank correlation of estimates without intervals."""
    error = np.sqrt(np.mean((estimated - truth.success) ** 2))
    return [error, spearmanr(estimated, truth.success).statistic]


def rows_of(name, case, data, folder, sizes):
    """Yield the lines of the table for a case, and a comment about its truth."""
    X, y = case.load(data)
    signals, membership = shadow_signals(name, case, X, y, folder)
    targets = y if is_regressor(case.model) else None
    rest = case.n_sets * SET
    truth = Truth(signals[rest:], membership[rest:], targets)
    n_top = 100 if len(y) > 10_000 else max(1, len(y) // 100)
    if case.n_sets > 1:
        many = LiRAAttack.from_signals(signals[:256], membership[:256], y=targets)
        lira_256 = compare(many.attack_success_, truth)[1]
    else:
        lira_256 = np.nan
    fits = {}
    for n_shadows in sizes:
        found = []
        for number in range(case.n_sets):
            part = slice(number * SET, number * SET + n_shadows)
            few = signals[part], membership[part]
            attack = LiRAAttack.from_signals(*few, y=targets)
            start = time.perf_counter()
            if n_shadows <= 16:
                model = RiskEstimator(
                    case.model, n_shadows=n_shadows, random_state=number + 1
                )
                risk = fits[number] = model.fit(X, y)
            else:
                covariates = fits[number].covariates_.iloc[:, :-1]
                risk = RiskEstimator.from_signals(
                    *few, y=targets, covariates=covariates
                )
            seconds = time.perf_counter() - start
            found.append(
                [
                    *compare(attack.attack_success_, truth),
                    *compare(np.nan_to_num(attack.estimated_success_, nan=0.5), truth),
                    *measure(risk, truth, n_top),
                    seconds,
                ]
            )
        yield line(name, n_shadows, np.mean(found, axis=0))
    best = np.sort(truth.success)[-n_top:].mean()
    yield (
        f"<!-- {name}: mean success {truth.success.mean():.4f}, of the top {n_top} "
        f"{best:.3f}; rank correlation of LiRA from 256 shadows {lira_256:.2f} -->"
    )


def line(name, n_shadows, row):
    """Format one line of the table."""
    cells = [f"{value:.3f}" for value in row[:6]]
    cells += [f"{row[6]:+.4f}", *(f"{value:.3f}" for value in row[7:10])]
    return f"| {name} | {n_shadows} | {' | '.join(cells)} | {row[10]:.1f} |"


HEADER = """\
| case | shadows | LiRA: error | rank | moments: error | rank | risk: error | rank \
| mean | named | covered | top tenth | seconds |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--truth", type=Path, help="folder for the shadows' signals")
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 16, 32, 64, 128])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(HEADER, flush=True)
    for name in options.cases or CASES:
        for text in rows_of(
            name, CASES[name], options.data, options.truth, options.sizes
        ):
            print(text, flush=True)


if __name__ == "__main__":
    main()
