"""The examples in docstrings run, and print what they say."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import skpriv

MODULES = [
    module.name
    for module in pkgutil.walk_packages(skpriv.__path__, "skpriv.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    assert doctest.testmod(import_module(name)).failed == 0


def test_every_public_estimator_has_an_example():
    finder = doctest.DocTestFinder(recurse=False)
    for name in skpriv.__all__:
        if isinstance(getattr(skpriv, name), type):
            examples = finder.find(getattr(skpriv, name))[0].examples
            assert examples, name
