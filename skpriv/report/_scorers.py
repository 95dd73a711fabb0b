"""The scores that an audit gives, by name."""

from collections.abc import Callable
from dataclasses import dataclass

from skpriv.base import RecordScorerMixin
from skpriv.neighbors import KNNLeaveOneOutScorer, KNNShapleyScorer, WaKAScorer

# Exact Shapley values rank all records around each. Above this many records that costs
# more than a report is worth.
_MOST_RECORDS_TO_RANK_ALL = 20_000
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


# Searches are exact, so that an audit that is repeated gives the same report.
def _make_waka(n_neighbors, n_records):
    return WaKAScorer(n_neighbors=n_neighbors, search="exact")


def _make_shapley(n_neighbors, n_records):
    rank_all = n_records <= _MOST_RECORDS_TO_RANK_ALL
    return KNNShapleyScorer(
        n_neighbors=n_neighbors,
        neighborhood=None if rank_all else _SHAPLEY_NEIGHBORHOOD,
        search="exact",
    )


def _make_leave_one_out(n_neighbors, n_records):
    return KNNLeaveOneOutScorer(n_neighbors=n_neighbors, search="exact")


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
        "the record's fair share in the model being right about it; small where its "
        "neighbours have its label and share in it too",
        _make_shapley,
    ),
    "knn_leave_one_out": AuditScorer(
        "leave-one-out",
        "what the model loses on the record when this record alone is removed",
        _make_leave_one_out,
    ),
}
