"""The text of a comparison of two audits, for a terminal."""

from textwrap import fill

from skpriv.utils._text import count, printable

_WIDTH = 88
_WIDEST_NAME = 28
_WIDEST_MODEL = 200
_BEYOND = "*"
_EXPLAIN_BEYOND = (
    f"{_BEYOND}: beyond its intervals, which have nothing in common. A smaller change "
    "may be chance. Risk: how often an attack is right about whether the record was in "
    "the training data; 50% is guessing."
)


def format_comparison(comparison, *, n_top=10):
    """Lay a comparison out as text.

    Parameters
    ----------
    comparison : dict
        As `compare` returns it.
    n_top : int, default=10
        How many records to list.

    Returns
    -------
    text : str
        At most 88 characters wide.
    """
    sections = [
        _format_sides(comparison),
        _format_figures(comparison["figures"]),
        _format_at_risk(comparison, n_top),
        _format_records(comparison, n_top),
        *(_format_groups(entry) for entry in comparison["groups"]),
        _paragraph("  ", _EXPLAIN_BEYOND),
    ]
    return "\n\n".join(filter(None, sections)) + "\n"


def _format_sides(comparison):
    lines = []
    for side, head in (("before", "Before  "), ("after", "After   ")):
        facts = comparison[side]
        model = _short(facts["model"], _WIDEST_MODEL)
        text = f"{facts['source']}: {count(facts['records'], 'record')}; {model}"
        if facts["n_shadows"]:
            text += f"; {facts['n_shadows']} shadow models"
        lines.append(_paragraph(head, f"{text}; {facts['date']}"))
    by = "identifier" if comparison["matched_by"] == "id" else "place in the data"
    text = f"{count(comparison['matched'], 'record')} in both, matched by {by}"
    for side in ("before", "after"):
        if comparison[f"only_{side}"]:
            text += f"; {comparison[f'only_{side}']:,} only {side}"
    lines.append(_paragraph("Records ", text))
    lines += [_paragraph("Note    ", note) for note in comparison["notes"]]
    return "\n".join(lines)


def _format_figures(figures):
    rows = [[f["name"], *_cells(f, f["unit"])] for f in figures]
    return "\n".join(_table(["figure", "before", "after", "change", ""], rows))


def _format_at_risk(comparison, n_top):
    lines = []
    for key, head in (
        ("new_at_risk", "Newly at risk"),
        ("no_longer_at_risk", "No longer at risk"),
    ):
        names = comparison[key]
        shown = ", ".join(_short(name) for name in names[:n_top])
        more = f" and {len(names) - n_top:,} more" if len(names) > n_top else ""
        text = f"{count(len(names), 'record')}" + (f": {shown}{more}" if names else "")
        lines.append(_paragraph(f"{head}:", text))
    return "\n".join(lines)


def _format_records(comparison, n_top):
    records = comparison["records"]
    n_higher = sum(bool(r["beyond"] and r["change"] > 0) for r in records)
    n_lower = sum(bool(r["beyond"] and r["change"] < 0) for r in records)
    top = [r for r in records if r["change"] is not None][:n_top]
    if not top:
        return None
    name = "id" if comparison["matched_by"] == "id" else "record"
    rows = [
        [_short(r["record"]), _short(r["label"]), *_cells(r, "proportion")] for r in top
    ]
    title = (
        f"Beyond its intervals, the risk of {count(n_higher, 'record')} is higher, and "
        f"that of {count(n_lower, 'record')} is lower. The largest changes:"
    )
    head = [name, "label", "before", "after", "change", ""]
    return "\n".join([_paragraph("", title), *_table(head, rows, left=2)])


def _format_groups(entry):
    rows = [
        [
            _short(group["name"]),
            _show_numbers(**group["records"]),
            *_cells(group, "proportion"),
        ]
        for group in entry["groups"]
    ]
    head = ["group", "records", "before", "after", "change", ""]
    return "\n".join([f"Mean risk by {_short(entry['column'])}", *_table(head, rows)])


def _show_numbers(before, after):
    return f"{before:,}" if before == after else f"{before:,}, then {after:,}"


def _cells(change, unit):
    values = [change[side] and change[side]["value"] for side in ("before", "after")]
    shown = [_show(value, unit) for value in values]
    difference = change["change"]
    return [
        *shown,
        "-" if difference is None else _signed(difference, unit),
        _BEYOND if change["beyond"] else "",
    ]


def _show(value, unit):
    if value is None:
        return "-"
    return f"{value:.1%}" if unit == "proportion" else _plain(value)


def _signed(difference, unit):
    if unit == "proportion":
        return f"{100 * difference:+.1f} points"
    return f"{'+' if difference >= 0 else '-'}{_plain(abs(difference))}"


def _plain(value):
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _short(name, width=_WIDEST_NAME):
    name = f"{name:.6g}" if isinstance(name, float) else printable(str(name))
    return name if len(name) <= width else name[: width - 3] + "..."


def _table(headings, rows, left=1):
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    return [
        "".join(
            f"  {cell.ljust(width) if place < left else cell.rjust(width)}"
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (headings, *rows)
    ]


def _paragraph(head, text):
    return fill(
        f"{head} {printable(text)}" if head.strip() else f"{head}{printable(text)}",
        _WIDTH,
        subsequent_indent=" " * (len(head) + bool(head.strip())),
        break_on_hyphens=False,
    )
