"""The optimal attack on least squares, which needs nothing but the leverage."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from skpriv.base import AttackMixin
from skpriv.leverage import gaussian
from skpriv.utils._checks import check_no_dates, check_rows_can_be_read
from skpriv.utils._labels import check_no_label_is_missing
from skpriv.utils._sklearn import HasMethods, fit_context

# Rounding errors of residuals, relative to the largest label.
_ROUNDING = 1e-12


def orthogonal_design(X, fit_intercept):
    """Return the map from rows to coordinates in which the design is orthonormal.

    The leverage of a row is the squared length of its coordinates, plus the leverage
    of the intercept.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    fit_intercept : bool

    Returns
    -------
    offset : ndarray of shape (n_features,)
    components : ndarray of shape (n_features, rank)
    """
    offset = X.mean(axis=0) if fit_intercept else np.zeros(X.shape[1])
    _, scales, directions = np.linalg.svd(X - offset, full_matrices=False)
    smallest = max(X.shape) * np.finfo(X.dtype).eps * scales.max(initial=0)
    kept = scales > smallest
    return offset, directions[kept].T / scales[kept]


class LeverageAttack(AttackMixin, BaseEstimator):
    """Optimal membership test for a linear model fitted by least squares.

    If errors are normal with variance σ², the residual of a record of leverage h has
    variance σ²(1 - h) if its label was in the training data, and σ²(1 + h) if the
    label is a new draw. The score is the log of the ratio of the two densities. No
    test of the residual is more powerful.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether the target has an intercept.
    target : regressor, default=None
        The fitted linear model to attack. None: LinearRegression, fitted on all
        records.

    Attributes
    ----------
    scores_ : ndarray of shape (n_samples,)
        Log likelihood ratio of membership of each record; higher: more likely a
        member. NaN, with a warning, if the model has no errors on the records.
    attack_success_ : ndarray of shape (n_samples,)
        Success rate of the test on each record if members and non-members are equally
        likely.
    leverage_ : ndarray of shape (n_samples,)
        Leverage of each record, between 0 and 1. The sum is the number of parameters.
    sigma2_ : float
        Variance of the errors of one output: the sum of squared residuals divided by
        ``(n_samples - n_parameters) * n_outputs``.
    target_ : regressor
        The model under attack.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if `X` has them.

    See Also
    --------
    skpriv.leverage.gaussian : Functions for the score, the success and the trade-off
        curve.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skpriv import LeverageAttack
    >>> X, y = load_diabetes(return_X_y=True)
    >>> attack = LeverageAttack().fit(X, y)
    >>> attack.leverage_.sum().round(6)
    np.float64(11.0)
    """

    _parameter_constraints = {
        "fit_intercept": ["boolean"],
        "target": [HasMethods(["predict"]), None],
    }

    fitted_on_members = True

    def __init__(self, *, fit_intercept=True, target=None):
        self.fit_intercept = fit_intercept
        self.target = target

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Compute the leverages and, unless it is given, fit the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that the target was trained on.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their labels.

        Returns
        -------
        self : object
        """
        check_no_label_is_missing(y)
        check_rows_can_be_read(X)
        check_no_dates(X)
        _refuse_strings(y)
        X, y = validate_data(
            self, X, y, dtype=np.float64, y_numeric=True, multi_output=True
        )
        self._design = orthogonal_design(X, self.fit_intercept)
        self._n_samples = X.shape[0]
        n_parameters = self._design[1].shape[1] + self.fit_intercept
        if n_parameters >= X.shape[0]:
            raise ValueError(
                "X must have more rows than the model has parameters, which otherwise "
                f"fits them exactly; got n_samples={X.shape[0]} and {n_parameters} "
                "parameters."
            )
        self.leverage_ = self._leverages(X)
        self.target_ = self._find_target(X, y)
        self.sigma2_ = gaussian.residual_variance(self._residuals(X, y), n_parameters)
        self._remember_records(X, y.astype(np.float64))
        return self

    def shadow_estimator(self):
        """Return the model that is fitted if no target is given.

        Returns
        -------
        estimator : LinearRegression
        """
        return LinearRegression(fit_intercept=self.fit_intercept)

    def _find_target(self, X, y):
        if self.target is None:
            return self.shadow_estimator().fit(X, y)
        check_is_fitted(self.target)
        return self.target

    def _leverages(self, X):
        offset, components = self._design
        leverage = (((X - offset) @ components) ** 2).sum(axis=1)
        if self.fit_intercept:
            leverage += 1 / self._n_samples
        return leverage

    def _residuals(self, X, y):
        predicted = np.asarray(self.target_.predict(X))
        if predicted.size != y.size:
            raise ValueError(
                "target must predict as many outputs as y has; it predicts "
                f"{predicted[0].size} outputs, and y has {y[0].size}."
            )
        return (y - predicted.reshape(y.shape)).reshape(len(y), -1)

    def _validate_rows(self, X):
        check_rows_can_be_read(X)
        return validate_data(self, X, reset=False, dtype=np.float64)

    def _validate_labels(self, y):
        _refuse_strings(y)
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if y.ndim == 2 and self._records.y.ndim == 1 and y.shape[1] == 1:
            y = y[:, 0]
        return y

    def _score_records(self):
        return self._score_new_rows(self._records.X, self._records.y)

    def _score_new_rows(self, X, y):
        check_consistent_length(X, y)
        leverage = self._leverages(X)
        residuals = self._residuals(X, y)
        rounding = _ROUNDING * np.abs(self._records.y).max(initial=0)
        if self.sigma2_ <= rounding**2:
            warnings.warn(
                "The target has no errors on the records of fit, so residuals cannot "
                "be compared with their variance; the scores are NaN.",
                stacklevel=3,
            )
            return np.full(len(y), np.nan)
        # Only rows far outside the design have a leverage above 1.
        known = leverage <= 1 + 1e-9
        if not known.all():
            warnings.warn(
                f"{(~known).sum()} rows of X have a leverage above 1, so they cannot "
                "be rows of the design; their scores are NaN.",
                stacklevel=3,
            )
        # A record of leverage 1 has no residual but rounding errors.
        alone = leverage[:, np.newaxis] >= 1 - 1e-9
        residuals[alone & (np.abs(residuals) <= rounding)] = 0.0
        leverage[known & alone[:, 0]] = 1.0
        scores = np.full(len(y), np.nan)
        scores[known] = gaussian.membership_score(
            residuals[known], np.minimum(leverage[known], 1.0), self.sigma2_
        )
        return scores

    @property
    def attack_success_(self):
        """Success rate of the test on each record, of shape (n_samples,)."""
        check_is_fitted(self)
        n_outputs = 1 if self._records.y.ndim == 1 else self._records.y.shape[1]
        return gaussian.attack_success(np.minimum(self.leverage_, 1.0), n_outputs)


def _refuse_strings(y):
    labels = np.asarray(y)
    if labels.dtype.kind in "biuf":
        return
    strings = [label for label in labels.ravel().tolist() if isinstance(label, str)]
    if strings:
        raise ValueError(
            "y must be numeric, because LeverageAttack attacks a regression; got "
            f"strings such as {strings[0]!r}."
        )
