"""Batches cover all rows, within the working memory."""

import numpy as np
import pytest
from sklearn import config_context

from skpriv.utils._batches import row_batches


@pytest.mark.parametrize("n_rows", [0, 1, 4096, 4097, 10_000])
def test_batches_cover_each_row_once(n_rows):
    covered = np.zeros(n_rows, dtype=int)
    for batch in row_batches(n_rows):
        covered[batch] += 1
    assert (covered == 1).all()


def test_batches_are_bounded_by_memory_and_by_rows():
    with config_context(working_memory=1):
        batches = row_batches(1000, bytes_per_row=2**14)
    assert {batch.stop - batch.start for batch in batches} == {64, 40}
    assert row_batches(10, most_rows=4) == [slice(0, 4), slice(4, 8), slice(8, 10)]
