"""What all tests share."""

import os
import sys

import numba
import pytest
import torch
from joblib.externals.loky import get_reusable_executor
from threadpoolctl import threadpool_limits

# Figures are drawn and not shown.
os.environ["MPLBACKEND"] = "Agg"


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
