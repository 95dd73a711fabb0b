"""How far from the optimum the solver of a model may stop."""

import numpy as np
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    TweedieRegressor,
)

LEAST_SQUARES = (ElasticNet, Lasso, LinearRegression, Ridge, RidgeClassifier)
# Solvers of smooth losses that stop once no entry of the gradient exceeds ``tol``.
_SMOOTH = (LogisticRegression, GammaRegressor, PoissonRegressor, TweedieRegressor)
_BY_GRADIENT = ("lbfgs", "newton-cg", "newton-cholesky")
_GRADIENT_MARGIN = 3
# What is less than this share of what the absence of a record changes, in the mean,
# may have any cause.
_SHARE_OF_RECORD = 0.01
_DIRECT_SOLVERS = ("cholesky", "svd")
# Excess of the objective over its minimum, relative to the sum of squares of the
# targets. Direct solvers leave rounding errors, which are squared here.
_OF_ROUNDING = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 1e-3}
# The active set of the optimum may differ in weights that are next to 0.
_MARGIN = 10
# Singular values below this, relative to the largest one, are those of collinearity.
_EMPTY = 1e-12


def largest_excess(model, total_weight, sum_of_squares):
    """Return by how much the objective may exceed its minimum on the training rows.

    A model that exceeds it by more was fitted on other rows, or with other weights.

    Parameters
    ----------
    model : estimator
        One of `LEAST_SQUARES`, fitted.
    total_weight : float
        Sum of the records' weights.
    sum_of_squares : float
        Weighted sum of the squared deviations of the targets from their mean.

    Returns
    -------
    excess : float
        In units of half the weighted sum of squared residuals.
    """
    dtype = np.dtype(getattr(model.coef_, "dtype", np.float64))
    rounding = _OF_ROUNDING.get(dtype, 1e-3) * sum_of_squares
    if isinstance(model, LinearRegression):
        return np.inf if _truncates(model) else rounding
    if isinstance(model, Ridge | RidgeClassifier):
        direct = getattr(model, "solver_", None) in _DIRECT_SOLVERS
        return rounding if direct else max(rounding, model.tol * sum_of_squares)
    # The duality gap is that of the mean over records.
    gap = float(np.sum(np.abs(model.dual_gap_))) * total_weight
    return _MARGIN * max(rounding, gap)


def _truncates(model):
    """Tell whether a linear regression neglected directions that are not empty."""
    singular = getattr(model, "singular_", None)
    if singular is None:
        return not model.positive  # fitted to sparse rows, by iterations
    cut = np.abs(singular[model.rank_ :])
    return bool((cut > _EMPTY * singular[0]).any())


def is_far_from_optimum(model, sensitivities, X, y, sample_weight):
    """Tell whether a smooth model is further from its optimum than its solver allows.

    Solvers that stop by the gradient leave no entry of it above ``tol``, per unit of
    weight. Records that are missing, or weighted otherwise, show in it: an entry above
    three times ``tol`` is not the solver's, unless it stopped at ``max_iter``. For that
    to be said, the Newton decrement must also be at least a hundredth of the mean
    record's, which is its self-influence.

    Parameters
    ----------
    model : estimator
        Fitted.
    sensitivities : LinearSensitivities
        Of the model, at the given records.
    X, y, sample_weight
        As of ``sensitivities.solve``.

    Returns
    -------
    far : bool
        Also False for a model whose solver stops by another rule.
    """
    if not isinstance(model, _SMOOTH) or model.solver not in _BY_GRADIENT:
        return False
    if sensitivities.objective.has_l1 or not hasattr(model, "n_iter_"):
        return False  # the latter: no solver found the weights
    if np.max(model.n_iter_) >= model.max_iter:
        return False
    gradient = sensitivities.gradient(X, y, sample_weight)
    largest = np.abs(gradient).max() / sample_weight.sum()
    if largest <= _GRADIENT_MARGIN * model.tol:
        return False
    alone = sensitivities.terms(X, y, sample_weight).self_influence
    return bool(2 * sensitivities.excess > _SHARE_OF_RECORD * np.nanmean(alone))
