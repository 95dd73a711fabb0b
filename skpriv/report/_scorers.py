"""The scores that an audit gives, by name."""

from collections.abc import Callable
from dataclasses import dataclass

from skpriv.base import RecordScorerMixin
from skpriv.neighbors import KNNLeaveOneOutScorer, KNNShapleyScorer, WaKAScorer

# Above this many records exact Shapley values, which take every pair of records, cost
# more than a report is worth.
_MOST_RECORDS_FOR_ALL_PAIRS = 20_000
_SHAPLEY_NEIGHBORHOOD = 1000


@dataclass(frozen=True)
class AuditScorer:
    """A score of an audit.

    Attributes
    ----------
    title : str
        A short name, for people.
    meaning : str
        What a value says, in one sentence.
    make : callable
        Takes the numbers of neighbours and of records; returns a scorer, not fitted.
    """

    title: str
    meaning: str
    make: Callable[[int, int], RecordScorerMixin]


def _make_waka(n_neighbors, n_records):
    return WaKAScorer(n_neighbors=n_neighbors)


def _make_shapley(n_neighbors, n_records):
    neighborhood = (
        _SHAPLEY_NEIGHBORHOOD if n_records > _MOST_RECORDS_FOR_ALL_PAIRS else None
    )
    return KNNShapleyScorer(n_neighbors=n_neighbors, neighborhood=neighborhood)


def _make_leave_one_out(n_neighbors, n_records):
    return KNNLeaveOneOutScorer(n_neighbors=n_neighbors)


# In the order of the report, which ranks the records by the first score, ties by the
# second, and so on.
SCORERS = {
    "waka": AuditScorer(
        "WaKA",
        "how far the model's error on the record moves when the record joins a random "
        "half of the data; 0: nobody can tell whether it did",
        _make_waka,
    ),
    "knn_shapley": AuditScorer(
        "Shapley",
        "the record's own fair share in the model being right about it; low where "
        "like records do the same",
        _make_shapley,
    ),
    "knn_leave_one_out": AuditScorer(
        "leave-one-out",
        "what the model loses on the record when this record alone is removed",
        _make_leave_one_out,
    ),
}
