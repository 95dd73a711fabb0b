"""Classical influence statistics, named as in statsmodels."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class InfluenceStatistics:
    """Influence statistics of the training records.

    Arrays have shape (n_samples,), or (n_samples, n_outputs) with several outputs.
    With a penalty, the effective number of parameters takes the place of their number.
    Statistics that divide by 1 - leverage are NaN for a record with leverage 1.

    Attributes
    ----------
    hat_matrix_diag : ndarray
        Diagonal of the hat matrix, with the observed curvature.
    resid_studentized : ndarray
        Pearson residual over its standard deviation (internally studentised).
    cooks_distance : ndarray
        Cook's distance; statsmodels returns it as the first of a pair.
    resid_studentized_internal : ndarray
        The same as `resid_studentized`.
    resid_studentized_external : ndarray or None
        The same with the variance estimated without the record. None except for least
        squares.
    resid_press : ndarray or None
        Residual at the model fitted without the record. None except for least squares.
    dffits : ndarray or None
        Change of the record's own fitted value when it is removed, over its standard
        error estimated without the record. None except for least squares.
    """

    hat_matrix_diag: np.ndarray
    resid_studentized: np.ndarray
    cooks_distance: np.ndarray
    resid_studentized_external: np.ndarray | None = None
    resid_press: np.ndarray | None = None
    dffits: np.ndarray | None = None

    @property
    def resid_studentized_internal(self):
        return self.resid_studentized


def influence_statistics(hat, residuals, weights, scale=None):
    """Compute influence statistics from the hat matrix and Pearson residuals.

    Parameters
    ----------
    hat : ndarray of shape (n_samples, n_outputs)
        Diagonal of the hat matrix.
    residuals : ndarray of shape (n_samples, n_outputs)
        Label minus prediction, over the root of the variance function.
    weights : ndarray of shape (n_samples, n_outputs)
        Sample weights: a record's variance is inversely proportional to its weight.
    scale : float, default=None
        Dispersion. None estimates it from the residuals.

    Returns
    -------
    studentized, distance : ndarray of shape (n_samples, n_outputs)
        Studentised residuals and Cook's distances.
    """
    residuals = residuals * np.sqrt(weights)
    n_parameters = hat.sum(axis=0)
    spare = len(hat) - n_parameters
    with np.errstate(divide="ignore", invalid="ignore"):
        if scale is None:
            scale = (residuals**2).sum(axis=0) / spare
        studentized = residuals / np.sqrt(scale * (1 - hat))
        studentized[hat >= 1 - 1e-12] = np.nan
        distance = studentized**2 / n_parameters * hat / (1 - hat)
    return studentized, distance


def least_squares_statistics(hat, residuals, weights):
    """Compute the influence statistics that are exact for least squares only.

    Parameters
    ----------
    hat, residuals, weights : ndarray of shape (n_samples, n_outputs)

    Returns
    -------
    external, press, dffits : ndarray of shape (n_samples, n_outputs)
    """
    studentized, _ = influence_statistics(hat, residuals, weights)
    spare = len(hat) - hat.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        external = studentized * np.sqrt((spare - 1) / (spare - studentized**2))
        press = residuals / (1 - hat)
        press[np.isnan(studentized)] = np.nan
        dffits = external * np.sqrt(hat / (1 - hat))
    return external, press, dffits
