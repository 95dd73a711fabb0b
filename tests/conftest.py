"""What all tests share."""

import pytest
from joblib.externals.loky import get_reusable_executor


@pytest.fixture(autouse=True, scope="module")
def _workers_end_with_their_module():
    # Left to idle until they time out, they might do so just as another test asks.
    yield
    get_reusable_executor().shutdown(wait=True)
