"""The words and figures of a report, for every form that it takes.

Each function returns text that is not wrapped and not escaped. That, and the layout of
tables, is up to the module that makes the text for the terminal, or a page.
"""

from collections import Counter

from skpriv.utils._text import count, printable

NEIGHBORS = "k-nearest neighbours"

RECORD = "record"
ID = "id"
LABEL = "label"
PERCENTILE = "pct"
AGREEMENT = "agree"
SUCCESS = "LiRA success"

SPREAD = "How exposure is spread"
BY_CLASS = "Exposure by class"
AGREEMENT_WITH_ATTACK = "How well the scores predict the attack"
DIRECTION = "Higher is more exposed, in every score:"
LIMITS = (
    "Scores rank the records of one table. They do not prove that an attack succeeds."
)

_WIDEST_NAME = 24
_MOST_NAMES = 5
_MOST_CLASSES = 6
_EXACT = 1e-9  # of scores that are shown with four digits
_FOLDS = {5: "a fifth of the records", None: "each record"}
_KINDS = {
    "number": ("number", "numbers"),
    "category": ("category", "categories"),
    "date": ("date", "dates"),
}
_ENCODINGS = {"number": "scaled", "category": "one-hot", "date": "scaled"}


# Figures. What is not known is None.


def format_percent(part):
    """Format a proportion as a percentage."""
    return "-" if part is None else f"{part:.1%}"


def format_score(value):
    """Format a score."""
    return "NaN" if value is None else f"{value:.4g}"


def format_correlation(value):
    """Format a rank correlation."""
    return "-" if value is None else f"{value:.2f}"


def format_percentile(value):
    """Format a percentile."""
    return "-" if value is None else f"{value:.1f}"


def format_label(value):
    """Format the label of a record: a class, or a quantity."""
    return value if isinstance(value, str) else f"{value:.6g}"


def shorten(name, width=_WIDEST_NAME):
    """Make a name one printable line, and cut it if it is too long."""
    name = printable(name)
    return name if len(name) <= width else name[: width - 3] + "..."


# The data.


def describe_source(data):
    return f"{data['source']}: {_records(data['records'])}"


def describe_label(data):
    if data["classes"] is None:
        quantity = data["quantity"]
        lowest, highest = (
            format_label(quantity["minimum"]),
            format_label(quantity["maximum"]),
        )
        return f"{data['label']}: from {lowest} to {highest}"
    counts = data["classes"]
    classes = ", ".join(
        f"{shorten(name)} {count:,} ({format_percent(count / data['records'])})"
        for name, count in list(counts.items())[:_MOST_CLASSES]
    )
    n_more = len(counts) - _MOST_CLASSES
    return f"{data['label']}: {classes}" + (f", and {n_more} more" * (n_more > 0))


def describe_features(data):
    used = [column for column in data["columns"] if column["left_out"] is None]
    counts = Counter(column["kind"] for column in used)
    encodings = ", ".join(
        f"{count} {_KINDS[kind][count > 1]} {_ENCODINGS[kind]}"
        for kind, count in counts.items()
    )
    parts = [f"{data['features']}, from {count(len(used), 'column')}: {encodings}"]
    marked = [column["name"] for column in used if column["n_missing"]]
    if marked:
        parts.append(f"missing values marked in {_names(marked)}")
    left_out = {}
    for column in data["columns"]:
        left_out.setdefault(column["left_out"], []).append(column["name"])
    left_out.pop(None, None)
    parts += [f"left out as {why}: {_names(names)}" for why, names in left_out.items()]
    return "; ".join(parts)


CHECK = "Please check"


def describe_note(note):
    """Say what was decided about columns, and the option that decides otherwise."""
    text = note["reason"]
    if note["columns"]:
        text = f"{_names(note['columns'])}: {text}"
    return text if note["option"] is None else f"{text} ({note['option']})"


def explain_more_notes(number):
    return f"and {number} more, which are in the JSON report (--json)"


def _records(number):
    return count(number, "record")


def _names(names):
    n_more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {n_more} more" * (n_more > 0))


# The models.


def describe_left_out(n_folds):
    """Which records are left out at a time, as the report's dictionary has it."""
    return _FOLDS[n_folds]


def describe_model(model):
    text = f"{_name(model)}. {_predictions(model)}"
    if "most_frequent_class" in model:
        part = format_percent(model["part_of_most_frequent_class"])
        text += (
            f"; always answering {shorten(model['most_frequent_class'])} would be "
            f"correct for {part}"
        )
    return " ".join([f"{text}.", *_fit(model)])


def describe_neighbors(neighbors, scores):
    titles = [s["title"] for s in scores.values() if s["about"] == "neighbors"]
    about = " and ".join(filter(None, [", ".join(titles[:-1]), titles[-1]]))
    return f"{_name(neighbors)}, used by {about}. {_predictions(neighbors)}."


def _name(model):
    k = model["n_neighbors"]
    return model["name"] + ("" if k is None else f", k = {k}")


def _predictions(model):
    when = f"when {model['left_out']} is left out of training in turn"
    if "r2" in model:
        part = format_percent(model["r2"])
        return f"It explains {part} of the variance of the label {when}"
    part = format_percent(model["accuracy"])
    return f"It predicts {part} of the labels correctly {when}"


def _fit(model):
    if model.get("effective_parameters") is not None:
        yield (
            f"It has {model['effective_parameters']:.1f} effective parameters, the sum "
            "of the leverages."
        )
    if model.get("not_converged"):
        yield f"For {_records(model['not_converged'])} it has not converged."


# The most exposed records.


def title_of_most_exposed(n_records, title):
    return f"The {n_records} most exposed records, by {title}"


def explain_columns(scores, headings):
    """Explain the columns, of those that are shown, and the missing scores."""
    sentences = {
        RECORD: "its position in the data, from 1",
        ID: "its value in the column of --id",
        PERCENTILE: "the percentage of records that score lower, ties counted half",
        AGREEMENT: "the share of its nearest neighbours that have its label",
        SUCCESS: "how often the attack described below is right about it",
    }
    for heading, meaning in sentences.items():
        if heading in headings:
            yield f"{heading}: {meaning}."
    missing = [
        f"{score['title']} of {_records(score['missing'])}"
        for score in scores.values()
        if score["missing"]
    ]
    if missing:
        yield (
            f"NaN: no score can be trusted ({', '.join(missing)}); ranked last. The "
            "model has not converged, or the record alone determines its prediction."
        )


# The spread of the scores, and the classes.


def headings_of_spread(shares):
    top = [f"top {share}" for share in shares]
    return ["score", "median", "mean", "max", "unexposed", *top]


def explain_spread(shares):
    top = ", ".join(f"top {share}" for share in shares)
    return (
        f"unexposed: the percentage of records that are not exposed at all. {top}: the "
        "part of all exposure, summed over the records, that the most exposed of them "
        "carry."
    )


def headings_of_classes(title):
    return ["class", "records", f"mean {title}", "of records", "of exposure"]


def title_of_classes(n_classes, n_shown):
    some = f" (the {n_shown} most exposed of {n_classes})" * (n_shown < n_classes)
    return BY_CLASS + some


# The attack.


def title_of_attack(attack):
    n_shadows = attack["n_shadows"]
    return (
        f"The likelihood ratio attack (LiRA), with {count(n_shadows, 'shadow model')}"
    )


def headings_of_attack(attack):
    return ["measure", "value", f"{attack['confidence_level']:.0%} from", "to"]


def measures_of_attack(attack):
    """Return the measures of an attack, each a value and its limits, by name."""
    return {
        f"mean {SUCCESS}": attack["success"],
        "AUC": attack["auc"],
        **{f"TPR at {rate} FPR": tpr for rate, tpr in attack["tpr"].items()},
    }


def explain_attack(attack):
    yield (
        "Shadow models are models of the same kind, trained on random halves of the "
        "records. Each is attacked with the help of the others. "
        f"{SUCCESS}: how often the attack is right about whether a record was in the "
        "training data; 50% is guessing. AUC: how well the attack separates the "
        "training records of a shadow model from the others; 50% is guessing. TPR: the "
        "part of the training records that it identifies, at an FPR: the part of the "
        "other records that it takes for training records. AUC and TPR are means over "
        f"the shadow models, {attack['confidence_level']:.0%} of which are between the "
        "limits."
    )
    if None in (tpr["value"] for tpr in attack["tpr"].values()):
        yield "-: there are too few records to tell."
    yield from _explain_risk(attack["at_risk"])
    yield "With more shadow models, more such records can be found."


def _explain_risk(risk):
    if not risk["records"]:
        yield "There is no record on which the attack is clearly better than guessing."
        return
    part, wrong = format_percent(risk["part_of_records"]), risk["false_discovery_rate"]
    yield (
        f"The attack is clearly better than guessing on {_records(risk['records'])} "
        f"({part}); at most {wrong:.0%} of these are expected to be listed by mistake."
    )
    if risk["surest"]:
        shown = ", ".join(map(str, risk["surest"]))
        yield f"The evidence is strongest for {shown} (ties in the order of the data)."


def headings_of_agreement(attack):
    level = f"{attack['confidence_level']:.0%}"
    return ["score", "Spearman", f"{level} from", "to", "attainable", "top 10% shared"]


EXPLAIN_AGREEMENT = (
    "Spearman: rank correlation of the score with the success of the attack on each "
    "record. attainable: the correlation that a perfect score would reach, since the "
    "success is measured with a limited number of shadow models; -: unknown, as the "
    "halves of the shadow models do not agree, or are too few. top 10% shared: the "
    "part of the records with the top 10% of scores that are also in the top 10% by "
    "success."
)


# The meanings of the scores.


def explain_score(score):
    text = f"{score['meaning']}."
    if score["error_bound"] > _EXACT:
        text += f" Values are within {score['error_bound']:.1g} of exact."
    return text


def explain_too_slow(title):
    return f"{title}: left out, since it takes too long for this many records."


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
    sentences = [_mean(risk), _at_risk(risk, summary["data"]), _highest(risk, summary)]
    if risk["not_measured"]:
        number = risk["not_measured"]
        sentences.append(
            f"The risk of {_records(number)} cannot be measured, as no other record is "
            f"of {'its' if number == 1 else 'their'} class; "
            f"{'it comes' if number == 1 else 'they come'} first in the list, because "
            "a model that knows a class of one record gives that record away."
        )
    return sentences


def in_guesses(part):
    """Tell a success rate in natural frequencies, as in "94 of 100 guesses"."""
    return f"{100 * part:.0f} of 100 guesses"


def format_interval(estimate):
    """Format an estimate with its interval, as in "94.0%, 91.2% to 96.3%"."""
    low, high = estimate["low"], estimate["high"]
    value = format_percent(estimate["value"])
    if low is None or high is None:
        return value
    return f"{value}, {format_percent(low)} to {format_percent(high)}"


def _mean(risk):
    mean = risk["mean"]
    return (
        "Someone who uses the model to guess whether a record was in the training data "
        f"is right in {in_guesses(mean['value'])} on average "
        f"({format_interval(mean)}); guessing blindly is right in 50."
    )


def _at_risk(risk, data):
    found, n_records = risk["at_risk"], data["records"]
    limit = limit_of_detection(risk)
    if not found["records"]:
        return (
            f"None of the {n_records:,} records was found to be at risk, at a false "
            f"discovery rate of {found['false_discovery_rate']:.0%}; {limit}"
        )
    return (
        f"{found['records']:,} of {_records(n_records)} ({format_percent(found['part'])}) "
        f"{'is' if found['records'] == 1 else 'are'} at risk: the guesses are clearly "
        "better than chance, and at most "
        f"{100 * found['false_discovery_rate']:.0f} of 100 such records are expected "
        f"to be listed by mistake; {limit}"
    )


def limit_of_detection(risk):
    """Say the smallest risk that an audit could have told from guessing."""
    if risk["detection_limit"] is None:
        return "how small a risk this audit would have found is not known."
    return (
        f"a record with a risk of {format_percent(risk['detection_limit'])} has an "
        "even chance of being found by this audit, and one with a smaller risk can be "
        "missed."
    )


def _highest(risk, summary):
    highest = risk["highest"]
    name = f"record {highest['record']}"
    for record in summary["most_exposed"]:
        if record["record"] == highest["record"] and record["id"] is not None:
            name = record["id"]
    return (
        f"About the most exposed record ({name}), {in_guesses(highest['estimate']['value'])} "
        f"would be right ({format_interval(highest['estimate'])})."
    )


# The reasons.


def join_reasons(reasons):
    """Tell the reasons of a record in one line."""
    return "; ".join(reason["text"] for reason in reasons)


def describe_exposed(record):
    """Tell a record, its risk and the reasons in one line."""
    name = f"record {record['record']}" if record["id"] is None else record["id"]
    risk = "not measured"
    if record["risk"] is not None:
        risk = f"{format_interval(record['risk'])}"
    text = f"{printable(name)} ({risk})"
    reasons = join_reasons(record["reasons"])
    return f"{text}: {printable(reasons)}" if reasons else text
