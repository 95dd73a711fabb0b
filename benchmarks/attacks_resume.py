"""Kill a run of 64 shadows at random moments, and resume it.

    python benchmarks/attacks_resume.py [--kills 20]

Each time the resumed run must give the signals of an uninterrupted one, bit by bit,
and must not train a shadow again that the killed run reported as done.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUN = """
import sys, time
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier
from skpriv import LiRAAttack

folder, log = sys.argv[1:]


class SlowTree(DecisionTreeClassifier):
    def fit(self, X, y):
        time.sleep(0.02)
        with open(log, "a") as file:
            print(self.random_state, file=file)
        return super().fit(X, y)


class Reporter:
    def setup(self, estimator, context): pass
    def teardown(self, estimator, context): pass
    def on_fit_task_begin(self, estimator, context): pass
    def on_fit_task_end(self, estimator, context):
        if context.task_name == "shadow":
            print(context.task_id, flush=True)


print("ready", flush=True)
attack = LiRAAttack(SlowTree(max_depth=3), cache_dir=folder, random_state=0)
attack.set_callbacks(Reporter()).fit(*load_iris(return_X_y=True))
print(attack.signals_.tobytes().hex())
"""


def start(folder, log):
    command = [sys.executable, "-c", RUN, str(folder), str(log)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finish(folder, log):
    *reported, signals = start(folder, log).communicate()[0].split()
    return {int(shadow) for shadow in reported[1:]}, signals


def kill_once(root, delay):
    """Kill a run after `delay` seconds; return the shadows that it reported."""
    run = start(root / "cache", root / "log-killed")
    run.stdout.readline()
    time.sleep(delay)
    os.kill(run.pid, signal.SIGKILL)
    return {int(shadow) for shadow in run.communicate()[0].split() if shadow.isdigit()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    kills = parser.parse_args().kills
    with tempfile.TemporaryDirectory() as root:
        run = start(Path(root) / "cache", Path(root) / "log")
        run.stdout.readline()
        began = time.perf_counter()
        expected = run.communicate()[0].split()[-1]
        seconds = time.perf_counter() - began
    n_equal = n_trained_again = 0
    for kill in range(kills):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            reported = kill_once(root, random.uniform(0, seconds))
            shadows, signals = finish(root / "cache", root / "log-resumed")
            # The last to be trained is the target.
            trained = len((root / "log-resumed").read_text().split()) - 1
            equal = signals == expected and shadows == set(range(64))
            n_equal += equal
            n_trained_again += max(0, trained - (64 - len(reported)))
            print(
                f"kill {kill + 1}: {len(reported)} shadows were reported done, "
                f"{trained} trained on resuming: {'' if equal else 'NOT '}equal"
            )
    print(
        f"{n_equal} of {kills} equal; {n_trained_again} reported shadows trained again"
    )


if __name__ == "__main__":
    main()
