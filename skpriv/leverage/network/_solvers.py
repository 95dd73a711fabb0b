"""Three solvers for the sensitivities of outputs, J H⁻¹ Jᵀ.

Each solver is made once for the training records, and then evaluates any records. The
direct solver holds a root of H⁻¹, the sketch a random root of few columns, and
conjugate gradients solve one system per record and direction of its logits.
"""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from skpriv.leverage._inverse import inverse_root
from skpriv.leverage.network._blocks import forward, rows
from skpriv.leverage.network._cg import conjugate_gradients, nystrom

_RANK = 256
# Largest ratio of the eigenvalues that are not preconditioned to a damping that is
# chosen. The number of steps grows with its root.
_CONDITION = 10
# A row is estimable if no more than this share of its squared length lies in the null
# space of the curvature; more than rounding leaves there.
_NULL_SPACE_SHARE = 1e-6


class RecordBatch(NamedTuple):
    """Records to evaluate.

    Attributes
    ----------
    blocks : list of (slice, block)
        The Jacobians of their logits.
    basis : Tensor of shape (n_logits, n_directions)
        Orthonormal directions of the logits that change predictions.
    residuals : Tensor of shape (n_records, n_logits)
        Minus the gradients of their losses with respect to the logits.
    confidence : Tensor of shape (n_records, n_logits) or None
        The gradients of their confidence, up to a factor (see the losses).
    """

    blocks: list
    basis: torch.Tensor
    residuals: torch.Tensor
    confidence: torch.Tensor | None


class SolverReport(NamedTuple):
    """How the linear systems of records were solved; all of shape (n_records,).

    Attributes
    ----------
    residuals : ndarray
        Largest relative residual among the systems that were solved for a record.
    n_iter : ndarray of int
        Largest number of iterations among them.
    converged : ndarray of bool
        Whether all of them were solved.
    negative_curvature : ndarray of bool
        Whether a negative curvature was found.
    """

    residuals: np.ndarray
    n_iter: np.ndarray
    converged: np.ndarray
    negative_curvature: np.ndarray

    @classmethod
    def same_for_all(cls, n_records, *values):
        """Repeat the values of one record."""
        return cls(*(np.full(n_records, value) for value in values))


@dataclass
class OutputSensitivities:
    """Sensitivities of the logits of records, and how they were solved for.

    Attributes
    ----------
    K : Tensor of shape (n_records, n_logits, n_logits)
        J H⁻¹ Jᵀ.
    report : SolverReport
    not_estimable : ndarray of bool, of shape (n_records,)
        Whether the logits depend on parameters that neither the damping nor the
        training records determine.
    shift, variance : Tensor of shape (n_records,), default=None
        Of the records' confidence across models fitted on random halves; see
        `RecordTerms`. None if they were not asked for.
    """

    K: torch.Tensor
    report: SolverReport
    not_estimable: np.ndarray
    shift: torch.Tensor | None = None
    variance: torch.Tensor | None = None


class DirectSolver:
    """One Cholesky factor of the curvature for all records.

    Parameters
    ----------
    H : ndarray of shape (n_parameters, n_parameters)
        Curvature of the sum of losses.
    damping : Tensor of shape (n_parameters,)
        Penalty that is added to the sum of losses.
    half_sample_damping : float or None
        Factor on the damping in the Hessian of a half-sample model, which is scaled
        to the sum of all losses. None if confidence is not needed.
    gradients : iterable of Tensor of shape (n_chunk, n_parameters)
        The training records' gradients, in chunks.

    Raises
    ------
    NegativeCurvatureError
        If the curvature is not positive.
    """

    def __init__(self, H, damping, half_sample_damping, gradients):
        self._like = damping
        diagonal = np.diag(damping.cpu().numpy())
        self._inverse = inverse_root(H + diagonal)
        self._root = self._tensor(self._inverse.W)
        self._half_sample_root = self._sandwich = None
        if half_sample_damping is not None:
            G = sum(g.T @ g for g in gradients)
            half_sample = inverse_root(H + half_sample_damping * diagonal)
            self._half_sample_root = self._tensor(half_sample.W)
            inverse = self._tensor(half_sample.inverse())
            self._sandwich = inverse @ G @ inverse

    def _tensor(self, array):
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._like)

    def release(self):
        """Free what was kept of the training records; here, nothing is."""

    def evaluate(self, batch):
        """Return the `OutputSensitivities` of a `RecordBatch`."""
        blocks, _, residuals, confidence = batch
        found = OutputSensitivities(
            K=_gram(forward(blocks, self._root)),
            report=SolverReport.same_for_all(len(residuals), 0.0, 1, True, False),
            not_estimable=self._in_null_space(batch),
        )
        if self._half_sample_root is not None:
            root = forward(blocks, self._half_sample_root)
            found.shift = _between(confidence, root, residuals)
            direction = (rows(blocks) * confidence[:, :, None]).sum(dim=1)
            found.variance = ((direction @ self._sandwich) * direction).sum(dim=1)
        return found

    def _in_null_space(self, batch):
        if self._inverse.span is None:
            return np.zeros(len(batch.residuals), dtype=bool)
        A = (batch.basis.T @ rows(batch.blocks)).cpu().numpy()
        share = self._inverse.null_space_share(A.reshape(-1, A.shape[2]))
        return (share > _NULL_SPACE_SHARE).reshape(len(A), -1).any(axis=1)


def precondition(gauss_newton, damping, n_columns, random_state):
    """Approximate a curvature, with a rank that pays off for a number of systems.

    Parameters
    ----------
    gauss_newton : GaussNewton
    damping : Tensor of shape (n_parameters,)
    n_columns : int
        Rough number of systems to solve.
    random_state : numpy.random.Generator

    Returns
    -------
    preconditioner : NystromPreconditioner or None
    """
    size = len(damping)
    rank = min(_RANK, size // 4, 16 * n_columns)
    if rank == 0:
        return None
    generator = torch.Generator().manual_seed(int(random_state.integers(2**31)))
    return nystrom(
        gauss_newton,
        size,
        rank,
        generator,
        dtype=damping.dtype,
        device=damping.device,
    )


def least_damping(preconditioner):
    """Return the damping with which systems are solved in a few dozen steps.

    Parameters
    ----------
    preconditioner : NystromPreconditioner or None

    Returns
    -------
    damping : float
        Penalty that is added to the sum of losses. 0 if the preconditioner has so few
        eigenvalues that it says nothing about the others.
    """
    if preconditioner is None or len(preconditioner.eigenvalues) < _RANK:
        return 0.0
    return float(preconditioner.eigenvalues[-1]) / _CONDITION


class DampedSystems:
    """Linear systems with the damped curvature, solved by conjugate gradients.

    Parameters
    ----------
    curvature : GaussNewton or Hessian
    damping : Tensor of shape (n_parameters,)
        Penalty that is added to the sum of losses.
    preconditioner : NystromPreconditioner or None
    tol : float
        Largest relative residual.
    max_iter : int
    """

    def __init__(self, curvature, damping, preconditioner, tol, max_iter):
        self._curvature = curvature
        self.damping = damping
        self._preconditioner = preconditioner
        self._tol, self._max_iter = tol, max_iter

    def solve(self, B, damping_factor=1):
        """Solve for the columns of B, with the damping multiplied by a factor."""
        damping = damping_factor * self.damping
        precondition = None
        if self._preconditioner is not None:
            mean = float(damping.mean())
            precondition = partial(self._preconditioner.solve, damping=mean)
        solution = conjugate_gradients(
            lambda V: self._curvature(V) + damping[:, None] * V,
            B,
            precondition=precondition,
            tol=self._tol,
            max_iter=self._max_iter,
        )
        if self._curvature.positive:
            # A negative curvature is then rounding, at the limit of accuracy.
            solution.negative_curvature[:] = False
        return solution


class SketchSolver:
    """A random root of the inverse curvature, of few columns, for all records.

    With S and R of random signs, W = H⁻¹ (Aᵀ Sᵀ + D^½ Rᵀ) has W Wᵀ = H⁻¹ on average.

    Parameters
    ----------
    gauss_newton : GaussNewton
    systems : DampedSystems
    n_sketches : int
        Number of columns; the relative error of a score is about √(2 / n_sketches).
    random_state : numpy.random.Generator
    half_sample_damping : float or None
        As in `DirectSolver`.
    """

    def __init__(
        self, gauss_newton, systems, n_sketches, random_state, half_sample_damping
    ):
        self._random_state = random_state
        self._n_sketches = n_sketches
        damping = systems.damping
        A = gauss_newton.transpose(self._signs)
        D = damping.sqrt()[:, None] * self._signs(len(damping), 1)[:, 0].to(damping)
        solutions = [systems.solve(A + D)]
        if half_sample_damping is not None:
            factor = half_sample_damping
            G = gauss_newton.gradient_transpose(self._signs)
            for B in (A + factor**0.5 * D, G):
                # All records share the systems, and none has a score if one failed.
                failed = not solutions[0].converged.all()
                solutions.append(solutions[0] if failed else systems.solve(B, factor))
        self._roots = [solution.X for solution in solutions]
        self._null_direction = self._direction_without_curvature(damping)
        self._outcome = (
            max(float(s.residuals.max()) for s in solutions),
            max(int(s.n_iter.max()) for s in solutions),
            all(bool(s.converged.all()) for s in solutions),
            any(bool(s.negative_curvature.any()) for s in solutions),
        )

    def _direction_without_curvature(self, damping):
        """Return a random direction in the parameters that nothing determines, or None.

        A bias may have no penalty, and belong to a unit that no training record
        activates.
        """
        sizes = self._roots[0].abs().amax(dim=1)
        dead = (damping == 0) & (sizes <= 1e-12 * sizes.max())
        if not dead.any():
            return None
        values = torch.from_numpy(self._random_state.normal(size=len(damping)))
        return (dead * values.to(damping))[:, None]

    def release(self):
        """Free what was kept of the training records; here, nothing is."""

    def _signs(self, n_items, n_rows):
        """Return random signs over √n_sketches, the same for any chunks of items."""
        shape = (n_items, -(-n_rows * self._n_sketches // 64))
        words = self._random_state.integers(2**64, size=shape, dtype=np.uint64)
        bits = np.unpackbits(words.view(np.uint8), axis=1)
        bits = bits[:, : n_rows * self._n_sketches]
        signs = torch.from_numpy(bits.reshape(n_items, n_rows, -1)).to(torch.float64)
        return (2 * signs - 1) / self._n_sketches**0.5

    def evaluate(self, batch):
        """Return the `OutputSensitivities` of a `RecordBatch`."""
        blocks, _, residuals, confidence = batch
        n = len(residuals)
        found = OutputSensitivities(
            K=_gram(forward(blocks, self._roots[0])),
            # All records share all of the systems.
            report=SolverReport.same_for_all(n, *self._outcome),
            not_estimable=np.zeros(n, dtype=bool),
        )
        if len(self._roots) > 1:
            half_sample, deviations = (forward(blocks, W) for W in self._roots[1:])
            found.shift = _between(confidence, half_sample, residuals)
            found.variance = _between(confidence, deviations, confidence)
        if self._null_direction is not None:
            change = forward(blocks, self._null_direction)[:, :, 0]
            found.not_estimable = (change != 0).any(dim=1).cpu().numpy()
        return found


class ConjugateGradientsSolver:
    """The systems of the records in a batch are solved, all at once.

    Parameters
    ----------
    gauss_newton : GaussNewton
    systems : DampedSystems
    half_sample_damping : float or None
        As in `DirectSolver`.
    """

    def __init__(self, gauss_newton, systems, half_sample_damping):
        self._gauss_newton = gauss_newton
        self._systems = systems
        self._half_sample_damping = half_sample_damping

    def release(self):
        """Free what was kept of the training records."""
        self._gauss_newton.release()

    def evaluate(self, batch):
        """Return the `OutputSensitivities` of a `RecordBatch`."""
        J, basis = rows(batch.blocks), batch.basis
        n, _, size = J.shape
        B = (basis.T @ J).reshape(-1, size).T
        solutions = [self._systems.solve(B)]
        X = solutions[0].X.T.reshape(n, -1, size)
        K = basis @ (basis.T @ J) @ X.mT @ basis.T
        shift = variance = None
        if self._half_sample_damping is not None:
            B = (J * batch.confidence[:, :, None]).sum(dim=1).T
            solutions.append(self._systems.solve(B, self._half_sample_damping))
            X = solutions[1].X
            gradients = (J * batch.residuals[:, :, None]).sum(dim=1)
            shift = (gradients * X.T).sum(dim=1)
            variance = self._gauss_newton.gradient_squares(X)
        report = _report_per_record(solutions, n)
        return OutputSensitivities(
            K, report, np.zeros(n, dtype=bool), shift=shift, variance=variance
        )


def _report_per_record(solutions, n_records):
    """Summarise several solutions, each with some systems per record."""

    def reduce(name, reduction):
        values = [getattr(s, name).cpu().reshape(n_records, -1) for s in solutions]
        return reduction(torch.cat(values, dim=1), dim=1).numpy()

    return SolverReport(
        residuals=reduce("residuals", torch.amax),
        n_iter=reduce("n_iter", torch.amax),
        converged=reduce("converged", torch.all),
        negative_curvature=reduce("negative_curvature", torch.any),
    )


def _gram(P):
    """Return P Pᵀ of each record."""
    return P @ P.mT


def _between(a, P, b):
    """Return aᵀ P Pᵀ b of each record."""
    left, right = ((v[:, None] @ P)[:, 0] for v in (a, b))
    return (left * right).sum(dim=1)
