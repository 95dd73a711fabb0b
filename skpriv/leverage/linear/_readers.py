"""How each linear model of scikit-learn states its objective.

One function a model reads the fitted estimator and returns its `Objective`. The
penalty of each is brought to the scale of a sum over records.
"""

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
    TweedieRegressor,
)
from sklearn.utils.class_weight import compute_class_weight

from skpriv.leverage.linear._losses import (
    Huber,
    LogLoss,
    ModifiedHuber,
    SquaredError,
    Tweedie,
)
from skpriv.leverage.linear._objective import Objective
from skpriv.leverage.linear._targets import ClassTargets, NumericTargets


def read_logistic(estimator, X, y, sample_weight):
    """LogisticRegression: C Σℓ plus an elastic net, all over C."""
    l1, l2 = _logistic_penalties(estimator)
    coef, intercept = _coef(estimator), np.atleast_1d(estimator.intercept_)
    classes = estimator.classes_
    constant = 0.0
    if estimator.solver == "liblinear" and estimator.fit_intercept:
        # liblinear's intercept is the weight of a constant feature, penalised too.
        constant = float(estimator.intercept_scaling)
        coef = np.hstack([coef, intercept[:, None] / constant])
        intercept = np.zeros(1)
    class_weight = compute_class_weight(
        estimator.class_weight, classes=classes, y=y, sample_weight=sample_weight
    )

    return _objective(
        LogLoss() if len(coef) == 1 else None,
        coef,
        intercept,
        estimator.fit_intercept and not constant,
        l1,
        l2,
        labels=ClassTargets(classes, len(coef), 0.0, class_weight),
        constant=constant,
    )


def _logistic_penalties(estimator):
    l1_ratio = estimator.l1_ratio
    if estimator.penalty is None:
        return 0.0, 0.0
    if estimator.penalty in ("l1", "l2"):
        l1_ratio = float(estimator.penalty == "l1")
    l1_ratio = l1_ratio or 0.0
    return l1_ratio / estimator.C, (1 - l1_ratio) / estimator.C


def read_least_squares(estimator, X, y, sample_weight):
    """LinearRegression and Ridge: Σ r² + alpha ‖w‖², over 2."""
    return _regression(
        SquaredError(),
        estimator,
        l2=getattr(estimator, "alpha", 0.0),
        positive=estimator.positive,
    )


def read_ridge_classifier(estimator, X, y, sample_weight):
    """RidgeClassifier: Ridge on labels of 1 and -1, one output a class."""
    classes = estimator.classes_
    class_weight = compute_class_weight(estimator.class_weight, classes=classes, y=y)
    coef = _coef(estimator)
    return _objective(
        SquaredError(),
        coef,
        estimator.intercept_,
        estimator.fit_intercept,
        0.0,
        estimator.alpha,
        labels=ClassTargets(classes, len(coef), -1.0, class_weight),
        positive=estimator.positive,
        averaged=True,
    )


def read_elastic_net(estimator, X, y, sample_weight):
    """ElasticNet and Lasso: means over records, whose weights sum to their number."""
    total = sample_weight.sum()
    l1_ratio = estimator.l1_ratio
    return _regression(
        SquaredError(),
        estimator,
        l1=estimator.alpha * l1_ratio * total,
        l2=estimator.alpha * (1 - l1_ratio) * total,
        positive=estimator.positive,
    )


def read_glm(estimator, X, y, sample_weight):
    """Poisson, Gamma and Tweedie regression: a weighted mean over records."""
    if isinstance(estimator, TweedieRegressor):
        power = estimator.power
        log_link = estimator.link == "log" or (estimator.link == "auto" and power > 0)
    else:
        power, log_link = (1 if isinstance(estimator, PoissonRegressor) else 2), True
    return _regression(
        Tweedie(power, log_link), estimator, l2=estimator.alpha * sample_weight.sum()
    )


def read_sgd(estimator, X, y, sample_weight):
    """SGDRegressor and SGDClassifier: a mean over records, one class against the rest.

    The weights of classes and records do not change the number of updates, so that the
    penalty is counted once a record whatever its weight.
    """
    scale = estimator.alpha * X.shape[0]
    l1_ratio = {"l1": 1.0, "l2": 0.0}.get(estimator.penalty, estimator.l1_ratio)
    l1, l2 = scale * l1_ratio, scale * (1 - l1_ratio)
    if estimator.penalty is None:
        l1 = l2 = 0.0
    losses = {
        "squared_error": SquaredError(),
        "huber": Huber(estimator.epsilon),
        "log_loss": LogLoss(),
        "modified_huber": ModifiedHuber(),
    }
    family = losses[estimator.loss]
    if isinstance(estimator, SGDRegressor):
        return _regression(family, estimator, l1=l1, l2=l2)
    classes, coef = estimator.classes_, _coef(estimator)
    class_weight = compute_class_weight(estimator.class_weight, classes=classes, y=y)
    regression = isinstance(family, SquaredError | Huber)
    labels = ClassTargets(
        classes,
        len(coef),
        -1.0 if regression else 0.0,
        class_weight,
        own_only=len(classes) > 2,
    )
    return _objective(
        family,
        coef,
        estimator.intercept_,
        estimator.fit_intercept,
        l1,
        l2,
        labels=labels,
        averaged=regression,
    )


def _regression(family, estimator, *, l1=0.0, l2=0.0, positive=False):
    coef = _coef(estimator)
    return _objective(
        family,
        coef,
        estimator.intercept_,
        estimator.fit_intercept,
        l1,
        l2,
        labels=NumericTargets(len(coef)),
        positive=positive,
        averaged=True,
    )


def _coef(estimator):
    """Return weights of shape (n_outputs, n_features), dense, in double precision."""
    coef = estimator.coef_
    coef = coef.toarray() if sp.issparse(coef) else coef
    return np.atleast_2d(coef).astype(np.float64)


def _objective(
    family, coef, intercept, fit_intercept, l1, l2, *, positive=False, **options
):
    n_outputs = len(coef)
    l1, l2 = (
        np.broadcast_to(np.asarray(penalty, dtype=np.float64), n_outputs)
        for penalty in (l1, l2)
    )
    active = np.ones(coef.shape, dtype=bool)
    if positive:
        active = coef > 0
    elif (l1 > 0).any():
        active = coef != 0
    return Objective(
        family,
        coef,
        np.broadcast_to(np.asarray(intercept, dtype=np.float64), n_outputs),
        bool(fit_intercept),
        l1,
        l2,
        active,
        **options,
    )


READERS = {
    ElasticNet: read_elastic_net,
    GammaRegressor: read_glm,
    Lasso: read_elastic_net,
    LinearRegression: read_least_squares,
    LogisticRegression: read_logistic,
    PoissonRegressor: read_glm,
    Ridge: read_least_squares,
    RidgeClassifier: read_ridge_classifier,
    SGDClassifier: read_sgd,
    SGDRegressor: read_sgd,
    TweedieRegressor: read_glm,
}

SMOOTH_LOSSES = {
    SGDClassifier: ("log_loss", "modified_huber", "squared_error", "huber"),
    SGDRegressor: ("squared_error", "huber"),
}

SUPPORTED = sorted([HuberRegressor.__name__, *(model.__name__ for model in READERS)])
