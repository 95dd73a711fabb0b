"""The page of an audit: one HTML file that needs nothing else and asks for nothing."""

import base64
import hashlib
from functools import cache, partial

from skpriv.report import _blocks, _pictures
from skpriv.report._contents import sections_of, subtitle_of, title_of
from skpriv.utils._optional import import_optional
from skpriv.utils._text import printable

Markup = _pictures.Markup
_LONGEST_NAME = 120
# Of a sentence, and of the text that appears when the mouse rests on a name.
_LONGEST_TEXT = 1000


def render_page(summary, *, show_values=False):
    """Write the summary of an audit as a page.

    Parameters
    ----------
    summary : dict
        The summary of an audit.
    show_values : bool, default=False
        Whether values of single records, such as their labels, are shown. The values
        that identify records are in any case.

    Returns
    -------
    page : str
        HTML. It holds its styles, pictures and script, makes no request, and works
        without the script.

    Raises
    ------
    ImportError
        If jinja2 is not installed.
    """
    style, script = _source("style.css"), _source("table.js")
    return _template("page.html").render(
        title=title_of(summary),
        subtitle=subtitle_of(summary),
        sections=sections_of(summary, show_values=show_values),
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        draw=partial(_draw, summary),
        draw_guesses=_pictures.draw_guesses,
    )


def render_notebook(summary):
    """Write the verdict and the most exposed records as HTML for a notebook.

    Parameters
    ----------
    summary : dict
        The summary of an audit.

    Returns
    -------
    fragment : str
        HTML that holds its own style.

    Raises
    ------
    ImportError
        If jinja2 is not installed.
    """
    answer, who = (
        section
        for section in sections_of(summary)
        if section.key in ("answer", "who")
    )  # fmt: skip
    return _template("notebook.html").render(
        title=title_of(summary),
        subtitle=subtitle_of(summary),
        verdict=answer.blocks[0],
        limit=answer.blocks[-1],
        top=next((b for b in who.blocks if isinstance(b, _blocks.Table)), None),
        style=_source("notebook.css"),
    )


@cache
def _environment():
    jinja2 = import_optional("jinja2", extra="report")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("skpriv.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "inline": _inline,
        "plain": plain,
        "is_figure": lambda cell: isinstance(cell, _blocks.Figure),
        "is_glyph": lambda cell: isinstance(cell, _blocks.Glyph),
    }
    return environment


def _template(name):
    return _environment().get_template(name)


@cache
def _source(name):
    """Return a style sheet or script as it stands between its tags."""
    environment = _environment()
    text, _, _ = environment.loader.get_source(environment, name)
    return Markup(text.replace("\r\n", "\n"))


def _hash(text):
    """Return the hash by which a browser knows the only code that it may run."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode()


def _draw(summary, picture):
    return _pictures.draw(picture.name, summary, picture.title)


def plain(text):
    """Return a piece of text without markup, on one line."""
    if isinstance(text, tuple) and not isinstance(text, _blocks.Link):
        return "".join(map(plain, text))
    if isinstance(text, _blocks.Link):
        return text.text
    text = printable(str(text))
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"


def _inline(text):
    """Return a piece of text as HTML, escaped."""
    if isinstance(text, _blocks.Glyph):
        return _pictures.draw_glyph(text)
    if isinstance(text, _blocks.Figure):
        return Markup.escape(text.text)
    if isinstance(text, _blocks.Link):
        link = Markup('<a href="{}" rel="noopener noreferrer">{}</a>')
        return link.format(text.address, text.text)
    if isinstance(text, tuple):
        return Markup().join(map(_inline, text))
    if isinstance(text, _blocks.Name):
        return _set_apart(printable(text), _LONGEST_NAME)
    if isinstance(text, _blocks.Told):
        return _set_apart(printable(text), _LONGEST_TEXT)
    if isinstance(text, _blocks.Code):
        return Markup('<code dir="auto">{}</code>').format(printable(text))
    if isinstance(text, _blocks.Strong):
        return Markup("<strong>{}</strong>").format(
            _set_apart(printable(text), _LONGEST_NAME)
        )
    return Markup.escape(text)


def _set_apart(text, longest):
    if len(text) <= longest:
        return Markup("<bdi>{}</bdi>").format(text)
    return Markup('<bdi title="{}">{}…</bdi>').format(
        text[:_LONGEST_TEXT], text[: longest - 1]
    )
