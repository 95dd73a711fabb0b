"""Fitted scorers and their data, summed up in plain numbers and words."""

import numpy as np
from scipy.stats import rankdata
from sklearn.neighbors import NearestNeighbors

import skpriv

_TOP_SHARES = (0.01, 0.1)


def summarise(scorers, encoded, *, source, n_neighbors, n_top, specs):
    """Sum an audit up.

    Parameters
    ----------
    scorers : dict of str to fitted scorer
        The scores to report, in the order that ranks the records.
    encoded : EncodedTable
        What they were fitted on.
    source : str
        Where the table is from, for people.
    n_neighbors : int
        The k of the audited k-NN.
    n_top : int
        How many of the most exposed records to list.
    specs : dict of str to AuditScorer
        Titles and meanings of the scores.

    Returns
    -------
    report : dict
        Built of dict, list, str, int, float, bool and None alone:

        - "skpriv": the version;
        - "data": source, size, label, classes, and how each column was encoded;
        - "model": the audited model, and how well it predicts records left out;
        - "scores": for each score its meaning, distribution, and shares by class;
        - "most_exposed": the top records, most exposed first;
        - "records": every record in the order of the file, as columns.
    """
    classes, y = encoded.classes, encoded.y
    values = {name: scorer.scores_ for name, scorer in scorers.items()}
    predicted, agreement = predict_left_out(encoded.X, y, n_neighbors)
    records = {
        "record": list(range(1, len(y) + 1)),
        "label": [classes[code] for code in y],
    }
    for name, scores in values.items():
        records[name] = scores.tolist()
        records[f"{name}_percentile"] = percentiles(scores).tolist()
    records["like_neighbors"] = agreement.tolist()
    order = np.lexsort(tuple(-scores for scores in reversed(values.values())))
    return {
        "skpriv": skpriv.__version__,
        "data": _describe_data(encoded, source),
        "model": _describe_model(y, predicted, n_neighbors, classes),
        "scores": {
            name: {
                "title": specs[name].title,
                "meaning": specs[name].meaning,
                "error_bound": float(getattr(scorers[name], "truncation_bound_", 0.0)),
                **describe_scores(scores, y, classes),
            }
            for name, scores in values.items()
        },
        "most_exposed": [
            {name: column[row] for name, column in records.items()}
            for row in order[:n_top]
        ],
        "records": records,
    }


def percentiles(scores):
    """Share of the records, in percent, that score lower; ties count half.

    Parameters
    ----------
    scores : ndarray of shape (n_records,)

    Returns
    -------
    percentiles : ndarray of shape (n_records,)
        Between 0 and 100.
    """
    return 100 * (rankdata(scores) - 0.5) / len(scores)


def predict_left_out(X, y, n_neighbors):
    """Predict each record by its nearest neighbours, itself left out.

    Parameters
    ----------
    X : ndarray of shape (n_records, n_features)
    y : ndarray of shape (n_records,), dtype int
        Classes, numbered from 0.
    n_neighbors : int
        Where there are not as many others, all of them vote.

    Returns
    -------
    predicted : ndarray of shape (n_records,)
        The most frequent class among the neighbours, of equally frequent ones the
        first.
    agreement : ndarray of shape (n_records,)
        The share of the neighbours that have the record's class.
    """
    n_voters = min(n_neighbors, len(y) - 1)
    voters = NearestNeighbors(n_neighbors=n_voters).fit(X).kneighbors()[1]
    votes = np.zeros((len(y), y.max() + 1), dtype=np.intp)
    for nearest in voters.T:
        votes[np.arange(len(y)), y[nearest]] += 1
    return votes.argmax(axis=1), votes[np.arange(len(y)), y] / n_voters


def describe_scores(scores, y, classes):
    """Sum up how a score is spread over the records and the classes.

    Parameters
    ----------
    scores : ndarray of shape (n_records,)
        Not negative.
    y : ndarray of shape (n_records,), dtype int
    classes : list of str

    Returns
    -------
    description : dict
        "distribution": minimum, quartiles, mean, maximum and the share of zeros;
        "top_shares": the part of the sum of all scores that the top 1 % and 10 % of
        the records carry; "by_class": the number of records of each class, their mean,
        and their parts of the records, of the sum, and of the top 10 %. A part of a
        sum that is zero is None.
    """
    quartiles = np.quantile(scores, [0, 0.25, 0.5, 0.75, 1])
    names = ("minimum", "lower_quartile", "median", "upper_quartile", "maximum")
    descending = np.sort(scores)[::-1]
    total = descending.sum()
    top_shares = {}
    for share in _TOP_SHARES:
        n_top = max(1, round(share * len(scores)))
        top_shares[f"{share:.0%}"] = _part(descending[:n_top].sum(), total)
    return {
        "distribution": {
            **dict(zip(names, quartiles.tolist(), strict=True)),
            "mean": float(scores.mean()),
            "zeros": float((scores == 0).mean()),
        },
        "top_shares": top_shares,
        "by_class": {
            label: _describe_class(scores[y == code], scores, total)
            for code, label in enumerate(classes)
        },
    }


def _describe_class(members, scores, total):
    return {
        "records": len(members),
        "mean": float(members.mean()),
        "part_of_records": len(members) / len(scores),
        "part_of_sum": _part(members.sum(), total),
    }


def _part(amount, total):
    return float(amount / total) if total > 0 else None


def _describe_data(encoded, source):
    counts = np.bincount(encoded.y)
    return {
        "source": source,
        "records": len(encoded.y),
        "label": encoded.label,
        "classes": dict(zip(encoded.classes, counts.tolist(), strict=True)),
        "features": encoded.X.shape[1],
        "columns": [vars(column).copy() for column in encoded.columns],
    }


def _describe_model(y, predicted, n_neighbors, classes):
    right = predicted == y
    counts = np.bincount(y)
    return {
        "name": "k-nearest neighbours",
        "n_neighbors": n_neighbors,
        "accuracy": float(right.mean()),
        "accuracy_by_class": {
            label: float(right[y == code].mean()) for code, label in enumerate(classes)
        },
        "most_frequent_class": classes[counts.argmax()],
        "part_of_most_frequent_class": float(counts.max() / len(y)),
    }
