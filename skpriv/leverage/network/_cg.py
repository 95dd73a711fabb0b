"""Conjugate gradients for many systems at once, and a Nyström preconditioner."""

from dataclasses import dataclass, fields

import torch


@dataclass
class Solution:
    """The solutions of conjugate gradients, column by column.

    Attributes
    ----------
    X : Tensor of shape (size, n_columns)
        The solutions; NaN in columns that have not converged.
    residuals : Tensor of shape (n_columns,)
        ‖b − H x‖ / ‖b‖ for the last x, computed from scratch and not by recurrence;
        NaN if a value was not finite.
    n_iter : Tensor of shape (n_columns,), dtype int64
        Number of steps.
    converged : Tensor of shape (n_columns,), dtype bool
        Whether the residual is at most `tol`, and no negative curvature was found.
    negative_curvature : Tensor of shape (n_columns,), dtype bool
        Whether a direction d with dᵀH d < 0 was found, so that H is indefinite.
    """

    X: torch.Tensor
    residuals: torch.Tensor
    n_iter: torch.Tensor
    converged: torch.Tensor
    negative_curvature: torch.Tensor


@dataclass
class _Columns:
    """The columns that are not solved yet; they are the last axis of each tensor."""

    index: torch.Tensor
    B: torch.Tensor
    X: torch.Tensor
    R: torch.Tensor  # the residuals, by recurrence
    P: torch.Tensor  # the directions
    energy: torch.Tensor  # rᵀ P⁻¹ r of the residual that gave the direction
    verified: torch.Tensor  # norm of the residual last computed from scratch
    due: torch.Tensor  # whether the next product computes it from scratch
    n_iter: torch.Tensor
    negative: torch.Tensor

    def keep(self, mask):
        return _Columns(*(getattr(self, f.name)[..., mask] for f in fields(self)))


def conjugate_gradients(product, B, *, precondition=None, tol=1e-6, max_iter=1000):
    """Solve H X = B for all columns of B at once.

    Each column has its own step sizes, residual and end. Finished columns leave the
    block, so that products shrink. A column converges only by a residual that was
    computed from scratch: if the recurrence has drifted away from it, the column
    restarts from its current solution, until a restart no longer helps.

    Parameters
    ----------
    product : callable
        ``product(V)`` returns H V for a block V of shape (size, n), H symmetric.
    B : Tensor of shape (size, n_columns)
        Right-hand sides, of any floating type, on any device.
    precondition : callable, default=None
        ``precondition(V)`` returns P⁻¹ V, P symmetric and positive definite.
    tol : float, default=1e-6
        Relative residual ‖b − H x‖ / ‖b‖ to reach.
    max_iter : int, default=1000
        Largest number of steps per column.

    Returns
    -------
    solution : Solution

    Notes
    -----
    H may be singular if B lies in its range; without `precondition` X does so too.

    An indefinite H is detected whenever it matters: as long as all directions have
    positive curvature, the components of the residual along eigenvectors with negative
    eigenvalues grow with every step, so that a column in which they are larger than
    `tol` does not converge before they are detected.
    """
    precondition = precondition or (lambda R: R)
    units, scale = _unit_columns(B)
    solution = Solution(
        X=torch.zeros_like(B),
        residuals=torch.where(scale.isfinite(), 0.0, torch.nan).to(B.dtype),
        n_iter=torch.zeros(B.shape[1], dtype=torch.int64, device=B.device),
        converged=scale.isfinite(),
        negative_curvature=torch.zeros_like(scale, dtype=torch.bool),
    )
    columns = _start(units, (scale > 0) & scale.isfinite(), precondition)
    norm = _norm_estimate(product, B) if columns.index.numel() else None
    while columns.index.numel():
        due = columns.due
        V = torch.where(due, columns.X, columns.P) if due.any() else columns.P
        norm = _step(columns, product(V), norm)
        residuals = torch.linalg.vector_norm(columns.R, dim=0)
        # A restart must halve the residual: below some size it is only rounding.
        improves = (residuals < columns.verified / 2) & (columns.n_iter < max_iter)
        ends = due & ((residuals <= tol) | columns.negative | ~improves)
        columns.verified = torch.where(due, residuals, columns.verified)
        if ends.any():
            _finish(solution, columns.keep(ends), tol)
            columns, residuals = columns.keep(~ends), residuals[~ends]
        _update_directions(columns, precondition)
        columns.due |= ~(residuals > tol) | (columns.n_iter >= max_iter)
    solution.X *= scale
    solution.converged &= solution.X.isfinite().all(dim=0)
    solution.X[:, ~solution.converged] = torch.nan
    return solution


def _unit_columns(B):
    """Scale columns of any length to unit length; return their lengths too."""
    largest = B.abs().amax(dim=0)
    units = B / torch.where(largest > 0, largest, 1)
    lengths = torch.linalg.vector_norm(units, dim=0)
    return units / torch.where(lengths > 0, lengths, 1), largest * lengths


def _start(units, unsolved, precondition):
    index = unsolved.nonzero().ravel()
    B = units[:, index]
    P = precondition(B)
    return _Columns(
        index=index,
        B=B,
        X=torch.zeros_like(B),
        R=B,
        P=P,
        energy=(B * P).sum(dim=0),
        verified=B.new_ones(index.numel()),
        due=torch.zeros_like(index, dtype=torch.bool),
        n_iter=torch.zeros_like(index),
        negative=torch.zeros_like(index, dtype=torch.bool),
    )


def _norm_estimate(product, like):
    """Return a lower bound of ‖H‖, which is rarely smaller by more than √size."""
    generator = torch.Generator().manual_seed(0)
    signs = 2 * torch.randint(2, (len(like), 1), generator=generator) - 1
    length = _unit_columns(product(signs.to(like)))[1][0]
    return (length / len(like) ** 0.5).nan_to_num(0, 0)


def _step(columns, HV, norm):
    """Step along the directions P, and recompute the residuals of columns that are due.

    Parameters
    ----------
    columns : _Columns
        Changed in place. Columns become due if no step along P is possible.
    HV : Tensor
        H X for columns that are due, H P for the others.
    norm : Tensor of shape ()
        Largest curvature found so far.

    Returns
    -------
    norm : Tensor of shape ()
    """
    moves = ~columns.due
    curvature = (columns.P * HV).sum(dim=0)
    quotient = torch.where(moves, curvature / columns.P.square().sum(dim=0), 0)
    norm = torch.maximum(norm, quotient.abs().nan_to_num(0, 0).amax())
    # A quotient is known up to the rounding of the product and of the sum. If H is
    # singular, directions drift into its kernel, in which no step is possible. A
    # quotient there may be negative by rounding, although H is not indefinite.
    rounding = torch.finfo(HV.dtype).eps * norm
    step = torch.where(moves & (quotient > rounding), columns.energy / curvature, 0)
    below = quotient < -10 * len(HV) ** 0.5 * rounding
    columns.negative |= below & quotient.isfinite()
    columns.X += step * columns.P
    columns.R = torch.where(moves, columns.R - step * HV, columns.B - HV)
    columns.n_iter += moves
    # After a restart the next direction is that of the residual.
    columns.energy = torch.where(moves, columns.energy, torch.inf)
    columns.due = moves & ~(step > 0)
    return norm


def _update_directions(columns, precondition):
    """Choose the next directions, conjugate to all previous ones."""
    Z = precondition(columns.R)
    energy = (columns.R * Z).sum(dim=0)
    columns.P = Z + energy / columns.energy * columns.P
    columns.energy = energy


def _finish(solution, columns, tol):
    solution.X[:, columns.index] = columns.X
    solution.residuals[columns.index] = columns.verified
    solution.n_iter[columns.index] = columns.n_iter
    solution.converged[columns.index] = (columns.verified <= tol) & ~columns.negative
    solution.negative_curvature[columns.index] = columns.negative


@dataclass(frozen=True)
class NystromPreconditioner:
    """The largest eigenvalues of a positive semi-definite operator, to solve with it.

    Attributes
    ----------
    U : Tensor of shape (size, rank)
        Orthonormal: approximate eigenvectors.
    eigenvalues : Tensor of shape (rank,)
        Their eigenvalues, positive and descending.
    """

    U: torch.Tensor
    eigenvalues: torch.Tensor

    def solve(self, V, damping=0.0):
        """Apply the inverse of a preconditioner of the operator plus `damping` I.

        The preconditioner has the operator's eigenvalues along U, and the smallest of
        these in all other directions. Up to a factor its inverse is
        U diag((λᵣ + δ) / (λ + δ)) Uᵀ + (I − U Uᵀ).

        Parameters
        ----------
        V : Tensor of shape (size, n_columns)
        damping : float, default=0.0
            δ ≥ 0.

        Returns
        -------
        solution : Tensor of shape (size, n_columns)
        """
        shrinkage = (self.eigenvalues[-1:] + damping) / (self.eigenvalues + damping)
        return V + self.U @ ((shrinkage - 1)[:, None] * (self.U.T @ V))


def nystrom(product, size, rank, generator, *, dtype=torch.float64, device="cpu"):
    """Approximate the largest eigenvalues of an operator with one block product.

    Parameters
    ----------
    product : callable
        ``product(V)`` returns H V for a block V of shape (size, n), H symmetric and
        positive semi-definite. If it is indefinite, its positive part is approximated.
    size : int
        Number of rows of H.
    rank : int
        Number of random vectors, and the largest rank of the result.
    generator : torch.Generator
        Draws the vectors, on the device of the generator.
    dtype, device : default=torch.float64, "cpu"
        Dtype and device of the blocks.

    Returns
    -------
    preconditioner : NystromPreconditioner
        Of a lower rank if H has a lower rank, up to rounding. Of rank 0, which changes
        nothing, if a product was not finite.

    References
    ----------
    Z. Frangella, J. A. Tropp and M. Udell, "Randomized Nyström preconditioning", SIAM
    Journal on Matrix Analysis and Applications 44 (2023).
    """
    shape = (size, min(rank, size))
    V = torch.randn(shape, dtype=dtype, generator=generator, device=generator.device)
    V = torch.linalg.qr(V.to(device))[0]
    Y = product(V)
    core = (V.T @ Y + Y.T @ V) / 2
    if not core.isfinite().all():
        return NystromPreconditioner(V[:, :0], core[0, :0])
    values, vectors = torch.linalg.eigh(core)
    # H ≈ Y core⁺ Yᵀ = F Fᵀ. Smaller eigenvalues are rounding, amplified by core⁺.
    keep = values > len(values) * torch.finfo(dtype).eps * values[-1].clamp(min=0)
    F = Y @ (vectors[:, keep] / values[keep].sqrt())
    Q, R = torch.linalg.qr(F)
    rotation, singular, _ = torch.linalg.svd(R)
    return NystromPreconditioner(Q @ rotation, singular.square())
