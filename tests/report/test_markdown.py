"""The report as Markdown: the words of the page, and text from the data stays text."""

import copy

import pytest
from markdown_it import MarkdownIt
from summaries import make_bare_summary, make_regression_summary, make_summary

from skpriv.report._contents import sections_of
from skpriv.report._markdown import render_markdown

HOSTILE = [
    "<script>alert(1)</script>",
    "a | b",
    "`code` ``more``",
    "# heading\n\n- item",
    "[link](http://evil.example)",
    "http://evil.example",
    "**bold** _italic_ ~~gone~~",
    "&lt;script&gt;",
    "![picture](http://evil.example/x.png)",
    "\x1b[31mred",
    "\u202eesrever",
    "\\",
    "a\\|b",
]


def parse(text):
    return MarkdownIt("gfm-like", {"linkify": False}).parse(text)


def tags(tokens):
    for token in tokens:
        yield token.type
        yield from tags(token.children or ())


@pytest.mark.parametrize(
    "make", [make_summary, make_bare_summary, make_regression_summary]
)
def test_sections_are_those_of_the_page(make):
    summary = make()
    lines = render_markdown(summary).splitlines()
    sections = sections_of(summary)
    shown = [line for line in lines if line.startswith("## ")]
    assert shown == [f"## {k}. {s.title}" for k, s in enumerate(sections, 1)]
    assert lines[0] == f"# Privacy audit of {summary['model']['name']}"


def test_tables_have_as_many_cells_in_each_row():
    tokens = parse(render_markdown(make_summary()))
    width = None
    for token in tokens:
        if token.type == "tr_open":
            cells = 0
        elif token.type in ("td_open", "th_open"):
            cells += 1
        elif token.type == "tr_close":
            assert cells == (width or cells)
            width = cells
        elif token.type == "table_close":
            width = None
    assert sum(token.type == "table_open" for token in tokens) >= 8


@pytest.mark.parametrize("text", HOSTILE)
def test_text_from_the_data_is_no_markup(text):
    summary, hostile = make_summary(20), make_summary(20)
    for changed, value in ((summary, "name"), (hostile, text)):
        changed["data"] |= {"label": value, "source": value}
        changed["data"]["classes"] = {value: 20}
        changed["data"]["notes"][0] |= {"columns": [value], "reason": value}
        changed["data"]["notes"][0]["option"] = value
        changed["model"] |= {"name": value, "text": value}
        changed["made"]["command"] = value
        changed["groups"][0]["groups"][0]["name"] = value
        changed["measures"]["tried"][0] |= {"name": value, "note": value}
        changed["most_exposed"][0] |= {"id": value, "label": value}
        changed["most_exposed"][0]["reasons"][0]["text"] = value
    written = render_markdown(hostile, show_values=True)
    plain = render_markdown(summary, show_values=True)
    assert list(tags(parse(written))) == list(tags(parse(plain)))
    assert "\x1b" not in written
    assert "\u202e" not in written


def test_labels_are_shown_on_demand_only():
    summary = make_summary()
    summary["most_exposed"][0]["label"] = "secret"
    assert "secret" not in render_markdown(summary)
    assert "| secret |" in render_markdown(summary, show_values=True)


def test_long_text_is_cut():
    summary = make_summary()
    summary["data"]["label"] = "x" * 10_000
    text = render_markdown(summary)
    assert "x" * 119 + "…" in text
    assert "x" * 120 not in text


def test_summary_is_left_as_it_was():
    summary = make_summary()
    before = copy.deepcopy(summary)
    render_markdown(summary)
    assert summary == before
