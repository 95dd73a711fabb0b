"""Sensitivities of a fitted network, assembled from its parts."""

import numpy as np
import torch
from sklearn.utils import gen_batches

from skpriv.leverage._inverse import NegativeCurvatureError
from skpriv.leverage._scores import RecordTerms, Sensitivities, Status
from skpriv.leverage.network._blocks import FactoredBlock
from skpriv.leverage.network._choices import (
    choose_batch_size,
    choose_damping,
    choose_solver,
)
from skpriv.leverage.network._curvature import (
    CodedRecords,
    GaussNewton,
    softmax_head_hessian,
)
from skpriv.leverage.network._hessian import Hessian
from skpriv.leverage.network._jacobians import Jacobians
from skpriv.leverage.network._layers import select_parameters
from skpriv.leverage.network._memory import items_in_chunk
from skpriv.leverage.network._solvers import (
    ConjugateGradientsSolver,
    DampedSystems,
    DirectSolver,
    RecordBatch,
    SketchSolver,
    least_damping,
    precondition,
)

# Conjugate gradients hold about as many blocks of the size of their right-hand sides.
_COPIES_IN_SOLVER = 8


class NetworkSensitivities(Sensitivities):
    """Sensitivities of a fitted network's predictions to labels.

    Parameters
    ----------
    network : Network
    targets : TargetColumns or OutputNumbers
        Converts labels to codes.
    X : {ndarray, sparse matrix} of shape (n_records, ...)
        The rows that the network was fitted on.
    y : ndarray of shape (n_records,) or (n_records, n_outputs)
    sample_weight : ndarray of shape (n_records,)
    options : CurvatureOptions
    random_state : numpy.random.RandomState
    attack_power : bool, default=False
        Whether terms include the shift and the variance of confidence.

    Attributes
    ----------
    damping : float or dict of str to float
        Penalty that is added to the mean loss, by the names of the parameters if it
        differs between them.
    solver : {"direct", "cg", "sketch"}

    Raises
    ------
    ValueError
        If an option does not apply to the network.
    """

    def __init__(
        self,
        network,
        targets,
        X,
        y,
        sample_weight,
        options,
        random_state,
        *,
        attack_power=False,
    ):
        self.network, self.targets = network, targets
        codes = self._codes(y)
        self.jacobians = self._differentiate(X, codes, options.layers)
        self.batch_size = choose_batch_size(
            options, self.jacobians, network.inputs(X[:1]), X.shape[0]
        )
        records = CodedRecords(X, codes, self._weights(codes, sample_weight))
        gauss_newton = GaussNewton(network, self.jacobians, records, self.batch_size)
        total = network.loss.total(codes, network.tensor(sample_weight))
        damping = total * self._choose_damping(options.damping, gauss_newton, total)
        rng = np.random.default_rng(random_state.randint(2**31))
        self.solver = choose_solver(options, gauss_newton, bool(damping.any()))
        preconditioner = _precondition(self.solver, options, gauss_newton, damping, rng)
        chosen = options.damping == "auto" and not any(network.weight_decay.values())
        if self.solver == "sketch" and chosen:
            # All records share the systems, and would have no score if one failed.
            least = least_damping(preconditioner) / total
            if least > self.damping:
                self.damping = least
                damping = torch.full_like(damping, total * least)
        half_sample_damping = None
        if attack_power:
            trained_with = options.damping == "auto"
            half_sample_damping = network.half_sample_damping if trained_with else 1.0
        try:
            self._solver = _make_solver(
                self.solver,
                options,
                gauss_newton,
                damping,
                half_sample_damping,
                preconditioner,
                rng,
            )
        except NegativeCurvatureError:
            self._solver = None

    def _codes(self, y):
        return self.network.tensor(self.targets.codes(y))

    def _weights(self, codes, sample_weight):
        return self.network.loss.weights(codes) * self.network.tensor(sample_weight)

    def _differentiate(self, X, codes, layers):
        """Check the network on a few records, and choose its parameters."""
        network, few = self.network, self.network.inputs(X[:3])
        network.check(few, codes)
        names = select_parameters(network.module, layers, network.trainable)
        return Jacobians(network.module, names, network.logits, few)

    def _choose_damping(self, damping, gauss_newton, total):
        """Set `damping`, and return it as a vector with a value per parameter."""
        network, jacobians = self.network, self.jacobians
        decay = {name: network.weight_decay[name] for name in jacobians.names}
        by_name = choose_damping(damping, decay, gauss_newton, total)
        values = set(by_name.values())
        self.damping = values.pop() if len(values) == 1 else by_name
        parameters = dict(network.module.named_parameters())
        return jacobians.flatten(
            {
                name: torch.full_like(parameters[name], value)
                for name, value in by_name.items()
            }
        )

    def terms(self, X, y, sample_weight):
        """Compute the terms of records, whether the network was fitted on them or not.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_records, ...)
        y : ndarray of shape (n_records,) or (n_records, n_outputs)
        sample_weight : ndarray of shape (n_records,)

        Returns
        -------
        terms : RecordTerms
        """
        n = X.shape[0]
        if self._solver is None:
            return RecordTerms.without_minimum(
                n, residuals=np.full(n, np.nan), n_iter=np.ones(n, dtype=int)
            )
        codes = self._codes(y)
        weights = self._weights(codes, sample_weight)
        parts = []
        for batch in gen_batches(n, self._records_per_evaluation()):
            logits, blocks = self.jacobians.blocks(self.network.inputs(X[batch]))
            parts.append(self._terms(logits, blocks, codes[batch], weights[batch]))
        self._solver.release()
        return RecordTerms.concatenate(parts)

    def _records_per_evaluation(self):
        if self.solver != "cg":
            return self.batch_size
        n_directions = self.network.loss.basis(self.jacobians.n_logits).shape[1]
        n_bytes = _COPIES_IN_SOLVER * 8 * n_directions * self.jacobians.size
        return min(self.batch_size, items_in_chunk(n_bytes, self.network.device))

    def _terms(self, logits, blocks, codes, weights):
        loss = self.network.loss
        residuals = loss.residuals(logits, codes)
        confidence = None
        if loss.has_confidence:
            confidence = loss.confidence_gradient(logits, codes)
        basis = loss.basis(logits.shape[1]).to(logits)
        found = self._solver.evaluate(RecordBatch(blocks, basis, residuals, confidence))
        on_prediction, on_logits = loss.traces(logits, found.K)
        influence = torch.einsum("nc,ncd,nd->n", residuals, found.K, residuals)
        per_label = (weights * loss.label_factor).cpu().numpy()
        weights = weights.cpu().numpy()
        shift = variance = None
        if found.shift is not None:
            shift = weights * found.shift.cpu().numpy()
            variance = found.variance.cpu().numpy()
        return RecordTerms(
            status=_status(found),
            leverage=per_label * on_prediction,
            logit_leverage=per_label * on_logits,
            self_influence=weights * influence.cpu().numpy(),
            confidence_shift=shift,
            confidence_variance=variance,
            n_iter=found.report.n_iter,
            residuals=found.report.residuals,
        )


def _status(found):
    reasons = {
        Status.NOT_SOLVED: ~found.report.converged,
        Status.NOT_A_MINIMUM: found.report.negative_curvature,
        Status.NOT_ESTIMABLE: found.not_estimable,
    }
    return sum(
        np.where(records, reason, Status.VALID) for reason, records in reasons.items()
    )


def _precondition(solver, options, gauss_newton, damping, rng):
    """Return a preconditioner for a solver; None if there is none."""
    if solver == "direct":
        return None
    if solver == "sketch":
        _check_sketch(options.curvature == "hessian", bool(damping.any()))
        n_systems = options.n_sketches
    else:
        loss = gauss_newton.network.loss
        n_directions = loss.basis(gauss_newton.jacobians.n_logits).shape[1]
        n_systems = gauss_newton.n_records * n_directions
    return precondition(gauss_newton, damping, n_systems, rng)


def _make_solver(
    solver,
    options,
    gauss_newton,
    damping,
    half_sample_damping,
    preconditioner,
    rng,
):
    """Set up a solver for the training records.

    Parameters
    ----------
    solver : {"direct", "cg", "sketch"}
    options : CurvatureOptions
    gauss_newton : GaussNewton
    damping : Tensor of shape (n_parameters,)
        Penalty that is added to the sum of losses.
    half_sample_damping : float or None
        See `DirectSolver`.
    preconditioner : NystromPreconditioner or None
    rng : numpy.random.Generator

    Returns
    -------
    solver : DirectSolver, ConjugateGradientsSolver or SketchSolver

    Raises
    ------
    NegativeCurvatureError
        If the solver is direct, and the curvature is not positive.
    """
    full = options.curvature == "hessian"
    curvature = Hessian(gauss_newton) if full else gauss_newton
    if solver == "direct":
        gradients = gauss_newton.gradients()
        return DirectSolver(_matrix(curvature), damping, half_sample_damping, gradients)
    systems = DampedSystems(
        curvature, damping, preconditioner, options.tol, options.max_iter
    )
    if solver == "cg":
        return ConjugateGradientsSolver(gauss_newton, systems, half_sample_damping)
    return SketchSolver(
        gauss_newton, systems, options.n_sketches, rng, half_sample_damping
    )


def _check_sketch(full, damped):
    if full:
        raise ValueError(
            "solver='sketch' needs curvature='ggn', which is a sum of squares; for "
            "curvature='hessian', solver must be 'direct' or 'cg'."
        )
    if not damped:
        raise ValueError(
            "solver='sketch' needs damping: without it, records that depend on "
            "directions of no training record cannot be found; for damping=0, solver "
            "must be 'direct' or 'cg'."
        )


def _matrix(curvature):
    """Return a curvature as a matrix, in closed form for a linear softmax head."""
    if isinstance(curvature, Hessian) or not _has_softmax_head(curvature):
        return curvature.dense().cpu().numpy()
    proba, head = [], []
    for batch, logits, ((_, block),) in curvature.raw_chunks():
        proba.append(logits.softmax(dim=1).cpu().numpy())
        head.append((batch, block))
    weights = curvature.records.weights.cpu().numpy()
    return softmax_head_hessian(head, np.concatenate(proba), weights)


def _has_softmax_head(gauss_newton):
    """Tell whether the parameters are those of a linear layer that gives the logits."""
    if not gauss_newton.network.loss.is_softmax:
        return False
    logits, blocks = gauss_newton.jacobians.blocks(gauss_newton.inputs(slice(1)))
    (_, block), *others = blocks
    if others or not isinstance(block, FactoredBlock) or block.shape.numel() == 0:
        return False
    eye = torch.eye(logits.shape[1], dtype=logits.dtype, device=logits.device)
    return torch.equal(block.outputs[0].flatten(1), eye)
