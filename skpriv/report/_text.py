"""The layout of a report for a terminal. The words are in `_words`."""

from textwrap import fill, wrap

from skpriv.report import _words
from skpriv.utils._text import printable

_WIDTH = 88
_WIDEST_HEADING = 9
_WIDEST_ID = 20
_WIDEST_INDENT = 9
_MOST_GROUPS = 10
_MOST_NOTES = 20


def format_report(summary):
    """Lay a report out as text.

    Parameters
    ----------
    summary : dict
        As `summarise` returns it.

    Returns
    -------
    text : str
        At most 88 characters wide.
    """
    sections = [
        _format_subject(summary),
        _format_notes(summary["data"]["notes"]),
        _format_verdict(summary["verdict"]),
        _format_most_exposed(summary),
        *(_format_groups(column) for column in summary["groups"]),
        _format_attack(summary),
        _format_scores(summary["scores"]),
        _paragraph("", _words.LIMITS),
    ]
    return "\n\n".join(filter(None, sections)) + "\n"


def _format_subject(summary):
    data = summary["data"]
    lines = [
        _paragraph("Data    ", _words.describe_source(data)),
        _paragraph("Label   ", _words.describe_label(data)),
        _paragraph("Features", _words.describe_features(data)),
        _paragraph("Model   ", _words.describe_model(summary["model"])),
    ]
    return "\n".join(lines)


def _format_notes(notes):
    if not notes:
        return None
    lines = [_paragraph("  -", _words.describe_note(n)) for n in notes[:_MOST_NOTES]]
    if len(notes) > _MOST_NOTES:
        lines.append(f"  - {_words.explain_more_notes(len(notes) - _MOST_NOTES)}")
    return "\n".join([_words.CHECK, *lines])


def _format_verdict(sentences):
    return "\n".join([_words.VERDICT, *(_paragraph("  -", text) for text in sentences)])


def _format_most_exposed(summary):
    top = summary["most_exposed"]
    if summary["unmeasurable"] is not None:
        return _format_conspicuous([record for record in top if record["reasons"]])
    if not top:
        return None
    heading, names = _name_records(top)
    rows = [
        [name, _words.format_label(r["label"]), *_words.risk_cells(r)]
        for name, r in zip(names, top, strict=True)
    ]
    lines = [_words.title_of_most_exposed(summary)]
    lines += _table([heading, _words.LABEL, *_words.headings_of_risk(summary)], rows)
    lines.append(_paragraph("", _words.explain_risk(summary)))
    return "\n".join([*lines, _words.WHY, *_reasons(top)])


def _format_conspicuous(records):
    if not records:
        return None
    return "\n".join([_words.CONSPICUOUS, *_reasons(records)])


def _reasons(records):
    _, names = _name_records(records)
    return [
        _paragraph(
            f"  {name}:", _words.join_reasons(record["reasons"]) or _words.NO_REASON
        )
        for name, record in zip(names, records, strict=True)
    ]


def _name_records(records):
    if records[0]["id"] is not None:
        ids = [_words.shorten(record["id"], _WIDEST_ID) for record in records]
        return _words.ID, ids
    return _words.RECORD, [f"{record['record']}" for record in records]


def _format_groups(column):
    groups = column["groups"]
    rows = [
        [
            group["name"],
            f"{group['records']:,}",
            *_words.estimate_cells(group["estimate"]),
            f"{group['at_risk']:,}",
        ]
        for group in groups[:_MOST_GROUPS]
    ]
    title = _words.title_of_groups(column["column"], len(groups), len(rows))
    note = _words.explain_groups(groups)
    return _section(title, _table(_words.HEADINGS_OF_GROUPS, rows, left=(0,)), note)


def _format_attack(summary):
    attack = summary["attack"]
    if attack is None:
        return None
    rows = [
        [name, *_words.estimate_cells(estimate)]
        for name, estimate in _words.measures_of_attack(attack).items()
    ]
    return _section(
        _words.title_of_attack(summary["risk"]),
        _table(_words.HEADINGS_OF_ATTACK, rows, left=(0,)),
        _words.explain_attack(attack),
    )


def _format_scores(scores):
    if not scores:
        return None
    lines = [
        _paragraph(f"  {score['title']}:", _words.explain_score(score))
        for score in scores.values()
    ]
    return "\n".join([_words.SCORES, *lines])


def _section(title, table, sentences=()):
    note = " ".join(sentences)
    lines = [*wrap(printable(title), _WIDTH), *table]
    return "\n".join([*lines, *([_paragraph("", note)] if note else [])])


def _table(headings, rows, left=(0, 1)):
    """Lay a table out; its last left-aligned column is cut to fit the width."""
    heads = [wrap(h, _WIDEST_HEADING) for h in headings]
    height = max(map(len, heads))
    heads = [[""] * (height - len(head)) + head for head in heads]
    cells = [[_words.shorten(cell) for cell in row] for row in rows]
    columns = list(zip(*zip(*heads, strict=True), *cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    widths[left[-1]] -= max(0, sum(widths) + 2 * len(widths) - _WIDTH)
    for j in left:
        columns[j] = [
            _words.shorten(cell, widths[j]).ljust(widths[j]) for cell in columns[j]
        ]
    return [
        "".join(
            f"  {cell.rjust(width)}" for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in zip(*columns, strict=True)
    ]


def _paragraph(head, text):
    if not head:
        return fill(
            f"  {printable(text)}",
            _WIDTH,
            subsequent_indent="  ",
            break_on_hyphens=False,
        )
    return fill(
        f"{printable(head)} {printable(text)}",
        _WIDTH,
        subsequent_indent=" " * min(len(head) + 1, _WIDEST_INDENT),
        break_on_hyphens=False,
    )
