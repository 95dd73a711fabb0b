"""A report as text for a terminal."""

from collections import Counter
from textwrap import fill, wrap

from skpriv.utils._text import printable

_WIDTH = 88
_EXACT = 1e-9  # of scores that are shown with four digits
_WIDEST_CELL = 24
_WIDEST_HEADING = 9
_MOST_SCORES_WITH_PERCENTILES = 3
_SUCCESS = "LiRA success"
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
        At most 88 characters wide, for up to five scores.
    """
    sections = [
        _format_data(report["data"]),
        _format_models(report),
        _format_most_exposed(report),
        _format_spread(report["scores"]),
        _format_classes(report),
        _format_attack(report),
        _format_agreement(report),
        _format_meanings(report),
    ]
    return "\n\n".join(filter(None, sections)) + "\n"


def _format_data(data):
    lines = [
        _paragraph("Data    ", f"{data['source']}: {data['records']:,} records"),
        _paragraph("Label   ", f"{data['label']}: {_describe_label(data)}"),
        _paragraph("Features", _describe_encoding(data)),
    ]
    return "\n".join(lines)


def _describe_label(data):
    if data["classes"] is None:
        quantity = data["quantity"]
        return f"from {quantity['minimum']:.6g} to {quantity['maximum']:.6g}"
    counts = data["classes"]
    classes = ", ".join(
        f"{_cell(label)} {count:,} ({count / data['records']:.1%})"
        for label, count in list(counts.items())[:6]
    )
    return classes + (f", and {len(counts) - 6} more" if len(counts) > 6 else "")


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


def _format_models(report):
    model, neighbors = report["model"], report["neighbors"]
    text = f"{_name(model)}. With {model['left_out']} left out in turn, {_right(model)}"
    if "most_frequent_class" in model:
        text += (
            f"; always answering {_cell(model['most_frequent_class'])} would get "
            f"{model['part_of_most_frequent_class']:.1%}"
        )
    lines = [_paragraph("Model   ", " ".join([f"{text}.", *_describe_fit(model)]))]
    if neighbors is not None:
        scores = report["scores"].values()
        titles = [score["title"] for score in scores if score["about"] == "neighbors"]
        text = (
            f"{_name(neighbors)}, for {', '.join(titles)}. With "
            f"{neighbors['left_out']} left out in turn, {_right(neighbors)}."
        )
        lines.append(_paragraph("Beside  ", text))
    return "\n".join(lines)


def _name(model):
    k = model["n_neighbors"]
    return model["name"] + ("" if k is None else f", k = {k}")


def _right(model):
    if "r2" in model:
        return f"it explains {model['r2']:.1%} of the variance of the label"
    return f"it gets {model['accuracy']:.1%} of the labels right"


def _describe_fit(model):
    if "effective_parameters" not in model:
        return
    if model["effective_parameters"] is not None:
        yield (
            f"It has {model['effective_parameters']:.1f} effective parameters, the sum "
            "of the leverages."
        )
    if model["not_converged"]:
        yield f"It has not converged for {model['not_converged']:,} records."


def _format_most_exposed(report):
    top, scores = report["most_exposed"], report["scores"]
    with_percentiles = len(scores) <= _MOST_SCORES_WITH_PERCENTILES
    columns = [("record", [f"{record['record']}" for record in top])]
    columns.append(("label", [_label(record["label"]) for record in top]))
    for name, score in scores.items():
        columns.append((score["title"], [_score(record[name]) for record in top]))
        if with_percentiles:
            shares = [record[f"{name}_percentile"] for record in top]
            columns.append(("pct", ["-" if s is None else f"{s:.1f}" for s in shares]))
    attacked = report["attack"] is not None
    # Beside many scores there is room for one column more.
    if "like_neighbors" in top[0] and (with_percentiles or not attacked):
        columns.append(("like it", [f"{r['like_neighbors']:.0%}" for r in top]))
    if attacked:
        columns.append((_SUCCESS, [f"{r['attack_success']:.0%}" for r in top]))
    headings, cells = zip(*columns, strict=True)
    title = f"The {len(top)} most exposed records, by {headings[2]}"
    rows = zip(*cells, strict=True)
    note = _paragraph("", " ".join(_explain_columns(scores, headings)))
    return "\n".join([title, *_table(headings, rows, left=(1,)), note])


def _explain_columns(scores, headings):
    yield "record: its place in the data, from 1."
    if "pct" in headings:
        yield "pct: the percentage of records that score lower, ties counted half."
    if "like it" in headings:
        yield "like it: the share of its nearest neighbours with its label."
    if _SUCCESS in headings:
        yield f"{_SUCCESS}: how often the attack, below, is right about it."
    missing = [
        f"{score['title']} of {score['missing']:,} records"
        for score in scores.values()
        if score["missing"]
    ]
    if missing:
        yield (
            f"NaN: no score, as none could be trusted ({', '.join(missing)}); ranked "
            "last. The model is at no optimum, or nothing but the record holds its "
            "prediction."
        )


def _format_spread(scores):
    header = ["score", "median", "mean", "max", "none in"]
    shares = list(next(iter(scores.values()))["top_shares"])
    header += [f"top {share} carry" for share in shares]
    rows = []
    for score in scores.values():
        spread = score["distribution"]
        rows.append(
            [
                score["title"],
                *(_score(spread[key]) for key in ("median", "mean", "maximum")),
                _percent(spread["unexposed"]),
                *(_percent(score["top_shares"][share]) for share in shares),
            ]
        )
    note = _paragraph(
        "",
        "none in: the percentage of records that are not exposed at all. carry: their "
        "part of the sum of all exposure.",
    )
    return "\n".join(
        [
            "How exposure is spread",
            *_table(header, rows, left=(0,), wrapped=False),
            note,
        ]
    )


def _format_classes(report):
    first = next(iter(report["scores"].values()))
    if first["by_class"] is None:
        return None
    by_class = sorted(
        first["by_class"].items(),
        key=lambda item: (item[1]["mean"] is None, -(item[1]["mean"] or 0)),
    )
    rows = [
        [
            label,
            f"{part['records']:,}",
            _score(part["mean"]),
            _percent(part["part_of_records"]),
            _percent(part["part_of_sum"]),
        ]
        for label, part in by_class[:10]
    ]
    header = ["class", "records", f"mean {first['title']}", "of records", "of exposure"]
    if report["attack"] is not None:
        header.append(_SUCCESS)
        success = report["attack"]["success_by_class"]
        for row in rows:
            row.append(_percent(success[row[0]]["value"]))
    title = "Exposure by class"
    if len(by_class) > 10:
        title += f" (the 10 most exposed of {len(by_class)})"
    return "\n".join([title, *_table(header, rows, left=(0,), wrapped=False)])


def _format_attack(report):
    attack = report["attack"]
    if attack is None:
        return None
    measures = {
        f"mean {_SUCCESS}": attack["success"],
        "AUC": attack["auc"],
        **{f"TPR at {rate} FPR": tpr for rate, tpr in attack["tpr"].items()},
    }
    rows = [
        [name, *(_percent(measure[end]) for end in ("value", "low", "high"))]
        for name, measure in measures.items()
    ]
    level = f"{attack['confidence_level']:.0%}"
    header = ["measure", "value", f"{level} from", "to"]
    return "\n".join(
        [
            f"The likelihood ratio attack (LiRA), with {attack['n_shadows']} shadow "
            "models",
            *_table(header, rows, left=(0,), wrapped=False),
            _paragraph("", " ".join(_explain_attack(attack, level))),
        ]
    )


def _explain_attack(attack, level):
    yield (
        "The shadows are such models trained on halves of the records, and each is "
        f"attacked with the help of the others. {_SUCCESS}: how often the attack is "
        "right about whether a record was in training; 50%: it guesses. AUC, TPR: how "
        "well it tells the records of a shadow from those that are none, and what part "
        "of them it finds while it accuses few others (FPR): the mean over the "
        f"shadows, and what {level} of them lie between."
    )
    if None in (tpr["value"] for tpr in attack["tpr"].values()):
        yield "-: there are too few records to tell."
    risk = attack["at_risk"]
    shown = ", ".join(map(str, risk["surest"]))
    yield (
        f"Membership shows for {risk['records']:,} records "
        f"({risk['part_of_records']:.1%}), of which "
        f"{risk['false_discovery_rate']:.0%} at most are expected to be there by "
        f"chance{', the surest first: ' + shown if shown else ''}. More shadows find "
        "more."
    )


def _format_agreement(report):
    if report["attack"] is None:
        return None
    rows = [
        [
            report["scores"][name]["title"],
            *(_short(score[key]) for key in ("value", "low", "high", "ceiling")),
            _percent(score["top"]),
        ]
        for name, score in report["attack"]["agreement"].items()
    ]
    level = f"{report['attack']['confidence_level']:.0%}"
    header = ["score", "Spearman", f"{level} from", "to", "ceiling", "top 10% shared"]
    note = (
        "Spearman: its rank correlation with the attack's success on each record. "
        "ceiling: what a perfect score could reach, as the success is measured on "
        "finitely many shadows; -: the halves of the shadows do not agree, or are "
        "too few."
    )
    return "\n".join(
        [
            "How well the scores foretell the attack",
            *_table(header, rows, left=(0,), wrapped=False),
            _paragraph("", note),
        ]
    )


def _format_meanings(report):
    lines = ["Higher is more exposed, in every score:"]
    for score in report["scores"].values():
        meaning = f"{score['meaning']}."
        if score["error_bound"] > _EXACT:
            meaning += f" Values are within {score['error_bound']:.1g} of exact."
        lines.append(_paragraph(f"  {score['title']}:", meaning))
    for title in report["too_slow"]:
        lines.append(f"  {title}: left out, as it takes too long for so many records.")
    lines.append("Scores rank the records of one table; they do not prove an attack.")
    return "\n".join(lines)


def _table(headings, rows, left, wrapped=True):
    """Lay a table out, its first left column as narrow as the width asks."""
    heads = [wrap(h, _WIDEST_HEADING) if wrapped else [h] for h in headings]
    height = max(map(len, heads))
    heads = [[""] * (height - len(head)) + head for head in heads]
    cells = [[_cell(cell) for cell in row] for row in rows]
    columns = list(zip(*zip(*heads, strict=True), *cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    widths[left[0]] -= max(0, sum(widths) + 2 * len(widths) - _WIDTH)
    return [
        "".join(
            "  "
            + (_cut(cell, width).ljust(width) if place in left else cell.rjust(width))
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in zip(*columns, strict=True)
    ]


def _label(label):
    return label if isinstance(label, str) else f"{label:.6g}"


def _score(value):
    return "NaN" if value is None else f"{value:.4g}"


def _short(value):
    return "-" if value is None else f"{value:.2f}"


def _cell(text):
    return _cut(printable(text), _WIDEST_CELL)


def _cut(text, width):
    return text if len(text) <= width else text[: width - 3] + "..."


def _paragraph(head, text):
    return fill(
        f"{head} {printable(text)}" if head else f"  {printable(text)}",
        _WIDTH,
        subsequent_indent=" " * (len(head) + 1) if head else "  ",
        break_on_hyphens=False,
    )


def _percent(part):
    return "-" if part is None else f"{part:.1%}"
