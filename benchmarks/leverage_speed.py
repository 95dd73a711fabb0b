"""Time and memory of leverages, as ratios within one run.

    python benchmarks/leverage_speed.py [logistic] [softmax] [wide]

- logistic: all leverages of a binary logistic regression, against statsmodels'
  ``get_hat_matrix_diag`` on the same fit. Peak memory is what arrays take in a process
  of its own, beyond the data and the fit.
- softmax: a multinomial regression, against the matrix products and the Cholesky
  factorisation that the closed form needs, on arrays that are ready for them: the
  symmetric product of the rows p ⊗ x, a weighted Gram matrix a class, the
  factorisation and inverse of the Hessian, and its blocks' products with X.
- wide: ridge regression with many more features than rows.
"""

import argparse
import json
import multiprocessing
import time
import tracemalloc

import numpy as np
from scipy.linalg import lapack
from scipy.linalg.blas import dsyrk
from scipy.special import softmax
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge

from skpriv import GLSScorer

ROWS_A_BATCH = 1024


def measured(setup, run, sizes, pipe):
    """Send the seconds and the peak of memory that `run` takes in this process."""
    state = setup(*sizes)
    tracemalloc.start()
    start = time.perf_counter()
    result = run(*state)
    seconds = time.perf_counter() - start
    pipe.send((seconds, tracemalloc.get_traced_memory()[1] / 2**20, result))


def in_process(setup, run, *sizes):
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=measured, args=(setup, run, sizes, theirs))
    process.start()
    result = ours.recv()
    process.join()
    return result


def logistic_data(n, p):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    y = (X[:, :8].sum(axis=1) + rng.logistic(size=n) > 0).astype(int)
    return X, y


def fitted_logistic(n, p):
    X, y = logistic_data(n, p)
    model = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-8, max_iter=500)
    return model.fit(X, y), X, y


def our_leverages(model, X, y):
    return GLSScorer(FrozenEstimator(model)).fit(X, y).scores_


def fitted_glm(n, p):
    import statsmodels.api as sm

    model, X, y = fitted_logistic(n, p)
    glm = sm.GLM(y, X, family=sm.families.Binomial())
    return (glm.fit(start_params=model.coef_.ravel(), maxiter=0, disp=False),)


def their_leverages(results):
    return results.get_hat_matrix_diag()


def logistic(n=50_000, p=512):
    seconds, memory, ours = in_process(fitted_logistic, our_leverages, n, p)
    their_seconds, their_memory, theirs = in_process(fitted_glm, their_leverages, n, p)
    return {
        "largest_difference": float(np.abs(ours - theirs).max()),
        "seconds": {"skpriv": seconds, "statsmodels": their_seconds},
        "peak_MiB": {"skpriv": memory, "statsmodels": their_memory},
        "time_ratio": seconds / their_seconds,
        "memory_ratio": memory / their_memory,
    }


def fitted_softmax(n, p, n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    logits = X @ rng.normal(size=(p, n_classes)) / np.sqrt(p)
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return LogisticRegression(tol=1e-6, max_iter=500).fit(X, y), X, y


def needed_products(model, X):
    """Seconds of each product on arrays that are ready, and of the factorisation."""
    Z = np.column_stack([X, np.ones(len(X))])
    proba = softmax(model.decision_function(X), axis=1)
    n_classes, size = proba.shape[1], Z.shape[1]
    H = np.zeros((n_classes * size,) * 2, order="F")
    seconds = dict.fromkeys(["kronecker", "grams", "cholesky", "inverse", "blocks"], 0)

    def timed(name, call, *args, **options):
        start = time.perf_counter()
        result = call(*args, **options)
        seconds[name] += time.perf_counter() - start
        return result

    for first in range(0, len(Z), ROWS_A_BATCH):
        rows = slice(first, first + ROWS_A_BATCH)
        A = (proba[rows, :, None] * Z[rows, None]).reshape(-1, n_classes * size)
        timed("kronecker", dsyrk, -1.0, A.T, beta=1.0, c=H, lower=True, overwrite_c=1)
        for share in proba[rows].T:
            B = Z[rows] * np.sqrt(share * (1 - share))[:, None]
            timed("grams", np.matmul, B.T, B)
    H[np.diag_indices_from(H)] += 2 * np.abs(H).sum(axis=0).max()
    factor, _ = timed("cholesky", lapack.dpotrf, H, lower=True)
    G = np.asarray(timed("inverse", lapack.dpotri, factor, lower=True)[0], order="C")
    for first in range(0, len(Z), ROWS_A_BATCH):
        rows = Z[first : first + ROWS_A_BATCH]
        for c in range(n_classes):
            block = G[c * size : (c + 1) * size, c * size :]
            timed("blocks", np.matmul, rows, block)
    return seconds


def softmax_regression(n=20_000, p=128, n_classes=10, repeats=3):
    model, X, y = fitted_softmax(n, p, n_classes)
    ours, needed = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        our_leverages(model, X, y)
        ours.append(time.perf_counter() - start)
        needed.append(needed_products(model, X))
    best = min(needed, key=lambda seconds: sum(seconds.values()))
    return {
        "hessian": n_classes * (p + 1),
        "seconds": min(ours),
        "needed_seconds": best,
        "time_ratio": min(ours) / sum(best.values()),
    }


def wide_data(n, p):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, p)), rng.normal(size=n)
    return Ridge(alpha=1.0).fit(X, y), X, y


def wide(n=200, p=20_000):
    seconds, memory, leverages = in_process(wide_data, our_leverages, n, p)
    return {
        "seconds": seconds,
        "peak_MiB": memory,
        "effective_parameters": float(leverages.sum()),
        "features_squared_MiB": 8 * p**2 / 2**20,
    }


CASES = {"logistic": logistic, "softmax": softmax_regression, "wide": wide}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help=", ".join(CASES))
    names = parser.parse_args().cases
    for name in names or CASES:
        print(json.dumps({name: CASES[name]()}, indent=1), flush=True)


if __name__ == "__main__":
    main()
