"""The README says what is so."""

import doctest
import re
from pathlib import Path

from skpriv.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language, text=README):
    found = re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.M | re.S)
    assert found
    return found


def test_examples_of_the_readme_print_what_it_says():
    source = "\n".join(block for block in blocks("python") if ">>>" in block)
    examples = doctest.DocTestParser().get_doctest(source, {}, "README.md", None, 0)
    assert len(examples.examples) > 3
    told = []
    result = doctest.DocTestRunner().run(examples, out=told.append)
    assert result.failed == 0, "".join(told)


def test_two_commands_are_all_that_a_new_machine_needs():
    audit, test = blocks("sh")
    for command in (audit, test):
        assert command.startswith("python3 -m venv .venv && .venv/bin/pip install ")
        assert command.count("\n") == 1
    assert "'.[report]' && .venv/bin/skpriv audit" in audit
    assert "-c constraints.txt" in test
    assert "-m pytest" in test


def test_report_begins_as_the_readme_says(capsys):
    (beginning,) = blocks("text")
    assert main(["audit"]) == 0
    assert capsys.readouterr().out.startswith(beginning)


def test_links_lead_to_files():
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


def test_linter_has_one_version():
    (constraint,) = re.findall(
        r"^ruff==(\S+)$", (ROOT / "constraints.txt").read_text(), flags=re.M
    )
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    assert re.findall(r"ruff==([^\]]+)\]", hooks) == [constraint] * 2
