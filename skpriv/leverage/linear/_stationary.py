"""How near to its optimum a fit by least squares must be, by the solver's account."""

import numpy as np
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    Ridge,
    RidgeClassifier,
)

LEAST_SQUARES = (ElasticNet, Lasso, LinearRegression, Ridge, RidgeClassifier)
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
