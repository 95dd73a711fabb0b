"""Sensitivities of models whose logits are fitted one by one."""

from dataclasses import dataclass

import numpy as np

from skpriv.leverage._influence import (
    InfluenceStatistics,
    influence_statistics,
    least_squares_statistics,
)
from skpriv.leverage._inverse import InverseRoot, inverse_root
from skpriv.leverage._terms import RecordTerms
from skpriv.leverage.linear._features import Features, conditioned_root
from skpriv.leverage.linear._losses import SquaredError, spread


def weighted_gram(Z, weights):
    """Return Zᵀ diag(weights) Z, by a symmetric product where weights allow."""
    if (weights >= 0).all():
        A = Z * np.sqrt(weights)[:, None]
        return A.T @ A
    return (Z * weights[:, None]).T @ Z


def quadratic_forms(root, Z):
    """Return zᵀ H⁺ z for each row z, from a root of the inverse of H.

    Parameters
    ----------
    root : InverseRoot
        Of the curvature matrix.
    Z : ndarray of shape (n_rows, size)

    Returns
    -------
    forms : ndarray of shape (n_rows,)
    """
    half = Z @ root.W
    return np.einsum("ij,ij->i", half, half)


@dataclass
class OneLogit:
    """One logit's curvature, or that of several logits which share it.

    Attributes
    ----------
    outputs : slice
        The outputs of the model that these are.
    columns : ndarray of shape (n_active,) or None
        The features that have a weight; None for all.
    features : Features
        Coordinates of these features.
    root : InverseRoot
        Of the Hessian of the objective, in coordinates.
    step : ndarray of shape (n_coordinates, n_logits)
        The Newton step that is left to the optimum.
    l2 : float
        Penalty of the weights: ``l2 / 2 * ||w||**2``.
    half_root : InverseRoot or None
        Of twice the Hessian of a random half of the records with the same penalty.
    sandwich : ndarray of shape (n_coordinates, n_coordinates) or None
        H⁻¹ G H⁻¹ with that Hessian, and G the sum of the outer products of the
        records' gradients: the variance of the weights over random halves.
    """

    outputs: slice
    columns: np.ndarray | None
    features: Features
    root: InverseRoot
    step: np.ndarray
    l2: float
    half_root: InverseRoot | None
    sandwich: np.ndarray | None

    def select(self, X):
        return X if self.columns is None else X[:, self.columns]


def solve_logits(
    features, objective, outputs, columns, f, y, weights, *, variance=False
):
    """Compute the curvature of logits at the fitted weights, and their Newton step.

    Parameters
    ----------
    features : Features
        Of the training rows.
    objective : Objective
        What the model minimises.
    outputs : slice
        The logits; several only if they share their curvature.
    columns : ndarray or None
        The features that have a weight.
    f, y, weights : ndarray of shape (n_rows, n_outputs)
        Logits, targets and sample weights of the training rows, all outputs.
    variance : bool, default=False
        Whether to compute what random halves need; for one logit only.

    Returns
    -------
    solved : OneLogit

    Raises
    ------
    NegativeCurvatureError
        If the fitted weights are no minimum.
    """
    family = objective.family
    f, y, weights = f[:, outputs], y[:, outputs], weights[:, outputs]
    gradients = weights * family.gradient(y, f)
    curvature = (weights * family.curvature(y, f))[:, 0]
    l2 = objective.l2[outputs.start]

    def hessian(features):
        H = np.diag(features.penalty(l2))
        for rows, Z, _ in features.batches(features.X):
            H += weighted_gram(Z, curvature[rows])
        return H

    features, H, root = conditioned_root(features, hessian)
    gradient = _penalty_gradient(features, objective, outputs, columns)
    for rows, Z, _ in features.batches(features.X):
        gradient += Z.T @ gradients[rows]
    step = -root.solve(gradient)
    half_root = sandwich = None
    if variance:
        half_root = inverse_root(H + np.diag(features.penalty(l2)))
        G = np.zeros_like(H)
        for rows, Z, _ in features.batches(features.X):
            G += weighted_gram(Z, gradients[rows, 0] ** 2)
        sandwich = half_root.solve(half_root.solve(G).T)
    return OneLogit(outputs, columns, features, root, step, l2, half_root, sandwich)


def _penalty_gradient(features, objective, outputs, columns):
    gradients = []
    for output in range(outputs.start, outputs.stop):
        g = objective.penalty_gradient(output)
        g = features.pull_back(g if columns is None else g[columns])
        gradients.append(np.append(g, 0.0) if features.fit_intercept else g)
    return np.column_stack(gradients)


class SeparableModel:
    """A fitted linear model whose loss is a sum over its logits.

    Parameters
    ----------
    objective : Objective
        What the model minimises.
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
        The rows that it was fitted on.
    y, sample_weight : ndarray of shape (n_rows, ...)
        Their labels and weights.
    variance : bool, default=False
        Whether the terms of records are to include the variance of confidence.
    """

    def __init__(self, objective, X, y, sample_weight, *, variance=False):
        self.objective = objective
        self.quadratic = objective.quadratic
        X = objective.design(X)
        targets = objective.labels.encode(y)
        self._spread = spread(targets)
        weights = objective.labels.weigh(y, sample_weight)
        fit = (objective.logits(X), targets, weights)
        shared = {}
        self._solved = []
        for outputs, columns in self._groups(weights):
            penalized = bool(objective.l2[outputs.start] > 0)
            key = (None if columns is None else columns.tobytes(), penalized)
            if key not in shared:
                shared[key] = Features(
                    X if columns is None else X[:, columns],
                    objective.fit_intercept,
                    penalized,
                )
            self._solved.append(
                solve_logits(
                    shared[key], objective, outputs, columns, *fit, variance=variance
                )
            )

    def _groups(self, weights):
        """Group outputs that share a curvature, with the features they use."""
        objective = self.objective
        n_outputs = len(objective.coef)
        if (
            isinstance(objective.family, SquaredError)
            and objective.active.all()
            and len(set(objective.l2)) == 1
            and (weights == weights[:, :1]).all()
        ):
            return [(slice(0, n_outputs), None)]
        return [
            (slice(j, j + 1), None if active.all() else np.flatnonzero(active))
            for j, active in enumerate(objective.active)
        ]

    def terms(self, X, y, sample_weight):
        """Return the `RecordTerms` of rows."""
        objective = self.objective
        family = objective.family
        X = objective.design(X)
        targets, f = objective.labels.encode(y), objective.logits(X)
        weights = objective.labels.weigh(y, sample_weight)
        forms, steps = np.zeros((2, *f.shape))
        shift, variances = np.zeros((2, len(f)))
        undetermined = np.zeros(len(f), dtype=bool)
        for solved in self._solved:
            for rows, Z, beyond in solved.features.batches(solved.select(X)):
                extra = beyond / solved.l2 if solved.l2 > 0 else np.zeros(len(Z))
                own = quadratic_forms(solved.root, Z) + extra
                forms[rows, solved.outputs] = own[:, None]
                steps[rows, solved.outputs] = Z @ solved.step
                undetermined[rows] |= np.isinf(beyond) | (solved.root.outside(Z) > 1e-6)
                if solved.half_root is not None:
                    shift[rows] = quadratic_forms(solved.half_root, Z) + extra / 2
                    variances[rows] = np.einsum("ij,ij->i", Z @ solved.sandwich, Z)
        pull = weights * family.response(targets, f) * forms
        gradients = family.gradient(targets, f)
        gather = np.mean if objective.averaged else np.sum
        return RecordTerms(
            leverage=gather(pull * family.slope(f), axis=1),
            logit_leverage=gather(pull, axis=1),
            hat=weights * family.curvature(targets, f) * forms,
            self_influence=(weights * gradients**2 * forms).sum(axis=1),
            # Per unit of the record's own gradient, as the variance is.
            shift=(weights * np.abs(gradients))[:, 0] * shift,
            variance=variances,
            step=family.step_size(f, steps, self._spread).max(axis=1),
            undetermined=undetermined,
        )

    def influence(self, X, y, sample_weight):
        """Return the `InfluenceStatistics` of the rows that the model was fitted on.

        Raises
        ------
        TypeError
            If the loss is that of no exponential family.
        """
        objective = self.objective
        family = objective.family
        if not hasattr(family, "dispersion"):
            raise TypeError(
                "influence statistics are defined for least squares, logistic "
                f"regression and the Tweedie family, not for {type(family).__name__}."
            )
        hat = self.terms(X, y, sample_weight).hat
        mean = family.mean(objective.logits(objective.design(X)))
        residuals = objective.labels.encode(y) - mean
        residuals /= np.sqrt(family.variance(mean))
        weights = objective.labels.weigh(y, sample_weight)
        columns = [
            hat,
            *influence_statistics(hat, residuals, weights, family.dispersion),
        ]
        if isinstance(family, SquaredError):
            columns += least_squares_statistics(hat, residuals, weights)
        if hat.shape[1] == 1:
            columns = [column.ravel() for column in columns]
        return InfluenceStatistics(*columns)
