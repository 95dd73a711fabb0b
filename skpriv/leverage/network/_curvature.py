"""Curvature of a network's loss over its training records, and products with it."""

import numpy as np
import torch
from sklearn.utils import gen_batches
from torch.func import functional_call

from skpriv.leverage._softmax import softmax_hessian
from skpriv.leverage.network._blocks import backward, forward, rows
from skpriv.leverage.network._memory import free_bytes, items_in_chunk


class GaussNewton:
    """Σᵢ wᵢ Jᵢᵀ Λᵢ Jᵢ, the curvature with the module taken as linear at its weights.

    With A the rows of all √wᵢ Λᵢ^½ Jᵢ it is AᵀA. Where memory allows, A is kept, layer
    by layer in its cheapest form; else each product computes it again, chunk by chunk.

    Parameters
    ----------
    network : Network
    jacobians : Jacobians
    X : ndarray of shape (n_records, ...)
        The training records.
    codes : ndarray of shape (n_records,) or (n_records, n_outputs)
        Their labels.
    weights : Tensor of shape (n_records,)
        Their weights in the loss.
    batch_size : int
        Number of records in a chunk.

    Attributes
    ----------
    positive : bool
        Whether no curvature can be negative.
    """

    positive = True

    def __init__(self, network, jacobians, X, codes, weights, batch_size):
        self.network = network
        self.jacobians = jacobians
        self.X, self.codes, self.weights = X, codes, weights
        self.batches = list(gen_batches(X.shape[0], batch_size))
        self._kept = None

    def release(self):
        """Let go of what is kept; a later product computes it again."""
        self._kept = None

    def raw_chunks(self):
        """Yield the rows of each chunk, their logits and Jacobians."""
        for batch in self.batches:
            logits, blocks = self.jacobians.blocks(self.network.inputs(self.X[batch]))
            yield batch, logits, blocks

    def chunks(self):
        """Yield the rows of each chunk, and A in them, as blocks."""
        if self._kept is not None:
            yield from self._kept
            return
        kept, room = [], free_bytes(self.weights.device) // 2
        for batch, logits, blocks in self.raw_chunks():
            roots = self.network.loss.hessian_root(logits)
            roots = roots * self.weights[batch].sqrt()[:, None, None]
            blocks = [(own, block.weigh(roots).cheapest()) for own, block in blocks]
            if kept is not None:
                kept.append((batch, blocks))
                share = sum(block.nbytes for _, block in blocks) / len(roots)
                if share * self.X.shape[0] > room:
                    kept = None
            yield batch, blocks
        self._kept = kept

    def __call__(self, V):
        """Return the product with the columns of V, shape (n_parameters, n_columns)."""
        out = torch.zeros_like(V)
        for _, blocks in self.chunks():
            width = _columns_at_once(blocks, V)
            for columns in gen_batches(V.shape[1], width):
                U = forward(blocks, V[:, columns])
                backward(blocks, U, out[:, columns])
        return out

    def transpose(self, draw):
        """Return Aᵀ U, U being drawn.

        Parameters
        ----------
        draw : callable
            ``draw(n_records, n_rows)`` returns the rows of U of the next records, of
            shape (n_records, n_rows, n_columns).

        Returns
        -------
        product : Tensor of shape (n_parameters, n_columns)
        """
        return self._drawn(draw, (blocks for _, blocks in self.chunks()))

    def gradient_transpose(self, draw):
        """Return Gᵀ U, the rows of G being gradients, U as for `transpose`."""
        return self._drawn(draw, self._gradient_chunks())

    def _drawn(self, draw, chunks):
        out = 0
        for blocks in chunks:
            U = draw(*blocks[0][1].shape).to(self.weights)
            if isinstance(out, int):
                out = U.new_zeros(self.jacobians.size, U.shape[2])
            backward(blocks, U, out)
        return out

    def _gradient_chunks(self):
        for batch, logits, blocks in self.raw_chunks():
            pulls = self.pulls(batch, logits)[:, :, None]
            yield [(own, block.weigh(pulls)) for own, block in blocks]

    def gradient_squares(self, X):
        """Return the sum of squares of all gradients' products with columns of X."""
        return sum(
            (forward(blocks, X)[:, 0] ** 2).sum(dim=0)
            for blocks in self._gradient_chunks()
        )

    def dense(self):
        """Return the matrix itself, of shape (n_parameters, n_parameters)."""
        size = self.jacobians.size
        H = self.weights.new_zeros(size, size)
        for _, blocks in self.chunks():
            A = rows(blocks).flatten(0, 1)
            H.addmm_(A.T, A)
        return H

    def trace(self):
        """Return the sum of all curvatures."""
        return sum(
            float((block.rows() ** 2).sum())
            for _, blocks in self.chunks()
            for _, block in blocks
        )

    def gradients(self):
        """Yield each chunk's gradients, (n_records, n_parameters), up to their sign."""
        for blocks in self._gradient_chunks():
            yield rows(blocks)[:, 0]

    def pulls(self, batch, logits):
        """Return minus the gradient of the records' weighted losses in their logits."""
        residuals = self.network.loss.residuals(logits, self.codes[batch])
        return residuals * self.weights[batch][:, None]


def _columns_at_once(blocks, V):
    """How many columns a product takes at once, what it makes of them being bounded."""
    widest = max(block.width for _, block in blocks)
    return max(8, items_in_chunk(widest * V.element_size(), V.device))


class Hessian:
    """The full curvature of the loss, the module's own bending included.

    Parameters
    ----------
    gauss_newton : GaussNewton
        Of the same records and parameters.
    """

    positive = False

    def __init__(self, gauss_newton):
        self.gauss_newton = gauss_newton

    def __call__(self, V):
        """Return the product with the columns of V, shape (n_parameters, n_columns)."""
        own = self.gauss_newton
        module = own.network.module
        names = [name for layer in own.jacobians.layers for name in layer.names]
        parameters = dict(module.named_parameters())
        leaves = {
            name: parameters[name].detach().clone().requires_grad_() for name in names
        }
        directions = [own.jacobians.unflatten(v) for v in V.T]
        out = torch.zeros_like(V)
        for batch in own.batches:
            with torch.enable_grad():
                inputs = own.network.inputs(own.X[batch])
                outputs = functional_call(module, leaves, (inputs,))
                logits = own.network.loss.logits(outputs)
                losses = own.network.loss.loss(logits, own.codes[batch])
                gradient = torch.autograd.grad(
                    losses @ own.weights[batch],
                    list(leaves.values()),
                    create_graph=True,
                    materialize_grads=True,
                )
                # A gradient that no weight changes has no curvature.
                curved = {
                    name: g
                    for name, g in zip(leaves, gradient, strict=True)
                    if g.requires_grad
                }
                for c, direction in enumerate(directions if curved else ()):
                    product = torch.autograd.grad(
                        list(curved.values()),
                        list(leaves.values()),
                        grad_outputs=[direction[name] for name in curved],
                        retain_graph=True,
                        materialize_grads=True,
                    )
                    tensors = dict(zip(leaves, product, strict=True))
                    out[:, c] += own.jacobians.flatten(tensors)
        return out

    def dense(self):
        """Return the matrix itself, of shape (n_parameters, n_parameters)."""
        size = self.gauss_newton.jacobians.size
        eye = torch.eye(
            size, dtype=torch.float64, device=self.gauss_newton.weights.device
        )
        H = self(eye)
        return (H + H.T) / 2


def softmax_head_hessian(head, proba, weights):
    """Return the curvature of a linear layer whose outputs are the logits.

    It is that of multinomial logistic regression on the layer's inputs, and computed
    by the same function.

    Parameters
    ----------
    head : iterable of (slice, FactoredBlock)
        The rows of each chunk, and the layer at one place.
    proba : ndarray of shape (n_records, n_classes)
    weights : ndarray of shape (n_records,)

    Returns
    -------
    H : ndarray of shape (n_parameters, n_parameters)
        Its lower triangle, in the order of a `LinearLayer`'s parameters.
    """
    head = [(batch, block.inputs[:, 0].cpu().numpy(), None) for batch, block in head]
    size, n_classes = head[0][1].shape[1], proba.shape[1]
    H = softmax_hessian(head, proba, weights, size)
    H = np.tril(H) + np.tril(H, -1).T
    order = np.arange(size * n_classes).reshape(n_classes, size).T.ravel()
    return H[np.ix_(order, order)]
