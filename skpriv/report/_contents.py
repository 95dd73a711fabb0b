"""What a report that is filed holds, and in which order.

The HTML page and the Markdown text are written from the same blocks, so that both say
the same in the same order. All figures come from the summary of the audit.
"""

from skpriv.report import _about
from skpriv.report import _page_words as words
from skpriv.report._blocks import (
    Card,
    Cards,
    Code,
    Facts,
    Figure,
    Glyph,
    Name,
    Note,
    Part,
    Picture,
    Points,
    Section,
    Strong,
    Table,
    Told,
)
from skpriv.report._words import describe_reason, limit_of_detection
from skpriv.utils._text import count

MOST_RECORDS = 2000
_MOST_CLASSES = 12
_MOST_ROWS = 100  # of groups, classes and columns
_FROM_GUESSING = (0.5, 1.0)
# A record that is not listed may be at risk all the same, so it is not called safe.
AT_RISK, NOT_LISTED = "at risk", "not listed"


def title_of(summary):
    """Name what was audited, in a few words."""
    return ("Privacy audit of ", Name(summary["model"]["name"]))


def subtitle_of(summary):
    """Say on which data, when and with what."""
    data, made = summary["data"], summary["made"]
    return (
        "Trained on ",
        Name(data["source"]),
        f", {count(data['records'], 'record')}. Audited on {words.day(made['date'])} "
        f"with skpriv {made['skpriv']}.",
    )


def sections_of(summary, *, show_values=False):
    """Return the sections of a report, in order.

    Parameters
    ----------
    summary : dict
        The summary of an audit.
    show_values : bool, default=False
        Whether values of single records, such as their labels, may be told.

    Returns
    -------
    sections : list of Section
    """
    return [
        _what_was_audited(summary, show_values),
        _answer(summary),
        _all_records(summary),
        _most_exposed(summary, show_values),
        _groups(summary),
        _measures(summary),
        _performance(summary),
        _please_check(summary),
        _limits(),
        _method(summary),
    ]


def _what_was_audited(summary, show_values):
    data, model, made = summary["data"], summary["model"], summary["made"]
    fitted = "given already trained" if model["given_fitted"] else "trained here"
    facts = [
        ("Model", (Name(model["name"]), f", {fitted}: ", Code(model["text"]))),
        ("Data", (Name(data["source"]), f", {count(data['records'], 'record')}")),
        ("Predicts", _target(data, show_values)),
        ("From", count(data["features"], "feature")),
    ]
    if made.get("data_hash"):
        facts.append(("Fingerprint of the data", Code(made["data_hash"])))
    facts.append(("Date", f"{words.moment(made['date'])}"))
    if made.get("seconds") is not None:
        facts.append(("Time taken", words.duration(made["seconds"])))
    if made.get("command"):
        facts.append(("Command", Code(made["command"])))
    if made.get("options"):
        options = ", ".join(f"{name} = {value}" for name, value in _options(made))
        facts.append(("Options", Code(options)))
    facts.append(("Random seed", f"{made['random_state']}"))
    versions = ", ".join(f"{n} {v}" for n, v in made["versions"].items())
    facts.append(("Software", Told(f"skpriv {made['skpriv']}, {versions}")))
    return Section(
        "audited",
        "What was audited",
        [
            Facts(facts),
            Part("What the attacker is taken to know", list(_about.ATTACKER)),
        ],
    )


def _options(made):
    return [(k, v) for k, v in made["options"].items() if v is not None]


def _target(data, show_values):
    name = Name(data["label"]) if data["label"] else "the label"
    if data["classes"] is not None:
        parts = [name, ": "]
        for place, (label, number) in enumerate(data["classes"].items()):
            if place == _MOST_CLASSES:
                n_more = len(data["classes"]) - _MOST_CLASSES
                parts.append(f", and {n_more} more classes")
                break
            parts += [", " * (place > 0), Name(label)]
            parts.append(f" {words.share(number, data['records'])}")
        return tuple(parts)
    # The ends of the range are the values of two records.
    if data["quantity"] and show_values:
        lowest, highest = data["quantity"]["minimum"], data["quantity"]["maximum"]
        return (
            name,
            f": a quantity, from {words.decimal(lowest)} to {words.decimal(highest)}",
        )
    return (name, ": a quantity" if data["quantity"] else "")


def _answer(summary):
    verdict = Points([Told(sentence) for sentence in summary["verdict"]], "verdict")
    cards = [*_cards(summary)]
    blocks = [verdict]
    if cards:
        blocks.append(Cards(cards))
    blocks.append(Note(_limit_of_detection(summary["risk"])))
    return Section("answer", "The answer", blocks)


def _cards(summary):
    risk, n_records = summary["risk"], summary["data"]["records"]
    level, mean = risk["confidence_level"], risk["mean"]
    if not _known(mean):
        return
    yield Card(
        "On average",
        round(100 * mean["value"]),
        words.of_100(mean["value"]),
        "In 100 guesses whether a record, taken at random, was in the training data, "
        f"an attacker is right in {words.of_100(mean['value'])} "
        f"({level:.0%} interval: {words.range_of_100(mean)}). Tossing a coin is right "
        "in 50.",
    )
    listed = risk["at_risk"]
    yield Card(
        "Records at risk",
        None,
        f"{listed['records']:,} of {n_records:,}",
        _explain_list(listed),
    )
    if risk["highest"] and _known(risk["highest"]["estimate"]):
        highest = risk["highest"]["estimate"]
        name = _name_of_highest(summary)
        yield Card(
            "The most exposed record",
            round(100 * highest["value"]),
            words.of_100(highest["value"]),
            (
                "In 100 guesses about record ",
                name,
                f", an attacker is right in {words.of_100(highest['value'])} "
                f"({level:.0%} interval: {words.range_of_100(highest)}).",
            ),
        )


def _explain_list(listed):
    rate = listed["false_discovery_rate"]
    if not listed["records"]:
        return (
            "No record was found on which an attacker clearly does better than by "
            "guessing. This does not mean that there is none: see the limit of "
            "detection."
        )
    return (
        f"About {words.frequency(listed['part'])} records. On these, an attacker "
        "clearly does better than by guessing. At most "
        f"{words.frequency(rate)} of the records listed are expected to be listed by "
        "mistake (the false discovery rate). A record that is not listed may be at "
        "risk too."
    )


def _limit_of_detection(risk):
    limit = risk["detection_limit"]
    told = words.UNKNOWN if limit is None else words.percent(limit)
    return (
        Strong(f"Limit of detection: {told}. "),
        Told(limit_of_detection(risk)),
        " A record that was not found may be exposed all the same.",
    )


def _name_of_highest(summary):
    for record in summary["most_exposed"]:
        if record["record"] == summary["risk"]["highest"]["record"]:
            return _name(record)
    return Name(summary["risk"]["highest"]["record"])


def _name(record):
    return Name(record["record"] if record.get("id") is None else record["id"])


def _known(estimate):
    return estimate is not None and estimate["value"] is not None


def _all_records(summary):
    blocks = []
    risk = summary["risk"]
    if _measured_records(summary):
        blocks.append(
            Picture(
                "records",
                "The risk of every record, from lowest to highest",
                "Each record is a dot, at the height of its risk: how often an "
                "attacker's guess about it is right. The line behind the dot is its "
                f"{risk['confidence_level']:.0%} interval. Diamonds are records "
                "at risk. A dot at 50% is a record about which an attacker can only "
                "guess, as by tossing a coin; at 100% every guess is right.",
            )
        )
    if risk["distribution"]:
        blocks.append(_distribution(risk["distribution"]))
    if not blocks:
        blocks.append("The risk of the records could not be measured.")
    blocks.append(Part("The attack on all records together", _attack(summary)))
    return Section("records", "All records", blocks)


def _measured_records(summary):
    records = summary.get("records")
    return bool(records) and any(value is not None for value in records["risk"])


_QUANTILES = {
    "minimum": "The least exposed record",
    "lower_quartile": "A quarter of the records have at most",
    "median": "Half of the records have at most",
    "upper_quartile": "Three quarters of the records have at most",
    "p90": "9 of 10 records have at most",
    "p99": "99 of 100 records have at most",
    "maximum": "The most exposed record",
}


def _distribution(distribution):
    rows = [
        (text, _percentage(distribution[key]))
        for key, text in _QUANTILES.items()
        if distribution.get(key) is not None
    ]
    return Table("How the risk is spread over the records", ["Records", "Risk"], rows)


def _attack(summary):
    attack, level = summary["attack"], summary["risk"]["confidence_level"]
    if attack is None:
        return ["The attack as a whole was not measured."]
    blocks = [_about.ATTACK_AS_A_WHOLE]
    rows = []
    if _known(attack["auc"]):
        rows.append(
            (
                "AUC",
                _percentage(attack["auc"]["value"]),
                _limits_of(attack["auc"]),
                "Given one record that was in the training data and one that was not, "
                "the attacker says which is which, and is right this often. Guessing: "
                "50%.",
            )
        )
    for point in attack["tpr"]:
        rate = words.one_in(point["fpr"])
        rows.append(
            (
                f"TPR at {words.round_percent(point['fpr'])} FPR",
                _percentage(point["estimate"]["value"], "too few records"),
                _limits_of(point["estimate"]),
                "The part of the training records that the attacker recognises while "
                f"mistaking {rate} of the other records for training records. "
                f"Guessing: {rate}.",
            )
        )
    if rows:
        headings = ["Measure", "Value", f"{level:.0%} interval", "Meaning"]
        blocks.append(Table("What the attack achieves", headings, rows))
    epsilon = attack["epsilon"]
    if epsilon and epsilon["value"] is not None:
        blocks.append(
            (
                Strong(f"ε is at least {words.decimal(epsilon['value'])}. "),
                "A model trained with differential privacy has a guarantee, ε: 0 means "
                "that nothing can be learnt about anyone, and the larger it is, the "
                "weaker the guarantee. An attack this good is not possible on a model "
                "whose ε is smaller than this, "
                f"with {epsilon['confidence_level']:.0%} confidence. The true ε may be "
                "larger, and this model may have no such guarantee at all.",
            )
        )
    if attack["roc"]:
        blocks.append(
            Picture(
                "roc",
                "How many training records the attacker recognises",
                "From left to right the attacker accuses more and more records. "
                "Upwards: the part of the training records that are recognised. To the "
                "right: the part of the other records that are mistaken for training "
                "records. Both axes are logarithmic, since recognising even a few "
                "records with hardly any mistake is harmful. The dashed line is "
                f"guessing. The band is the {level:.0%} interval.",
            )
        )
    return blocks


def _most_exposed(summary, show_values):
    top = summary["most_exposed"]
    blocks = []
    if top:
        blocks += [_about.READ_MOST_EXPOSED, _table_of_top(summary, show_values)]
        if summary["scores"]:
            blocks.append(_scores_of_top(summary))
    else:
        blocks.append("No record can be named, since no risk could be measured.")
    if _measured_records(summary):
        blocks.append(_table_of_all(summary, show_values))
    return Section("who", "Which records are exposed", blocks)


def _table_of_top(summary, show_values):
    level, top = summary["risk"]["confidence_level"], summary["most_exposed"]
    with_label = show_values and any(r["label"] is not None for r in top)
    rows = []
    for record in top:
        risk = record["risk"] or dict.fromkeys(("value", "low", "high"))
        rows.append(
            (
                _name(record),
                *([_value(record["label"])] * with_label),
                _percentage(risk["value"]),
                _limits_of(risk),
                _interval(risk, record["at_risk"]),
                AT_RISK if record["at_risk"] else NOT_LISTED,
                _reasons([describe_reason(reason) for reason in record["reasons"]]),
            )
        )
    headings = ["Record", *(["Label"] * with_label), "Risk", f"{level:.0%} interval"]
    headings += ["50% to 100%", "Listed as", "Why it is exposed"]
    caption = f"The {count(len(top), 'most exposed record')}, those at risk first"
    if len(top) == 1:
        caption = "The most exposed record"
    return Table(caption, headings, rows)


def _reasons(texts):
    if not texts:
        return "no single reason stands out"
    parts = []
    for text in texts:
        parts += ["; ", Told(text)]
    return tuple(parts[1:])


def _interval(estimate, marked=False):
    ends = (estimate["low"], estimate["value"], estimate["high"])
    return Glyph("interval", ends, _FROM_GUESSING, marked) if None not in ends else ""


def _scores_of_top(summary):
    scores = summary["scores"]
    rows = [
        (_name(r), *(_decimal(r["scores"].get(name)) for name in scores))
        for r in summary["most_exposed"]
    ]
    titles = [Name(score["title"]) for score in scores.values()]
    caption = (
        "The scores from which the risk of these records was estimated; section 10 "
        "explains them"
    )
    return Table(caption, ["Record", *titles], rows)


def _table_of_all(summary, show_values):
    records, level = summary["records"], summary["risk"]["confidence_level"]
    order = sorted(
        range(len(records["risk"])),
        key=lambda k: (
            records["risk"][k] is not None,
            not records["at_risk"][k],
            -(records["risk"][k] or 0),
        ),
    )
    names = records.get("id") or records["record"]
    extra = _columns_of_values(summary) if show_values else []
    rows = []
    for k in order[:MOST_RECORDS]:
        ends = {
            "low": records["risk_low"][k],
            "high": records["risk_high"][k],
        }
        rows.append(
            (
                _value(names[k]),
                *(_value(records[name][k]) for name in extra),
                _percentage(records["risk"][k]),
                _limits_of(ends),
                AT_RISK if records["at_risk"][k] else NOT_LISTED,
                Told(records["reasons"][k] or ""),
            )
        )
    caption = f"All {count(len(order), 'record')}, those at risk first"
    if len(order) > MOST_RECORDS:
        caption = (
            f"The {MOST_RECORDS:,} most exposed of {count(len(order), 'record')}; the "
            "file of scores (CSV) has all"
        )
    headings = ["Record", *map(Name, extra), "Risk", f"{level:.0%} interval"]
    return Table(caption, [*headings, "Listed as", "Why"], rows, long=True)


def _columns_of_values(summary):
    """Return the columns that hold values of the records: label and groups."""
    records = summary["records"]
    groups = [by["column"] for by in summary["groups"]]
    own = {"record", "id", "risk", "risk_low", "risk_high", "at_risk", "reasons"}
    names = dict.fromkeys(["label", *groups])
    return [name for name in names if name in records and name not in own]


def _value(value):
    if isinstance(value, str):
        return Name(value)
    if isinstance(value, int | float):
        return Figure(f"{value:.10g}", value)
    return "" if value is None else Name(value)


def _groups(summary):
    groups, level = summary["groups"], summary["risk"]["confidence_level"]
    if not groups:
        text = "The risk was not measured by group in this audit."
        return Section("groups", "Which groups are exposed", [text])
    blocks = [_about.read_groups(f"{level:.0%}")]
    for by in groups:
        small = [group["name"] for group in by["groups"] if group["too_small"]]
        rows = [_row_of_group(group) for group in by["groups"][:_MOST_ROWS]]
        headings = ["Group", "Records", "Mean risk", f"{level:.0%} interval"]
        headings += ["50% to 100%", "Records at risk"]
        caption = ("By ", Name(by["column"]))
        blocks += [Table(caption, headings, rows), *_say_more(by["groups"], "group")]
        if small:
            blocks.append(
                (
                    "Too few records to say anything about the group as a whole: ",
                    *_listed(small[:_MOST_CLASSES]),
                    f", and {len(small) - _MOST_CLASSES} more."
                    if len(small) > _MOST_CLASSES
                    else ".",
                )
            )
    return Section("groups", "Which groups are exposed", blocks)


def _say_more(rows, noun, nouns=None):
    n_more = len(rows) - _MOST_ROWS
    if n_more > 0:
        noun = noun if n_more == 1 else nouns or f"{noun}s"
        yield f"And {n_more:,} more {noun}, in the summary (JSON)."


def _row_of_group(group):
    known = _known(group["estimate"]) and not group["too_small"]
    risk = group["estimate"]
    return (
        Name(group["name"]),
        Figure(f"{group['records']:,}", group["records"]),
        _percentage(risk["value"]) if known else "too few records",
        _limits_of(risk) if known else "",
        _interval(risk) if known else "",
        words.share(group["at_risk"], group["records"]),
    )


def _listed(names):
    parts = []
    for name in names:
        parts += [", ", Name(name)]
    return parts[1:]


def _measures(summary):
    measures = summary["measures"]
    blocks = []
    if measures is None:
        blocks.append("No measure was tried in this audit.")
    elif not measures["tried"]:
        blocks.append("No measure could be tried on this model.")
    else:
        blocks += [_about.READ_MEASURES, _table_of_measures(summary)]
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
        _with_limits(performance),
        words.share(measured["at_risk"], measured["records"]),
        Glyph("change", (before["at_risk"], measured["at_risk"]), scale),
        _percentage(measured["mean_risk"]),
        _percentage(measured["highest"]),
    )


def _with_limits(estimate):
    if not _known(estimate):
        return words.UNKNOWN
    if estimate["low"] is None:
        return words.percent(estimate["value"])
    return f"{words.percent(estimate['value'])} ({words.limits(estimate)})"


def _measure_of(performance):
    if performance is None:
        return "Performance"
    return {"accuracy": "Accuracy", "r2": "Variance explained"}.get(
        performance["measure"], performance["measure"]
    )


def _performance(summary):
    performance = summary["model"]["performance"]
    level = summary["risk"]["confidence_level"]
    title = "How good the model is"
    if performance is None or not _known(performance["estimate"]):
        text = "How well the model predicts was not measured."
        return Section("performance", title, [text, _about.LEARNT_NOTHING])
    blocks = [_how_good(performance, level)]
    if performance.get("by_class"):
        rows = [(Name(c), _percentage(v)) for c, v in performance["by_class"].items()]
        caption = "How often it is right, by class"
        blocks.append(Table(caption, ["Class", "Correct"], rows[:_MOST_ROWS]))
        blocks += _say_more(rows, "class", "classes")
    return Section("performance", title, [*blocks, _about.LEARNT_NOTHING])


def _how_good(performance, level):
    told = words.with_limits(performance["estimate"], level)
    on = "on the test data, which it was not trained on"
    if performance["folds"]:
        on = (
            "on records left out of its training, which was repeated with each of "
            f"{performance['folds']} parts of the data left out in turn"
        )
    elif performance["on"] == "records left out":
        on = "on records left out of its training, one at a time"
    says = "predicts {} of the labels correctly"
    if performance["measure"] == "r2":
        says = "explains {} of the variance of the label"
    parts = ["The model ", says.format(told), f" {on}. "]
    if performance.get("training") is not None:
        parts.append(
            "On the records that it was trained on it "
            f"{says.format(words.percent(performance['training']))}. The larger the "
            "difference, the more the model may remember single records. "
        )
    baseline = performance.get("baseline")
    if baseline:
        parts += [
            "Always answering ",
            Name(baseline["class"]),
            f", the most frequent class, would be correct for "
            f"{words.percent(baseline['value'])}.",
        ]
    return tuple(parts)


def _please_check(summary):
    data = summary["data"]
    blocks = []
    if data["notes"]:
        blocks += [_about.READ_NOTES, Points([_note(note) for note in data["notes"]])]
    else:
        blocks.append("Nothing about the columns needs a decision.")
    if data["columns"]:
        rows = [
            (Name(column["name"]), Name(column["kind"]), _use_of(column))
            for column in data["columns"]
        ]
        headings = ["Column", "Read as", "Used as"]
        caption = "The columns, and how they were used"
        blocks.append(Table(caption, headings, rows[:_MOST_ROWS]))
        blocks += _say_more(rows, "column")
    return Section("check", "Please check", blocks)


def _use_of(column):
    if column["left_out"] is not None:
        return ("left out: ", Name(column["left_out"]))
    if column["n_missing"]:
        return f"feature; missing in {count(column['n_missing'], 'record')}"
    return "feature"


def _note(note):
    parts = []
    if note["columns"]:
        parts += [*_listed(note["columns"]), ": "]
    parts.append(Told(note["reason"]))
    if note["option"]:
        parts += [". To decide otherwise: ", Code(note["option"])]
    return tuple(parts)


def _limits():
    return Section("limits", "What this does not say", list(_about.LIMITS))


def _method(summary):
    blocks = list(_about.methods(summary["risk"]))
    scores = summary["scores"]
    if scores:
        rows = [
            (
                Name(score["title"]),
                Told(score["meaning"]),
                Told(score["direction"]),
                _decimal(score.get("weight")),
                Figure(f"{score['missing']:,}", score["missing"]),
            )
            for score in scores.values()
        ]
        headings = ["Score", "Meaning", "Scale and direction", "Weight", "Missing"]
        caption = "Scores that cost little and predict the risk"
        table = Table(caption, headings, rows)
        blocks.append(Part("The scores behind the risk", [_about.SCORES, table]))
    blocks += [
        Part("How to run it again", _run_again(summary["made"])),
        Part("Glossary", [Facts(_about.GLOSSARY)]),
        Part("References", [Points(_about.REFERENCES)]),
    ]
    return Section("method", "How it was measured", blocks)


def _run_again(made):
    if made.get("command"):
        how = ("Run the command ", Code(made["command"]))
    else:
        how = ("Call ", Code("skpriv.audit"), " with the options of section 1")
    same = f" on the same data, with the seed {made['random_state']} and the software "
    return [(*how, same, "of section 1. The figures are then the same.")]


def _percentage(value, unknown=words.UNKNOWN):
    return Figure(unknown if value is None else words.percent(value), value)


def _limits_of(estimate):
    return Figure(words.limits(estimate), estimate["low"])


def _decimal(value):
    return Figure(words.decimal(value), value)
