"""How far from the optimum the solver of a model may stop."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg
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
from sklearn.utils.extmath import row_norms

LEAST_SQUARES = (ElasticNet, Lasso, LinearRegression, Ridge, RidgeClassifier)
_SMOOTH = (LogisticRegression, GammaRegressor, PoissonRegressor, TweedieRegressor)
# What exceeds the bound of the solver's stopping rule by this factor is not due to the
# solver.
_STOPPING_MARGIN = 3
# Largest second derivative of the log loss in the logit.
_LARGEST_CURVATURE = 0.25
_CG_STEPS = 50
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

    The stopping rule of each solver bounds the gradient that it leaves, or the next
    change of the weights. Records that are missing, or weighted otherwise, show in
    both: more than three times the bound is not due to the solver, unless it stopped
    at ``max_iter``. For that to be said, the Newton decrement must also be at least a
    hundredth of the mean record's, which is its self-influence.

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
        Also False for a model with an L1 penalty.
    """
    if not isinstance(model, _SMOOTH):
        return False
    if sensitivities.objective.has_l1 or not hasattr(model, "n_iter_"):
        return False  # the latter: no solver found the weights
    if np.max(model.n_iter_) >= model.max_iter:
        return False
    exceeded_by = _STOPPING_RULES[model.solver]
    if exceeded_by(model, sensitivities, X, y, sample_weight) <= _STOPPING_MARGIN:
        return False
    alone = sensitivities.terms(X, y, sample_weight).self_influence
    return bool(2 * sensitivities.excess > _SHARE_OF_RECORD * np.nanmean(alone))


def _by_gradient(model, sensitivities, X, y, sample_weight):
    """Compare the gradient with ``tol``, which none of its entries exceeds.

    These solvers minimise a mean over records.
    """
    gradient = sensitivities.gradient(X, y, sample_weight)
    return np.abs(gradient).max() / sample_weight.sum() / model.tol


def _by_initial_gradient(model, sensitivities, X, y, sample_weight):
    """Compare the gradient with that at zero weights, as liblinear does.

    The primal solver stops when the norm of the gradient has shrunk, from that at
    zero weights, to ``tol`` times the share of the smaller class. The dual solver stops
    when no entry of the dual gradient exceeds ``tol``; the dual variable of each record
    is then within ``tol / 4`` of the derivative of its loss.
    """
    objective = sensitivities.objective
    gradient = sensitivities.gradient(X, y, sample_weight)
    if model.dual:
        weights = objective.targets.weigh(y, sample_weight)[:, 0]
        bound = model.tol / 4 * (weights @ abs(objective.design(X)))
        return np.max(np.abs(gradient) / np.where(bound > 0, bound, np.inf))
    start = replace(
        objective,
        coef=np.zeros_like(objective.coef),
        intercept=np.zeros_like(objective.intercept),
    )
    at_zero = type(sensitivities)(start).gradient(X, y, sample_weight)
    counts = np.unique(y[sample_weight > 0], return_counts=True)[1]
    smaller = counts.min() if counts.size > 1 else 1
    bound = model.tol * smaller / counts.sum() * np.linalg.norm(at_zero)
    return np.linalg.norm(gradient) / bound if bound > 0 else 0.0


def _by_change_of_weights(model, sensitivities, X, y, sample_weight):
    """Compare the change of the weights in one more pass with what sag allows.

    sag and saga stop when no weight changes, in a pass over the records, by more than
    ``tol`` times the largest weight. A pass changes the weights by about the gradient
    times the step size along directions of small curvature, and along those of large
    curvature by the distance to the optimum: by at least (H + I / step)⁻¹ gradient.
    Truncated conjugate gradients underestimate that, too.
    """
    objective = sensitivities.objective
    gradient = sensitivities.gradient(X, y, sample_weight)
    weights = objective.targets.weigh(y, sample_weight).max(axis=1)
    largest_curvature = _LARGEST_CURVATURE * (2 if len(objective.coef) > 1 else 1)
    l2 = objective.l2.max()
    squares = row_norms(X, squared=True) + objective.fit_intercept
    inverse_step = _LARGEST_CURVATURE * squares.max() + l2 / X.shape[0]
    # The step of saga is at least a third as long.
    inverse_step *= 3 if model.solver == "saga" else 1
    ridge = np.full(gradient.shape[1], l2 + inverse_step)
    if sp.issparse(X):
        # Intercepts take steps of a hundredth.
        ridge[X.shape[1] :] = 100 * inverse_step

    def product(V):
        logits = X @ V[: X.shape[1]] + V[X.shape[1] :].sum(axis=0)
        by_logit = largest_curvature * weights * logits
        shift = [by_logit.sum()] if objective.fit_intercept else []
        return np.append(X.T @ by_logit, shift) + ridge * V

    operator = LinearOperator((gradient.shape[1],) * 2, product, dtype=np.float64)
    changes = [cg(operator, g, maxiter=_CG_STEPS)[0] for g in gradient]
    # The change varies from pass to pass, as the order of the records does.
    allowed = 2 * model.tol * np.abs(objective.coef).max()
    # The rule does not look at intercepts.
    largest = np.abs(np.array(changes)[:, : X.shape[1]]).max()
    return largest / allowed if allowed > 0 else 0.0


_STOPPING_RULES = {
    "lbfgs": _by_gradient,
    "newton-cg": _by_gradient,
    "newton-cholesky": _by_gradient,
    "liblinear": _by_initial_gradient,
    "sag": _by_change_of_weights,
    "saga": _by_change_of_weights,
}
