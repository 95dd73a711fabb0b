"""Three routes to what the inverse curvature says of records: H⁻¹ between Jacobians.

Each route is made once for the training records, and then asked about any records. The
direct route holds a root of H⁻¹, the sketch a random one of few columns, and conjugate
gradients solve for the records asked about.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from skpriv.leverage._inverse import inverse_root
from skpriv.leverage.network._blocks import forward, rows
from skpriv.leverage.network._cg import conjugate_gradients, nystrom

_RANK = 256
COPIES_IN_SOLVER = 8


@dataclass
class Answers:
    """What a route says of some records.

    Attributes
    ----------
    K : Tensor of shape (n_records, n_logits, n_logits)
        J H⁻¹ Jᵀ.
    shift, variance : Tensor of shape (n_records,) or None
        Of the records' confidence over models fitted on random halves: see
        `RecordTerms`.
    outside : ndarray of bool, of shape (n_records,)
        Whether neither damping nor training records hold the record's logits.
    residuals : ndarray of shape (n_records,)
        Largest relative residual among the systems that were solved for the record.
    n_iter : ndarray of int, of shape (n_records,)
        Most iterations among them.
    converged, negative : ndarray of bool, of shape (n_records,)
        Whether all of them were solved; whether a negative curvature was met.
    """

    K: torch.Tensor
    shift: torch.Tensor | None
    variance: torch.Tensor | None
    outside: np.ndarray
    residuals: np.ndarray
    n_iter: np.ndarray
    converged: np.ndarray
    negative: np.ndarray

    @classmethod
    def settled(cls, K, shift=None, variance=None, outside=None):
        """Make answers that need no iterations."""
        n = len(K)
        no, once = np.zeros(n, dtype=bool), np.ones(n, dtype=int)
        outside = no if outside is None else outside
        return cls(K, shift, variance, outside, np.zeros(n), once, ~no, no)


class DirectRoute:
    """One Cholesky factor of the curvature serves all records.

    Parameters
    ----------
    H : ndarray of shape (n_parameters, n_parameters)
        Curvature of the losses.
    damping : Tensor of shape (n_parameters,)
        Penalty next to their sum.
    half : float or None
        How many times the damping counts in half of the data, next to all losses; None:
        confidence is not asked for.
    gradients : callable
        Yields chunks of the training records' gradients.

    Raises
    ------
    NegativeCurvatureError
        If the curvature is not positive.
    """

    def __init__(self, H, damping, half, gradients):
        self._like = damping
        diagonal = np.diag(damping.cpu().numpy())
        self._inverse = inverse_root(H + diagonal)
        self._root = self._tensor(self._inverse.W)
        self._half_root = self._sandwich = None
        if half is not None:
            G = sum(g.T @ g for g in gradients())
            inverse_of_half = inverse_root(H + half * diagonal)
            self._half_root = self._tensor(inverse_of_half.W)
            inverse = self._tensor(inverse_of_half.inverse())
            self._sandwich = inverse @ G @ inverse

    def _tensor(self, array):
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._like)

    def release(self):
        """Let go of what was kept of the training records; here, nothing was."""

    def answer(self, blocks, loss, logits, residuals, confidence):
        """Return the `Answers` for records, from their Jacobians."""
        K = _gram(forward(blocks, self._root))
        shift = variance = None
        if self._half_root is not None:
            shift = _between(confidence, forward(blocks, self._half_root), residuals)
            direction = (rows(blocks) * confidence[:, :, None]).sum(dim=1)
            variance = ((direction @ self._sandwich) * direction).sum(dim=1)
        return Answers.settled(K, shift, variance, self._outside(blocks, loss, logits))

    def _outside(self, blocks, loss, logits):
        if self._inverse.span is None:
            return None
        basis = loss.basis(logits.shape[1]).to(logits)
        A = (basis.T @ rows(blocks)).cpu().numpy()
        share = self._inverse.outside(A.reshape(-1, A.shape[2]))
        return (share > 1e-6).reshape(len(A), -1).any(axis=1)


def precondition(gauss_newton, damping, n_columns, random_state):
    """Approximate a curvature, as far as it pays for so many systems.

    Parameters
    ----------
    gauss_newton : GaussNewton
    damping : Tensor of shape (n_parameters,)
    n_columns : int
        About how many systems there are to solve.
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


class Systems:
    """Linear systems in the damped curvature, solved by conjugate gradients.

    Parameters
    ----------
    curvature : GaussNewton or Hessian
    damping : Tensor of shape (n_parameters,)
        Penalty next to the sum of losses.
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

    def solve(self, B, times=1):
        """Solve for the columns of B, the damping taken so many times."""
        damping = times * self.damping
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
            # What seems negative is the rounding of a residual that cannot be reached.
            solution.negative_curvature[:] = False
        return solution


class SketchRoute:
    """A random root of the inverse curvature, of few columns, serves all records.

    With S and R of random signs, W = H⁻¹ (Aᵀ Sᵀ + D^½ Rᵀ) has W Wᵀ = H⁻¹ on average.

    Parameters
    ----------
    gauss_newton : GaussNewton
    systems : Systems
    n_sketches : int
        Number of columns; the relative error of a score is about √(2 / n_sketches).
    random_state : numpy.random.Generator
    half : float or None
        How many times the damping counts in half of the data, next to all losses; None:
        confidence is not asked for.
    """

    def __init__(self, gauss_newton, systems, n_sketches, random_state, half):
        self._random_state = random_state
        self._n_sketches = n_sketches
        damping = systems.damping
        A = gauss_newton.transpose(self._signs)
        D = damping.sqrt()[:, None] * self._signs(len(damping), 1)[:, 0].to(damping)
        solutions = [systems.solve(A + D)]
        if half is not None:
            G = gauss_newton.gradient_transpose(self._signs)
            solutions += [systems.solve(B, half) for B in (A + half**0.5 * D, G)]
        self._roots = [solution.X for solution in solutions]
        self._dead = self._direction_without_curvature(damping)
        self._residual = max(float(s.residuals.max()) for s in solutions)
        self._n_iter = max(int(s.n_iter.max()) for s in solutions)
        self._converged = all(bool(s.converged.all()) for s in solutions)
        self._negative = any(bool(s.negative_curvature.any()) for s in solutions)

    def _direction_without_curvature(self, damping):
        """Return a direction of all parameters that nothing holds; None if all are.

        A bias may be spared the damping, and belong to a unit that no training record
        wakes.
        """
        sizes = self._roots[0].abs().amax(dim=1)
        dead = (damping == 0) & (sizes <= 1e-12 * sizes.max())
        if not dead.any():
            return None
        values = torch.from_numpy(self._random_state.normal(size=len(damping)))
        return (dead * values.to(damping))[:, None]

    def release(self):
        """Let go of what was kept of the training records; here, nothing was."""

    def _signs(self, n_items, n_rows):
        """Return random signs over √n_sketches, the same however items are chunked."""
        shape = (n_items, -(-n_rows * self._n_sketches // 64))
        words = self._random_state.integers(2**64, size=shape, dtype=np.uint64)
        bits = np.unpackbits(words.view(np.uint8), axis=1)
        bits = bits[:, : n_rows * self._n_sketches]
        signs = torch.from_numpy(bits.reshape(n_items, n_rows, -1)).to(torch.float64)
        return (2 * signs - 1) / self._n_sketches**0.5

    def answer(self, blocks, loss, logits, residuals, confidence):
        """Return the `Answers` for records, from their Jacobians."""
        n = len(logits)
        answers = Answers.settled(_gram(forward(blocks, self._roots[0])))
        if len(self._roots) > 1:
            half, deviations = (forward(blocks, root) for root in self._roots[1:])
            answers.shift = _between(confidence, half, residuals)
            answers.variance = _between(confidence, deviations, confidence)
        if self._dead is not None:
            moved = forward(blocks, self._dead)[:, :, 0]
            answers.outside = (moved != 0).any(dim=1).cpu().numpy()
        # All records rest on all of the systems.
        answers.residuals = np.full(n, self._residual)
        answers.n_iter = np.full(n, self._n_iter)
        answers.converged = np.full(n, self._converged)
        answers.negative = np.full(n, self._negative)
        return answers


class ConjugateGradientsRoute:
    """The systems of the records asked about are solved, many at once.

    Parameters
    ----------
    gauss_newton : GaussNewton
    systems : Systems
    half : float or None
        How many times the damping counts in half of the data, next to all losses; None:
        confidence is not asked for.
    """

    def __init__(self, gauss_newton, systems, half):
        self._gauss_newton = gauss_newton
        self._systems = systems
        self._half = half

    def release(self):
        """Let go of what was kept of the training records."""
        self._gauss_newton.release()

    def answer(self, blocks, loss, logits, residuals, confidence):
        """Return the `Answers` for records, from their Jacobians."""
        J = rows(blocks)
        n, n_logits, size = J.shape
        basis = loss.basis(n_logits).to(logits)
        B = (basis.T @ J).reshape(-1, size).T
        solved = [self._systems.solve(B)]
        X = solved[0].X.T.reshape(n, -1, size)
        K = basis @ (basis.T @ J) @ X.mT @ basis.T
        shift = variance = None
        if self._half is not None:
            B = (J * confidence[:, :, None]).sum(dim=1).T
            solved.append(self._systems.solve(B, self._half))
            X = solved[1].X
            pulled = (J * residuals[:, :, None]).sum(dim=1)
            shift = (pulled * X.T).sum(dim=1)
            variance = self._gauss_newton.gradient_squares(X)

        def each(name, reduce):
            values = [getattr(s, name).cpu().reshape(n, -1) for s in solved]
            return reduce(torch.cat(values, dim=1), dim=1).numpy()

        return Answers(
            K,
            shift,
            variance,
            np.zeros(n, dtype=bool),
            each("residuals", torch.amax),
            each("n_iter", torch.amax),
            each("converged", torch.all),
            each("negative_curvature", torch.any),
        )


def _gram(P):
    """Return P Pᵀ of each record."""
    return P @ P.mT


def _between(a, P, b):
    """Return aᵀ P Pᵀ b of each record."""
    left, right = ((v[:, None] @ P)[:, 0] for v in (a, b))
    return (left * right).sum(dim=1)
