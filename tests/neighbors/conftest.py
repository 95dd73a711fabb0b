"""Approximate search without pynndescent, whose kernels take minutes to compile.

`test_approximate.py` runs the library itself.
"""

import sys
from types import ModuleType

import pytest
from exact_index import ExactIndex


@pytest.fixture(autouse=True)
def _exact_index_in_place_of_pynndescent(monkeypatch):
    package, distances = ModuleType("pynndescent"), ModuleType("pynndescent.distances")
    package.NNDescent, package.distances = ExactIndex, distances
    distances.named_distances = {"euclidean", "manhattan", "chebyshev", "cosine"}
    for module in (package, distances):
        monkeypatch.setitem(sys.modules, module.__name__, module)
