"""The report of an audit as Markdown: the words and tables of the page."""

import re
from functools import singledispatch

from skpriv.report._blocks import (
    Cards,
    Code,
    Facts,
    Figure,
    Glyph,
    Link,
    Name,
    Note,
    Part,
    Picture,
    Points,
    Strong,
    Table,
    Told,
)
from skpriv.report._contents import sections_of, subtitle_of, title_of
from skpriv.utils._text import printable

_LONGEST_NAME, _LONGEST_TEXT = 120, 1000
# What starts markup within a line, where all text from the data is.
_MARKUP = re.compile(r"[\\`*_{}\[\]<>#|~&!$@]|:(?=//)")


def render_markdown(summary, *, show_values=False):
    """Write the summary of an audit as Markdown.

    Parameters
    ----------
    summary : dict
        The summary of an audit.
    show_values : bool, default=False
        Whether values of single records, such as their labels, are shown. The values
        that identify records are in any case.

    Returns
    -------
    text : str
        Without the pictures, and without the table of all records.
    """
    blocks = [f"# {_inline(title_of(summary))}", _inline(subtitle_of(summary))]
    sections = sections_of(summary, show_values=show_values)
    for number, section in enumerate(sections, 1):
        blocks.append(f"## {number}. {section.title}")
        blocks += [_write(block) for block in section.blocks]
    return "\n\n".join(filter(None, blocks)) + "\n"


@singledispatch
def _write(block):
    return _inline(block)


@_write.register
def _(block: Part):
    return "\n\n".join([f"### {block.title}", *map(_write, block.blocks)])


@_write.register
def _(block: Note):
    return f"> {_inline(block.text)}"


@_write.register
def _(block: Points):
    return "\n".join(f"- {_inline(item)}" for item in block.items)


@_write.register
def _(block: Facts):
    return "\n".join(f"- **{_inline(t)}**: {_inline(text)}" for t, text in block.rows)


@_write.register
def _(block: Cards):
    return "\n".join(
        f"- **{card.title}: {_inline(card.number)}.** {_inline(card.text)}"
        for card in block.cards
    )


@_write.register
def _(block: Picture):
    return ""


@_write.register
def _(block: Table):
    if block.long:
        return ""
    shown = [
        place
        for place in range(len(block.headings))
        if not all(
            isinstance(row[place], Glyph) or row[place] == "" for row in block.rows
        )
    ]
    rows = [[row[place] for place in shown] for row in block.rows]
    rule = ["---:" if _is_figure(rows, k) else "---" for k in range(len(shown))]
    headings = [_inline(block.headings[place]) for place in shown]
    lines = [headings, rule, *([_inline(cell) for cell in row] for row in rows)]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"{_inline(block.caption)}:\n\n{table}"


def _is_figure(rows, place):
    return bool(rows) and isinstance(rows[0][place], Figure)


def _inline(text):
    """Return a piece of text as Markdown, escaped."""
    if isinstance(text, Figure):
        return text.text
    if isinstance(text, Link):
        return f"[{text.text}]({text.address})"
    if isinstance(text, tuple):
        return "".join(map(_inline, text))
    if isinstance(text, Code):
        return _code(printable(text))
    if isinstance(text, Strong):
        return f"**{_escape(printable(text)).strip()}**" + " " * text.endswith(" ")
    if isinstance(text, Name | Told):
        longest = _LONGEST_NAME if isinstance(text, Name) else _LONGEST_TEXT
        name = printable(text)
        if len(name) > longest:
            name = name[: longest - 1] + "…"
        return _escape(name)
    return text


def _escape(text):
    return _MARKUP.sub(lambda found: _ESCAPED.get(found[0], f"\\{found[0]}"), text)


# Entities, where a backslash would not keep a reader from seeing HTML or a link.
_ESCAPED = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;", ":": "&#58;"}


def _code(text):
    """Return text as code, between more backticks than it has in a row."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    ticks = "`" * (longest + 1)
    # A pipe ends the cell of a table even in code.
    text = text.replace("|", "\\|")
    return f"{ticks} {text} {ticks}" if longest else f"{ticks}{text}{ticks}"
