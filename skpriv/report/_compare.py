"""What changed from one audit to another, as plain data."""

import json
from collections import Counter
from pathlib import Path

SCHEMA = 1

_SCHEMA_OF_AUDITS = 1
_NAMES = ("record", "label", "risk", "risk_low", "risk_high", "at_risk")


class ComparisonError(ValueError):
    """Two audits cannot be compared; the message is one line that says why."""


def read_summary(path):
    """Read the summary of an audit from a JSON file.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    summary : dict

    Raises
    ------
    ComparisonError
        If the file cannot be read, or is not an audit of this version.
    """
    try:
        summary = json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ComparisonError(f"{path}: is not a JSON file") from error
    except OSError as error:
        raise ComparisonError(f"{path}: {error.strerror or error}") from error
    _check_summary(summary, path)
    return summary


def _check_summary(summary, name):
    if not isinstance(summary, dict) or "schema" not in summary:
        raise ComparisonError(f"{name}: is not the JSON of an audit")
    if summary["schema"] != _SCHEMA_OF_AUDITS:
        raise ComparisonError(
            f"{name}: has schema version {summary['schema']!r}, but this version of "
            f"skpriv reads version {_SCHEMA_OF_AUDITS}; repeat the audit with it"
        )
    records = summary.get("records")
    parts = ("made", "data", "model", "risk", "attack", "groups")
    if (
        not isinstance(records, dict)
        or not all(name in records for name in _NAMES)
        or not all(part in summary for part in parts)
    ):
        raise ComparisonError(f"{name}: is not the complete JSON of an audit")


def compare(before, after):
    """Compare two audits, record by record and group by group.

    Records are matched by their identifiers or, if one of the audits has none, by their
    names in the data. An estimate has changed beyond its intervals if the intervals
    before and after have nothing in common; a smaller change may be chance.

    Parameters
    ----------
    before, after : dict
        Summaries of audits.

    Returns
    -------
    comparison : dict
        Plain data. None stands for what is not known.

        - "schema": the version of this form;
        - "before", "after": source, model, date, shadows and number of records;
        - "matched_by": "id" or "record"; "matched", "only_before", "only_after": how
          many records;
        - "figures": the figures of the verdicts side by side, each with its name, its
          unit ("proportion" or "number"), its estimates before and after, the change,
          and whether it is beyond the intervals;
        - "records": the same of the risk of each matched record, with its label, and
          whether it is and was at risk, the largest change first;
        - "new_at_risk", "no_longer_at_risk": names of matched records;
        - "groups": by column, the same of the mean risk of each group;
        - "notes": what should be kept in mind.

    Raises
    ------
    ComparisonError
        If one is not an audit of this version, or they are about different data.
    """
    for summary, name in ((before, "before"), (after, "after")):
        _check_summary(summary, name)
    _check_same_task(before, after)
    key, notes = _choose_key(before, after)
    pairs, counts = _match(before["records"], after["records"], key, notes)
    _check_same_labels(before, after, pairs, key, notes)
    records = [
        _compare_record(before["records"], after["records"], key, i, j)
        for i, j in pairs
    ]
    records.sort(key=lambda entry: -abs(entry["change"] or 0.0))
    return {
        "schema": SCHEMA,
        "before": _describe(before),
        "after": _describe(after),
        "matched_by": key,
        **counts,
        "figures": _compare_figures(before, after),
        "records": records,
        "new_at_risk": [
            r["record"]
            for r in records
            if r["at_risk"]["after"] and not r["at_risk"]["before"]
        ],
        "no_longer_at_risk": [
            r["record"]
            for r in records
            if r["at_risk"]["before"] and not r["at_risk"]["after"]
        ],
        "groups": _compare_groups(before["groups"], after["groups"]),
        "notes": notes,
    }


def comparison_to_json(comparison):
    """Return a comparison as JSON. What is not known is null.

    Parameters
    ----------
    comparison : dict
        As `compare` returns it.

    Returns
    -------
    text : str
    """
    text = json.dumps(comparison, indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n"


def _describe(summary):
    risk = summary["risk"] or {}
    return {
        "source": summary["data"]["source"],
        "model": summary["model"]["text"],
        "date": summary["made"]["date"],
        "n_shadows": risk.get("n_shadows"),
        "records": summary["data"]["records"],
    }


def _check_same_task(before, after):
    for part, key in (("model", "task"), ("data", "label")):
        old, new = before[part][key], after[part][key]
        if old != new:
            raise ComparisonError(
                f"the audits are about different data: the {key} of the first is "
                f"{old!r}, and that of the second is {new!r}"
            )


def _choose_key(before, after):
    notes = []
    have_ids = ["id" in summary["records"] for summary in (before, after)]
    if all(have_ids):
        return "id", notes
    if before["made"]["data_hash"] != after["made"]["data_hash"]:
        notes.append(
            "the data differ, and records are matched by their place in the data; "
            "audits made with --id match them by the identifier"
        )
    return "record", notes


def _match(before, after, key, notes):
    """Pair the places of records that are in both audits."""
    old, new = (_unique_places(records[key], notes) for records in (before, after))
    pairs = [(old[name], new[name]) for name in old if name in new]
    if not pairs:
        raise ComparisonError(
            "the audits are about different data: they have no record in common"
        )
    counts = {
        "matched": len(pairs),
        "only_before": len(old) - len(pairs),
        "only_after": len(new) - len(pairs),
    }
    return pairs, counts


def _unique_places(names, notes):
    numbers = Counter(map(str, names))
    n_repeated = sum(number for number in numbers.values() if number > 1)
    if n_repeated:
        note = f"{n_repeated} records share an identifier, and are not compared"
        if note not in notes:
            notes.append(note)
    return {
        str(name): place for place, name in enumerate(names) if numbers[str(name)] == 1
    }


def _check_same_labels(before, after, pairs, key, notes):
    old, new = before["records"]["label"], after["records"]["label"]
    number = sum(old[i] != new[j] for i, j in pairs)
    if number and key == "record":
        raise ComparisonError(
            f"the audits are about different data: {number} of {len(pairs)} records "
            "with the same place have another label; audits made with --id can be "
            "compared nevertheless"
        )
    if number:
        notes.append(f"{number} of {len(pairs)} records have another label")


def _compare_record(before, after, key, i, j):
    return {
        "record": after[key][j],
        "label": after["label"][j],
        **_change(_risk_of(before, i), _risk_of(after, j)),
        "at_risk": {"before": before["at_risk"][i], "after": after["at_risk"][j]},
    }


def _risk_of(records, place):
    ends = ("risk", "risk_low", "risk_high")
    value, low, high = (records[name][place] for name in ends)
    return {"value": value, "low": low, "high": high}


def _change(before, after):
    """Set two estimates side by side; None where one of them is not known."""
    known = all(e is not None and e["value"] is not None for e in (before, after))
    beyond = None
    if known and None not in (*before.values(), *after.values()):
        beyond = after["low"] > before["high"] or after["high"] < before["low"]
    return {
        "before": before,
        "after": after,
        "change": after["value"] - before["value"] if known else None,
        "beyond": beyond,
    }


def _compare_figures(before, after):
    figures = {}
    for side, summary in (("before", before), ("after", after)):
        for name, unit, estimate in _figures(summary):
            figures.setdefault((name, unit), {})[side] = estimate
    return [
        {"name": name, "unit": unit, **_change(sides.get("before"), sides.get("after"))}
        for (name, unit), sides in figures.items()
    ]


def _figures(summary):
    """Yield the figures of a verdict: name, unit and estimate."""
    performance = summary["model"].get("performance")
    if performance:
        measure = "R²" if performance["measure"] == "r2" else performance["measure"]
        yield measure, "proportion", performance["estimate"]
    risk, attack = summary["risk"], summary["attack"]
    if risk:
        at_risk = risk["at_risk"]
        yield "records at risk", "number", _point(at_risk["records"])
        yield "part of the records at risk", "proportion", _point(at_risk["part"])
        yield "mean risk", "proportion", risk["mean"]
        yield "highest risk", "proportion", (risk["highest"] or {}).get("estimate")
    if attack:
        yield "AUC", "proportion", attack["auc"]
        for entry in attack["tpr"] or ():
            name = f"TPR at {entry['fpr'] * 100:g}% FPR"
            yield name, "proportion", entry["estimate"]
        epsilon = attack["epsilon"]
        yield "lower bound on ε", "number", _point((epsilon or {}).get("value"))


def _point(value):
    return {"value": value, "low": None, "high": None}


def _compare_groups(before, after):
    old = {entry["column"]: entry["groups"] for entry in before}
    return [
        {
            "column": entry["column"],
            "groups": _compare_group_rows(old[entry["column"]], entry["groups"]),
        }
        for entry in after
        if entry["column"] in old
    ]


def _compare_group_rows(before, after):
    old, new = ({row["name"]: row for row in rows} for rows in (before, after))
    return [
        {
            "name": name,
            "records": {
                "before": old.get(name, {}).get("records", 0),
                "after": new.get(name, {}).get("records", 0),
            },
            **_change(
                old.get(name, {}).get("estimate"), new.get(name, {}).get("estimate")
            ),
        }
        for name in dict.fromkeys((*old, *new))
    ]
