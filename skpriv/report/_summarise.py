"""Summarise an audit and its table as plain data. Nothing is fitted here."""

import shlex

import numpy as np
from scipy.stats import rankdata
from sklearn.base import is_classifier

import skpriv
from skpriv.report import _words
from skpriv.report._attack import describe_attack
from skpriv.report._prediction import is_neighbors

_TOP_SHARES = (0.01, 0.1)
# A score that is below zero by less than this is zero but for rounding.
_ROUNDING = 1e-12


def summarise(audit, table, *, source, n_top):
    """Summarise an audit as plain data, from which every form of the report is made.

    Parameters
    ----------
    audit : Audit
    table : EncodedTable
        The audited table.
    source : str
        Where the table is from, for people.
    n_top : int
        How many of the most exposed records to list.

    Returns
    -------
    report : dict
        Built of dict, list, str, int, float, bool and None alone. None stands for
        what is not known.

        - "skpriv": the version;
        - "data": source, size, label, how each column was encoded, and "notes" on what
          should be checked: the columns, the reason, and the option that decides;
        - "model": the audited model, and how well it predicts records left out;
        - "neighbors": the same of the nearest neighbours that some of the scores are
          about; None if they are the audited model, or there is no such score;
        - "scores": for each score its meaning, distribution, and shares by class;
        - "too_slow": titles of the scores left out, as there are too many records;
        - "attack": the results of the attack on the model, as `describe_attack`
          returns them; None if there was none;
        - "most_exposed": the most exposed records, those without a score last; empty
          if there are no scores;
        - "records": every record in the order of the table, as columns.
    """
    records = _describe_records(audit, table)
    attack = None
    if audit.attack is not None:
        attack, columns = describe_attack(audit.attack, audit.scores, table, n_top)
        records |= columns
    return {
        "skpriv": skpriv.__version__,
        "data": _describe_data(table, source),
        "model": _describe_model(audit, table),
        "neighbors": _describe_neighbors(audit, table),
        "scores": {
            name: {
                "title": audit.specs[name].title,
                "meaning": audit.specs[name].meaning,
                "about": audit.specs[name].about,
                "error_bound": float(
                    getattr(audit.scorers[name], "truncation_bound_", 0.0)
                ),
                **describe_scores(scores, table, audit.specs[name].unexposed),
            }
            for name, scores in audit.scores.items()
        },
        "too_slow": [
            spec.title for name, spec in audit.specs.items() if name not in audit.scores
        ],
        "attack": attack,
        "most_exposed": [
            {name: column[row] for name, column in records.items()}
            for row in rank(audit.scores.values())[:n_top]
        ],
        "records": records,
    }


def rank(scores):
    """Put records in order, most exposed first.

    Parameters
    ----------
    scores : iterable of ndarray of shape (n_records,)
        Each ranks the records that are equal by those before it. NaN is last.

    Returns
    -------
    order : ndarray of shape (n_records,)
        Empty if there are no scores.
    """
    keys = [np.where(np.isnan(column), np.inf, -column) for column in scores]
    return np.lexsort(keys[::-1]) if keys else np.empty(0, dtype=np.intp)


def percentiles(scores):
    """Return the percentage of the records that score lower, ties counted half.

    Parameters
    ----------
    scores : ndarray of shape (n_records,)

    Returns
    -------
    percentiles : ndarray of shape (n_records,)
        Between 0 and 100. Records without a score (NaN) are not counted, and their
        percentile is NaN.
    """
    known = ~np.isnan(scores)
    shares = np.full(len(scores), np.nan)
    shares[known] = 100 * (rankdata(scores[known]) - 0.5) / max(1, known.sum())
    return shares


def describe_scores(scores, table, unexposed=0.0):
    """Describe how a score is distributed over the records and the classes.

    Parameters
    ----------
    scores : ndarray of shape (n_records,)
        Records without a score (NaN) are counted, and left out of the rest.
    table : EncodedTable
        Their labels.
    unexposed : float, default=0.0
        The score of a record that is not exposed at all.

    Returns
    -------
    description : dict
        "missing": how many records have no score; "distribution": minimum, quartiles,
        mean, maximum and the share of records not exposed at all; "top_shares": the
        part of all exposure, summed over the records, that the top 1 % and 10 % of the
        records carry; "by_class": the number of records of each class, their mean
        score, and their parts of the records and of all exposure; None for a quantity.
        A part of a sum that is zero, or has negative terms, is None.
    """
    known = ~np.isnan(scores)
    exposure = np.where(known, scores - unexposed, 0)
    descending = np.sort(exposure[known])[::-1]
    total = exposure.sum() if (exposure >= -_ROUNDING).all() else 0.0
    top_shares = {}
    for share in _TOP_SHARES:
        n_top = max(1, round(share * len(descending)))
        top_shares[f"{share:.0%}"] = _part(descending[:n_top].sum(), total)
    by_class = None
    if table.classes is not None:
        by_class = {
            label: _describe_class(table.y == code, scores, exposure, total)
            for code, label in enumerate(table.classes)
        }
    return {
        "missing": int((~known).sum()),
        "distribution": _describe_distribution(scores[known], unexposed),
        "top_shares": top_shares,
        "by_class": by_class,
    }


def _describe_distribution(scores, unexposed):
    names = ("minimum", "lower_quartile", "median", "upper_quartile", "maximum")
    if not scores.size:
        return dict.fromkeys((*names, "mean", "unexposed"))
    quartiles = np.quantile(scores, [0, 0.25, 0.5, 0.75, 1])
    return {
        **dict(zip(names, quartiles.tolist(), strict=True)),
        "mean": float(scores.mean()),
        "unexposed": float((scores == unexposed).mean()),
    }


def _describe_class(members, scores, exposure, total):
    known = members & ~np.isnan(scores)
    return {
        "records": int(members.sum()),
        "mean": float(scores[known].mean()) if known.any() else None,
        "part_of_records": float(members.mean()),
        "part_of_sum": _part(exposure[members].sum(), total),
    }


def _part(amount, total):
    return float(amount / total) if total > 0 else None


def _describe_records(audit, table):
    y, classes = table.y, table.classes
    records = {
        "record": list(range(1, len(y) + 1)),
        **({} if table.ids is None else {"id": table.ids}),
        "label": y.tolist() if classes is None else [classes[code] for code in y],
    }
    for name, scores in audit.scores.items():
        records[name] = _plain(scores)
        records[f"{name}_percentile"] = _plain(percentiles(scores))
    if audit.neighbors is not None and audit.neighbors.agreement is not None:
        records["like_neighbors"] = audit.neighbors.agreement.tolist()
    return records


def _plain(numbers):
    return [None if np.isnan(number) else float(number) for number in numbers]


def _describe_data(table, source):
    data = {
        "source": source,
        "records": len(table.y),
        "label": table.label,
        "classes": None,
        "quantity": None,
        "features": table.X.shape[1],
        "columns": [vars(column).copy() for column in table.columns],
        "notes": _describe_notes(table.notes),
    }
    if table.classes is not None:
        counts = np.bincount(table.y).tolist()
        data["classes"] = dict(zip(table.classes, counts, strict=True))
    else:
        data["quantity"] = {
            name: float(getattr(table.y, method)())
            for name, method in [("minimum", "min"), ("maximum", "max")]
        }
    return data


def _describe_notes(notes):
    # In a wide table, many columns may have the same.
    columns = {}
    for note in notes:
        columns.setdefault((note.reason, note.option), []).append(note.column)
    return [
        {
            "columns": [str(name) for name in names if name is not None],
            "reason": reason,
            "option": _fill_in(option, names) or None,
        }
        for (reason, option), names in columns.items()
    ]


def _fill_in(option, names):
    if len(names) > 1 or not option.endswith(" COL"):
        return option
    return option.removesuffix("COL") + shlex.quote(str(names[0]))


def _describe_model(audit, table):
    k = audit.estimator.n_neighbors if is_neighbors(audit.estimator) else None
    return {
        "name": audit.title,
        "n_neighbors": k,
        "left_out": _words.describe_left_out(audit.predictions.n_folds),
        **_describe_fit(audit.scorers.get("leverage")),
        **_describe_predictions(audit, audit.predictions, table.classes),
    }


def _describe_fit(leverage):
    if leverage is None:
        return {}
    return {
        "effective_parameters": _plain([leverage.effective_parameters_])[0],
        "not_converged": int((~leverage.converged_).sum()),
    }


def _describe_neighbors(audit, table):
    if audit.neighbors is None or audit.audits_neighbors:
        return None
    return {
        "name": _words.NEIGHBORS,
        "n_neighbors": audit.n_neighbors,
        "left_out": _words.describe_left_out(audit.neighbors.n_folds),
        **_describe_predictions(audit, audit.neighbors, table.classes),
    }


def _describe_predictions(audit, predictions, classes):
    y, predicted = audit.y, predictions.predicted
    if not is_classifier(audit.estimator):
        missed = ((y - predicted) ** 2).sum() / ((y - y.mean()) ** 2).sum()
        return {"r2": float(1 - missed)}
    right = predicted == y
    counts = np.bincount(y)
    return {
        "accuracy": float(right.mean()),
        "accuracy_by_class": {
            label: float(right[y == code].mean()) for code, label in enumerate(classes)
        },
        "most_frequent_class": classes[counts.argmax()],
        "part_of_most_frequent_class": float(counts.max() / len(y)),
    }
