"""Kernels leave the threads of PyTorch, OpenMP, BLAS and numba as they were."""

import os
import subprocess
import sys

import pytest

# Each fit runs in a fork of its own, where no thread of numba runs yet.
CODE = """
import os, sys, traceback
from unittest import mock

import numba, numpy as np, torch
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_info

from skpriv import KNNLeaveOneOutScorer, KNNShapleyScorer, LiRAAttack, WaKAScorer

rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)

def waka():
    WaKAScorer().fit(X, y).scores_

def shapley_of_regression():
    KNNShapleyScorer().fit(X, X[:, 0]).scores_

def lira_of_k_nearest_neighbours():
    LiRAAttack(KNeighborsClassifier(3), n_shadows=6, random_state=0).fit(X, y)

class Built(Exception):
    pass

def build(*args, **options):
    numba.get_num_threads()
    raise Built

def approximate_search():
    # In place of pynndescent, whose kernels take long to compile.
    pynndescent = mock.Mock(NNDescent=build, named_distances=["euclidean"])
    modules = {"pynndescent": pynndescent, "pynndescent.distances": pynndescent}
    many = rng.normal(size=(600, 3))
    with mock.patch.dict(sys.modules, modules):
        try:
            KNNLeaveOneOutScorer(search="approximate").fit(many, many[:, 0] > 0).scores_
        except Built:
            return
    raise AssertionError

def threads():
    libraries = {lib["filepath"]: lib["num_threads"] for lib in threadpool_info()}
    return {**libraries, "torch": torch.get_num_threads()}

if "OMP_NUM_THREADS" not in os.environ:
    torch.set_num_threads(2)
for fit in (waka, shapley_of_regression, lira_of_k_nearest_neighbours,
            approximate_search):
    process = os.fork()
    if process == 0:
        try:
            before = threads()
            fit()
            after = threads()
            assert {name: after[name] for name in before} == before
            try:
                started = numba.threading_layer() == "omp"
            except ValueError:
                started = False
            assert started == (fit is approximate_search)
            print(fit.__name__, flush=True)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.waitpid(process, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is needed")
@pytest.mark.parametrize("openmp", ["1", None])
def test_first_kernel_changes_no_number_of_threads(openmp):
    environment = {
        **os.environ,
        # More threads than any library has here, on a machine with one core too.
        "NUMBA_NUM_THREADS": "3",
        "NUMBA_THREADING_LAYER_PRIORITY": "omp tbb workqueue",
        "OMP_NUM_THREADS": openmp,
    }
    if openmp is None:
        del environment["OMP_NUM_THREADS"]
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.split() == [
        "waka",
        "shapley_of_regression",
        "lira_of_k_nearest_neighbours",
        "approximate_search",
    ], done.stderr
