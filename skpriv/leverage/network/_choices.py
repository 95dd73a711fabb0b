"""The values that "auto" stands for: batch size, damping and solver."""

import numpy as np

from skpriv.leverage.network._memory import free_bytes, items_in_chunk

# Without a weight decay, damping is this multiple of the mean curvature.
_SHARE_OF_CURVATURE = 1e-3
# Number of iterations of conjugate gradients, for an estimate of their cost.
_TYPICAL_ITERATIONS = 50
# An exact solver is chosen although the sketch would cost less by this factor.
_WORTH_BEING_EXACT = 5


def choose_batch_size(options, jacobians, inputs, n_records):
    """Return the number of records per batch.

    Parameters
    ----------
    options : CurvatureOptions
    jacobians : Jacobians
    inputs : Tensor
        Of one record.
    n_records : int

    Returns
    -------
    batch_size : int
    """
    if options.batch_size != "auto":
        return options.batch_size
    _, blocks = jacobians.blocks(inputs)
    n_bytes = sum(block.nbytes for _, block in blocks)
    if options.solver == "direct" or _matrix_fits(jacobians.size, inputs.device):
        n_bytes += 8 * jacobians.n_logits * jacobians.size
    return min(n_records, items_in_chunk(4 * n_bytes, inputs.device))


def _matrix_fits(size, device):
    """Tell whether a few matrices over all parameters fit into memory."""
    return 64 * size**2 < free_bytes(device)


def choose_damping(damping, weight_decay, gauss_newton, total):
    """Return the penalty on each parameter, added to the mean loss.

    Parameters
    ----------
    damping : "auto" or float
    weight_decay : dict of str to float
        The penalty that the network was trained with, by the names of the parameters.
    gauss_newton : GaussNewton
    total : float
        The divisor of the sum of losses.

    Returns
    -------
    damping : dict of str to float
        By the names of the parameters.
    """
    if damping != "auto":
        return dict.fromkeys(weight_decay, float(damping))
    if any(weight_decay.values()):
        return weight_decay
    mean = gauss_newton.trace() / total / gauss_newton.jacobians.size
    return dict.fromkeys(weight_decay, _SHARE_OF_CURVATURE * mean)


def choose_solver(options, gauss_newton, damped):
    """Return the solver that takes the fewest operations, by a rough estimate.

    An exact one is preferred to the sketch unless it takes several times as many.

    Parameters
    ----------
    options : CurvatureOptions
    gauss_newton : GaussNewton
    damped : bool
        Whether any parameter has a penalty.

    Returns
    -------
    solver : {"direct", "cg", "sketch"}
    """
    if options.solver != "auto":
        return options.solver
    jacobians, n = gauss_newton.jacobians, gauss_newton.n_records
    logits, blocks = jacobians.blocks(gauss_newton.inputs(slice(1)))
    roots = gauss_newton.network.loss.hessian_root(logits)
    n_logits, n_rows = roots.shape[1:]
    own = [block.weigh(roots).cheapest() for _, block in blocks]
    per_product = 2 * n * sum(block.operations for block in own)
    per_system = _TYPICAL_ITERATIONS * per_product
    costs = {"cg": n * n_rows * per_system, "direct": np.inf, "sketch": np.inf}
    size = jacobians.size
    if _matrix_fits(size, logits.device):
        costs["direct"] = n * (n_rows + n_logits) * size**2 + size**3
    if options.curvature == "ggn" and damped:
        costs["sketch"] = options.n_sketches * per_system * _WORTH_BEING_EXACT
    return min(costs, key=costs.get)
