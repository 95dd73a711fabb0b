"""What a fitted network says of each record: the place where its parts meet."""

import numpy as np
import torch
from sklearn.utils import gen_batches

from skpriv.leverage._inverse import NegativeCurvatureError
from skpriv.leverage._terms import RecordTerms, SolverReport
from skpriv.leverage.network._blocks import FactoredBlock
from skpriv.leverage.network._curvature import (
    GaussNewton,
    Hessian,
    softmax_head_hessian,
)
from skpriv.leverage.network._jacobians import Jacobians
from skpriv.leverage.network._layers import select_parameters
from skpriv.leverage.network._losses import SoftmaxLoss
from skpriv.leverage.network._memory import free_bytes, items_in_chunk
from skpriv.leverage.network._read import (
    is_perceptron,
    read_network,
)
from skpriv.leverage.network._solvers import (
    COPIES_IN_SOLVER,
    ConjugateGradientsRoute,
    DirectRoute,
    SketchRoute,
    Systems,
    precondition,
)
from skpriv.leverage.network._targets import read_targets

# Without a weight decay, damping is this multiple of the mean curvature.
_SMALL = 1e-3
# Of conjugate gradients, for an estimate of their cost.
_USUAL_ITERATIONS = 50
# An exact route is taken although the sketch would cost so many times less.
_WORTH_BEING_EXACT = 5


class NetworkModel:
    """A fitted network.

    Parameters
    ----------
    model : skorch.NeuralNet, MLPClassifier or MLPRegressor
    targets : NumericTargets or ClassTargets
        How it is told labels.
    X : ndarray of shape (n_records, ...)
        The rows that it was fitted on.
    y : ndarray of shape (n_records,) or (n_records, n_outputs)
    sample_weight : ndarray of shape (n_records,)
    options : NetworkOptions
    random_state : numpy.random.RandomState
    variance : bool, default=False
        Whether the terms of records are to include the variance of confidence.

    Attributes
    ----------
    damping : float or dict of str to float
        Penalty next to the mean loss; by parameter if it differs between them.
    solver : {"direct", "cg", "sketch"}

    Raises
    ------
    ValueError
        If an option does not apply to the network.
    """

    quadratic = False

    def __init__(
        self,
        model,
        targets,
        X,
        y,
        sample_weight,
        options,
        random_state,
        *,
        variance=False,
    ):
        self.network = read_network(
            model, X.shape[0], options.device, sample_weight=sample_weight
        )
        # A perceptron numbers the labels it was fitted on by itself.
        perceptron = is_perceptron(model)
        self.targets = read_targets(model, y, frozen=True) if perceptron else targets
        loss = self.network.loss
        if variance and not loss.has_confidence:
            raise ValueError(
                "score='attack_power' needs a classifier, but estimator ends in "
                f"{model!r}."
            )
        codes = self._codes(y)
        self.network.check(self.network.inputs(X[:3]), codes)
        names = select_parameters(
            self.network.module, options.layers, self.network.trainable
        )
        few = self.network.inputs(X[:3])
        self.jacobians = Jacobians(self.network.module, names, loss.logits, few)
        self._n_directions = loss.basis(self.jacobians.n_logits).shape[1]
        self.batch_size = self._records_at_once(X, options)
        weights = self._weigh(codes, sample_weight)
        gauss_newton = GaussNewton(
            self.network, self.jacobians, X, codes, weights, self.batch_size
        )
        total = loss.total(codes, self._tensor(sample_weight))
        by_name = self._damping(names, options.damping, gauss_newton, total)
        values = set(by_name.values())
        self.damping = values.pop() if len(values) == 1 else by_name
        damping = total * self._by_parameter(by_name)
        rng = np.random.default_rng(random_state.randint(2**31))
        self.solver = options.solver
        if self.solver == "auto":
            self.solver = self._cheapest(gauss_newton, options, bool(damping.any()))
        try:
            self._route = self._make_route(
                gauss_newton, damping, options, rng, variance
            )
        except NegativeCurvatureError:
            self._route = None

    def _codes(self, y):
        return self.network.codes(self.targets.codes(y))

    def _weigh(self, codes, sample_weight):
        return self.network.loss.weights(codes) * self._tensor(sample_weight)

    def _tensor(self, values):
        return torch.as_tensor(values, device=self.network.device)

    def _records_at_once(self, X, options):
        if options.batch_size != "auto":
            return options.batch_size
        _, blocks = self.jacobians.blocks(self.network.inputs(X[:1]))
        n_bytes = sum(block.nbytes for _, block in blocks)
        if options.solver == "direct" or self._is_small():
            n_bytes += 8 * self.jacobians.n_logits * self.jacobians.size
        return min(X.shape[0], items_in_chunk(4 * n_bytes, self.network.device))

    def _is_small(self):
        """Whether matrices of all parameters fit into memory."""
        n_bytes = 8 * self.jacobians.size**2
        return 8 * n_bytes < free_bytes(self.network.device)

    def _damping(self, names, damping, gauss_newton, total):
        """Return the penalty next to the mean loss by parameter."""
        if damping != "auto":
            return dict.fromkeys(names, float(damping))
        decay = {name: self.network.weight_decay.get(name, 0.0) for name in names}
        if any(decay.values()):
            return decay
        mean = gauss_newton.trace() / total / self.jacobians.size
        return dict.fromkeys(names, _SMALL * mean)

    def _by_parameter(self, by_name):
        """Return the vector of all parameters with a value for each name."""
        parameters = dict(self.network.module.named_parameters())
        tensors = {
            name: torch.full_like(parameters[name], value)
            for name, value in by_name.items()
        }
        return self.jacobians.flatten(tensors)

    def _make_route(self, gauss_newton, damping, options, rng, variance):
        full = options.curvature == "hessian"
        half = self._half(options) if variance else None
        if self.solver == "sketch":
            _check_sketch(full, bool(damping.any()))
        curvature = Hessian(gauss_newton) if full else gauss_newton
        if self.solver == "direct":
            matrix = self._matrix(curvature)
            return DirectRoute(matrix, damping, half, gauss_newton.gradients)
        n_columns = options.n_sketches
        if self.solver == "cg":
            n_columns = gauss_newton.X.shape[0] * self._n_directions
        preconditioner = precondition(gauss_newton, damping, n_columns, rng)
        systems = Systems(
            curvature, damping, preconditioner, options.tol, options.max_iter
        )
        if self.solver == "sketch":
            return SketchRoute(gauss_newton, systems, options.n_sketches, rng, half)
        return ConjugateGradientsRoute(gauss_newton, systems, half)

    def _half(self, options):
        """How many times the damping counts in half of the data, next to all losses."""
        return self.network.decay_of_half if options.damping == "auto" else 1.0

    def _matrix(self, curvature):
        """Return the curvature as a matrix, in closed form for a linear head."""
        if isinstance(curvature, Hessian) or not self._has_softmax_head(curvature):
            return curvature.dense().cpu().numpy()
        proba, head = [], []
        for batch, logits, ((_, block),) in curvature.raw_chunks():
            proba.append(logits.softmax(dim=1).cpu().numpy())
            head.append((batch, block))
        weights = curvature.weights.cpu().numpy()
        return softmax_head_hessian(head, np.concatenate(proba), weights)

    def _has_softmax_head(self, gauss_newton):
        """Whether the chosen parameters are a linear layer whose outputs are logits."""
        if not isinstance(self.network.loss, SoftmaxLoss):
            return False
        inputs = self.network.inputs(gauss_newton.X[:1])
        logits, ((_, block), *others) = self.jacobians.blocks(inputs)
        if others or not isinstance(block, FactoredBlock) or block.shape.numel() == 0:
            return False
        eye = torch.eye(logits.shape[1], dtype=logits.dtype, device=logits.device)
        return torch.equal(block.outputs[0].flatten(1), eye)

    def _cheapest(self, gauss_newton, options, damped):
        """Return the solver that takes the fewest operations, by a rough estimate.

        An exact one is preferred to the sketch unless it takes several times as many.
        """
        n, size = gauss_newton.X.shape[0], self.jacobians.size
        inputs = self.network.inputs(gauss_newton.X[:1])
        logits, blocks = self.jacobians.blocks(inputs)
        roots = self.network.loss.hessian_root(logits)
        n_logits, n_rows = roots.shape[1:]
        own = [block.weigh(roots).cheapest() for _, block in blocks]
        product = 2 * n * sum(block.operations for block in own)
        passes = _USUAL_ITERATIONS * product
        costs = {"cg": n * n_rows * passes, "direct": np.inf, "sketch": np.inf}
        if self._is_small():
            costs["direct"] = n * (n_rows + n_logits) * size**2 + size**3
        if options.curvature == "ggn" and damped:
            costs["sketch"] = options.n_sketches * passes * _WORTH_BEING_EXACT
        return min(costs, key=costs.get)

    def terms(self, X, y, sample_weight):
        """Return the `RecordTerms` of rows."""
        if self._route is None:
            return _terms_of_negative_curvature(X.shape[0])
        codes = self._codes(y)
        weights = self._weigh(codes, sample_weight)
        parts = []
        for batch in gen_batches(X.shape[0], self._records_in_answer()):
            logits, blocks = self.jacobians.blocks(self.network.inputs(X[batch]))
            parts.append(self._terms(logits, blocks, codes[batch], weights[batch]))
        self._route.release()
        return RecordTerms.concatenate(parts)

    def _records_in_answer(self):
        if self.solver != "cg":
            return self.batch_size
        n_bytes = 8 * self._n_directions * self.jacobians.size
        at_once = items_in_chunk(COPIES_IN_SOLVER * n_bytes, self.network.device)
        return min(self.batch_size, at_once)

    def _terms(self, logits, blocks, codes, weights):
        loss = self.network.loss
        residuals = loss.residuals(logits, codes)
        confidence = None
        if loss.has_confidence:
            confidence = loss.confidence_gradient(logits, codes)
        answers = self._route.answer(blocks, loss, logits, residuals, confidence)
        pull = (weights * loss.label_factor).cpu().numpy()
        weights = weights.cpu().numpy()
        K = answers.K
        on_prediction, on_logits = loss.traces(logits, K)
        own = torch.einsum("nc,ncd,nd->n", residuals, K, residuals)
        terms = RecordTerms(
            leverage=pull * on_prediction,
            logit_leverage=pull * on_logits,
            hat=None,
            self_influence=weights * own.cpu().numpy(),
            shift=None,
            variance=None,
            step=np.where(answers.negative, np.nan, 0.0),
            undetermined=answers.outside,
            solution=SolverReport(answers.residuals, answers.n_iter, answers.converged),
        )
        if answers.shift is not None:
            terms.shift = weights * answers.shift.cpu().numpy()
            terms.variance = answers.variance.cpu().numpy()
        return terms


def _terms_of_negative_curvature(n_records):
    terms = RecordTerms.unknown(n_records)
    terms.solution = SolverReport(
        residuals=np.full(n_records, np.nan),
        n_iter=np.ones(n_records, dtype=int),
        converged=np.zeros(n_records, dtype=bool),
    )
    return terms


def _check_sketch(full, damped):
    if full:
        raise ValueError(
            "solver='sketch' needs curvature='ggn', which is a sum of squares; "
            "curvature='hessian' wants solver='direct' or 'cg'."
        )
    if not damped:
        raise ValueError(
            "solver='sketch' needs damping: without, it cannot tell which records "
            "have directions that no training record has; damping=0 wants "
            "solver='direct' or 'cg'."
        )
