"""The scores that an audit gives of each record."""

from collections.abc import Callable
from dataclasses import dataclass

from sklearn.frozen import FrozenEstimator

from skpriv.base import RecordScorerMixin
from skpriv.leverage import GLSScorer
from skpriv.neighbors import KNNLeaveOneOutScorer, KNNShapleyScorer, WaKAScorer

# Exact Shapley values rank all records around each. Above this many records that costs
# more than a report is worth.
_MOST_RECORDS_TO_RANK_ALL = 20_000
_SHAPLEY_NEIGHBORHOOD = 1000
# For quantities they cannot be cut short.
_MOST_RECORDS_FOR_QUANTITIES = 5_000


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
        Takes the audited model, fitted, and the numbers of neighbours and of records;
        returns a scorer, not fitted.
    about : {"model", "neighbors"}, default="neighbors"
        Whether it is about the audited model, or about nearest neighbours whatever
        model is audited.
    unexposed : float, default=0.0
        The score of a record that is not exposed at all.
    most_records : int or None, default=None
        Beyond as many records the score takes too long, and is left out.
    """

    title: str
    meaning: str
    make: Callable[[object, int, int], RecordScorerMixin]
    about: str = "neighbors"
    unexposed: float = 0.0
    most_records: int | None = None


def _make_leverage(model, n_neighbors, n_records):
    return GLSScorer(FrozenEstimator(model))


def _make_attack_power(model, n_neighbors, n_records):
    return GLSScorer(FrozenEstimator(model), variant="attack_power")


# Searches are exact, so that an audit that is repeated gives the same report.
def _make_waka(model, n_neighbors, n_records):
    return WaKAScorer(n_neighbors=n_neighbors, search="exact")


def _make_shapley(model, n_neighbors, n_records):
    rank_all = n_records <= _MOST_RECORDS_TO_RANK_ALL
    return KNNShapleyScorer(
        n_neighbors=n_neighbors,
        neighborhood=None if rank_all else _SHAPLEY_NEIGHBORHOOD,
        task="classification",
        search="exact",
    )


def _make_shapley_of_quantities(model, n_neighbors, n_records):
    return KNNShapleyScorer(n_neighbors=n_neighbors, task="regression", search="exact")


def _make_leave_one_out(model, n_neighbors, n_records):
    return KNNLeaveOneOutScorer(n_neighbors=n_neighbors, search="exact")


LEVERAGE = AuditScorer(
    "leverage",
    "how far the model's prediction for the record would follow the record's own label "
    "if that changed; 0: the other records settle it",
    _make_leverage,
    about="model",
)
ATTACK_POWER = AuditScorer(
    "predicted attack",
    "a prediction, made without running it, of how often a likelihood ratio attack "
    "(LiRA) on the model would be right about whether the record was in the training "
    "data; 0.5: it guesses. Near 1 it tends to be too high",
    _make_attack_power,
    about="model",
    unexposed=0.5,
)
WAKA = AuditScorer(
    "WaKA",
    "how far the error of the nearest neighbours on the record moves when the record "
    "joins a random half of the data; 0: nobody can tell whether it did",
    _make_waka,
)
SHAPLEY = AuditScorer(
    "Shapley",
    "the record's fair share in its neighbours, itself among them, being right about "
    "it; small where they have its label and share in it too",
    _make_shapley,
)
SHAPLEY_OF_QUANTITIES = AuditScorer(
    "Shapley",
    "the record's fair share in its neighbours, itself among them, coming close to its "
    "label: a squared error, in variances of the label",
    _make_shapley_of_quantities,
    most_records=_MOST_RECORDS_FOR_QUANTITIES,
)
LEAVE_ONE_OUT = AuditScorer(
    "leave-one-out",
    "what the nearest neighbours lose on the record when this record alone is removed",
    _make_leave_one_out,
)
