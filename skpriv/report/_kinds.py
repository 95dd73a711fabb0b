"""The kinds of model that the command can audit.

The options of the command, and their help text, are made from this table. So that they
need not wait for scikit-learn, estimators are imported when they are made.
"""

from collections.abc import Callable
from dataclasses import dataclass

from skpriv.report._scorers import (
    ATTACK_POWER,
    LEVERAGE,
    SCORERS_OF_ANY_MODEL,
    AuditScorer,
)

# Newton's method ends at the optimum to the last digits, and factorises a matrix with
# as many rows as there are weights, at each step.
_MOST_WEIGHTS_FOR_NEWTON = 2000


@dataclass(frozen=True)
class Kind:
    """A kind of model that can be audited.

    Attributes
    ----------
    name : str
        The value of the option ``--model``.
    task : {"classification", "regression"}
    title : str
        Its name in the report.
    make : callable
        Returns an estimator, not fitted. It takes the facts of `needs` by name.
    scorers : dict of str to AuditScorer
        The scores to report, by their names in JSON and CSV. The first ranks the
        records, the second those that are equal by the first, and so on.
    needs : tuple of str, default=()
        Of "n_neighbors" and "n_weights", how many weights a linear model has.
    attackable : bool, default=False
        Whether the likelihood ratio attack can be run on it.
    """

    name: str
    task: str
    title: str
    make: Callable
    scorers: dict[str, AuditScorer]
    needs: tuple[str, ...] = ()
    attackable: bool = False

    def build(self, **facts):
        """Make the estimator from what is known of an audit.

        Parameters
        ----------
        **facts
            The values of all names that `needs` may hold.

        Returns
        -------
        estimator : estimator
            Not fitted.
        """
        return self.make(**{name: facts[name] for name in self.needs})


def _make_logistic(n_weights):
    from sklearn.linear_model import LogisticRegression

    if n_weights > _MOST_WEIGHTS_FOR_NEWTON:
        return LogisticRegression(tol=1e-6, max_iter=1000)
    return LogisticRegression(solver="newton-cholesky", tol=1e-8, max_iter=1000)


def _make_ridge_classifier():
    from sklearn.linear_model import RidgeClassifier

    return RidgeClassifier()


def _make_ridge():
    from sklearn.linear_model import Ridge

    return Ridge()


def _make_knn(n_neighbors):
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(n_neighbors)


_OF_CLASSES = SCORERS_OF_ANY_MODEL["classification"]
_OF_QUANTITIES = SCORERS_OF_ANY_MODEL["regression"]

# The first kind for a task is the default.
KINDS = (
    Kind(
        "logistic",
        "classification",
        "logistic regression, C = 1",
        _make_logistic,
        {"leverage": LEVERAGE, "attack_power": ATTACK_POWER, **_OF_CLASSES},
        needs=("n_weights",),
        attackable=True,
    ),
    Kind(
        "ridge",
        "classification",
        "ridge classifier, alpha = 1",
        _make_ridge_classifier,
        {"leverage": LEVERAGE, **_OF_CLASSES},
    ),
    Kind(
        "ridge",
        "regression",
        "ridge regression, alpha = 1",
        _make_ridge,
        {"leverage": LEVERAGE, **_OF_QUANTITIES},
    ),
    Kind(
        "knn",
        "classification",
        "k-nearest neighbours",
        _make_knn,
        _OF_CLASSES,
        needs=("n_neighbors",),
        attackable=True,
    ),
)


def choose_kind(name, task):
    """Return the kind of model that an option names, for a task.

    Parameters
    ----------
    name : str or None
        The name of a kind. None: the default for the task.
    task : {"classification", "regression"}

    Returns
    -------
    kind : Kind or None
        None if no kind of this name is for the task.
    """
    kinds = (k for k in KINDS if k.task == task and name in (None, k.name))
    return next(kinds, None)
