"""How each linear model of scikit-learn states its objective.

One function per model reads the fitted estimator, and returns the sensitivities to be
solved for. Penalties are brought to the scale of a sum over records.
"""

from dataclasses import replace

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

from skpriv.leverage.linear._held_out import held_out
from skpriv.leverage.linear._huber import HuberSensitivities
from skpriv.leverage.linear._losses import (
    Huber,
    LogLoss,
    ModifiedHuber,
    SquaredError,
    Tweedie,
)
from skpriv.leverage.linear._multinomial import MultinomialSensitivities
from skpriv.leverage.linear._objective import Objective
from skpriv.leverage.linear._separable import SeparableSensitivities
from skpriv.leverage.linear._targets import ClassIndicators, RegressionTargets


def read_logistic(estimator, X, y, sample_weight):
    """LogisticRegression: C Σℓ plus an elastic net, all over C."""
    l1, l2 = _logistic_penalties(estimator)
    classes, n_outputs = estimator.classes_, len(_coef(estimator))
    class_weight = compute_class_weight(
        estimator.class_weight, classes=classes, y=y, sample_weight=sample_weight
    )
    targets = ClassIndicators(classes, n_outputs, 0.0, class_weight)
    if n_outputs > 1:
        objective = _objective(estimator, None, targets, l1=l1, l2=l2)
        return MultinomialSensitivities(objective)
    objective = _objective(estimator, LogLoss(), targets, l1=l1, l2=l2)
    if estimator.solver == "liblinear" and estimator.fit_intercept:
        objective = _with_penalised_intercept(objective, estimator.intercept_scaling)
    return SeparableSensitivities(objective)


def _with_penalised_intercept(objective, scaling):
    """Make an intercept the weight of a constant feature, as it is to liblinear."""
    weight = objective.intercept[:, None] / scaling
    sparse = (objective.l1 > 0).any()
    return replace(
        objective,
        coef=np.hstack([objective.coef, weight]),
        intercept=np.zeros_like(objective.intercept),
        fit_intercept=False,
        active=np.hstack([objective.active, (weight != 0) | ~sparse]),
        constant=float(scaling),
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
    return _regression(estimator, SquaredError(), l2=getattr(estimator, "alpha", 0.0))


def read_ridge_classifier(estimator, X, y, sample_weight):
    """RidgeClassifier: Ridge on labels of 1 and -1, one output per class."""
    classes = estimator.classes_
    class_weight = compute_class_weight(estimator.class_weight, classes=classes, y=y)
    targets = ClassIndicators(classes, len(_coef(estimator)), -1.0, class_weight)
    objective = _objective(
        estimator, SquaredError(), targets, l2=estimator.alpha, averaged=True
    )
    return SeparableSensitivities(objective)


def read_elastic_net(estimator, X, y, sample_weight):
    """ElasticNet and Lasso: means over records, whose weights sum to their number."""
    total = sample_weight.sum()
    l1_ratio = estimator.l1_ratio
    return _regression(
        estimator,
        SquaredError(),
        l1=estimator.alpha * l1_ratio * total,
        l2=estimator.alpha * (1 - l1_ratio) * total,
        half_sample_penalty=1.0,
    )


def read_glm(estimator, X, y, sample_weight):
    """Poisson, Gamma and Tweedie regression: a weighted mean over records."""
    if isinstance(estimator, TweedieRegressor):
        power = estimator.power
        log_link = estimator.link == "log" or (estimator.link == "auto" and power > 0)
    else:
        power, log_link = (1 if isinstance(estimator, PoissonRegressor) else 2), True
    l2 = estimator.alpha * sample_weight.sum()
    return _regression(
        estimator, Tweedie(power, log_link), l2=l2, half_sample_penalty=1.0
    )


def read_huber(estimator, X, y, sample_weight):
    """HuberRegressor, which fits its scale together with the weights."""
    return HuberSensitivities(estimator)


def read_sgd(estimator, X, y, sample_weight):
    """SGDRegressor and SGDClassifier: a mean over records, one class against the rest.

    The weights of classes and records do not change the number of updates, so the
    penalty is counted once per record whatever its weight, unless early stopping held
    the record out.
    """
    l1, l2 = _sgd_penalties(estimator, np.count_nonzero(~held_out(estimator, y)))
    kind, parameters = _SGD_LOSSES[estimator.loss]
    loss = kind(*(getattr(estimator, name) for name in parameters))
    if isinstance(estimator, SGDRegressor):
        return _regression(estimator, loss, l1=l1, l2=l2, half_sample_penalty=1.0)
    classes = estimator.classes_
    targets = ClassIndicators(
        classes,
        len(_coef(estimator)),
        -1.0 if loss.for_regression else 0.0,
        compute_class_weight(estimator.class_weight, classes=classes, y=y),
        one_vs_rest=len(classes) > 2,
    )
    objective = _objective(
        estimator, loss, targets, l1=l1, l2=l2, averaged=loss.for_regression
    )
    return SeparableSensitivities(replace(objective, half_sample_penalty=1.0))


def _sgd_penalties(estimator, n_records):
    if estimator.penalty is None:
        return 0.0, 0.0
    scale = estimator.alpha * n_records
    l1_ratio = {"l1": 1.0, "l2": 0.0}.get(estimator.penalty, estimator.l1_ratio)
    return scale * l1_ratio, scale * (1 - l1_ratio)


def _regression(estimator, loss, *, l1=0.0, l2=0.0, half_sample_penalty=2.0):
    targets = RegressionTargets(len(_coef(estimator)))
    objective = _objective(estimator, loss, targets, l1=l1, l2=l2, averaged=True)
    return SeparableSensitivities(
        replace(objective, half_sample_penalty=half_sample_penalty)
    )


def _coef(estimator):
    """Return weights of shape (n_outputs, n_features), dense, in double precision."""
    coef = estimator.coef_
    coef = coef.toarray() if sp.issparse(coef) else coef
    return np.atleast_2d(coef).astype(np.float64)


def _objective(estimator, loss, targets, *, l1=0.0, l2=0.0, averaged=False):
    coef = _coef(estimator)

    def per_output(values):
        return np.broadcast_to(np.asarray(values, dtype=np.float64), len(coef))

    l1, l2 = per_output(l1), per_output(l2)
    active = np.ones(coef.shape, dtype=bool)
    if getattr(estimator, "positive", False):
        active = coef > 0
    elif (l1 > 0).any():
        active = coef != 0
    return Objective(
        loss=loss,
        coef=coef,
        intercept=per_output(estimator.intercept_),
        fit_intercept=bool(estimator.fit_intercept),
        l1=l1,
        l2=l2,
        active=active,
        targets=targets,
        averaged=averaged,
    )


READERS = {
    ElasticNet: read_elastic_net,
    GammaRegressor: read_glm,
    HuberRegressor: read_huber,
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

# The losses of SGD that have a curvature, and the parameters that each takes.
_SGD_LOSSES = {
    "squared_error": (SquaredError, ()),
    "huber": (Huber, ("epsilon",)),
    "log_loss": (LogLoss, ()),
    "modified_huber": (ModifiedHuber, ()),
}

SMOOTH_LOSSES = {
    SGDClassifier: tuple(_SGD_LOSSES),
    SGDRegressor: tuple(
        name for name, (loss, _) in _SGD_LOSSES.items() if loss.for_regression
    ),
}
