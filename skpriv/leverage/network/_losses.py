"""Losses as functions of network outputs.

Each class is the loss of one record. A network minimises the sum of the losses,
weighted by `weights` and divided by `total`. The penalty λ ‖θ‖²/2 on this mean is one
of `total` times λ ‖θ‖²/2 on the sum.
"""

from dataclasses import dataclass

import torch
from scipy.linalg import helmert
from torch.nn import functional

from skpriv.leverage._softmax import centred_trace, curvature_trace


class _Loss:
    """The interface of all losses.

    With n records and m logits, outputs are what the module returns, of shape (n, m),
    or (n,) if there is one logit; logits have shape (n, m); codes are the numbers of
    labels, of shape (n,) and dtype int64, or targets, of shape (n, m). Floating tensors
    are float64. Each loss has the methods

    - ``check(outputs, codes)``: raise a ValueError unless they match;
    - ``logits(outputs)``;
    - ``weights(codes)``: (n,), the weight of each record in the sum of losses;
    - ``loss(logits, codes)``: (n,), without weights, differentiable in the logits;
    - ``residuals(logits, codes)``: (n, m), minus its gradient in the logits;
    - ``hessian(logits)``: (n, m, m), its Hessian Λ in the logits;
    - ``hessian_root(logits)``: (n, m, r), a matrix L with L Lᵀ = Λ;
    - ``traces(logits, K)``: two arrays of shape (n,), the sensitivities of a record's
      prediction and of its logits to its own label, given K = J H⁻¹ Jᵀ, (n, m, m);
    - ``confidence_gradient(logits, codes)``: (n, m), 1 - p_y times the gradient of
      log p_y - log(1 - p_y), if `has_confidence`.

    Attributes
    ----------
    has_confidence : bool
        Whether the loss assigns a probability p_y to a label.
    is_softmax : bool
        Whether the Hessian is that of a softmax, diag(p) - p pᵀ.
    label_factor : float
        Factor on the derivative of the gradient in the label: less than 1 if labels
        are smoothed.
    """

    has_confidence = False
    is_softmax = False
    label_factor = 1.0

    def total(self, codes, sample_weight):
        """Return the divisor of the sum of losses.

        Parameters
        ----------
        codes : tensor of shape (n,) or (n, m)
        sample_weight : tensor of shape (n,)

        Returns
        -------
        total : float
        """
        if self.weighted_mean:
            sample_weight = sample_weight * self.weights(codes)
        return float(sample_weight.sum())

    def basis(self, n_logits):
        """Return an orthonormal basis of the logits that change predictions.

        Parameters
        ----------
        n_logits : int

        Returns
        -------
        basis : tensor of shape (n_logits, n_directions), dtype float64
        """
        return torch.eye(n_logits, dtype=torch.float64)


@dataclass(frozen=True, eq=False)
class SoftmaxLoss(_Loss):
    """Cross-entropy of the softmax of all logits.

    Attributes
    ----------
    class_weight : tensor of shape (n_classes,) or None, default=None
    label_smoothing : float, default=0
        Part of a label that is distributed evenly over all classes.
    log_eps : float or None, default=None
        If not None, the outputs are probabilities, and the logits are the logarithms
        of these after adding `log_eps`.
    weighted_mean : bool, default=True
        Whether the mean divides by the sum of the weights instead of the number of
        records.
    """

    class_weight: torch.Tensor | None = None
    label_smoothing: float = 0.0
    log_eps: float | None = None
    weighted_mean: bool = True

    has_confidence = True
    is_softmax = True

    @property
    def label_factor(self):
        """One minus the label smoothing."""
        return 1 - self.label_smoothing

    def basis(self, n_logits):
        """Return a basis of the logits with sum 0, (n_logits, n_logits - 1)."""
        return torch.from_numpy(helmert(n_logits).T.copy())

    def traces(self, logits, K):
        """Return the sensitivities of prediction and logits to the own label."""
        proba, K = logits.softmax(dim=1).cpu().numpy(), K.cpu().numpy()
        return curvature_trace(proba, K), centred_trace(K)

    def logits(self, outputs):
        """Convert the outputs of the module to logits."""
        if self.log_eps is None:
            return outputs
        return torch.log(outputs + self.log_eps)

    def check(self, outputs, codes):
        """Raise a ValueError unless outputs and labels match."""
        if outputs.ndim != 2 or outputs.shape[1] < 2:
            raise ValueError(
                "the outputs of the network have shape "
                f"{tuple(outputs.shape)}, but for a cross-entropy they must have one "
                "column for each of two or more classes."
            )
        highest = int(codes.max())
        if highest >= outputs.shape[1]:
            raise ValueError(
                f"y has a label with the number {highest}, but the network has only "
                f"{outputs.shape[1]} outputs, numbered from 0."
            )
        if self.log_eps is None:
            return
        sums = outputs.sum(dim=1)
        if not ((outputs >= 0).all() and ((sums - 1).abs() < 1e-3).all()):
            raise ValueError(
                "the outputs of a NeuralNetClassifier with NLLLoss must be "
                "probabilities: the module must end in a softmax, or the criterion "
                "be CrossEntropyLoss."
            )

    def weights(self, codes):
        """Return the weight of each record in the sum of losses."""
        if self.class_weight is None:
            return torch.ones(len(codes), dtype=torch.float64, device=codes.device)
        return self.class_weight[codes]

    def loss(self, logits, codes):
        """Return the unweighted loss of each record, differentiable in the logits."""
        return functional.cross_entropy(
            logits, codes, reduction="none", label_smoothing=self.label_smoothing
        )

    def hessian(self, logits):
        """Return Λ = diag(p) - p pᵀ, the unweighted loss's Hessian in the logits."""
        p = logits.softmax(dim=1)
        hessian = -p[:, :, None] * p[:, None, :]
        hessian.diagonal(dim1=1, dim2=2).copy_(p * others(p))
        return hessian

    def hessian_root(self, logits):
        """Return L with L Lᵀ = Λ, lower triangular and without the last column.

        Parameters
        ----------
        logits : tensor of shape (n, m)

        Returns
        -------
        root : tensor of shape (n, m, m - 1)

        References
        ----------
        Tanabe and Sagae, "An Exact Cholesky Decomposition and the Generalized Inverse
        of the Variance-Covariance Matrix of the Multinomial Distribution" (1992).
        """
        p = logits.softmax(dim=1)
        # Probability of each class and all later ones. Summed from the end it loses no
        # digits, unlike one minus the probability of the earlier ones.
        mass = p.flip(1).cumsum(1).flip(1)
        here, after = mass[:, :-1], mass[:, 1:]
        column = (p[:, :-1] * _ratio(after, here)).sqrt()
        ratios = _ratio(p[:, :, None], after[:, None, :])
        diagonal = torch.eye(*ratios.shape[1:], dtype=p.dtype, device=p.device)
        return (diagonal - ratios.tril(-1)) * column[:, None, :]

    def residuals(self, logits, codes):
        """Return minus the gradient of the unweighted loss in the logits."""
        n_classes = logits.shape[1]
        # Label smoothing adds this to the residual e_y - p.
        spread = functional.one_hot(codes, n_classes).to(logits.dtype)
        spread = self.label_smoothing * (1 / n_classes - spread)
        return self.confidence_gradient(logits, codes) + spread

    def confidence_gradient(self, logits, codes):
        """Return (1 - p_y) times the gradient of log p_y - log(1 - p_y)."""
        p = logits.softmax(dim=1)
        own = functional.one_hot(codes, logits.shape[1]).bool()
        return torch.where(own, others(p), -p)


@dataclass(frozen=True, eq=False)
class LogisticLoss(_Loss):
    """Binary cross-entropy of one logit, that of label 1.

    Attributes
    ----------
    pos_weight : float, default=1
        Weight of records with label 1.
    weighted_mean : bool, default=False
        Whether the mean divides by the sum of the weights instead of the number of
        records.
    """

    pos_weight: float = 1.0
    weighted_mean: bool = False

    has_confidence = True

    def logits(self, outputs):
        """Return outputs of shape (n,) or (n, 1) as logits of shape (n, 1)."""
        return _as_columns(outputs)

    def check(self, outputs, codes):
        """Raise a ValueError unless there is one output."""
        if outputs.ndim > 2 or outputs[0].numel() != 1:
            raise ValueError(
                f"the outputs of the network have shape {tuple(outputs.shape)}, but "
                "for a binary cross-entropy there must be one output per record; "
                "several labels per record are not supported."
            )

    def weights(self, codes):
        """Return the weight of each record in the sum of losses."""
        return 1 + (self.pos_weight - 1) * codes.to(torch.float64)

    def loss(self, logits, codes):
        """Return the unweighted loss of each record, differentiable in the logits."""
        return functional.binary_cross_entropy_with_logits(
            logits[:, 0], codes.to(logits.dtype), reduction="none"
        )

    def traces(self, logits, K):
        """Return the sensitivities of probability and logit to the own label."""
        on_logits = K[:, 0, 0]
        on_prediction = self.hessian(logits)[:, 0, 0] * on_logits
        return on_prediction.cpu().numpy(), on_logits.cpu().numpy()

    def hessian(self, logits):
        """Return p (1 - p), of shape (n, 1, 1), for logits of shape (n, 1)."""
        return (logits.sigmoid() * (-logits).sigmoid())[:, :, None]

    def hessian_root(self, logits):
        """Return the root of `hessian`, of shape (n, 1, 1)."""
        return self.hessian(logits).sqrt()

    def residuals(self, logits, codes):
        """Return minus the gradient of the unweighted loss: label minus probability."""
        positive = codes[:, None] > 0
        return torch.where(positive, (-logits).sigmoid(), -logits.sigmoid())

    def confidence_gradient(self, logits, codes):
        """Return (1 - p_y) times the gradient of log p_y - log(1 - p_y)."""
        return self.residuals(logits, codes)


@dataclass(frozen=True, eq=False)
class SquaredLoss(_Loss):
    """A multiple of the squared error, averaged or summed over the outputs.

    Attributes
    ----------
    factor : float, default=1
    over_outputs : {"mean", "sum"}, default="mean"
    weighted_mean : bool, default=False
        Whether the mean divides by the sum of the weights instead of the number of
        records.
    """

    factor: float = 1.0
    over_outputs: str = "mean"
    weighted_mean: bool = False

    def logits(self, outputs):
        """Return outputs of shape (n,) or (n, m) as logits of shape (n, m)."""
        return _as_columns(outputs)

    def check(self, outputs, codes):
        """Raise a ValueError unless outputs and targets have the same shape."""
        if _as_columns(outputs).shape[1:] != codes.shape[1:]:
            raise ValueError(
                f"the outputs of the network have shape {tuple(outputs.shape)}, but y "
                f"has targets of shape {tuple(codes.shape)}; they must be the same."
            )

    def weights(self, codes):
        """Return ones, of shape (n,)."""
        return torch.ones(len(codes), dtype=torch.float64, device=codes.device)

    def loss(self, logits, codes):
        """Return the unweighted loss of each record, differentiable in the outputs."""
        return self._scale(logits) * ((logits - codes) ** 2).sum(dim=1)

    def traces(self, logits, K):
        """Return the mean sensitivity of outputs to their own targets, twice."""
        trace = 2 * self._scale(logits) * K.diagonal(dim1=1, dim2=2).mean(dim=1)
        return trace.cpu().numpy(), trace.cpu().numpy()

    def hessian(self, logits):
        """Return a multiple of the identity, of shape (n, m, m), for (n, m)."""
        n, m = logits.shape
        eye = torch.eye(m, dtype=logits.dtype, device=logits.device)
        return (2 * self._scale(logits) * eye).expand(n, m, m)

    def hessian_root(self, logits):
        """Return the root of `hessian`, of the same shape."""
        n, m = logits.shape
        eye = torch.eye(m, dtype=logits.dtype, device=logits.device)
        return ((2 * self._scale(logits)) ** 0.5 * eye).expand(n, m, m)

    def residuals(self, logits, codes):
        """Return minus the gradient of the unweighted loss in the outputs."""
        return 2 * self._scale(logits) * (codes - logits)

    def _scale(self, logits):
        n_terms = logits.shape[1] if self.over_outputs == "mean" else 1
        return self.factor / n_terms


def others(p):
    """Return 1 - p without loss of digits where p is close to 1.

    Parameters
    ----------
    p : tensor of shape (n, m)
        Probabilities that sum to 1.

    Returns
    -------
    rest : tensor of shape (n, m)
    """
    top = p.argmax(dim=1, keepdim=True)
    of_top = p.scatter(1, top, 0.0).sum(dim=1, keepdim=True)
    return (1 - p).scatter(1, top, of_top)


def _as_columns(outputs):
    return outputs[:, None] if outputs.ndim == 1 else outputs


def _ratio(part, whole):
    """Return part / whole, and 0 where both are 0."""
    return torch.where(whole > 0, part / torch.where(whole > 0, whole, 1.0), 0.0)
