"""An audit and its data, summed up in plain numbers and words."""

import numpy as np
from scipy.stats import rankdata

import skpriv
from skpriv.report._attack import describe_attack
from skpriv.report._models import labels_for_models, quiet_about_convergence
from skpriv.report._prediction import (
    average_neighbors,
    classify_by_neighbors,
    predict_left_out,
)

_TOP_SHARES = (0.01, 0.1)
# Below zero by less than this, a score is zero but for rounding.
_ROUNDING = 1e-12


def summarise(audit, encoded, *, source, n_top):
    """Sum an audit up.

    Parameters
    ----------
    audit : Audit
    encoded : EncodedTable
        What its model and scores were fitted on.
    source : str
        Where the table is from, for people.
    n_top : int
        How many of the most exposed records to list.

    Returns
    -------
    report : dict
        Built of dict, list, str, int, float, bool and None alone, None standing for
        what is not known:

        - "skpriv": the version;
        - "data": source, size, label, and how each column was encoded;
        - "model": the audited model, and how well it predicts records left out;
        - "neighbors": the same of the nearest neighbours that some of the scores are
          about; None if they are the audited model, or there is no such score;
        - "scores": for each score its meaning, distribution, and shares by class;
        - "too_slow": titles of the scores left out, as there are too many records;
        - "attack": what came of the attack on the model, as `describe_attack` says;
          None if there was none;
        - "most_exposed": the top records, most exposed first, those without a score
          last;
        - "records": every record in the order of the file, as columns.
    """
    values = {name: scorer.scores_ for name, scorer in audit.scorers.items()}
    specs = audit.model.scorers
    neighbors = agreement = None
    if any(specs[name].about == "neighbors" for name in values):
        neighbors, agreement = _describe_neighbors(audit, encoded)
    if audit.estimator is not None:
        model = _describe_model(audit, encoded)
    else:
        model, neighbors = neighbors, None
    records = _describe_records(values, agreement, encoded)
    attack = None
    if audit.attack is not None:
        attack, columns = describe_attack(audit.attack, values, encoded, n_top)
        records |= columns
    return {
        "skpriv": skpriv.__version__,
        "data": _describe_data(encoded, source),
        "model": model,
        "neighbors": neighbors,
        "scores": {
            name: {
                "title": specs[name].title,
                "meaning": specs[name].meaning,
                "about": specs[name].about,
                "error_bound": float(
                    getattr(audit.scorers[name], "truncation_bound_", 0.0)
                ),
                **describe_scores(scores, encoded, specs[name].unexposed),
            }
            for name, scores in values.items()
        },
        "too_slow": [
            spec.title for name, spec in specs.items() if name not in audit.scorers
        ],
        "attack": attack,
        "most_exposed": [
            {name: column[row] for name, column in records.items()}
            for row in rank(values.values())[:n_top]
        ],
        "records": records,
    }


def rank(scores):
    """Put records in order, most exposed first.

    Parameters
    ----------
    scores : iterable of ndarray of shape (n_records,)
        Each decides between records that are equal by those before it. NaN is last.

    Returns
    -------
    order : ndarray of shape (n_records,)
    """
    keys = [np.where(np.isnan(column), np.inf, -column) for column in scores]
    return np.lexsort(keys[::-1])


def percentiles(scores):
    """Share of the records, in percent, that score lower; ties count half.

    Parameters
    ----------
    scores : ndarray of shape (n_records,)

    Returns
    -------
    percentiles : ndarray of shape (n_records,)
        Between 0 and 100. Records without a score (NaN) have none, and do not count.
    """
    known = ~np.isnan(scores)
    shares = np.full(len(scores), np.nan)
    shares[known] = 100 * (rankdata(scores[known]) - 0.5) / max(1, known.sum())
    return shares


def describe_scores(scores, encoded, unexposed=0.0):
    """Sum up how a score is spread over the records and the classes.

    Parameters
    ----------
    scores : ndarray of shape (n_records,)
        Records without a score (NaN) are counted, and otherwise left aside.
    encoded : EncodedTable
        Their labels.
    unexposed : float, default=0.0
        The score of a record that is not exposed at all: where exposure begins.

    Returns
    -------
    description : dict
        "missing": how many records have no score; "distribution": minimum, quartiles,
        mean, maximum and the share of records not exposed at all; "top_shares": the
        part of the sum of all exposure that the top 1 % and 10 % of the records carry;
        "by_class": the number of records of each class, their mean, and their parts of
        the records and of the sum; None for a quantity. A part of a sum that is zero,
        or has negative terms, is None.
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
    if encoded.classes is not None:
        by_class = {
            label: _describe_class(encoded.y == code, scores, exposure, total)
            for code, label in enumerate(encoded.classes)
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


def _describe_records(values, agreement, encoded):
    y, classes = encoded.y, encoded.classes
    records = {
        "record": list(range(1, len(y) + 1)),
        "label": y.tolist() if classes is None else [classes[code] for code in y],
    }
    for name, scores in values.items():
        records[name] = _plain(scores)
        records[f"{name}_percentile"] = _plain(percentiles(scores))
    if agreement is not None:
        records["like_neighbors"] = agreement.tolist()
    return records


def _plain(numbers):
    return [None if np.isnan(number) else float(number) for number in numbers]


def _describe_data(encoded, source):
    data = {
        "source": source,
        "records": len(encoded.y),
        "label": encoded.label,
        "classes": None,
        "quantity": None,
        "features": encoded.X.shape[1],
        "columns": [vars(column).copy() for column in encoded.columns],
    }
    if encoded.classes is not None:
        counts = np.bincount(encoded.y).tolist()
        data["classes"] = dict(zip(encoded.classes, counts, strict=True))
    else:
        data["quantity"] = {
            name: float(getattr(encoded.y, method)())
            for name, method in [("minimum", "min"), ("maximum", "max")]
        }
    return data


def _describe_model(audit, encoded):
    X, y = encoded.X, labels_for_models(encoded)
    with quiet_about_convergence():
        predicted = predict_left_out(audit.estimator, X, y)
    leverage = audit.scorers["leverage"]
    return {
        "name": audit.model.title,
        "n_neighbors": None,
        "left_out": "a fifth of the records",
        "effective_parameters": _plain([leverage.effective_parameters_])[0],
        "not_converged": int((~leverage.converged_).sum()),
        **_describe_predictions(predicted, y, encoded.classes),
    }


def _describe_neighbors(audit, encoded):
    X, y = encoded.X, labels_for_models(encoded)
    agreement = None
    if encoded.classes is None:
        predicted = average_neighbors(X, y, audit.n_neighbors)
    else:
        predicted, agreement = classify_by_neighbors(X, y, audit.n_neighbors)
    description = {
        "name": "k-nearest neighbours",
        "n_neighbors": audit.n_neighbors,
        "left_out": "each record",
        **_describe_predictions(predicted, y, encoded.classes),
    }
    return description, agreement


def _describe_predictions(predicted, y, classes):
    if classes is None:
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
