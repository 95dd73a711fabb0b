"""A Jacobian in the parameters of one layer, and its products with many vectors.

The Jacobian of a record's logits has one row a logit. Each block holds it for a batch
of records, in the form that makes products cheap. `forward` takes vectors of
parameters, as columns, to their change of the logits; `backward` is its transpose,
summed over records.
"""

from dataclasses import dataclass, replace

import torch


class _BlockOfPlaces:
    """What layers that work at one place or several have in common: ``outputs``."""

    @property
    def shape(self):
        """Number of records, and of rows of each."""
        return self.outputs.shape[:2]

    @property
    def width(self):
        """How many numbers a product holds for each of its columns."""
        return self.outputs[:, 0].numel()

    def weigh(self, roots):
        """Combine the rows of each record by ``roots`` (n_records, n_rows, n_new)."""
        outputs = torch.einsum("nmr,nmlo->nrlo", roots, self.outputs)
        return replace(self, outputs=outputs)

    def _moved(self, U):
        """Rows U, (n_records, n_rows, n_columns), back at the layer's outputs."""
        n, n_rows, places, size = self.outputs.shape
        moved = self.outputs.reshape(n, n_rows, places * size).mT @ U
        return moved.reshape(n * places, size * U.shape[2])

    def _rows(self, moved, n_columns):
        """Rows that follow when the layer's outputs move, the reverse of `_moved`."""
        n, n_rows, places, size = self.outputs.shape
        moved = moved.reshape(n, places * size, n_columns)
        return self.outputs.reshape(n, n_rows, places * size) @ moved


@dataclass(frozen=True)
class FactoredBlock(_BlockOfPlaces):
    """A layer that multiplies its inputs by a matrix, at one place or several.

    Row r of record n is ``sum_l inputs[n, l, :, None] * outputs[n, r, l, None, :]``.
    Its two factors are all that products need: two matrix products each.

    Attributes
    ----------
    inputs : Tensor of shape (n_records, n_places, n_inputs)
    outputs : Tensor of shape (n_records, n_rows, n_places, n_outputs)
        Derivatives of the logits in the layer's outputs.
    """

    inputs: torch.Tensor
    outputs: torch.Tensor

    def forward(self, V):
        n, places, size = self.inputs.shape
        inputs = self.inputs.reshape(n * places, size)
        n_columns = V.shape[1]
        V = V.reshape(size, self.outputs.shape[3] * n_columns)
        return self._rows(inputs @ V, n_columns)

    def backward(self, U):
        n, places, size = self.inputs.shape
        moved = self.inputs.reshape(n * places, size).mT @ self._moved(U)
        return moved.reshape(size * self.outputs.shape[3], U.shape[2])

    def rows(self):
        """Return the Jacobian itself, of shape (n_records, n_rows, size)."""
        return (self.inputs.mT.unsqueeze(1) @ self.outputs).flatten(2)

    def cheapest(self):
        """Return the form with the fewest operations a product."""
        _, places, size = self.inputs.shape
        n_rows = self.outputs.shape[1]
        if n_rows * size <= places * (size + n_rows):
            return DenseBlock(self.rows())
        return self

    @property
    def operations(self):
        """How many multiplications `forward` makes for each of its columns."""
        return self.width * (self.inputs.shape[2] + self.outputs.shape[1])

    @property
    def nbytes(self):
        return self.inputs.nbytes + self.outputs.nbytes


@dataclass(frozen=True)
class LookupBlock(_BlockOfPlaces):
    """A layer that looks up rows of a table, as an embedding does.

    Attributes
    ----------
    tokens : Tensor of int, of shape (n_records, n_places)
    outputs : Tensor of shape (n_records, n_rows, n_places, n_outputs)
        Derivatives of the logits in what was looked up.
    n_tokens : int
        Number of rows of the table.
    """

    tokens: torch.Tensor
    outputs: torch.Tensor
    n_tokens: int

    def forward(self, V):
        n_columns = V.shape[1]
        V = V.reshape(self.n_tokens, self.outputs.shape[3] * n_columns)
        return self._rows(V[self.tokens], n_columns)

    def backward(self, U):
        size = self.outputs.shape[3]
        table = U.new_zeros(self.n_tokens, size * U.shape[2])
        table.index_add_(0, self.tokens.flatten(), self._moved(U))
        return table.reshape(self.n_tokens * size, U.shape[2])

    def rows(self):
        """Return the Jacobian itself, of shape (n_records, n_rows, size)."""
        n, n_rows, places, size = self.outputs.shape
        tables = self.outputs.new_zeros(n, n_rows, self.n_tokens, size)
        index = self.tokens[:, None, :, None].expand(n, n_rows, places, size)
        return tables.scatter_add_(2, index, self.outputs).flatten(2)

    def cheapest(self):
        """Return the form with the fewest operations a product."""
        return self

    @property
    def operations(self):
        """How many multiplications `forward` makes for each of its columns."""
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
        """Return the form with the fewest operations a product."""
        return self

    @property
    def shape(self):
        """Number of records, and of rows of each."""
        return self.jacobian.shape[:2]

    @property
    def width(self):
        """How many numbers a product holds for each of its columns."""
        return self.jacobian[:, :, 0].numel()

    @property
    def operations(self):
        """How many multiplications `forward` makes for each of its columns."""
        return self.jacobian.numel()

    @property
    def nbytes(self):
        return self.jacobian.nbytes


def forward(blocks, V):
    """Return the change of each record's rows along the columns of V.

    Parameters
    ----------
    blocks : list of (slice, block)
        The layers, and the parameters that are theirs.
    V : Tensor of shape (n_parameters, n_columns)

    Returns
    -------
    U : Tensor of shape (n_records, n_rows, n_columns)
    """
    return sum(block.forward(V[own]) for own, block in blocks)


def backward(blocks, U, out):
    """Add to `out` the transpose of `forward`, applied to U.

    Parameters
    ----------
    blocks : list of (slice, block)
    U : Tensor of shape (n_records, n_rows, n_columns)
    out : Tensor of shape (n_parameters, n_columns)
    """
    for own, block in blocks:
        out[own] += block.backward(U)


def rows(blocks):
    """Return each record's Jacobian, of shape (n_records, n_rows, n_parameters)."""
    return torch.cat([block.rows() for _, block in blocks], dim=2)
