"""Membership inference in the Gaussian linear model, in closed form.

In ``Y = X B + E`` with independent normal errors of variance σ² in each of m
outputs, the residual of a record with leverage h is N(0, σ²(1 - h) I) if the model was
fitted on it, and N(0, σ²(1 + h) I) if it was not. The leverage alone therefore
determines how well the best possible attack can tell the two apart.

All functions broadcast their arguments as NumPy does.
"""

import numpy as np
from scipy.stats import chi2

_ROUNDING = 1e-9  # by which a leverage may be outside [0, 1]


def membership_score(residuals, leverage, sigma2):
    """Score the evidence that records are members: the log likelihood ratio.

    Parameters
    ----------
    residuals : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Label minus prediction, in the units of the label.
    leverage : array-like of shape (n_samples,) or float
        Leverage of each record, between 0 and 1.
    sigma2 : float or array-like of shape (n_samples,)
        Variance of the errors of one output, in squared units of the label.

    Returns
    -------
    scores : ndarray of shape (n_samples,)
        log p(residual | member) - log p(residual | not a member); higher means more
        likely a member. At leverage 1 the residual of a member is 0, so scores are
        ±infinity.

    Raises
    ------
    ValueError
        If a leverage is outside [0, 1], or sigma2 is not positive.

    Examples
    --------
    >>> from skpriv.leverage.gaussian import membership_score
    >>> membership_score([0.0, 3.0], leverage=[0.5, 0.5], sigma2=1.0).round(3)
    array([ 0.549, -5.451])
    """
    residuals = np.asarray(residuals, dtype=np.float64)
    if residuals.ndim < 2:
        residuals = residuals.reshape(-1, 1)
    leverage = _check_leverage(leverage)
    sigma2 = np.asarray(sigma2, dtype=np.float64)
    if not (sigma2 > 0).all():
        raise ValueError(f"sigma2 must be positive, got {sigma2}.")
    squares = (residuals**2).sum(axis=1) / sigma2
    n_outputs = residuals.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = n_outputs * np.arctanh(leverage)
        scores = scores - leverage / (1 - leverage**2) * squares
    certain = np.where(squares == 0, np.inf, -np.inf)
    return np.where(leverage == 1, certain, scores)


def tradeoff_curve(alpha, leverage, n_outputs=1):
    """False negative rate of the most powerful test at each false positive rate.

    Parameters
    ----------
    alpha : array-like
        False positive rates, between 0 and 1.
    leverage : array-like
        Leverage of a record, between 0 and 1. Shapes broadcast: for one curve per
        record pass ``leverage[:, np.newaxis]``.
    n_outputs : int, default=1
        Number of outputs of the model.

    Returns
    -------
    beta : ndarray
        False negative rate: 1 - alpha at leverage 0, where members and non-members
        cannot be told apart, and 0 at leverage 1.

    Raises
    ------
    ValueError
        If `alpha` or a leverage is outside [0, 1].

    Examples
    --------
    >>> from skpriv.leverage.gaussian import tradeoff_curve
    >>> tradeoff_curve([0.01, 0.1, 0.5], leverage=0.5).round(3)
    array([0.983, 0.828, 0.243])
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    if not ((alpha >= 0) & (alpha <= 1)).all():
        raise ValueError(f"alpha must be between 0 and 1, got {alpha}.")
    leverage = _check_leverage(leverage)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (1 + leverage) / (1 - leverage)
        beta = chi2.sf(ratio * chi2.ppf(alpha, n_outputs), n_outputs)
    return np.where(leverage == 1, 0.0, beta)


def attack_success(leverage, n_outputs=1):
    """Success rate of the optimal attack, if half of the records are members.

    Parameters
    ----------
    leverage : array-like
        Leverage of each record, between 0 and 1.
    n_outputs : int, default=1
        Number of outputs of the model.

    Returns
    -------
    success : ndarray
        Probability that the best test of one residual is right: 0.5 at leverage 0,
        1 at leverage 1.

    Raises
    ------
    ValueError
        If a leverage is outside [0, 1].

    Examples
    --------
    >>> from skpriv.leverage.gaussian import attack_success
    >>> attack_success([0.0, 0.1, 0.5, 1.0]).round(3)
    array([0.5  , 0.524, 0.63 , 1.   ])
    """
    leverage = _check_leverage(leverage)
    # The log likelihood ratio changes sign at this squared residual, in units of σ².
    # It tends to n_outputs at leverage 0.
    safe = np.where(leverage == 0, 1e-8, np.where(leverage == 1, 0.5, leverage))
    threshold = n_outputs * np.arctanh(safe) * (1 - safe**2) / safe
    true_positives = chi2.cdf(threshold / (1 - safe), n_outputs)
    false_positives = chi2.cdf(threshold / (1 + safe), n_outputs)
    success = 0.5 + (true_positives - false_positives) / 2
    return np.where(leverage == 0, 0.5, np.where(leverage == 1, 1.0, success))


def attack_advantage(leverage, n_outputs=1):
    """Advantage of the optimal attack: true minus false positive rate.

    Parameters
    ----------
    leverage : array-like
        Leverage of each record, between 0 and 1.
    n_outputs : int, default=1
        Number of outputs of the model.

    Returns
    -------
    advantage : ndarray
        Largest difference of true and false positive rate, which is the total variation
        distance between the two distributions of the residual; between 0 and 1.
    """
    return 2 * attack_success(leverage, n_outputs) - 1


def residual_variance(residuals, n_parameters):
    """Estimate σ² from the residuals of the training records.

    Parameters
    ----------
    residuals : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Label minus prediction.
    n_parameters : float
        Number of parameters of one output, which is the sum of the leverages.

    Returns
    -------
    sigma2 : float
        Residual sum of squares over ``(n_samples - n_parameters) * n_outputs``.

    Raises
    ------
    ValueError
        If there are not more samples than parameters.
    """
    residuals = np.asarray(residuals, dtype=np.float64)
    spare = residuals.shape[0] - n_parameters
    if spare <= 0:
        raise ValueError(
            f"n_parameters={n_parameters} must be less than the number of residuals, "
            f"{residuals.shape[0]}, for their variance to be estimated."
        )
    n_outputs = residuals.size // residuals.shape[0]
    return float((residuals**2).sum() / (spare * n_outputs))


def _check_leverage(leverage):
    """Check leverages, and clip rounding errors outside [0, 1]; NaN stays NaN."""
    leverage = np.asarray(leverage, dtype=np.float64)
    invalid = (leverage < -_ROUNDING) | (leverage > 1 + _ROUNDING)
    if invalid.any():
        raise ValueError(
            f"leverage must be between 0 and 1, got {leverage[invalid].ravel()[:5]}."
        )
    return np.clip(leverage, 0.0, 1.0)
