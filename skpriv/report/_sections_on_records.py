"""The sections of a report that is filed about its records and the attack on them."""

from skpriv.report import _about
from skpriv.report import _page_words as words
from skpriv.report._blocks import Name, Part, Picture, Section, Strong, Table, Told
from skpriv.report._cells import (
    decimal,
    interval_glyph,
    known,
    limits_cell,
    name_of,
    percentage,
    reasons_cell,
    value_cell,
)
from skpriv.report._words import describe_reason, title_of_most_exposed
from skpriv.utils._text import count

MOST_RECORDS = 2000
# A record that is not listed may be at risk all the same, so it is not called safe.
AT_RISK, NOT_LISTED, NOT_MEASURED = "at risk", "not listed", "not measured"
_MOST_IN_ONE_PICTURE = 400
_QUANTILES = {
    "minimum": "The least exposed record",
    "lower_quartile": "A quarter of the records have at most",
    "median": "Half of the records have at most",
    "upper_quartile": "Three quarters of the records have at most",
    "p90": "9 of 10 records have at most",
    "p99": "99 of 100 records have at most",
    "maximum": "The highest estimate, listed or not",
}


def section_on_records(summary):
    """Tell the risk of all records, and what the attack achieves."""
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
    if blocks and len(summary["records"]["risk"]) > _MOST_IN_ONE_PICTURE:
        title = "The 100 records with the highest risk, enlarged"
        blocks.append(Picture("top", title, f"{title} from the picture above."))
    if risk["distribution"]:
        blocks.append(_distribution(risk["distribution"]))
    if not blocks:
        blocks.append("The risk of the records could not be measured.")
    blocks.append(Part("The attack on all records together", _attack(summary)))
    return Section("records", "All records", blocks)


def _measured_records(summary):
    records = summary.get("records")
    return bool(records) and any(value is not None for value in records["risk"])


def _distribution(distribution):
    rows = [
        (text, percentage(distribution[key]))
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
    if known(attack["auc"]):
        rows.append(
            (
                "AUC",
                percentage(attack["auc"]["value"]),
                limits_cell(attack["auc"]),
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
                percentage(point["estimate"]["value"], "too few records"),
                limits_cell(point["estimate"]),
                "The part of the training records that the attacker recognises while "
                f"mistaking {rate} of the other records for training records. "
                f"Guessing: {rate}.",
            )
        )
    if rows:
        headings = ["Measure", "Mean", f"{level:.0%} of models", "Meaning"]
        blocks.append(Table("What the attack achieves", headings, rows))
    epsilon = attack["epsilon"]
    if epsilon and epsilon["value"] is not None:
        blocks.append(_epsilon(epsilon))
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
                f"guessing. The band holds the curves of {level:.0%} of the models.",
            )
        )
    return blocks


def section_on_exposed(summary, show_values):
    """Name the most exposed records, with the reasons."""
    top = summary["most_exposed"]
    blocks = []
    if top and not known(summary["risk"]["mean"]):
        blocks.append(_table_of_unmeasured(top))
    elif top:
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
                name_of(record),
                *([value_cell(record["label"])] * with_label),
                percentage(risk["value"]),
                limits_cell(risk),
                interval_glyph(risk, record["at_risk"]),
                _listed_as(record["at_risk"], risk["value"]),
                reasons_cell([describe_reason(reason) for reason in record["reasons"]]),
            )
        )
    headings = ["Record", *(["Label"] * with_label), "Risk", f"{level:.0%} interval"]
    headings += ["50% to 100%", "Listed as", "Why it is exposed"]
    return Table(Told(title_of_most_exposed(summary)), headings, rows)


def _table_of_unmeasured(top):
    rows = [
        (name_of(r), reasons_cell([describe_reason(why) for why in r["reasons"]]))
        for r in top
    ]
    caption = "Records that stand out; the risk of none could be measured"
    return Table(caption, ["Record", "Why it stands out"], rows)


def _listed_as(at_risk, risk):
    if risk is None:
        return NOT_MEASURED
    return AT_RISK if at_risk else NOT_LISTED


def _scores_of_top(summary):
    scores = summary["scores"]
    rows = [
        (name_of(r), *(decimal(r["scores"].get(name)) for name in scores))
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
                value_cell(names[k]),
                *(value_cell(records[name][k]) for name in extra),
                percentage(records["risk"][k]),
                limits_cell(ends),
                _listed_as(records["at_risk"][k], records["risk"][k]),
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


def _epsilon(epsilon):
    meaning = (
        "A model trained with differential privacy has a guarantee, ε: 0 means that "
        "nothing can be learnt about anyone, and the larger it is, the weaker the "
        "guarantee. "
    )
    level = f"{epsilon['confidence_level']:.0%}"
    if epsilon["value"] == 0:
        return (
            Strong("No ε is ruled out. "),
            f"{meaning}This attack would be possible at any ε, so that it says nothing "
            f"about the guarantee of this model (at {level} confidence). The model may "
            "have none.",
        )
    return (
        Strong(f"ε is at least {words.decimal(epsilon['value'])}. "),
        f"{meaning}An attack this good is not possible on a model whose ε is smaller "
        f"than this, with {level} confidence. The true ε may be larger, and this model "
        "may have no such guarantee at all.",
    )
