"""Regression of a noisy quantity on covariates, each record left out in its turn."""

import numpy as np
from scipy.optimize import isotonic_regression, nnls
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor

N_FOLDS = 5
# A leaf of a tree has at least this many records, and at least this share of them.
_SMALLEST_LEAF, _SMALLEST_SHARE = 40, 1 / 40
# Weights to start from count like this many records.
_STRENGTH_OF_START = 50


def ranks(values):
    """Ranks between 0 and 1; equal values have the mean of their ranks.

    Parameters
    ----------
    values : ndarray of shape (n_records,)

    Returns
    -------
    ranks : ndarray of shape (n_records,)
        NaN where `values` is NaN.
    """
    result = np.full(len(values), np.nan)
    known = ~np.isnan(values)
    result[known] = (rankdata(values[known]) - 0.5) / max(known.sum(), 1)
    return result


def default_members(covariates, *, increasing=True):
    """Return regressions that are robust to the noise of a few shadows.

    Parameters
    ----------
    covariates : ndarray of shape (n_records, n_covariates)
    increasing : bool, default=True
        Whether the quantity cannot decrease in any covariate. If not, each isotonic
        regression has the direction that fits better, and there is no boosting.

    Returns
    -------
    members : list of callable
        An isotonic regression on each covariate; a gradient boosting on all of them,
        if there are enough records for two leaves; and the mean. Each takes
        covariates and targets to learn from, and covariates to predict for.
    """
    n_records, n_covariates = covariates.shape
    members = [_Isotonic(column, increasing) for column in range(n_covariates)]
    leaf = max(_SMALLEST_LEAF, int(_SMALLEST_SHARE * n_records))
    if n_records * (N_FOLDS - 1) / N_FOLDS >= 2 * leaf:
        boosting = HistGradientBoostingRegressor(
            max_iter=25,
            max_leaf_nodes=6,
            learning_rate=0.18,
            min_samples_leaf=leaf,
            monotonic_cst=[int(increasing)] * n_covariates,
            early_stopping=False,
            random_state=0,
        )
        members.append(Fitted(boosting))
    return [*members, _mean]


class Fitted:
    """A scikit-learn regressor as a member of the stack.

    Parameters
    ----------
    regressor : regressor
    """

    def __init__(self, regressor):
        self.regressor = regressor

    def __call__(self, X, y, rows):
        """Learn from `X` and `y`, and predict for `rows`."""
        return clone(self.regressor).fit(X, y).predict(rows)


class _Isotonic:
    """An isotonic regression on one covariate; the mean where that is missing."""

    def __init__(self, column, increasing):
        self.column = column
        self.increasing = increasing

    def __call__(self, X, y, rows):
        x, new = X[:, self.column], rows[:, self.column]
        learnt, missing = np.isfinite(x), ~np.isfinite(new)
        others = y[~learnt] if not learnt.all() else y
        result = np.full(len(rows), others.mean())
        if learnt.any() and not missing.all():
            x, y = x[learnt], y[learnt]
            upwards = self.increasing or np.dot(x - x.mean(), y) >= 0
            result[~missing] = _isotonic(x, y, new[~missing], bool(upwards))
        return result


def _isotonic(x, y, new, increasing):
    """As scikit-learn's IsotonicRegression, without its validation of each input."""
    knots, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    means = np.bincount(inverse, y) / counts
    fit = isotonic_regression(means, weights=counts, increasing=increasing)
    return np.interp(new, knots, fit.x)


def _mean(X, y, rows):
    return np.full(len(rows), y.mean())


def out_of_fold_predictions(members, covariates, target, *others):
    """Let each member predict each record from the records of the other folds.

    Parameters
    ----------
    members : list of callable
        As returned by `default_members`.
    covariates : ndarray of shape (n_records, n_covariates)
        Ranks between 0 and 1, or NaN. Record i is in fold ``i % 5``.
    target : ndarray of shape (n_records,)
        NaN where it is not known.
    *others : ndarray of shape (n_records, n_covariates)
        Other covariates of the same records, to predict from.

    Returns
    -------
    predictions : ndarray of shape (1 + n_others, n_records, n_members)
        From `covariates`, and from each of `others`.
    """
    known = np.isfinite(target)
    fold = np.arange(len(target)) % N_FOLDS
    sources = np.stack([covariates, *others])
    predictions = np.zeros((*sources.shape[:2], len(members)))
    for left_out in range(min(N_FOLDS, len(target))):
        train, test = known & (fold != left_out), fold == left_out
        if not train.any():
            continue
        rows = sources[:, test].reshape(-1, covariates.shape[1])
        for j, member in enumerate(members):
            found = member(covariates[train], target[train], rows)
            predictions[:, test, j] = found.reshape(len(sources), -1)
    return predictions


def stack(predictions, target, start=None):
    """Find the non-negative weights with which predictions fit the target best.

    Parameters
    ----------
    predictions : ndarray of shape (n_records, n_members)
    target : ndarray of shape (n_records,)
        NaN where it is not known.
    start : ndarray of shape (n_members,), default=None
        Weights that a noisy target does not change much. None: there are none.

    Returns
    -------
    weights : ndarray of shape (n_members,)
    """
    known = np.isfinite(target)
    predictions, target = predictions[known], target[known]
    if start is not None:
        strength = np.sqrt(_STRENGTH_OF_START * target.var())
        predictions = np.vstack([predictions, strength * np.eye(len(start))])
        target = np.concatenate([target, strength * start])
    return nnls(predictions, target)[0]
