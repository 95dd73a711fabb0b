"""The sections of a report that is filed about groups, and about what would help."""

from skpriv.report import _about
from skpriv.report import _page_words as words
from skpriv.report._blocks import Figure, Glyph, Name, Section, Strong, Table, Told
from skpriv.report._cells import (
    MOST_ROWS,
    interval_glyph,
    known,
    limits_cell,
    listed,
    percentage,
    say_more,
    told_with_limits,
)

_MOST_SMALL_GROUPS = 12


def section_on_groups(summary):
    """Tell the risk of each group."""
    groups, level = summary["groups"], summary["risk"]["confidence_level"]
    if not groups:
        text = "The risk was not measured by group in this audit."
        return Section("groups", "Which groups are exposed", [text])
    blocks = [_about.read_groups(f"{level:.0%}")]
    for by in groups:
        small = [group["name"] for group in by["groups"] if group["too_small"]]
        rows = [_row_of_group(group) for group in by["groups"][:MOST_ROWS]]
        headings = ["Group", "Records", "Mean risk", f"{level:.0%} interval"]
        headings += ["50% to 100%", "Records at risk"]
        caption = ("By ", Name(by["column"]))
        blocks += [Table(caption, headings, rows), *say_more(by["groups"], "group")]
        if small:
            blocks.append(
                (
                    "Too few records to say anything about the group as a whole: ",
                    *listed(small[:_MOST_SMALL_GROUPS]),
                    f"{_and_more(len(small) - _MOST_SMALL_GROUPS)}.",
                )
            )
    return Section("groups", "Which groups are exposed", blocks)


def _and_more(number):
    return f", and {number:,} more" if number > 0 else ""


def _row_of_group(group):
    is_known = known(group["estimate"]) and not group["too_small"]
    risk = group["estimate"]
    return (
        Name(group["name"]),
        Figure(f"{group['records']:,}", group["records"]),
        percentage(risk["value"]) if is_known else "too few records",
        limits_cell(risk) if is_known else "",
        interval_glyph(risk) if is_known else "",
        words.share(group["at_risk"], group["records"]),
    )


def section_on_measures(summary):
    """Tell what each measure does to the model and the risk."""
    measures = summary["measures"]
    blocks = []
    if measures is None:
        blocks.append(
            "No measure was tried in this audit. Each takes about as long as the "
            "audit; --measures always (measures=True in Python) tries them all."
        )
    elif not measures["tried"]:
        blocks.append("No measure could be tried on this model.")
    else:
        blocks += [_about.READ_MEASURES, _table_of_measures(summary)]
    for measure in measures["not_tried"] if measures else ():
        blocks.append(
            (
                Strong(measure["name"]),
                ": ",
                Told(measure["change"]),
                ". It could not be tried: ",
                Told(measure["reason"]),
                ".",
            )
        )
    return Section("measures", "What would help", [*blocks, *_about.GUARANTEES])


def _table_of_measures(summary):
    measures, model = summary["measures"], summary["model"]["performance"]
    before = measures["before"]
    numbers = [tried["after"]["at_risk"] for tried in measures["tried"]]
    scale = (0, max(before["at_risk"], *numbers))
    rows = [_row_of_measure("as audited", None, before, None, before, scale)]
    rows += [
        _row_of_measure(t["name"], t["change"], t["after"], t["note"], before, scale)
        for t in measures["tried"]
    ]
    headings = ["Measure", _measure_of(model), "Records at risk"]
    headings += [f"0 to {scale[1]:,} at risk", "Mean risk", "Highest risk"]
    return Table("Each measure, tried on this model and these data", headings, rows)


def _row_of_measure(name, change, measured, note, before, scale):
    title = [Strong(name)]
    title += [": ", Told(change)] if change else []
    title += ["; ", Told(note)] if note else []
    performance = measured["performance"]
    return (
        tuple(title),
        told_with_limits(performance),
        words.share(measured["at_risk"], measured["records"]),
        Glyph("change", (before["at_risk"], measured["at_risk"]), scale),
        percentage(measured["mean_risk"]),
        percentage(measured["highest"]),
    )


def _measure_of(performance):
    if performance is None:
        return "Performance"
    return {"accuracy": "Accuracy", "r2": "Variance explained"}.get(
        performance["measure"], performance["measure"]
    )
