"""Is PyTorch as fast after a WaKA as before it, in one process?

    python benchmarks/threads.py [--threads 1] [--repeats 15] [--by-itself]

Times a training loop of a small network, whose operations are too small to share among
threads, before and after the first WaKA of the process, and after shadow models were
trained in worker processes. The ratios should be 1. For comparison, `--by-itself` lets
numba start its threads first in the thread that trains, as it does if nothing is done
about it: that sets OpenMP, and so PyTorch, to all cores.
"""

import argparse
import statistics
import time

import numba
import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

from skpriv import LiRAAttack, WaKAScorer

N_ROWS, N_FEATURES, N_HIDDEN, N_CLASSES = 256, 50, 64, 10


def train(n_steps=300):
    """Train a 50-64-10 network, and add up its hidden units by class."""
    torch.manual_seed(0)
    X, y = torch.randn(N_ROWS, N_FEATURES), torch.randint(N_CLASSES, (N_ROWS,))
    hidden = torch.nn.Linear(N_FEATURES, N_HIDDEN)
    model = torch.nn.Sequential(
        hidden, torch.nn.Tanh(), torch.nn.Linear(N_HIDDEN, N_CLASSES)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sums = torch.zeros(N_CLASSES, N_HIDDEN)
    for _ in range(n_steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(X), y).backward()
        optimizer.step()
        sums.index_add_(0, y, hidden(X).detach())


def seconds(repeats):
    """Median time of the training loop: CPU time of all threads, and elapsed."""
    times = []
    for _ in range(repeats):
        cpu, elapsed = time.process_time(), time.perf_counter()
        train()
        times.append((time.process_time() - cpu, time.perf_counter() - elapsed))
    return [statistics.median(column) for column in zip(*times, strict=True)]


def waka(X, y):
    return WaKAScorer().fit(X, y).scores_


def lira_in_workers(X, y):
    attack = LiRAAttack(LogisticRegression(), n_shadows=16, n_jobs=2, random_state=0)
    return attack.fit(X, y).scores_


def numba_by_itself(X, y):
    numba.get_num_threads()  # starts its threads


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=1, help="PyTorch's threads")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--by-itself", action="store_true")
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 20)), rng.integers(0, 2, 2000)
    train()
    before = seconds(options.repeats)
    print("after               threads   CPU time   elapsed, as ratios to before")
    first = (numba_by_itself,) if options.by_itself else ()
    for step in (*first, waka, lira_in_workers):
        step(X, y)
        after = seconds(options.repeats)
        cpu, elapsed = (b / a for a, b in zip(before, after, strict=True))
        name = step.__name__.replace("_", " ")
        print(f"{name:20}{torch.get_num_threads():7}{cpu:11.2f}{elapsed:10.2f}")


if __name__ == "__main__":
    main()
