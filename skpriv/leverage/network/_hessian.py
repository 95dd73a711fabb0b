"""Products with the Hessian of a network's loss, verified numerically."""

import torch
from torch.func import functional_call

# Steps of finite differences, relative to the length of all parameters.
_STEPS = (1e-5, 1e-6, 1e-7)
# Largest relative difference between two ways to compute the same product.
_AGREEMENT = 1e-5


class Hessian:
    """The Hessian of the loss, with the curvature of the module itself included.

    Products are computed by differentiating twice. torch has operations whose second
    derivative is wrong, or missing, so the product with one random vector is compared
    with finite differences of the gradient. If they do not agree, all products are
    computed by finite differences.

    Parameters
    ----------
    gauss_newton : GaussNewton
        For the same records and parameters.

    Attributes
    ----------
    step : float or None
        Relative step of the finite differences. None if products are computed by
        differentiating twice.

    Raises
    ------
    ValueError
        If torch has no second derivative and the gradient cannot be differenced
        either.
    """

    positive = False

    def __init__(self, gauss_newton):
        self.gauss_newton = gauss_newton
        leaves = gauss_newton.jacobians.leaves()
        self._origin = gauss_newton.jacobians.flatten(leaves).detach()
        # A network whose weights are all zero has the length of one weight.
        self._length = float(torch.linalg.vector_norm(self._origin)) or 1.0
        self.step = self._choose_step()

    def _choose_step(self):
        """Return the step of finite differences; None where they are not needed."""
        generator = torch.Generator().manual_seed(0)
        v = torch.randn(self._origin.shape, generator=generator, dtype=torch.float64)
        v = v.to(self._origin)[:, None]
        try:
            exact = self._by_differentiation(v)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError:  # some operations have no second derivative
            exact = None
        coarse = None
        for step in _STEPS:
            fine = self._by_differences(v, step)
            if exact is not None and _agree(exact, fine):
                return None
            if coarse is not None and _agree(coarse, fine):
                return step
            coarse = fine
        if exact is None:
            raise _no_second_derivative()
        # The gradient jumps next to the weights, as with ReLU units, which may happen
        # between them and either end of a step. Then differences say nothing.
        return None

    def __call__(self, V):
        """Return the product with V, of shape (n_parameters, n_columns)."""
        if self.step is None:
            return self._by_differentiation(V)
        product = self._by_differences(V, self.step)
        again = self._by_differences(V, self.step / 3)
        if not _agree(product, again, 100 * _AGREEMENT):
            raise _no_second_derivative()
        return product

    def _by_differentiation(self, V):
        jacobians = self.gauss_newton.jacobians
        leaves = jacobians.leaves()
        directions = [jacobians.unflatten(v) for v in V.T]
        out = torch.zeros_like(V)
        for batch in self.gauss_newton.batches:
            gradient = self._gradient(batch, leaves, create_graph=True)
            gradient = {name: g for name, g in gradient.items() if g.requires_grad}
            # A gradient that does not depend on the parameters has no curvature.
            for c, direction in enumerate(directions if gradient else ()):
                product = _derivative_along(direction, gradient, leaves)
                out[:, c] += jacobians.flatten(product)
        return out

    def _by_differences(self, V, step):
        """Return central differences of the gradient along the columns of V."""
        lengths = torch.linalg.vector_norm(V, dim=0)
        steps = step * self._length / torch.where(lengths > 0, lengths, 1)
        columns = [
            self._gradient_at(self._origin + h * v)
            - self._gradient_at(self._origin - h * v)
            for h, v in zip(steps, V.T, strict=True)
        ]
        return torch.stack(columns, dim=1) / (2 * steps)

    def _gradient_at(self, vector):
        """Return the gradient of the loss at other parameters, as a vector."""
        jacobians = self.gauss_newton.jacobians
        leaves = {
            name: values.clone().requires_grad_()
            for name, values in jacobians.unflatten(vector).items()
        }
        return sum(
            jacobians.flatten(self._gradient(batch, leaves))
            for batch in self.gauss_newton.batches
        )

    def _gradient(self, batch, leaves, *, create_graph=False):
        """Return the gradient of a batch's loss, by parameter name.

        Parameters
        ----------
        batch : slice
        leaves : dict of str to Tensor
            The parameters.
        create_graph : bool, default=False
            Whether the gradient can be differentiated in the leaves.

        Returns
        -------
        gradient : dict of str to Tensor
        """
        network = self.gauss_newton.network
        _, codes, weights = self.gauss_newton.records
        inputs = self.gauss_newton.inputs(batch)
        with torch.enable_grad():
            outputs = functional_call(network.module, leaves, (inputs,))
            logits = network.logits(outputs)
            losses = network.loss.loss(logits, codes[batch])
            gradient = torch.autograd.grad(
                losses @ weights[batch],
                list(leaves.values()),
                create_graph=create_graph,
                materialize_grads=True,
            )
        return dict(zip(leaves, gradient, strict=True))

    def dense(self):
        """Return the matrix itself, of shape (n_parameters, n_parameters)."""
        size = self.gauss_newton.jacobians.size
        device = self.gauss_newton.records.weights.device
        H = self(torch.eye(size, dtype=torch.float64, device=device))
        return (H + H.T) / 2


def _derivative_along(direction, gradient, leaves):
    """Return the derivative of a gradient along a direction, by parameter name."""
    product = torch.autograd.grad(
        list(gradient.values()),
        list(leaves.values()),
        grad_outputs=[direction[name] for name in gradient],
        retain_graph=True,
        materialize_grads=True,
    )
    return dict(zip(leaves, product, strict=True))


def _agree(first, second, tolerance=_AGREEMENT):
    """Tell whether two matrices are the same, column by column."""
    norm = torch.linalg.vector_norm
    error, scale = norm(first - second, dim=0), norm(second, dim=0)
    # A column may be 0 up to rounding.
    return bool((error <= tolerance * torch.maximum(scale, scale.max())).all())


def _no_second_derivative():
    return ValueError(
        "curvature='hessian' needs second derivatives of estimator's network, but "
        "torch's are wrong or missing, and its gradient is not smooth enough for "
        "finite differences; use curvature='ggn'."
    )
