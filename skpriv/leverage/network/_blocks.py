"""The Jacobian in the parameters of one layer, and its products with many vectors.

The Jacobian of a record's logits has one row per logit. A block holds the Jacobians of
a batch of records, in the form that makes products cheap. `forward` maps parameter
vectors, given as columns, to the changes of the logits that they cause; `backward` is
the transpose, summed over the records.
"""

from dataclasses import dataclass, replace

import torch


class _PositionwiseBlock:
    """Common part of layers that act at one or several positions of a record.

    Subclasses have the attribute ``outputs``, the derivatives of the logits with
    respect to the outputs of the layer.
    """

    @property
    def shape(self):
        """Number of records, and number of rows per record."""
        return self.outputs.shape[:2]

    @property
    def width(self):
        """Number of values that a product holds per column."""
        return self.outputs[:, 0].numel()

    def weigh(self, roots):
        """Combine the rows of each record by ``roots`` (n_records, n_rows, n_new)."""
        outputs = torch.einsum("nmr,nmlo->nrlo", roots, self.outputs)
        return replace(self, outputs=outputs)

    def _to_outputs(self, U):
        """Map U, (n_records, n_rows, n_columns), back to the outputs of the layer."""
        n, n_rows, n_positions, size = self.outputs.shape
        change = self.outputs.reshape(n, n_rows, n_positions * size).mT @ U
        return change.reshape(n * n_positions, size * U.shape[2])

    def _to_rows(self, change, n_columns):
        """Map changes of the outputs of the layer to rows: the transpose of the above.

        Parameters
        ----------
        change : Tensor of shape (n_records * n_positions, n_outputs * n_columns)
        n_columns : int

        Returns
        -------
        rows : Tensor of shape (n_records, n_rows, n_columns)
        """
        n, n_rows, n_positions, size = self.outputs.shape
        change = change.reshape(n, n_positions * size, n_columns)
        return self.outputs.reshape(n, n_rows, n_positions * size) @ change


@dataclass(frozen=True)
class FactoredBlock(_PositionwiseBlock):
    """A layer that multiplies its inputs by a matrix, at one or several positions.

    Row r of record n is ``sum_l inputs[n, l, :, None] * outputs[n, r, l, None, :]``.
    Products need only the two factors: two matrix products each.

    Attributes
    ----------
    inputs : Tensor of shape (n_records, n_positions, n_inputs)
    outputs : Tensor of shape (n_records, n_rows, n_positions, n_outputs)
        Derivatives of the logits with respect to the outputs of the layer.
    """

    inputs: torch.Tensor
    outputs: torch.Tensor

    def forward(self, V):
        n, n_positions, size = self.inputs.shape
        inputs = self.inputs.reshape(n * n_positions, size)
        n_columns = V.shape[1]
        V = V.reshape(size, self.outputs.shape[3] * n_columns)
        return self._to_rows(inputs @ V, n_columns)

    def backward(self, U):
        n, n_positions, size = self.inputs.shape
        inputs = self.inputs.reshape(n * n_positions, size)
        change = inputs.mT @ self._to_outputs(U)
        return change.reshape(size * self.outputs.shape[3], U.shape[2])

    def rows(self):
        """Return the Jacobian itself, of shape (n_records, n_rows, size)."""
        return (self.inputs.mT.unsqueeze(1) @ self.outputs).flatten(2)

    def cheapest(self):
        """Return the form with the fewest operations per product."""
        _, n_positions, size = self.inputs.shape
        n_rows = self.outputs.shape[1]
        if n_rows * size <= n_positions * (size + n_rows):
            return DenseBlock(self.rows())
        return self

    @property
    def operations(self):
        """Number of multiplications that `forward` makes per column."""
        return self.width * (self.inputs.shape[2] + self.outputs.shape[1])

    @property
    def nbytes(self):
        return self.inputs.nbytes + self.outputs.nbytes


@dataclass(frozen=True)
class LookupBlock(_PositionwiseBlock):
    """A layer that looks up rows of a table, as an embedding does.

    Attributes
    ----------
    tokens : Tensor of int, of shape (n_records, n_positions)
    outputs : Tensor of shape (n_records, n_rows, n_positions, n_outputs)
        Derivatives of the logits with respect to the rows that were looked up.
    n_tokens : int
        Number of rows of the table.
    """

    tokens: torch.Tensor
    outputs: torch.Tensor
    n_tokens: int

    def forward(self, V):
        n_columns = V.shape[1]
        V = V.reshape(self.n_tokens, self.outputs.shape[3] * n_columns)
        return self._to_rows(V[self.tokens], n_columns)

    def backward(self, U):
        size = self.outputs.shape[3]
        table = U.new_zeros(self.n_tokens, size * U.shape[2])
        table.index_add_(0, self.tokens.flatten(), self._to_outputs(U))
        return table.reshape(self.n_tokens * size, U.shape[2])

    def rows(self):
        """Return the Jacobian itself, of shape (n_records, n_rows, size)."""
        n, n_rows, n_positions, size = self.outputs.shape
        tables = self.outputs.new_zeros(n, n_rows, self.n_tokens, size)
        index = self.tokens[:, None, :, None].expand(n, n_rows, n_positions, size)
        return tables.scatter_add_(2, index, self.outputs).flatten(2)

    def cheapest(self):
        """Return the form with the fewest operations per product."""
        return self

    @property
    def operations(self):
        """Number of multiplications that `forward` makes per column."""
        return self.outputs.numel()

    @property
    def nbytes(self):
        return self.tokens.nbytes + self.outputs.nbytes


@dataclass(frozen=True)
class DenseBlock:
    """Any layer: its Jacobian as it is.

    Attributes
    ----------
    jacobian : Tensor of shape (n_records, n_rows, size)
    """

    jacobian: torch.Tensor

    def forward(self, V):
        return self.jacobian @ V

    def backward(self, U):
        return self.jacobian.flatten(0, 1).mT @ U.flatten(0, 1)

    def rows(self):
        """Return the Jacobian itself, of shape (n_records, n_rows, size)."""
        return self.jacobian

    def weigh(self, roots):
        """Combine the rows of each record by ``roots`` (n_records, n_rows, n_new)."""
        return DenseBlock(roots.mT @ self.jacobian)

    def cheapest(self):
        """Return the form with the fewest operations per product."""
        return self

    @property
    def shape(self):
        """Number of records, and number of rows per record."""
        return self.jacobian.shape[:2]

    @property
    def width(self):
        """Number of values that a product holds per column."""
        return self.jacobian[:, :, 0].numel()

    @property
    def operations(self):
        """Number of multiplications that `forward` makes per column."""
        return self.jacobian.numel()

    @property
    def nbytes(self):
        return self.jacobian.nbytes


def forward(blocks, V):
    """Return the changes of each record's rows along the columns of V.

    Parameters
    ----------
    blocks : list of (slice, block)
        The layers, each with the slice of its parameters in the vector of all.
    V : Tensor of shape (n_parameters, n_columns)

    Returns
    -------
    U : Tensor of shape (n_records, n_rows, n_columns)
    """
    return sum(block.forward(V[own]) for own, block in blocks)


def backward(blocks, U, out):
    """Add the transpose of `forward`, applied to U, to `out`.

    Parameters
    ----------
    blocks : list of (slice, block)
    U : Tensor of shape (n_records, n_rows, n_columns)
    out : Tensor of shape (n_parameters, n_columns)
    """
    for own, block in blocks:
        out[own] += block.backward(U)


def rows(blocks):
    """Return the Jacobians of records, (n_records, n_rows, n_parameters)."""
    return torch.cat([block.rows() for _, block in blocks], dim=2)
