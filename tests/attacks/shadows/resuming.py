"""Kill runs of 64 shadows at random moments, and resume them.

    python tests/attacks/shadows/resuming.py [--kills 20]

Each time the resumed run must give the signals of an uninterrupted one, bit by bit,
and must not train a shadow again that the killed run reported as done.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from skpriv import LiRAAttack

N_SHADOWS = 64


class SlowTree(DecisionTreeClassifier):
    def fit(self, X, y):
        time.sleep(0.01)
        with open(sys.argv[3], "a") as log:
            print(self.random_state, file=log)
        return super().fit(X, y)


class Reporter:
    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "shadow":
            print(context.task_id, flush=True)


def run(folder):
    """Attack with a cache: print the shadows as they are done, then the signals."""
    print("ready", flush=True)
    attack = LiRAAttack(
        SlowTree(max_depth=3), n_shadows=N_SHADOWS, cache_dir=folder, random_state=0
    )
    attack.set_callbacks(Reporter()).fit(*load_iris(return_X_y=True))
    print(attack.signals_.tobytes().hex())


def start(folder, log):
    """Start a run in a process of its own, which logs what it trains."""
    command = [sys.executable, __file__, "run", str(folder), str(log)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def finish(process):
    """Return the shadows that a run has reported, and its signals."""
    *shadows, signals = process.communicate()[0].split()
    assert process.returncode == 0
    return sorted(map(int, shadows)), signals


def kill_and_resume(root, expected, delay, n_awaited=0):
    """Kill a run, and check what comes of it when resumed.

    It is killed `delay` seconds after it has reported `n_awaited` shadows. Returns the
    numbers of shadows reported before it was killed, and trained after.
    """
    killed = start(root / "cache", root / "log-killed")
    reported = [killed.stdout.readline() for _ in range(n_awaited)]
    time.sleep(delay)
    killed.kill()
    reported += killed.communicate()[0].splitlines()[:N_SHADOWS]
    shadows, signals = finish(start(root / "cache", root / "log-resumed"))
    assert signals == expected
    assert shadows == list(range(N_SHADOWS))
    trained = (root / "log-resumed").read_text().split()
    # The target is trained as well.
    assert len(set(trained)) == len(trained) <= N_SHADOWS - len(reported) + 1
    return len(reported), len(trained) - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    n_kills = parser.parse_args().kills
    with tempfile.TemporaryDirectory() as folder:
        whole = start(Path(folder) / "cache", Path(folder) / "log")
        began = time.perf_counter()
        _, expected = finish(whole)
        seconds = time.perf_counter() - began
    for kill in range(n_kills):
        with tempfile.TemporaryDirectory() as folder:
            delay = random.uniform(0, seconds)
            reported, trained = kill_and_resume(Path(folder), expected, delay)
            print(f"kill {kill + 1}: {reported} done, {trained} trained on resuming")


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2])
    else:
        main()
