"""Speed and memory of the attacks, as ratios in one run.

    python benchmarks/attacks_speed.py [forest scoring neighbors memory sacroml]

``sacroml`` needs sacroml 2.0.1 in this environment, or, with ``--sacroml-python``, in
that of another interpreter.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from unittest import mock

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

from skpriv import LiRAAttack
from skpriv.attacks import _base
from skpriv.attacks._lira import attack_success
from skpriv.attacks._shadows import _training
from skpriv.attacks._shadows._neighbors import NearestNeighborShadows
from skpriv.attacks._shadows._queries import Queries
from skpriv.attacks._shadows._training import Design, Records
from skpriv.utils._halves import complementary_halves

SACROML = """
import tempfile, time, warnings
warnings.filterwarnings("ignore")
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sacroml.attacks.likelihood_attack import LIRAAttack
from sacroml.attacks.target import Target

X, y = make_classification(
    4000, 20, n_informative=10, n_classes=3, flip_y=0.1, random_state=0
)
X_test, y_test = X[2000:], y[2000:]
X, y = X[:2000], y[:2000]
model = RandomForestClassifier(50, random_state=0).fit(X, y)
target = Target(
    model=model, dataset_name="made", X_train=X, y_train=y, X_test=X_test,
    y_test=y_test, X_train_orig=X, y_train_orig=y, X_test_orig=X_test,
    y_test_orig=y_test,
)
with tempfile.TemporaryDirectory() as folder:
    attack = LIRAAttack(
        n_shadow_models=64, mode="online-carlini", output_dir=folder,
        write_report=False, report_individual=True,
    )
    start = time.perf_counter()
    attack.attack(target)
    print("seconds", time.perf_counter() - start)
"""


def _seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _three_classes(n_records):
    return make_classification(
        n_records, 20, n_informative=10, n_classes=3, flip_y=0.1, random_state=0
    )


def forest():
    """Time 64 forests on 4,000 records, and what is not training and predicting.

    As in sacroml's run, the target was trained before, on the first half.
    """
    X, y = _three_classes(4000)
    target = RandomForestClassifier(50, random_state=0).fit(X[:2000], y[:2000])
    inside = 0.0
    train_shadow, ask = _training.train_shadow, Queries.ask

    def attacked(n_jobs):
        attack = LiRAAttack(target=target, n_shadows=64, n_jobs=n_jobs, random_state=0)
        return _seconds(lambda: attack.fit(X, y).scores_)

    def timed(function):
        def call(*args, **kwargs):
            nonlocal inside
            start = time.perf_counter()
            result = function(*args, **kwargs)
            inside += time.perf_counter() - start
            return result

        return call

    def target_ask(queries, model, records):
        return (timed(ask) if model is target else ask)(queries, model, records)

    parallel = [attacked(n_jobs=2) for _ in range(2)]
    with (
        mock.patch.object(_training, "train_shadow", timed(train_shadow)),
        mock.patch.object(Queries, "ask", target_ask),
    ):
        total = attacked(n_jobs=None)
    print(
        f"forest: one job {total:.2f} s, of which {1 - inside / total:.2%} is neither "
        "training nor predicting"
    )
    print(
        f"forest: two jobs {parallel[0]:.2f} s, again with warm workers "
        f"{parallel[1]:.2f} s"
    )
    return parallel[0]


def sacroml(python, ours):
    result = subprocess.run(
        [python, "-c", SACROML], capture_output=True, text=True, check=False
    )
    if result.returncode:
        print("sacroml: did not run:", result.stderr.strip().splitlines()[-1])
        return
    line = [x for x in result.stdout.splitlines() if x.startswith("seconds")][-1]
    theirs = float(line.split()[1])
    print(
        f"sacroml: {theirs:.2f} s; ours with two jobs {ours:.2f} s, "
        f"{ours / theirs:.2f} of its time"
    )


def scoring():
    """Score 20,000 records at 256 shadows, each left out."""
    rng = np.random.default_rng(0)
    membership = complementary_halves(rng.integers(0, 2, 20_000), 128, 0)
    signals = rng.normal(size=membership.shape).astype(np.float32)
    seconds = [_seconds(lambda: attack_success(signals, membership)) for _ in range(3)]
    print(f"scoring: 20,000 records, 256 shadows, pairs left out: {min(seconds):.2f} s")


def neighbors():
    """One search against refitting, 20,000 records and 256 shadows."""
    X, y = _three_classes(20_000)
    estimator = KNeighborsClassifier(5)
    warm = LiRAAttack(estimator, n_shadows=6, random_state=0)
    warm.fit(X[:500], y[:500])
    attack = LiRAAttack(estimator, n_shadows=256, random_state=0)
    fast = _seconds(lambda: attack.fit(X, y))

    def shadows_alone():
        design = Design(attack.membership_, attack.shadow_seeds_)
        nearest = NearestNeighborShadows(
            estimator, Records(X, y), design, attack._queries
        )
        for _ in nearest.signals(range(len(attack.membership_))):
            pass

    alone = _seconds(shadows_alone)
    refit = np.mean(
        [
            _seconds(
                lambda half=half: (
                    KNeighborsClassifier(5).fit(X[half], y[half]).predict_proba(X)
                )
            )
            for half in attack.membership_[:8]
        ]
    )
    print(
        f"neighbors: 256 shadows {alone:.2f} s, and the whole attack {fast:.2f} s; "
        f"refitting takes {refit:.2f} s each, {256 * refit:.0f} s in all: "
        f"{256 * refit / alone:.0f} times as long as the shadows, "
        f"{256 * refit / fast:.0f} times as long as the attack"
    )


def memory():
    """What 50,000 records and 256 shadows take, on disk and at peak."""
    X, y = _three_classes(50_000)
    estimator = KNeighborsClassifier(5)
    with tempfile.TemporaryDirectory() as folder:
        attack = LiRAAttack(estimator, n_shadows=256, cache_dir=folder, random_state=0)
        attack.fit(X, y)
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        # All shadows from the cache: what is left is the attack's own need.
        tracemalloc.start()
        with mock.patch.object(_base, "fit_clone", return_value=attack.target_):
            LiRAAttack(estimator, n_shadows=256, cache_dir=folder, random_state=0).fit(
                X, y
            )
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    print(f"memory: {size / 1e6:.1f} MB on disk, {peak / 1e6:.0f} MB at peak")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*")
    parser.add_argument("--sacroml-python", default=sys.executable)
    arguments = parser.parse_args()
    what = arguments.what or ["forest", "scoring", "neighbors", "memory", "sacroml"]
    ours = forest() if {"forest", "sacroml"} & set(what) else None
    for part in (scoring, neighbors, memory):
        if part.__name__ in what:
            part()
    if "sacroml" in what:
        sacroml(arguments.sacroml_python, ours)


if __name__ == "__main__":
    main()
