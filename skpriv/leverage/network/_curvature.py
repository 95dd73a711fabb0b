"""Curvature of a network's loss over its training records, and products with it."""

from typing import NamedTuple

import numpy as np
import torch
from sklearn.utils import gen_batches

from skpriv.leverage._softmax import softmax_hessian
from skpriv.leverage.network._blocks import backward, forward, rows
from skpriv.leverage.network._memory import column_batches, free_bytes


class CodedRecords(NamedTuple):
    """The records that a network was trained on, with coded labels.

    Attributes
    ----------
    X : {ndarray, sparse matrix} of shape (n_records, ...)
    codes : Tensor of shape (n_records,) or (n_records, n_outputs)
        Their labels, as the numbers of outputs, or their targets.
    weights : Tensor of shape (n_records,)
        Their weights in the sum of losses.
    """

    X: np.ndarray
    codes: torch.Tensor
    weights: torch.Tensor


class GaussNewton:
    """Σᵢ wᵢ Jᵢᵀ Λᵢ Jᵢ, the curvature with the module linearised at its weights.

    It is AᵀA, where the rows of A are those of all √wᵢ Λᵢ^½ Jᵢ. A is kept if it fits
    into memory, layer by layer in its cheapest form; otherwise each product computes
    it again, chunk by chunk.

    Parameters
    ----------
    network : Network
    jacobians : Jacobians
    records : CodedRecords
    batch_size : int
        Number of records in a chunk.

    Attributes
    ----------
    positive : bool
        Whether no curvature can be negative.
    """

    positive = True

    def __init__(self, network, jacobians, records, batch_size):
        self.network = network
        self.jacobians = jacobians
        self.records = records
        self.batches = list(gen_batches(records.X.shape[0], batch_size))
        self._kept = None

    @property
    def n_records(self):
        """Number of training records."""
        return self.records.X.shape[0]

    def inputs(self, batch):
        """Return the inputs of the training records in a slice."""
        return self.network.inputs(self.records.X[batch])

    def release(self):
        """Free what is kept; a later product computes it again."""
        self._kept = None

    def raw_chunks(self):
        """Yield the slice of each chunk of records, their logits and Jacobians."""
        for batch in self.batches:
            logits, blocks = self.jacobians.blocks(self.inputs(batch))
            yield batch, logits, blocks

    def chunks(self):
        """Yield the slice of each chunk of records, and its rows of A as blocks."""
        if self._kept is not None:
            yield from self._kept
            return
        weights = self.records.weights
        kept, room = [], free_bytes(weights.device) // 2
        for batch, logits, blocks in self.raw_chunks():
            roots = self.network.loss.hessian_root(logits)
            roots = roots * weights[batch].sqrt()[:, None, None]
            blocks = [(own, block.weigh(roots).cheapest()) for own, block in blocks]
            if kept is not None:
                kept.append((batch, blocks))
                bytes_per_record = sum(b.nbytes for _, b in blocks) / len(roots)
                if bytes_per_record * self.n_records > room:
                    kept = None
            yield batch, blocks
        self._kept = kept

    def __call__(self, V):
        """Return the product with V, of shape (n_parameters, n_columns)."""
        out = torch.zeros_like(V)
        for _, blocks in self.chunks():
            widest = max(block.width for _, block in blocks)
            n_bytes = widest * V.element_size()
            for columns in column_batches(V.shape[1], n_bytes, V.device):
                U = forward(blocks, V[:, columns])
                backward(blocks, U, out[:, columns])
        return out

    def transpose(self, draw):
        """Return Aᵀ U for a U that is drawn chunk by chunk.

        Parameters
        ----------
        draw : callable
            ``draw(n_records, n_rows)`` returns the rows of U of the next records, of
            shape (n_records, n_rows, n_columns).

        Returns
        -------
        product : Tensor of shape (n_parameters, n_columns)
        """
        return self._transpose(draw, (blocks for _, blocks in self.chunks()))

    def gradient_transpose(self, draw):
        """Return Gᵀ U, the rows of G being gradients; U as in `transpose`."""
        return self._transpose(draw, self._gradient_chunks())

    def _transpose(self, draw, chunks):
        out = None
        for blocks in chunks:
            U = draw(*blocks[0][1].shape).to(self.records.weights)
            if out is None:
                out = U.new_zeros(self.jacobians.size, U.shape[2])
            backward(blocks, U, out)
        return out

    def _gradient_chunks(self):
        for batch, logits, blocks in self.raw_chunks():
            weighted = self._weighted_residuals(batch, logits)[:, :, None]
            yield [(own, block.weigh(weighted)) for own, block in blocks]

    def _weighted_residuals(self, batch, logits):
        """Return minus the gradients of weighted losses with respect to the logits."""
        _, codes, weights = self.records
        residuals = self.network.loss.residuals(logits, codes[batch])
        return residuals * weights[batch][:, None]

    def gradient_squares(self, X):
        """Return the sum of the squared products of all gradients with columns of X."""
        return sum(
            (forward(blocks, X)[:, 0] ** 2).sum(dim=0)
            for blocks in self._gradient_chunks()
        )

    def gradients(self):
        """Yield the gradients of each chunk, up to sign, (n_records, n_parameters)."""
        for blocks in self._gradient_chunks():
            yield rows(blocks)[:, 0]

    def dense(self):
        """Return the matrix itself, of shape (n_parameters, n_parameters)."""
        size = self.jacobians.size
        H = self.records.weights.new_zeros(size, size)
        for _, blocks in self.chunks():
            A = rows(blocks).flatten(0, 1)
            H.addmm_(A.T, A)
        return H

    def trace(self):
        """Return the trace of the matrix."""
        return sum(
            float((block.rows() ** 2).sum())
            for _, blocks in self.chunks()
            for _, block in blocks
        )


def softmax_head_hessian(head, proba, weights):
    """Return the curvature of a linear layer whose outputs are the logits.

    This is multinomial logistic regression on the inputs of the layer, so it is
    computed by the same function.

    Parameters
    ----------
    head : iterable of (slice, FactoredBlock)
        The records of each chunk, and the layer, which acts at one position.
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
