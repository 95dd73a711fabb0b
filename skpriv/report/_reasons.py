"""Why a record is exposed, in words. Names of columns are told, and no values.

Each function looks for one kind of reason, and returns what it finds as a list of
`Finding`.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from skpriv.datasets import table_encoder
from skpriv.utils._text import count

# Values, classes and groups are rare that at most so many records have.
_FEW, _FEW_SHARE = 5, 0.001
# A quantity is far from the others from so many robust standard deviations on.
_FAR = 5.0
_SD_OF_MAD = 1.4826  # of a normal distribution
_REMOTE, _MOST_BUT_ALL = 0.99, 0.999
_FEW_ALIKE = 0.2
# A score is high that is above those of so many records.
_HIGH = 0.95
_IMPROBABLE = 0.05
_MOST_REASONS_OF_A_KIND = 3
# In the order in which they are told.
KINDS = (
    "rare_class",
    "wrong_label",
    "contradicted",
    "rare_value",
    "unlike_all",
    "unusual_mix",
    "hard_to_predict",
    "rare_group",
)

# A reason is not told beside one that says why.
_SAID_BETTER = {
    "unusual_mix": {"rare_value", "unlike_all"},
    "hard_to_predict": {"wrong_label", "contradicted"},
    # Of a rare class, others know too little to judge the label.
    "wrong_label": {"rare_class"},
    "contradicted": {"rare_class"},
}


class Finding(NamedTuple):
    """Records that have one reason in common.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    records : ndarray of shape (n_found,)
    texts : list of str
    shares : ndarray of shape (n_found,)
        The part of the records, or of the neighbours, that the reason is about. The
        smaller, the stronger is the reason.
    column : str or None
    """

    kind: str
    records: np.ndarray
    texts: list[str]
    shares: np.ndarray
    column: str | None = None


def is_few(number, n_records):
    """Tell whether so many of the records are few."""
    # Half of a handful of records is not few.
    return number <= min(max(_FEW, _FEW_SHARE * n_records), n_records / 10)


def gather(findings, n_records):
    """List the reasons of each record.

    Parameters
    ----------
    findings : iterable of Finding
    n_records : int

    Returns
    -------
    reasons : list of list of dict
        Plain data, the strongest of each kind first.
    """
    reasons = [[] for _ in range(n_records)]
    for finding in findings:
        rows = zip(finding.records, finding.texts, finding.shares, strict=True)
        for record, text, share in rows:
            reasons[record].append(
                {
                    "kind": finding.kind,
                    "text": text,
                    "column": finding.column,
                    "share": None if np.isnan(share) else float(share),
                }
            )
    return [_strongest(found) for found in reasons]


def _strongest(reasons):
    if len(reasons) < 2:
        return reasons
    chosen = []
    kinds = {reason["kind"] for reason in reasons}
    for kind in KINDS:
        if kind in _SAID_BETTER and kinds & _SAID_BETTER[kind]:
            continue
        own = [reason for reason in reasons if reason["kind"] == kind]
        own.sort(key=lambda reason: (reason["share"] is None, reason["share"]))
        chosen += own[:_MOST_REASONS_OF_A_KIND]
    return chosen


def rare_values(frame, columns):
    """Find values that few records share, and quantities far from the others.

    Parameters
    ----------
    frame : DataFrame of shape (n_records, n_columns)
    columns : list of Column

    Returns
    -------
    findings : list of Finding
    """
    findings = []
    for column in columns:
        if column.left_out is not None:
            continue
        values = frame[column.name]
        findings += _missing_values(values, column)
        if column.kind == "category" or column.n_distinct <= 2:
            findings += _rare_categories(values, column)
        else:
            findings += _far_numbers(values, column)
    return findings


def _missing_values(values, column):
    if not is_few(column.n_missing, len(values)) or not column.n_missing:
        return []
    text = (
        f"few records have no value of '{column.name}' "
        f"({_of_all(column.n_missing, len(values))})"
    )
    records = np.flatnonzero(values.isna())
    shares = np.full(records.size, records.size / len(values))
    return [Finding("rare_value", records, [text] * records.size, shares, column.name)]


def _rare_categories(values, column):
    texts = values.astype(object).map(str, na_action="ignore")
    numbers = texts.map(texts.value_counts()).to_numpy(dtype=float, na_value=np.nan)
    records = np.flatnonzero(is_few(numbers, len(values)))
    numbers = numbers[records].astype(int)
    told = [
        f"few records have this value of '{column.name}' ({_of_all(n, len(values))})"
        for n in numbers
    ]
    return [Finding("rare_value", records, told, numbers / len(values), column.name)]


def _far_numbers(values, column):
    numbers = _as_numbers(values, column)
    known = numbers[~np.isnan(numbers)]
    middle = np.median(known)
    spread = _SD_OF_MAD * np.median(np.abs(known - middle))
    ordered = np.sort(known)
    with np.errstate(invalid="ignore"):
        above = known.size - np.searchsorted(ordered, numbers, "left")
        below = np.searchsorted(ordered, numbers, "right")
        is_high = numbers >= middle
        as_far = np.where(is_high, above, below)
        distance = np.abs(numbers - middle)
        # Where most values are the same, there is no spread to compare with.
        far = distance / spread if spread else np.full(numbers.size, np.inf)
        found = is_few(as_far, numbers.size) & (distance > 0) & (far >= _FAR)
    records = np.flatnonzero(found & ~np.isnan(numbers))
    told = []
    for record in records:
        text = (
            f"'{column.name}' is unusually {'high' if is_high[record] else 'low'}: "
            f"{_of_all(as_far[record], numbers.size)} "
            f"{'go' if as_far[record] > 1 else 'goes'} as far"
        )
        if spread:
            text += f", {far[record]:,.0f} robust standard deviations from the median"
        told.append(text)
    shares = as_far[records] / numbers.size
    return [Finding("rare_value", records, told, shares, column.name)]


def _as_numbers(values, column):
    if column.kind == "number":
        return values.to_numpy(dtype=float, na_value=np.nan)
    # Days, as the encoder takes them; missing ones become the median.
    days = table_encoder([column]).fit_transform(values.to_frame())[:, 0]
    return np.where(values.isna(), np.nan, days)


def rare_labels(labels):
    """Find records of classes that few records are in.

    Parameters
    ----------
    labels : ndarray of shape (n_records,)

    Returns
    -------
    findings : list of Finding
    """
    _, codes, numbers = np.unique(labels, return_inverse=True, return_counts=True)
    own = numbers[codes]
    records = np.flatnonzero(is_few(own, len(labels)))
    told = [
        "it is the only record of its class: models trained without it do not know "
        "the class, so its risk cannot be measured; a model that knows the class "
        "has seen this record"
        if n == 1
        else f"few records are of its class ({_of_all(n, len(labels))})"
        for n in own[records]
    ]
    return [Finding("rare_class", records, told, own[records] / len(labels))]


def rare_groups(groups):
    """Find records in groups that few records are in.

    Parameters
    ----------
    groups : dict of str to ndarray of shape (n_records,)

    Returns
    -------
    findings : list of Finding
    """
    findings = []
    for column, names in groups.items():
        names = np.asarray([str(name) for name in names])
        _, codes, numbers = np.unique(names, return_inverse=True, return_counts=True)
        own = numbers[codes]
        records = np.flatnonzero(is_few(own, len(names)))
        told = [
            f"few records are in its group by '{column}' ({_of_all(n, len(names))})"
            for n in own[records]
        ]
        shares = own[records] / len(names)
        findings.append(Finding("rare_group", records, told, shares, column))
    return findings


def contradicted_classes(codes, neighborhood):
    """Find records whose nearest neighbours have other classes.

    Parameters
    ----------
    codes : ndarray of shape (n_records,)
    neighborhood : Neighborhood

    Returns
    -------
    findings : list of Finding
    """
    k = neighborhood.n_neighbors
    alike = np.mean(neighborhood.labels == codes[:, np.newaxis], axis=1)
    looked_at = ~np.isnan(neighborhood.distance)
    records = np.flatnonzero(looked_at & (alike <= _FEW_ALIKE))
    told = []
    for share in alike[records]:
        number = round(share * k)
        which = "none" if number == 0 else f"only {number}"
        verb = "has" if number <= 1 else "have"
        told.append(f"{which} of its {count(k, 'nearest neighbour')} {verb} its label")
    return [Finding("contradicted", records, told, alike[records])]


def contradicted_quantities(y, neighborhood):
    """Find records whose label is far from those of their nearest neighbours.

    Parameters
    ----------
    y : ndarray of shape (n_records,)
    neighborhood : Neighborhood

    Returns
    -------
    findings : list of Finding
    """
    off = np.abs(y - neighborhood.labels.mean(axis=1))
    return _unusually_large(
        "contradicted",
        off,
        "its label is {:,.0f} times as far from those of its nearest neighbours as "
        "usual",
    )


def doubted_classes(signals, membership):
    """Find records whose label models trained without them take for wrong.

    Parameters
    ----------
    signals : ndarray of shape (n_shadows, n_records)
        Log-odds of the labels.
    membership : ndarray of shape (n_shadows, n_records), dtype bool

    Returns
    -------
    findings : list of Finding
        Empty if such models doubt the label of most records.
    """
    outside = ~membership
    total = np.where(outside, expit(signals.astype(np.float64)), 0.0).sum(axis=0)
    belief = total / np.maximum(outside.sum(axis=0), 1)
    if np.median(belief) < 0.5:
        return []
    records = np.flatnonzero(belief <= _IMPROBABLE)
    told = [
        "the label may be wrong: models trained without the record give it a "
        f"probability of {'less than 0.1%' if share < 0.001 else f'{share:.1%}'}"
        for share in belief[records]
    ]
    return [Finding("wrong_label", records, told, belief[records])]


def doubted_quantities(errors):
    """Find records whose label is far from what models trained without them predict.

    Parameters
    ----------
    errors : ndarray of shape (n_records,)

    Returns
    -------
    findings : list of Finding
    """
    return _unusually_large(
        "wrong_label",
        errors,
        "the label may be wrong: models trained without the record are {:,.0f} times "
        "as far off as usual",
    )


def _unusually_large(kind, sizes, text):
    known = np.isfinite(sizes)
    usual = np.median(sizes[known]) if known.any() else 0.0
    if not usual > 0:
        return []
    with np.errstate(invalid="ignore"):
        times = sizes / usual
    records = np.flatnonzero(known & (times >= _FAR))
    told = [text.format(times[record]) for record in records]
    return [Finding(kind, records, told, 1 / times[records])]


def unusual_mixes(leverage):
    """Find records whose values, taken together, few records are like.

    Parameters
    ----------
    leverage : ndarray of shape (n_records,)
        NaN where it is not known.

    Returns
    -------
    findings : list of Finding
    """
    return _among_the_highest(
        "unusual_mix",
        leverage,
        "its values taken together are unusual: its leverage on the model is higher "
        "than that of {:.1%} of the records",
    )


def hard_to_predict(error):
    """Find records that models trained without them predict worst.

    Parameters
    ----------
    error : ndarray of shape (n_records,)

    Returns
    -------
    findings : list of Finding
    """
    return _among_the_highest(
        "hard_to_predict",
        error,
        "models trained without it predict it worse than {:.1%} of the records",
    )


def _among_the_highest(kind, scores, text):
    known = np.isfinite(scores)
    ordered = np.sort(scores[known])
    if not ordered.size or ordered[0] == ordered[-1]:
        return []
    lower = np.searchsorted(ordered, np.where(known, scores, ordered[0])) / ordered.size
    records = np.flatnonzero(lower >= _HIGH)
    told = [text.format(min(share, _MOST_BUT_ALL)) for share in lower[records]]
    return [Finding(kind, records, told, 1 - lower[records])]


def unlike_all(neighborhood):
    """Find records whose nearest neighbours are further away than those of the others.

    Parameters
    ----------
    neighborhood : Neighborhood

    Returns
    -------
    findings : list of Finding
    """
    usual, distance = neighborhood.usual_distances, neighborhood.distance
    nearer = np.searchsorted(usual, np.nan_to_num(distance), "left") / usual.size
    with np.errstate(invalid="ignore"):
        remote = (nearer >= _REMOTE - 1 / usual.size) & (
            distance > 1.5 * np.median(usual)
        )
    records = np.flatnonzero(remote)
    told = [
        "its nearest neighbours are further away than those of "
        f"{min(share, _MOST_BUT_ALL):.1%} of the records"
        for share in nearer[records]
    ]
    return [Finding("unlike_all", records, told, 1 - nearer[records])]


def _of_all(number, n_records):
    return f"{number:,} of {n_records:,}"
