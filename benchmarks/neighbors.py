"""Speed and memory of the neighbour scorers, as ratios in one run.

    python benchmarks/neighbors.py                  # all that needs no data
    python benchmarks/neighbors.py shapley          # one of them
    python benchmarks/neighbors.py adult --data DIR # real data: DIR/adult.csv.gz

`shapley` compares with pyDVL (pip install pydvl==0.10.0, which takes numpy < 2).
"""

import argparse
import multiprocessing
import resource
import time
import warnings

import numpy as np
from sklearn.neighbors import NearestNeighbors

from skpriv import KNNShapleyScorer, WaKAScorer

GIB = 2**30


def timed(function, repeats=1):
    """Return the result and the least time of some calls, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return result, min(times)


def normal_data(n, n_queries, n_features=64):
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(n, n_features)), rng.normal(size=(n_queries, n_features))
    return X, rng.integers(0, 2, n), Q, rng.integers(0, 2, n_queries)


def shapley():
    """Exact k-NN Shapley, 50,000 x 64, 200 queries, k = 5, against pyDVL."""
    X, y, Q, y_Q = normal_data(50_000, 200)
    scorer = KNNShapleyScorer(5).fit(X, y)
    scorer.attribute(Q[:2], y_Q[:2])  # compiles, or loads what is compiled
    values, ours = timed(lambda: scorer.attribute(Q, y_Q), repeats=5)
    print(f"skpriv: {1e3 * ours / 200:.3f} ms a query")

    from joblib import parallel_config
    from joblib.externals.loky import get_reusable_executor
    from pydvl.valuation.dataset import Dataset
    from pydvl.valuation.methods.knn_shapley import KNNShapleyValuation
    from sklearn.neighbors import KNeighborsClassifier

    def peer():
        with warnings.catch_warnings(), parallel_config(n_jobs=2):
            warnings.simplefilter("ignore")
            valuation = KNNShapleyValuation(
                KNeighborsClassifier(5), Dataset(Q, y_Q), progress=False
            )
            return valuation.fit(Dataset(X, y)).result

    result, theirs = timed(peer)
    get_reusable_executor().shutdown()  # or its workers would keep the process alive
    order = np.argsort(result.indices)
    difference = np.abs(result.values[order] - values).max()
    print(f"pyDVL, 2 jobs: {1e3 * theirs / 200:.1f} ms a query")
    print(f"ratio: {theirs / ours:.0f} (largest difference {difference:.1e})")


def memory():
    """Exact k-NN Shapley of 50,000 records over 10,000 queries: peak memory."""
    X, y, Q, y_Q = normal_data(50_000, 10_000)
    scorer = KNNShapleyScorer(5).fit(X, y)
    scorer.attribute(Q[:2], y_Q[:2])
    before = peak_memory()
    _, seconds = timed(lambda: scorer.attribute(Q, y_Q))
    grown = (peak_memory() - before) / GIB
    print(
        f"{seconds:.1f} s; memory grew by {grown:.2f} GiB to {peak_memory() / GIB:.2f}"
    )
    print(f"(a matrix of all values takes {8 * 50_000 * 10_000 / GIB:.2f} GiB)")


def self_waka():
    """Self-WaKA, 50,000 x 64, k = 5, against the neighbour search alone."""
    X, y, _, _ = normal_data(50_000, 1)
    WaKAScorer(5).fit(X[:3000], y[:3000]).scores_  # noqa: B018 (compiles)
    n_neighbors = WaKAScorer(5).fit(X, y).neighborhood_
    index = NearestNeighbors(n_neighbors=n_neighbors).fit(X)
    _, search = timed(index.kneighbors, repeats=2)
    _, whole = timed(lambda: WaKAScorer(5).fit(X, y).scores_, repeats=2)
    print(
        f"search {search:.2f} s, fit and scores {whole:.2f} s, "
        f"ratio {whole / search:.2f}"
    )


def test_attribution():
    """WaKA with a threshold, 20,000 records, 1,000 queries, k = 10."""
    X, y, Q, y_Q = normal_data(20_000, 1000)
    for variant in ("removal", "addition"):
        scorer = WaKAScorer(10, variant=variant).fit(X, y)
        scorer.attribute(Q[:2], y_Q[:2])
        index = NearestNeighbors(n_neighbors=scorer.neighborhood_).fit(X)
        _, search = timed(lambda index=index: index.kneighbors(Q), repeats=5)
        _, whole = timed(lambda scorer=scorer: scorer.attribute(Q, y_Q), repeats=5)
        print(
            f"{variant}: search {1e3 * search:.0f} ms, "
            f"attribution {1e3 * whole:.0f} ms, ratio {whole / search:.2f}"
        )


def adult(folder):
    """Adult: all records scored; exact and approximate search on 20,000."""
    from scipy.stats import spearmanr

    from skpriv.datasets import encode_table, read_table

    encoded = encode_table(read_table(f"{folder}/adult.csv.gz"), "income")
    X, y = encoded.X, encoded.y
    print(f"{X.shape[0]:,} rows, {X.shape[1]} features after encoding")

    exact = WaKAScorer(5, search="exact").fit(X[:20_000], y[:20_000])
    rough = WaKAScorer(5, search="approximate", random_state=0)
    rough.fit(X[:20_000], y[:20_000])
    agreement = spearmanr(exact.scores_, rough.scores_).statistic
    print(f"Spearman of exact and approximate self-WaKA: {agreement:.5f}")

    _, seconds = timed(lambda: WaKAScorer(5).fit(X, y).scores_)
    print(f"self-WaKA, all rows: {seconds:.1f} s")
    scorer = KNNShapleyScorer(5, neighborhood=1000)
    _, seconds = timed(lambda: scorer.fit(X, y).scores_)
    print(
        f"self-Shapley, top 1,000, within {scorer.truncation_bound_:g}: {seconds:.1f} s"
    )
    train, test = slice(1000, None), slice(0, 1000)
    for scorer in (
        WaKAScorer(5),
        WaKAScorer(5, variant="removal"),
        KNNShapleyScorer(5),
    ):
        scorer.fit(X[train], y[train])
        _, seconds = timed(lambda s=scorer: s.attribute(X[test], y[test]))
        print(f"test-attribution over 1,000 rows, {scorer}: {seconds:.1f} s")
    print(f"peak memory: {peak_memory() / GIB:.2f} GiB")


def peak_memory():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


BENCHMARKS = {
    "shapley": shapley,
    "memory": memory,
    "self-waka": self_waka,
    "test-attribution": test_attribution,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join([*BENCHMARKS, "adult"]))
    parser.add_argument("--data", help="folder that holds adult.csv.gz")
    options = parser.parse_args()
    for name in options.names or BENCHMARKS:
        run = adult if name == "adult" else BENCHMARKS[name]
        print(f"\n{name}: {run.__doc__}")
        # Each in a process of its own, for its peak memory.
        arguments = (options.data,) if name == "adult" else ()
        process = multiprocessing.get_context("spawn").Process(
            target=run, args=arguments
        )
        process.start()
        process.join()


if __name__ == "__main__":
    main()
