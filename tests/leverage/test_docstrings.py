"""The examples in docstrings run, and print what they say."""

import doctest

import pytest

from skpriv.leverage import _scorer, gaussian


@pytest.mark.parametrize("module", [_scorer, gaussian], ids=lambda m: m.__name__)
def test_examples_run(module):
    failed, attempted = doctest.testmod(module)
    assert attempted > 0
    assert failed == 0
