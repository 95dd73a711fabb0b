"""A report as text for a terminal."""

from collections import Counter
from textwrap import fill

from skpriv.utils._text import printable

_WIDTH = 88
_EXACT = 1e-9  # of scores that are shown with four digits
_WIDEST_CELL = 24
_KINDS = {
    "number": ("number", "numbers"),
    "category": ("category", "categories"),
    "date": ("date", "dates"),
}
_WAYS = {"number": "scaled", "category": "one-hot", "date": "scaled"}


def format_report(report):
    """Write a report out for people.

    Parameters
    ----------
    report : dict
        What `summarise` returned.

    Returns
    -------
    text : str
        At most 88 characters wide, unless there are more than three scores.
    """
    sections = [
        _format_data(report["data"]),
        _format_model(report["model"]),
        _format_most_exposed(report),
        _format_spread(report["scores"]),
        _format_classes(report["scores"]),
        _format_meanings(report["scores"]),
    ]
    return "\n\n".join(sections) + "\n"


def _format_data(data):
    counts = data["classes"]
    classes = ", ".join(
        f"{_cell(label)} {count:,} ({count / data['records']:.1%})"
        for label, count in list(counts.items())[:6]
    )
    if len(counts) > 6:
        classes += f", and {len(counts) - 6} more"
    lines = [
        _paragraph("Data    ", f"{data['source']}: {data['records']:,} records"),
        _paragraph("Label   ", f"{data['label']}: {classes}"),
        _paragraph("Features", _describe_encoding(data)),
    ]
    return "\n".join(lines)


def _describe_encoding(data):
    used = [column for column in data["columns"] if column["left_out"] is None]
    counts = Counter(column["kind"] for column in used)
    ways = [
        f"{count} {_KINDS[kind][count > 1]} {_WAYS[kind]}"
        for kind, count in counts.items()
    ]
    parts = [f"{data['features']}, from {len(used)} columns: {', '.join(ways)}"]
    filled = [column["name"] for column in used if column["n_missing"]]
    if filled:
        parts.append(f"missing values marked in {_list(filled)}")
    left_out = {}
    for column in data["columns"]:
        left_out.setdefault(column["left_out"], []).append(column["name"])
    left_out.pop(None, None)
    parts += [f"left out as {why}: {_list(names)}" for why, names in left_out.items()]
    return "; ".join(parts)


def _list(names):
    shown = ", ".join(names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _format_model(model):
    return _paragraph(
        "Model   ",
        f"{model['name']}, k = {model['n_neighbors']}. With each record left out in "
        f"turn, it gets {model['accuracy']:.1%} of the labels right; always answering "
        f"{_cell(model['most_frequent_class'])} would get "
        f"{model['part_of_most_frequent_class']:.1%}.",
    )


def _format_most_exposed(report):
    top, scores = report["most_exposed"], report["scores"]
    header = ["record", "label"]
    for score in scores.values():
        header += [score["title"], "pct"]
    header.append("like it")
    rows = []
    for record in top:
        row = [f"{record['record']}", record["label"]]
        for name in scores:
            row += [f"{record[name]:.4g}", f"{record[f'{name}_percentile']:.1f}"]
        rows.append([*row, f"{record['like_neighbors']:.0%}"])
    title = f"The {len(top)} most exposed records, by {header[2]}"
    note = _paragraph(
        "",
        "record: its place in the data, from 1. pct: the percentage of records that "
        "score lower, ties counted half. like it: the share of its nearest neighbours "
        "with its label.",
    )
    return "\n".join([title, *_table(header, rows, left=(1,)), note])


def _format_spread(scores):
    header = ["score", "median", "mean", "max", "zero in"]
    shares = list(next(iter(scores.values()))["top_shares"])
    header += [f"top {share} carry" for share in shares]
    rows = []
    for score in scores.values():
        spread = score["distribution"]
        rows.append(
            [
                score["title"],
                *(f"{spread[key]:.4g}" for key in ("median", "mean", "maximum")),
                f"{spread['zeros']:.1%}",
                *(_percent(score["top_shares"][share]) for share in shares),
            ]
        )
    return "\n".join(["How exposure is spread", *_table(header, rows, left=(0,))])


def _format_classes(scores):
    first = next(iter(scores.values()))
    by_class = sorted(first["by_class"].items(), key=lambda item: -item[1]["mean"])
    rows = [
        [
            label,
            f"{part['records']:,}",
            f"{part['mean']:.4g}",
            _percent(part["part_of_records"]),
            _percent(part["part_of_sum"]),
        ]
        for label, part in by_class[:10]
    ]
    header = ["class", "records", f"mean {first['title']}", "of records", "of exposure"]
    title = "Exposure by class"
    if len(by_class) > 10:
        title += f" (the 10 most exposed of {len(by_class)})"
    return "\n".join([title, *_table(header, rows, left=(0,))])


def _format_meanings(scores):
    lines = ["Higher is more exposed, in every score:"]
    for score in scores.values():
        meaning = f"{score['meaning']}."
        if score["error_bound"] > _EXACT:
            meaning += f" Values are within {score['error_bound']:.1g} of exact."
        lines.append(_paragraph(f"  {score['title']}:", meaning))
    lines.append("Scores rank the records of one table; they do not prove an attack.")
    return "\n".join(lines)


def _table(header, rows, left):
    cells = [[_cell(cell) for cell in row] for row in [header, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def _cell(text):
    text = printable(text)
    return text if len(text) <= _WIDEST_CELL else text[: _WIDEST_CELL - 3] + "..."


def _paragraph(head, text):
    return fill(
        f"{head} {printable(text)}" if head else f"  {printable(text)}",
        _WIDTH,
        subsequent_indent=" " * (len(head) + 1) if head else "  ",
        break_on_hyphens=False,
    )


def _percent(part):
    return "-" if part is None else f"{part:.1%}"
