"""The layout of a report for a terminal. The words are in `_words`."""

from textwrap import fill, wrap

from skpriv.report import _words
from skpriv.utils._text import printable

_WIDTH = 88
_WIDEST_HEADING = 9
_WIDEST_ID = 12
_MOST_CLASSES = 10
_MOST_NOTES = 20
_MOST_SCORES_WITH_PERCENTILES = 3


def format_report(report):
    """Lay a report out as text.

    Parameters
    ----------
    report : dict
        As `summarise` returns it.

    Returns
    -------
    text : str
        At most 88 characters wide, for up to five scores.
    """
    sections = [
        _format_data(report["data"]),
        _format_notes(report["data"]["notes"]),
        _format_models(report),
        _format_most_exposed(report),
        _format_spread(report["scores"]),
        _format_classes(report),
        _format_attack(report["attack"]),
        _format_agreement(report),
        _format_meanings(report),
    ]
    return "\n\n".join(filter(None, sections)) + "\n"


def _format_data(data):
    lines = [
        _paragraph("Data    ", _words.describe_source(data)),
        _paragraph("Label   ", _words.describe_label(data)),
        _paragraph("Features", _words.describe_features(data)),
    ]
    return "\n".join(lines)


def _format_notes(notes):
    if not notes:
        return None
    lines = [_paragraph("  -", _words.describe_note(n)) for n in notes[:_MOST_NOTES]]
    if len(notes) > _MOST_NOTES:
        lines.append(f"  - {_words.explain_more_notes(len(notes) - _MOST_NOTES)}")
    return "\n".join([_words.CHECK, *lines])


def _format_models(report):
    lines = [_paragraph("Model   ", _words.describe_model(report["model"]))]
    if report["neighbors"] is not None:
        text = _words.describe_neighbors(report["neighbors"], report["scores"])
        lines.append(_paragraph("k-NN    ", text))
    return "\n".join(lines)


def _format_most_exposed(report):
    top, scores = report["most_exposed"], report["scores"]
    if not scores:
        return None
    with_percentiles = len(scores) <= _MOST_SCORES_WITH_PERCENTILES
    columns = [
        _name_records(top),
        (_words.LABEL, [_words.format_label(record["label"]) for record in top]),
    ]
    for name, score in scores.items():
        values = [_words.format_score(record[name]) for record in top]
        columns.append((score["title"], values))
        if with_percentiles:
            shares = [record[f"{name}_percentile"] for record in top]
            shares = list(map(_words.format_percentile, shares))
            columns.append((_words.PERCENTILE, shares))
    attacked = report["attack"] is not None
    # Beside many scores there is room for one more column.
    if "like_neighbors" in top[0] and (with_percentiles or not attacked):
        shares = [f"{record['like_neighbors']:.0%}" for record in top]
        columns.append((_words.AGREEMENT, shares))
    if attacked:
        success = [f"{record['attack_success']:.0%}" for record in top]
        columns.append((_words.SUCCESS, success))
    headings, cells = zip(*columns, strict=True)
    rows = list(zip(*cells, strict=True))
    return _section(
        _words.title_of_most_exposed(len(top), headings[2]),
        _table(headings, rows, left=1, wrapped=True),
        _words.explain_columns(scores, headings),
    )


def _name_records(records):
    if "id" in records[0]:
        ids = [_words.shorten(record["id"], _WIDEST_ID) for record in records]
        return _words.ID, ids
    return _words.RECORD, [f"{record['record']}" for record in records]


def _format_spread(scores):
    if not scores:
        return None
    shares = list(next(iter(scores.values()))["top_shares"])
    rows = []
    for score in scores.values():
        spread = score["distribution"]
        values = (spread[key] for key in ("median", "mean", "maximum"))
        parts = [spread["unexposed"], *(score["top_shares"][s] for s in shares)]
        rows.append(
            [
                score["title"],
                *map(_words.format_score, values),
                *map(_words.format_percent, parts),
            ]
        )
    return _section(
        _words.SPREAD,
        _table(_words.headings_of_spread(shares), rows),
        [_words.explain_spread(shares)],
    )


def _format_classes(report):
    first = next(iter(report["scores"].values()), None)
    if first is None or first["by_class"] is None:
        return None
    by_class = sorted(
        first["by_class"].items(),
        key=lambda item: (item[1]["mean"] is None, -(item[1]["mean"] or 0)),
    )
    rows = [
        [
            label,
            f"{part['records']:,}",
            _words.format_score(part["mean"]),
            _words.format_percent(part["part_of_records"]),
            _words.format_percent(part["part_of_sum"]),
        ]
        for label, part in by_class[:_MOST_CLASSES]
    ]
    headings = _words.headings_of_classes(first["title"])
    if report["attack"] is not None:
        headings.append(_words.SUCCESS)
        success = report["attack"]["success_by_class"]
        for row in rows:
            row.append(_words.format_percent(success[row[0]]["value"]))
    title = _words.title_of_classes(len(by_class), len(rows))
    return _section(title, _table(headings, rows))


def _format_attack(attack):
    if attack is None:
        return None
    rows = [
        [name, *(_words.format_percent(m[end]) for end in ("value", "low", "high"))]
        for name, m in _words.measures_of_attack(attack).items()
    ]
    return _section(
        _words.title_of_attack(attack),
        _table(_words.headings_of_attack(attack), rows),
        _words.explain_attack(attack),
    )


def _format_agreement(report):
    attack, keys = report["attack"], ("value", "low", "high", "attainable")
    if attack is None or not attack["agreement"]:
        return None
    rows = [
        [
            report["scores"][name]["title"],
            *(_words.format_correlation(agreement[key]) for key in keys),
            _words.format_percent(agreement["top"]),
        ]
        for name, agreement in attack["agreement"].items()
    ]
    return _section(
        _words.AGREEMENT_WITH_ATTACK,
        _table(_words.headings_of_agreement(attack), rows),
        [_words.EXPLAIN_AGREEMENT],
    )


def _format_meanings(report):
    lines = [
        _paragraph(f"  {score['title']}:", _words.explain_score(score))
        for score in report["scores"].values()
    ]
    if lines:
        lines.insert(0, _words.DIRECTION)
    lines += [f"  {_words.explain_too_slow(title)}" for title in report["too_slow"]]
    return "\n".join([*lines, _words.LIMITS])


def _section(title, table, sentences=()):
    note = " ".join(sentences)
    return "\n".join([title, *table, *([_paragraph("", note)] if note else [])])


def _table(headings, rows, left=0, wrapped=False):
    """Lay a table out, its one left-aligned column cut to fit the width."""
    heads = [wrap(h, _WIDEST_HEADING) if wrapped else [h] for h in headings]
    height = max(map(len, heads))
    heads = [[""] * (height - len(head)) + head for head in heads]
    cells = [[_words.shorten(cell) for cell in row] for row in rows]
    columns = list(zip(*zip(*heads, strict=True), *cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    widths[left] -= max(0, sum(widths) + 2 * len(widths) - _WIDTH)
    columns[left] = [
        _words.shorten(cell, widths[left]).ljust(widths[left]) for cell in columns[left]
    ]
    return [
        "".join(
            f"  {cell.rjust(width)}" for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in zip(*columns, strict=True)
    ]


def _paragraph(head, text):
    return fill(
        f"{head} {printable(text)}" if head else f"  {printable(text)}",
        _WIDTH,
        subsequent_indent=" " * (len(head) + 1) if head else "  ",
        break_on_hyphens=False,
    )
