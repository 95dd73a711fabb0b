"""Sensitivities of models whose loss is a sum over their logits."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skpriv.leverage._influence import (
    InfluenceStatistics,
    influence_statistics,
    least_squares_statistics,
)
from skpriv.leverage._inverse import InverseRoot, inverse_root
from skpriv.leverage._scores import RecordTerms, Status
from skpriv.leverage.linear._curvature import (
    conditioned_root,
    not_estimable,
    null_space_form,
    quadratic_forms,
    weighted_gram,
)
from skpriv.leverage.linear._features import Features
from skpriv.leverage.linear._sensitivities import LinearSensitivities
from skpriv.leverage.linear._targets import standard_deviation

# Rounding errors of residuals, relative to the largest target.
_ROUNDING = 1e-12


class Outputs(NamedTuple):
    """Records as the loss sees them; arrays of shape (n_rows, n_outputs).

    Attributes
    ----------
    logits, targets, weights : ndarray
    """

    logits: np.ndarray
    targets: np.ndarray
    weights: np.ndarray

    def select(self, outputs):
        """Return the same of some outputs."""
        return Outputs(*(values[:, outputs] for values in self))


@dataclass
class HalfSamples:
    """Models fitted on random halves of the records, to first order.

    Attributes
    ----------
    root : InverseRoot
        Of twice the Hessian of a half.
    penalty : float
        The part of the penalty in that Hessian: `half_sample_penalty` of the
        objective.
    covariance : ndarray of shape (n_coordinates, n_coordinates)
        Of the weights over halves: H⁻¹ G H⁻¹ with that Hessian, and G the sum of the
        outer products of the records' gradients.
    """

    root: InverseRoot
    penalty: float
    covariance: np.ndarray

    def confidence(self, Z, extra):
        """Return shift and variance of the logits of rows, per unit of their gradient.

        Parameters
        ----------
        Z : ndarray of shape (n_rows, n_coordinates)
        extra : ndarray of shape (n_rows,)
            As of `null_space_form`.

        Returns
        -------
        shift, variance : ndarray of shape (n_rows,)
        """
        shift = quadratic_forms(self.root, Z) + extra / self.penalty
        return shift, np.einsum("ij,ij->i", Z @ self.covariance, Z)


@dataclass
class SolvedLogits:
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
        The Newton step that remains to the optimum.
    excess : float
        By how much that step would reduce the objective, to second order.
    l2 : float
        Penalty of the weights: ``l2 / 2 * ||w||**2``.
    halves : HalfSamples or None
        None unless attack power was asked for.
    """

    outputs: slice
    columns: np.ndarray | None
    features: Features
    root: InverseRoot
    step: np.ndarray
    excess: float
    l2: float
    halves: HalfSamples | None

    def select(self, X):
        """Return the columns of X that have a weight."""
        return X if self.columns is None else X[:, self.columns]


def solve_logits(features, objective, outputs, columns, records, *, halves=False):
    """Compute the curvature of logits at the fitted weights, and their Newton step.

    Parameters
    ----------
    features : Features
        Of the training rows.
    objective : Objective
        The objective that the model minimises.
    outputs : slice
        The logits; several only if they share their curvature.
    columns : ndarray or None
        The features that have a weight.
    records : Outputs
        All outputs of the training rows.
    halves : bool, default=False
        Whether to compute `HalfSamples`; for one logit only.

    Returns
    -------
    solved : SolvedLogits

    Raises
    ------
    NegativeCurvatureError
        If the fitted weights are not at a minimum.
    """
    f, y, weights = records.select(outputs)
    gradients = weights * objective.loss.gradient(y, f)
    curvature = (weights * objective.loss.curvature(y, f))[:, 0]
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
    half_samples = None
    if halves:
        factor = objective.half_sample_penalty
        half_root = inverse_root(H + (factor - 1) * np.diag(features.penalty(l2)))
        G = np.zeros_like(H)
        for rows, Z, _ in features.batches(features.X):
            G += weighted_gram(Z, gradients[rows, 0] ** 2)
        covariance = half_root.solve(half_root.solve(G).T)
        half_samples = HalfSamples(half_root, factor, covariance)
    excess = -float((gradient * step).sum()) / 2
    return SolvedLogits(
        outputs, columns, features, root, step, excess, l2, half_samples
    )


def _penalty_gradient(features, objective, outputs, columns):
    gradients = []
    for output in range(outputs.start, outputs.stop):
        g = objective.penalty_gradient(output)
        g = features.pull_back(g if columns is None else g[columns])
        gradients.append(np.append(g, 0.0) if features.fit_intercept else g)
    return np.column_stack(gradients)


def _has_no_residuals(loss, records):
    if not loss.for_regression:
        return False
    residuals = loss.gradient(records.targets, records.logits)
    return bool(np.abs(residuals).max(initial=0) <= _rounding(records.targets))


def _rounding(targets):
    return _ROUNDING * np.abs(targets).max(initial=0)


class SeparableSensitivities(LinearSensitivities):
    """A fitted linear model whose loss is a sum over its logits.

    Parameters
    ----------
    objective : Objective
        The objective that the model minimises, with a loss of each logit.
    """

    def __init__(self, objective):
        self.objective = objective

    @property
    def has_attack_power(self):
        return len(self.objective.coef) == 1

    @property
    def varies_in_support(self):
        return self.objective.has_l1 or not self.objective.active.all()

    @property
    def quadratic(self):
        return self.objective.loss.quadratic and bool(self.objective.active.all())

    def solve(self, X, y, sample_weight, *, attack_power=False):
        objective = self.objective
        X, records = self._read(X, y, sample_weight)
        self._deviation = standard_deviation(records.targets)
        self._no_residuals = _has_no_residuals(objective.loss, records)
        differ = np.ptp(records.targets, axis=0).max() > _rounding(records.targets)
        self.fits_exactly = bool(self._no_residuals and differ)
        shared = {}
        self._solved = []
        for outputs, columns in self._groups(records.weights):
            penalised = bool(objective.l2[outputs.start] > 0)
            key = (None if columns is None else columns.tobytes(), penalised)
            if key not in shared:
                selected = X if columns is None else X[:, columns]
                shared[key] = Features(selected, objective.fit_intercept, penalised)
            solved = solve_logits(
                shared[key], objective, outputs, columns, records, halves=attack_power
            )
            self._solved.append(solved)
        return self

    def stepped(self):
        return self.objective.moved(
            (output, solved.columns, *solved.features.push_forward(step))
            for solved in self._solved
            for output, step in zip(
                range(solved.outputs.start, solved.outputs.stop),
                solved.step.T,
                strict=True,
            )
        )

    @property
    def excess(self):
        """By how much the objective exceeds its minimum, to second order."""
        return sum(solved.excess for solved in self._solved)

    def sum_of_squares(self, y, sample_weight):
        """Return the weighted sum of squares of the targets about their means."""
        targets = self.objective.targets.encode(y)
        weights = self.objective.targets.weigh(y, sample_weight)
        center = (weights * targets).sum(axis=0) / weights.sum(axis=0)
        return float((weights * (targets - center) ** 2).sum())

    def _read(self, X, y, sample_weight):
        objective = self.objective
        X = objective.design(X)
        targets = objective.targets.encode(y)
        weights = objective.targets.weigh(y, sample_weight)
        return X, Outputs(objective.logits(X), targets, weights)

    def _groups(self, weights):
        """Group outputs that share a curvature, with the features they use."""
        l2 = self.objective.l2
        if self.quadratic and (l2 == l2[0]).all() and (weights == weights[:, :1]).all():
            return [(slice(0, len(l2)), None)]
        return [
            (slice(j, j + 1), None if active.all() else np.flatnonzero(active))
            for j, active in enumerate(self.objective.active)
        ]

    def terms(self, X, y, sample_weight):
        loss = self.objective.loss
        X, (f, targets, weights) = self._read(X, y, sample_weight)
        forms, steps = np.zeros((2, *f.shape))
        shift = variance = None
        if self._solved[0].halves is not None:
            shift, variance = np.zeros((2, len(f)))
        status = np.full(len(f), Status.VALID)
        for solved in self._solved:
            for rows, Z, null_space in solved.features.batches(solved.select(X)):
                extra = null_space_form(null_space, solved.l2)
                own = quadratic_forms(solved.root, Z) + extra
                forms[rows, solved.outputs] = own[:, None]
                steps[rows, solved.outputs] = Z @ solved.step
                share = solved.root.null_space_share(Z)
                status[rows] |= not_estimable(null_space, share)
                if solved.halves is not None:
                    confidence = solved.halves.confidence(Z, extra)
                    shift[rows], variance[rows] = confidence
        on_logits = weights * loss.mixed_derivative(targets, f) * forms
        gradients = loss.gradient(targets, f)
        if shift is not None:
            # Per unit of the record's own gradient, as the variance is.
            shift *= (weights * np.abs(gradients))[:, 0]
            if self._no_residuals:
                # Models of constant targets are all alike.
                shift[:] = 0.0
            if self.varies_in_support or self.fits_exactly:
                shift[:] = np.nan
        gather = np.mean if self.objective.averaged else np.sum
        return RecordTerms(
            status=status,
            leverage=gather(on_logits * loss.inverse_link_derivative(f), axis=1),
            logit_leverage=gather(on_logits, axis=1),
            self_influence=(weights * gradients**2 * forms).sum(axis=1),
            hat=weights * loss.curvature(targets, f) * forms,
            confidence_shift=shift,
            confidence_variance=variance,
            newton_step=loss.step_size(f, steps, self._deviation).max(axis=1),
        )

    def influence(self, X, y, sample_weight):
        loss = self.objective.loss
        if not loss.exponential_family:
            return None
        hat = self.terms(X, y, sample_weight).hat
        _, (f, targets, weights) = self._read(X, y, sample_weight)
        mean = loss.mean(f)
        residuals = (targets - mean) / np.sqrt(loss.variance(mean))
        columns = [hat, *influence_statistics(hat, residuals, weights, loss.dispersion)]
        if loss.exact_deletion:
            columns += least_squares_statistics(hat, residuals, weights)
        if hat.shape[1] == 1:
            columns = [column.ravel() for column in columns]
        return InfluenceStatistics(*columns)
