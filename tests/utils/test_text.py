"""Numbers of things read as in a sentence."""

import pytest

from skpriv.utils._text import count


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((0, "record"), "0 records"),
        ((1, "record"), "1 record"),
        ((1200, "record"), "1,200 records"),
    ],
)
def test_count(arguments, text):
    assert count(*arguments) == text
