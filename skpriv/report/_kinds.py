"""The kinds of model that the command can make.

The options of the command, and their help text, are made from this table. So that they
need not wait for scikit-learn, estimators are imported when they are made.
"""

from collections.abc import Callable
from dataclasses import dataclass

# Newton's method ends at the optimum to the last digits, and factorises a matrix with
# as many rows as there are weights, at each step.
_MOST_WEIGHTS_FOR_NEWTON = 2000
_HIDDEN_UNITS = (64,)


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
    needs : tuple of str, default=()
        Of "n_neighbors" and "n_weights", how many weights a linear model has.
    """

    name: str
    task: str
    title: str
    make: Callable
    needs: tuple[str, ...] = ()

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


def _make_knn_regressor(n_neighbors):
    from sklearn.neighbors import KNeighborsRegressor

    return KNeighborsRegressor(n_neighbors)


def _make_forest():
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier()


def _make_forest_regressor():
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor()


def _make_boosting():
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(early_stopping=False)


def _make_boosting_regressor():
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(early_stopping=False)


def _make_mlp():
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(hidden_layer_sizes=_HIDDEN_UNITS)


def _make_mlp_regressor():
    from sklearn.neural_network import MLPRegressor

    return MLPRegressor(hidden_layer_sizes=_HIDDEN_UNITS)


_CLASSES, _QUANTITY = "classification", "regression"
_K = ("n_neighbors",)
# The first kind for a task is the default.
KINDS = (
    Kind(
        "logistic",
        _CLASSES,
        "logistic regression, C = 1",
        _make_logistic,
        needs=("n_weights",),
    ),
    Kind("ridge", _CLASSES, "ridge classifier, alpha = 1", _make_ridge_classifier),
    Kind("ridge", _QUANTITY, "ridge regression, alpha = 1", _make_ridge),
    Kind("knn", _CLASSES, "k-nearest neighbours", _make_knn, needs=_K),
    Kind("knn", _QUANTITY, "k-nearest neighbours", _make_knn_regressor, needs=_K),
    Kind("forest", _CLASSES, "random forest of 100 trees", _make_forest),
    Kind("forest", _QUANTITY, "random forest of 100 trees", _make_forest_regressor),
    Kind("boosting", _CLASSES, "gradient boosting of 100 trees", _make_boosting),
    Kind(
        "boosting",
        _QUANTITY,
        "gradient boosting of 100 trees",
        _make_boosting_regressor,
    ),
    Kind("mlp", _CLASSES, "neural network with 64 hidden units", _make_mlp),
    Kind("mlp", _QUANTITY, "neural network with 64 hidden units", _make_mlp_regressor),
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
