"""The words and figures of a report, for every form that it takes.

Each function returns text that is not wrapped and not escaped. That, and the layout of
tables, is up to the module that makes the text for the terminal, or a page.
"""

from collections import Counter

from skpriv.utils._text import count, printable

RECORD = "record"
ID = "id"
LABEL = "label"

CHECK = "Please check"
VERDICT = "The answer"
WHY = "Why these records:"
CONSPICUOUS = "Records that stand out:"
NO_REASON = "nothing about the record by itself stands out"
SCORES = "What the risk was estimated from; higher is more exposed, in every score:"
HEADINGS_OF_GROUPS = ["group", "records", "mean risk", "from", "to", "at risk"]
HEADINGS_OF_ATTACK = ["measure", "value", "from", "to"]
LIMITS = (
    "The risk is that of an attacker who has the record and the model's answers, and "
    "wants to know whether the record was in the training data. It says nothing about "
    "other attacks, other models or other records, and a low risk is no guarantee."
)

_WIDEST_NAME = 24
_MOST_NAMES = 5
_MOST_CLASSES = 6
_NEARLY_CERTAIN = 0.995
_KINDS = {
    "number": ("number", "numbers"),
    "category": ("category", "categories"),
    "date": ("date", "dates"),
}


# Figures. What is not known is None.


def format_percent(part):
    """Format a proportion as a percentage."""
    if part is None:
        return "-"
    return ">99.9%" if 0.9995 <= part < 1 else f"{part:.1%}"


def format_score(value):
    """Format a score."""
    return "NaN" if value is None else f"{value:.4g}"


def format_label(value):
    """Format the label of a record: a class, or a quantity."""
    return value if isinstance(value, str) else f"{value:.6g}"


def in_guesses(part):
    """Tell a success rate in natural frequencies, as in "94 of 100 guesses"."""
    if round(100 * part) == 100:
        return "more than 99 of 100 guesses"
    return f"{100 * part:.0f} of 100 guesses"


def format_interval(estimate):
    """Format an estimate with its interval, as in "94.0%, 91.2% to 96.3%"."""
    low, high = estimate["low"], estimate["high"]
    value = format_percent(estimate["value"])
    if low is None or high is None:
        return value
    return f"{value}, {format_percent(low)} to {format_percent(high)}"


def estimate_cells(estimate):
    """Return the cells of a table for an estimate: its value and its interval."""
    if estimate is None:
        return ["too few", "-", "-"]
    return [format_percent(estimate[end]) for end in ("value", "low", "high")]


def shorten(name, width=_WIDEST_NAME):
    """Make a name one printable line, and cut it if it is too long."""
    name = printable(str(name))
    return name if len(name) <= width else name[: width - 3] + "..."


# The data.


def describe_source(data):
    """Tell where the records are from, and how many there are."""
    return f"{data['source']}: {_records(data['records'])}"


def describe_label(data):
    """Tell the classes and their sizes, or the range of a quantity."""
    name = data["label"] or "not named"
    if data["classes"] is None:
        quantity = data["quantity"]
        lowest, highest = (
            format_label(quantity["minimum"]),
            format_label(quantity["maximum"]),
        )
        return f"{name}: from {lowest} to {highest}"
    counts = data["classes"]
    classes = ", ".join(
        f"{shorten(label)} {number:,} ({format_percent(number / data['records'])})"
        for label, number in list(counts.items())[:_MOST_CLASSES]
    )
    n_more = len(counts) - _MOST_CLASSES
    return f"{name}: {classes}" + (f", and {n_more} more" * (n_more > 0))


def describe_features(data):
    """Tell how many columns of which kind there are."""
    used = [column for column in data["columns"] if column["left_out"] is None]
    parts = [f"{data['features']:,}"]
    if used:
        kinds = Counter(column["kind"] for column in used)
        told = (f"{n} {_KINDS[kind][n > 1]}" for kind, n in kinds.items())
        parts = [f"{parts[0]}, from {count(len(used), 'column')}: {', '.join(told)}"]
    marked = [column["name"] for column in used if column["n_missing"]]
    if marked:
        parts.append(f"missing values in {_names(marked)}")
    left_out = {}
    for column in data["columns"]:
        left_out.setdefault(column["left_out"], []).append(column["name"])
    left_out.pop(None, None)
    parts += [f"left out as {why}: {_names(names)}" for why, names in left_out.items()]
    return "; ".join(parts)


def describe_note(note):
    """Say what was decided about columns, and the option that decides otherwise."""
    text = note["reason"]
    if note["columns"]:
        text = f"{_names(note['columns'])}: {text}"
    return text if note["option"] is None else f"{text} ({note['option']})"


def explain_more_notes(number):
    """Say how many notes are not shown."""
    return f"and {number} more, which are in the JSON report (--json)"


def _records(number):
    return count(number, "record")


def _names(names):
    n_more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {n_more} more" * (n_more > 0))


# The model.


def describe_model(model):
    """Tell the model, and how good it is."""
    performance = model["performance"]
    if performance is None:
        return f"{model['name']}."
    return f"{model['name']}. {describe_performance(performance)}"


def describe_performance(performance):
    """Tell how good a model is, beside the most frequent class."""
    estimate, measure = performance["estimate"], performance["measure"]
    value, when = format_percent(estimate["value"]), _when(performance)
    of_test = " of the test data" if performance["on"] == "test data" else ""
    if measure == "r2":
        verb, text = "explains", f"{value} of the variance of the label{of_test}{when}"
    else:
        verb, baseline = "predicts", performance["baseline"]
        text = (
            f"{value} of the labels{of_test} correctly{when}; always answering "
            f"{shorten(baseline['class'])} would be correct for "
            f"{format_percent(baseline['value'])}"
        )
    if performance["training"] is not None:
        training = format_percent(performance["training"])
        text += f". On its training records it {verb} {training}"
    return f"It {verb} {text}."


def _when(performance):
    if performance["on"] == "test data":
        return ""
    folds = performance["folds"]
    part = "each record" if folds is None else f"one of {folds} parts of the records"
    return f" when {part} is left out of training in turn"


# The verdict.


def verdict(summary):
    """Say in three sentences how exposed the records are.

    Parameters
    ----------
    summary : dict

    Returns
    -------
    sentences : list of str
    """
    risk = summary["risk"]
    if risk["mean"] is None:
        return [
            f"Nothing can be said about the risk: {summary['unmeasurable']}.",
            "That is not a sign that no record is exposed.",
            "Audit more records, or another model.",
        ]
    sentences = [_mean(risk), _at_risk(risk, summary["data"]), _highest(summary)]
    if risk["not_measured"]:
        number = risk["not_measured"]
        sentences.append(
            f"The risk of {_records(number)} cannot be measured, as no other record is "
            f"of {'its' if number == 1 else 'their'} class; "
            f"{'it comes' if number == 1 else 'they come'} first in the list, because "
            "a model that knows a class of one record gives that record away."
        )
    return sentences


def _mean(risk):
    mean = risk["mean"]
    return (
        "Someone who uses the model to guess whether a record was in the training data "
        f"is right in {in_guesses(mean['value'])} on average "
        f"({format_interval(mean)}); guessing blindly is right in 50."
    )


def _at_risk(risk, data):
    found, n_records = risk["at_risk"], data["records"]
    rate = found["false_discovery_rate"]
    limit = limit_of_detection(risk)
    if not found["records"]:
        return (
            f"None of the {n_records:,} records was found to be at risk (at a false "
            f"discovery rate of {rate:.1%}). {limit}"
        )
    return (
        f"{found['records']:,} of {_records(n_records)} "
        f"({format_percent(found['part'])}) "
        f"{'is' if found['records'] == 1 else 'are'} at risk: more than 55 of 100 "
        f"guesses about each are right. At most {100 * rate:g} of 100 records in such "
        f"a list are expected to be there by mistake. {limit}"
    )


def limit_of_detection(risk):
    """Say the smallest risk that an audit could have told from guessing."""
    if risk["detection_limit"] is None:
        return "How small a risk this audit would have found is not known."
    if risk["detection_limit"] >= _NEARLY_CERTAIN:
        return (
            "This audit hardly ever lists a record that looks ordinary by its scores, "
            "however exposed it is."
        )
    return (
        "A record that looks ordinary by its scores has an even chance of being listed "
        f"if attacks on it are right in {in_guesses(risk['detection_limit'])} "
        f"({format_percent(risk['detection_limit'])}). Less exposed ones are more "
        "often missed than not."
    )


def _highest(summary):
    highest = summary["risk"]["highest"]
    name = f"record {highest['record']}"
    for record in summary["most_exposed"]:
        if record["record"] == highest["record"] and record["id"] is not None:
            name = record["id"]
    estimate = highest["estimate"]
    return (
        f"About the most exposed record ({shorten(name)}), "
        f"{in_guesses(estimate['value'])} would be right "
        f"({format_interval(estimate)})."
    )


# The most exposed records.


def title_of_most_exposed(summary):
    """Name the table of the most exposed records, and what they are ranked by."""
    by = summary["made"]["options"].get("rank_by", "risk")
    by = "risk" if by not in summary["scores"] else summary["scores"][by]["title"]
    number = len(summary["most_exposed"])
    if number == 1:
        return f"The most exposed record, by {by}"
    return f"The {number} most exposed records, by {by}"


def headings_of_risk(summary):
    """Return the headings of `risk_cells`."""
    level = f"{summary['risk']['confidence_level']:.0%}"
    return ["risk", f"{level} from", "to", "at risk"]


def risk_cells(record):
    """Return the cells of a table about the risk of a record."""
    if record["risk"] is None:
        return ["unknown", "-", "-", "-"]
    return [*estimate_cells(record["risk"]), "yes" if record["at_risk"] else "no"]


def explain_risk(summary):
    """Explain the columns of `risk_cells`."""
    text = (
        "risk: how often an attack is right about whether the record was in the "
        "training data; 50% is guessing. at risk: clearly more than that; these come "
        "first."
    )
    if any(record["id"] is None for record in summary["most_exposed"]):
        text = f"record: its name or position in the data. {text}"
    return text


def describe_reason(reason):
    """Tell a reason, with the value if it is to be shown."""
    if "value" in reason:
        return f"{reason['text']} [{reason['value']}]"
    return reason["text"]


def join_reasons(reasons):
    """Tell the reasons of a record in one line."""
    return "; ".join(describe_reason(reason) for reason in reasons)


def describe_exposed(record):
    """Tell a record, its risk and the reasons in one line."""
    name = f"record {record['record']}" if record["id"] is None else record["id"]
    risk = "not measured"
    if record["risk"] is not None:
        risk = format_interval(record["risk"])
    reasons = join_reasons(record["reasons"])
    text = f"{name} ({risk}): {reasons}" if reasons else f"{name} ({risk})"
    return printable(text)


# Groups.


def title_of_groups(column, n_groups, n_shown):
    """Name the table of the groups of a column."""
    some = f" (the {n_shown} most exposed of {n_groups})" * (n_shown < n_groups)
    return f"Risk by {shorten(column)}{some}"


def explain_groups(groups):
    """Explain the intervals, and the groups that are too small."""
    yield "The intervals hold for all groups at once."
    small = [shorten(group["name"]) for group in groups if group["too_small"]]
    if small:
        yield f"Too few records to say: {_names(small)}."


# The attack.


def title_of_attack(risk):
    """Name the table of what the attack achieves."""
    number = count(risk["n_shadows"], "shadow model")
    return f"The likelihood ratio attack (LiRA) on {number}"


def measures_of_attack(attack):
    """Return the measures of an attack, each an estimate, by name."""
    unknown = dict.fromkeys(("value", "low", "high"))
    return {
        "AUC": attack["auc"],
        **{
            f"TPR at {point['fpr']:.1%} FPR": point["estimate"] or unknown
            for point in attack["tpr"]
        },
    }


def explain_attack(attack):
    """Explain the measures of an attack."""
    yield (
        "Shadow models are models of the same kind, trained on random halves of the "
        "records. Each is attacked with the help of the others. AUC: how well the "
        "attack separates the training records of a shadow model from the others; 50% "
        "is guessing. TPR: the part of the training records that it identifies, at an "
        "FPR: the part of the other records that it takes for training records. The "
        "figures are means over the shadow models, 95% of which are between the limits."
    )
    if any(point["estimate"]["value"] is None for point in attack["tpr"]):
        yield "-: there are too few records to tell."
    epsilon = attack["epsilon"]
    if epsilon is not None and epsilon["value"] > 0:
        yield (
            "Training that is differentially private with an epsilon below "
            f"{epsilon['value']:.2f} would not have allowed this attack (at "
            f"{epsilon['confidence_level']:.0%} confidence)."
        )


# What would help.


MEASURES = "What would help, tried on this model and these records"
GUARANTEE = (
    "Training with differential privacy (for example by Opacus or diffprivlib) is the "
    "only measure with a guarantee for each person. It was not tried."
)


def headings_of_measures(summary):
    """Return the headings of `measure_cells`."""
    performance = summary["model"]["performance"]
    measure = "accuracy" if performance["measure"] == "accuracy" else "R²"
    return ["measure", measure, "at risk", "of", "mean risk", "highest"]


def measure_cells(name, measured):
    """Return the cells of a table about a measure."""
    return [
        name,
        format_percent(measured["performance"]["value"]),
        f"{measured['at_risk']:,}",
        f"{measured['records']:,}",
        format_percent(measured["mean_risk"]),
        format_percent(measured["highest"]),
    ]


def explain_measures(measures):
    """Explain what was changed for each measure, and what could not be tried."""
    for measure in measures["tried"]:
        note = "" if measure["note"] is None else f"; {measure['note']}"
        yield f"{measure['name']}:", f"{measure['change']}{note}."
    for measure in measures["not_tried"]:
        yield (
            f"{measure['name']}:",
            f"{measure['change']}. It could not be tried: {measure['reason']}.",
        )


# The meanings of the scores.


def explain_score(score):
    """Explain a score: its meaning, its part in the estimate, and what is missing."""
    text = f"{score['meaning']}."
    if score["weight"] is not None:
        text += f" It carries {score['weight']:.0%} of the estimate."
    if score["missing"]:
        text += f" Of {_records(score['missing'])} it is not known."
    return text
