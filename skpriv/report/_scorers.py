"""The scores that an audit can give its records.

The help text of the command is made from this table and that of the kinds of model.
So that it need not wait for scikit-learn, estimators are imported when they are made.
"""

from collections.abc import Callable
from dataclasses import dataclass

# Exact Shapley values rank all records around each. Above this many records that costs
# more than a report is worth.
_MOST_RECORDS_TO_RANK_ALL = 20_000
_SHAPLEY_NEIGHBORHOOD = 1000
# For quantities they cannot be cut short.
_MOST_RECORDS_FOR_QUANTITIES = 5_000


@dataclass(frozen=True)
class AuditScorer:
    """A score that an audit can give its records.

    Attributes
    ----------
    title : str
        Its name, in one or two words.
    meaning : str
        The meaning of its values: a sentence without the full stop.
    make : callable
        Returns a scorer, not fitted. It takes the facts of `needs` by name.
    needs : tuple of str
        Of "model", the audited model, fitted; "n_neighbors"; and "n_records".
    about : {"model", "neighbors"}, default="neighbors"
        Whether it is about the audited model, or about k-nearest neighbours on the
        same records, whatever model is audited.
    unexposed : float, default=0.0
        The score of a record that is not exposed at all.
    most_records : int or None, default=None
        For more records than this the score takes too long, and is left out.
    """

    title: str
    meaning: str
    make: Callable
    needs: tuple[str, ...]
    about: str = "neighbors"
    unexposed: float = 0.0
    most_records: int | None = None

    def build(self, **facts):
        """Make the scorer from what is known of an audit.

        Parameters
        ----------
        **facts
            The values of all names that `needs` may hold.

        Returns
        -------
        scorer : estimator
            Not fitted.
        """
        return self.make(**{name: facts[name] for name in self.needs})


def _make_leverage(model, **parameters):
    from sklearn.frozen import FrozenEstimator

    from skpriv.leverage import GLSScorer

    return GLSScorer(FrozenEstimator(model), **parameters)


def _make_attack_power(model):
    return _make_leverage(model, variant="attack_power")


# Searches are exact, so that the same audit gives the same report again.
def _make_waka(n_neighbors):
    from skpriv.neighbors import WaKAScorer

    return WaKAScorer(n_neighbors=n_neighbors, search="exact")


def _make_shapley(n_neighbors, n_records):
    from skpriv.neighbors import KNNShapleyScorer

    rank_all = n_records <= _MOST_RECORDS_TO_RANK_ALL
    return KNNShapleyScorer(
        n_neighbors=n_neighbors,
        neighborhood=None if rank_all else _SHAPLEY_NEIGHBORHOOD,
        task="classification",
        search="exact",
    )


def _make_shapley_of_quantities(n_neighbors):
    from skpriv.neighbors import KNNShapleyScorer

    return KNNShapleyScorer(n_neighbors=n_neighbors, task="regression", search="exact")


def _make_leave_one_out(n_neighbors):
    from skpriv.neighbors import KNNLeaveOneOutScorer

    return KNNLeaveOneOutScorer(n_neighbors=n_neighbors, search="exact")


LEVERAGE = AuditScorer(
    "leverage",
    "how much the model's prediction for the record would change with the record's own "
    "label; 0: the other records alone determine it",
    _make_leverage,
    needs=("model",),
    about="model",
)
ATTACK_POWER = AuditScorer(
    "predicted attack",
    "how often a likelihood ratio attack (LiRA) on the model would be right about "
    "whether the record was in the training data, predicted without running the "
    "attack; 0.5: no better than guessing. Values near 1 tend to be too high",
    _make_attack_power,
    needs=("model",),
    about="model",
    unexposed=0.5,
)
WAKA = AuditScorer(
    "WaKA",
    "how much the error of the nearest neighbours on the record changes when the "
    "record joins a random half of the data; 0: it makes no difference",
    _make_waka,
    needs=("n_neighbors",),
)
SHAPLEY = AuditScorer(
    "Shapley",
    "how much of the nearest neighbours' success in predicting the record's label is "
    "due to the record itself (its Shapley value); small if other neighbours have the "
    "same label",
    _make_shapley,
    needs=("n_neighbors", "n_records"),
)
SHAPLEY_OF_QUANTITIES = AuditScorer(
    "Shapley",
    "how much of the nearest neighbours' success in predicting the record's label is "
    "due to the record itself (its Shapley value); in squared errors, as a part of the "
    "variance of the label",
    _make_shapley_of_quantities,
    needs=("n_neighbors",),
    most_records=_MOST_RECORDS_FOR_QUANTITIES,
)
LEAVE_ONE_OUT = AuditScorer(
    "leave-one-out",
    "how much worse the nearest neighbours predict the record's label when this record "
    "alone is removed",
    _make_leave_one_out,
    needs=("n_neighbors",),
)

# The scores that a model of any kind can have, by its task.
SCORERS_OF_ANY_MODEL = {
    "classification": {
        "waka": WAKA,
        "knn_shapley": SHAPLEY,
        "knn_leave_one_out": LEAVE_ONE_OUT,
    },
    "regression": {"knn_shapley": SHAPLEY_OF_QUANTITIES},
}
