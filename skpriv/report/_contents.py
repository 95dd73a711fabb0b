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
    Name,
    Note,
    Part,
    Points,
    Section,
    Strong,
    Table,
    Told,
)
from skpriv.report._cells import (
    MOST_ROWS,
    decimal,
    known,
    listed,
    name_of,
    percentage,
    say_more,
)
from skpriv.report._sections_on_groups import section_on_groups, section_on_measures
from skpriv.report._sections_on_records import section_on_exposed, section_on_records
from skpriv.report._words import limit_of_detection
from skpriv.utils._text import count

_MOST_CLASSES = 12


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
        section_on_records(summary),
        section_on_exposed(summary, show_values),
        section_on_groups(summary),
        section_on_measures(summary),
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
    if not known(mean):
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
    if risk["highest"] and known(risk["highest"]["estimate"]):
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
            "No record was found on which an attacker is surely right in more than "
            "55 of 100 guesses. This does not mean that there is none: see the limit "
            "of detection."
        )
    return (
        f"About {words.frequency(listed['part'])} records. On these, an attacker "
        "is right in more than 55 of 100 guesses, as far as one can tell. At most "
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
            return name_of(record)
    return Name(summary["risk"]["highest"]["record"])


def _performance(summary):
    performance = summary["model"]["performance"]
    level = summary["risk"]["confidence_level"]
    title = "How good the model is"
    if performance is None or not known(performance["estimate"]):
        text = "How well the model predicts was not measured."
        return Section("performance", title, [text])
    blocks = [_how_good(performance, level)]
    if performance.get("by_class"):
        rows = [(Name(c), percentage(v)) for c, v in performance["by_class"].items()]
        caption = "How often it is right, by class"
        blocks.append(Table(caption, ["Class", "Correct"], rows[:MOST_ROWS]))
        blocks += say_more(rows, "class", "classes")
    if _has_learnt_little(performance):
        blocks.append(_about.LEARNT_NOTHING)
    return Section("performance", title, blocks)


def _has_learnt_little(performance):
    """Tell whether always giving one answer might do as well, as far as is known."""
    estimate, baseline = performance["estimate"], performance.get("baseline")
    low = estimate["value"] if estimate["low"] is None else estimate["low"]
    return low <= (baseline["value"] if baseline else 0.0)


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
        blocks.append(Table(caption, headings, rows[:MOST_ROWS]))
        blocks += say_more(rows, "column")
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
        parts += [*listed(note["columns"]), ": "]
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
                decimal(score.get("weight")),
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
