"""What all tests share."""

import os
import sys
from pathlib import Path

import numba
import pytest
import torch
from joblib.externals.loky import get_reusable_executor
from threadpoolctl import threadpool_limits

# Figures are drawn and not shown.
os.environ["MPLBACKEND"] = "Agg"

TESTS = Path(__file__).parent
WITHOUT_KERNELS = ("datasets", "leverage", "metrics")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items):
    """Let one worker compile the kernels, while others run what needs none of them.

    Kernels are kept on disk: a test that needs one later loads it.
    """

    def folder(item):
        return item.path.relative_to(TESTS).parts[0]

    items.sort(key=lambda item: folder(item) not in WITHOUT_KERNELS)
    for item in items:
        if folder(item) == "neighbors":
            # The largest group, which pytest-xdist hands out first.
            item.add_marker(pytest.mark.xdist_group("neighbors"))


@pytest.fixture(autouse=True, scope="session")
def _one_thread_each():
    # Tests run in several processes, and their small problems gain nothing by threads.
    # numba comes first: in this thread, its start sets OpenMP to all cores.
    numba.set_num_threads(1)
    threadpool_limits(1)
    torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="module")
def _workers_end_with_their_module():
    # Left to idle until they time out, they might do so just as another test asks.
    yield
    get_reusable_executor().shutdown(wait=True)


@pytest.fixture(autouse=True)
def _figures_end_with_their_test():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
