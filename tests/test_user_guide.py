import doctest
import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[1] / "docs" / "user_guide"
PAGES = sorted(GUIDE.glob("*.md"))


def test_there_is_a_guide():
    names = {"attacks", "audit", "leverage", "neighbors", "plots", "risk"}
    assert names <= {page.stem for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_a_page_print_what_it_says(page):
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.M | re.S)
    source = "\n".join(block for block in blocks if ">>>" in block)
    examples = doctest.DocTestParser().get_doctest(source, {}, page.name, None, 0)
    told = []
    result = doctest.DocTestRunner().run(examples, out=told.append)
    assert result.failed == 0, "".join(told)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_to_files(page):
    for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (GUIDE / link).exists(), link
