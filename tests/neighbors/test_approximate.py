"""Approximate search works with pynndescent as it is."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from scipy.spatial.distance import cdist

from skpriv import WaKAScorer

PROGRAM = Path(__file__).with_name("interpreted_pynndescent.py")
RNG = np.random.default_rng(7)
X, Q = RNG.normal(size=(100, 4)), RNG.normal(size=(10, 4))

# One process runs the program for all tests.
pytestmark = pytest.mark.xdist_group("pynndescent")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    given, written = folder / "given.npz", folder / "found.npz"
    np.savez(given, X=X, Q=Q)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", PROGRAM, given, written],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    with np.load(written) as arrays:
        return dict(arrays)


@pytest.mark.parametrize("rows", ["dense", "sparse"])
def test_pynndescent_finds_nearly_all_neighbours(found, rows):
    others = cdist(X, X) + np.diag(np.full(len(X), np.inf))
    for kind, distances in [("records", others), ("queries", cdist(Q, X))]:
        nearest = np.argsort(distances, axis=1)[:, :10]
        hits = [
            np.isin(a, b).sum()
            for a, b in zip(found[f"{rows} {kind}"], nearest, strict=True)
        ]
        assert np.mean(hits) > 9.5


def test_graph_by_pynndescent_gives_nearly_the_scores_of_exact_search(found):
    graph = sp.csr_array((found["data"], found["indices"], found["indptr"]))
    y = np.random.default_rng(0).integers(0, 3, len(X))
    scorer = WaKAScorer(2, metric="precomputed", neighborhood=30).fit(graph, y)
    exact = WaKAScorer(2).fit(X, y)
    assert stats.spearmanr(scorer.scores_, exact.scores_).statistic > 0.99


def test_metric_that_pynndescent_lacks_is_refused(found):
    assert "metric='nan_euclidean' is not available" in str(found["refused"])
    assert "'manhattan'" in str(found["refused"])
