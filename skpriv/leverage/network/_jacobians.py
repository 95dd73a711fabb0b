"""The Jacobian of each record in chosen parameters of a module, layer by layer."""

import warnings
from contextlib import contextmanager
from math import prod
from threading import RLock

import torch
from torch import nn
from torch.func import functional_call, jacrev, vmap

from skpriv.leverage.network._blocks import DenseBlock, FactoredBlock, LookupBlock

_CONVOLUTIONS = {
    nn.Conv1d: nn.functional.conv1d,
    nn.Conv2d: nn.functional.conv2d,
    nn.Conv3d: nn.functional.conv3d,
}
_AGREEMENT = 1e-6
_RUNNING = RLock()


class Jacobians:
    """Jacobians of a module's logits with respect to chosen parameters.

    Linear, convolutional and embedding layers are observed by hooks: their inputs and,
    by one backward pass per logit, the derivatives of the logits with respect to their
    outputs. All other parameters (of norms, or weights that are used outside of a
    layer) are differentiated record by record.

    Both are verified: one more backward pass, from random values, tells whether the
    blocks of a batch have the gradient that autograd finds. A layer whose blocks do
    not is differentiated record by record from then on.

    The parameters form one vector, layer by layer; `flatten` and `unflatten` convert
    between this vector and tensors by parameter name.

    Parameters
    ----------
    module : torch.nn.Module
        In evaluation mode, with parameters that require no gradients.
    names : sequence of str
        The chosen parameters.
    logits_of : callable
        Maps the outputs of the module to logits of shape (n_records, n_logits).
    example : Tensor
        Inputs of one or more records.

    Attributes
    ----------
    names : tuple of str
        The chosen parameters, as given.
    layers : list
        The layers that have the parameters, in the order of the vector.
    size : int
        Number of parameters.
    n_logits : int
    """

    def __init__(self, module, names, logits_of, example):
        self.module = module
        self.names = tuple(names)
        self._logits_of = logits_of
        self.layers, rest = _split_layers(module, names)
        self._observed = set(range(len(self.layers)))
        if rest:
            self.layers.append(OtherParameters(module, rest))
        self.n_logits = logits_of(module(example[:1])).shape[1]
        self._slices, self.size = [], 0
        for layer in self.layers:
            self._slices.append(slice(self.size, self.size + layer.size))
            self.size += layer.size

    def blocks(self, inputs):
        """Return the logits of records, and their Jacobians.

        Parameters
        ----------
        inputs : Tensor of shape (n_records, ...)

        Returns
        -------
        logits : Tensor of shape (n_records, n_logits)
        blocks : list of (slice, block)
            For each layer, the slice of its parameters in the vector of all, and the
            Jacobian with respect to them.
        """
        leaves = self.leaves()
        logits, found = self._observe(inputs, leaves)
        check = _GradientCheck(logits, leaves)
        blocks = []
        for index, layer in enumerate(self.layers):
            block = found.get(index)
            if block is None or not check.confirms(layer, block):
                # A layer that failed once is not tried again.
                self._observed.discard(index)
                block = self._record_by_record(layer, inputs, check)
            blocks.append(block)
        return logits.detach(), list(zip(self._slices, blocks, strict=True))

    def leaves(self):
        """Return copies of the parameters that autograd can differentiate in."""
        parameters = dict(self.module.named_parameters())
        return {
            name: parameters[name].detach().clone().requires_grad_()
            for layer in self.layers
            for name in layer.names
        }

    def _observe(self, inputs, leaves):
        """Run the module once, and observe its layers.

        Returns
        -------
        logits : Tensor of shape (n_records, n_logits)
        blocks : dict of int to block
            The Jacobians of the observed layers, by their positions in the list.
        """
        calls = {
            index: _Calls(self.layers[index], len(inputs))
            for index in sorted(self._observed)
        }
        # Hooks belong to the module, which another thread may run at the same time.
        with _RUNNING, _hooked(calls.values()), torch.enable_grad():
            outputs = functional_call(self.module, leaves, (inputs,))
            logits = self._logits_of(outputs)
        return logits, _blocks_of_calls(logits, calls)

    def _record_by_record(self, layer, inputs, check):
        """Differentiate the logits in the parameters of a layer record by record."""
        others = OtherParameters(self.module, layer.names)
        order = layer.flatten(others.unflatten(torch.arange(others.size)))
        rows = others.rows_together(inputs, self._logits_of)
        if rows is not None:
            block = DenseBlock(rows[:, :, order])
            if check.confirms(layer, block):
                return block
        return DenseBlock(others.rows_one_by_one(inputs, self._logits_of)[:, :, order])

    def flatten(self, tensors):
        """Arrange tensors by parameter name in the vector of all parameters.

        Parameters
        ----------
        tensors : dict of str to Tensor
            Each with the shape of the parameter.

        Returns
        -------
        vector : Tensor of shape (n_parameters,)
        """
        return torch.cat([layer.flatten(tensors) for layer in self.layers])

    def unflatten(self, vector):
        """Return the tensors by parameter name: the inverse of `flatten`."""
        tensors = {}
        for layer, own in zip(self.layers, self._slices, strict=True):
            tensors.update(layer.unflatten(vector[own]))
        return tensors


class _GradientCheck:
    """The gradient of a random combination of the logits, as autograd finds it."""

    def __init__(self, logits, leaves):
        generator = torch.Generator().manual_seed(0)
        U = torch.randn(logits.shape, generator=generator, dtype=logits.dtype)
        self._U = U.to(logits.device)
        self._gradient = None
        if logits.requires_grad:
            values = _gradients((logits * self._U).sum(), list(leaves.values()))
            self._gradient = dict(zip(leaves, values, strict=True))

    def confirms(self, layer, block):
        """Tell whether a block has the gradient with respect to a layer's parameters.

        Parameters
        ----------
        layer : layer
        block : block
            The Jacobian with respect to the parameters of `layer`.

        Returns
        -------
        confirmed : bool
        """
        if self._gradient is None:
            return False
        true = layer.flatten(self._gradient)
        found = block.backward(self._U[:, :, None])[:, 0]
        error = torch.linalg.vector_norm(found - true)
        return bool(error <= _AGREEMENT * torch.linalg.vector_norm(true))


class _NotByRecordError(Exception):
    """The inputs of a layer are not arranged by record."""


class _Calls:
    """The inputs and outputs of a layer in each of its calls."""

    def __init__(self, layer, n_records):
        self.layer = layer
        self.n_records = n_records
        self.positions, self.outputs = [], []
        self.by_record = True

    def hook(self, module, arguments, keywords, out):
        x = arguments[0] if arguments else keywords["input"]
        try:
            positions = self.layer.positions(x, self.n_records)
            _by_record(out, self.n_records, 1)
        except _NotByRecordError:
            self.by_record = False
        if not self.by_record:
            return None
        if not out.requires_grad:
            out.requires_grad_()
        self.positions.append(positions)
        self.outputs.append(out)
        # Later layers get a copy, since they may write to it in place.
        return out.clone()


@contextmanager
def _hooked(calls):
    handles = [
        own.layer.module.register_forward_hook(own.hook, with_kwargs=True)
        for own in calls
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _blocks_of_calls(logits, calls):
    """Return the Jacobians of observed layers, from the inputs and outputs of calls."""
    outputs = [out for own in calls.values() for out in own.outputs]
    derivatives = _derivatives(logits, outputs)
    blocks = {}
    for index, own in calls.items():
        parts = [(x, next(derivatives)) for x in own.positions]
        if parts and own.by_record:
            blocks[index] = own.layer.block(parts)
    return blocks


def _by_record(x, n_records, n_last):
    """Arrange a tensor of a layer as (n_records, n_positions, n_last)."""
    if x.numel() % (n_records * n_last):
        raise _NotByRecordError
    return x.reshape(n_records, -1, n_last)


def _gradients(total, inputs):
    return torch.autograd.grad(total, inputs, retain_graph=True, materialize_grads=True)


def _derivatives(logits, outputs):
    """Yield the derivatives of all logits with respect to each output of a layer."""
    if not outputs:
        return
    gradients = [
        _gradients(logits[:, c].sum(), outputs) for c in range(logits.shape[1])
    ]
    for parts in zip(*gradients, strict=True):
        yield torch.stack(parts, dim=0)


def _split_layers(module, names):
    """Return the layers that can be observed, and the names of other parameters."""
    layers = []
    for prefix, layer in module.named_modules():
        own = [
            name
            for name in ("weight", "bias")
            if f"{prefix}.{name}".lstrip(".") in names
            and getattr(layer, name, None) is not None
        ]
        kind = _observed_kind(layer)
        if own and kind is not None:
            layers.append(kind(prefix, layer, own))
    seen = {name for layer in layers for name in layer.names}
    return layers, [name for name in names if name not in seen]


def _observed_kind(layer):
    kind = type(layer)
    if kind is nn.Linear:
        return LinearLayer
    if kind in _CONVOLUTIONS and layer.groups == 1 and layer.padding_mode == "zeros":
        return ConvolutionalLayer
    if kind is nn.Embedding and layer.max_norm is None:
        return EmbeddingLayer
    return None


class LinearLayer:
    """A fully connected layer: its weight, transposed, above its bias.

    Parameters
    ----------
    prefix : str
        The name of the layer in the whole module.
    module : torch.nn.Linear
    own : list of {"weight", "bias"}
        Which parameters of the layer are chosen.
    """

    def __init__(self, prefix, module, own):
        self.module = module
        self._own = own
        self.names = [f"{prefix}.{name}".lstrip(".") for name in own]
        self.size = sum(getattr(module, name).numel() for name in own)

    def positions(self, x, n_records):
        """Return what the weight multiplies, (n_records, n_positions, n_in)."""
        return self._with_constant(_by_record(x.detach(), n_records, x.shape[-1]))

    def _with_constant(self, positions):
        if "weight" not in self._own:
            positions = positions[:, :, :0]
        if "bias" in self._own:
            one = positions.new_ones(positions.shape[0], positions.shape[1], 1)
            return torch.cat([positions, one], dim=2)
        return positions.clone()

    def block(self, parts):
        """Return the Jacobian, from the inputs and derivatives of each call."""
        inputs = torch.cat([x for x, _ in parts], dim=1)
        outputs = [self._outputs(d, len(x)) for x, d in parts]
        return FactoredBlock(inputs, torch.cat(outputs, dim=2))

    def _outputs(self, derivative, n_records):
        derivative = self._channels_last(derivative)
        n_logits, n_outputs = len(derivative), derivative.shape[-1]
        derivative = derivative.reshape(n_logits, n_records, -1, n_outputs)
        return derivative.transpose(0, 1)

    def _channels_last(self, derivative):
        return derivative

    def flatten(self, tensors):
        """Arrange the tensors of the parameters in a vector."""
        values = [tensors[name] for name in self.names]
        # With the axes of the inputs first, the bias is one more row of the weight.
        return torch.cat(
            [v.flatten(1).T if v.dim() > 1 else v[None] for v in values]
        ).flatten()

    def unflatten(self, vector):
        """Return the tensors by parameter name: the inverse of `flatten`."""
        tensors = {}
        if "weight" in self._own:
            weight = self.module.weight
            n_weights = weight.numel()
            own = vector[:n_weights].reshape(-1, len(weight)).T
            tensors[self.names[0]] = own.reshape(weight.shape)
            vector = vector[n_weights:]
        if "bias" in self._own:
            tensors[self.names[-1]] = vector
        return tensors


class ConvolutionalLayer(LinearLayer):
    """A convolution: it multiplies the patch at each position by its weight."""

    def positions(self, x, n_records):
        """Return what the weight multiplies, (n_records, n_positions, n_in)."""
        module = self.module
        spatial = module.weight.dim() - 2
        if x.dim() != spatial + 2:
            raise _NotByRecordError
        size = prod(module.weight.shape[1:])
        # One kernel per element of the patch: the convolution extracts the patches.
        kernels = torch.eye(size, dtype=x.dtype, device=x.device)
        patches = _CONVOLUTIONS[type(module)](
            x.detach(),
            kernels.reshape(size, *module.weight.shape[1:]),
            stride=module.stride,
            padding=module.padding,
            dilation=module.dilation,
        )
        return self._with_constant(_by_record(patches.movedim(1, -1), n_records, size))

    def _channels_last(self, derivative):
        return derivative.movedim(2, -1)


class EmbeddingLayer:
    """A table of vectors that are looked up by token."""

    def __init__(self, prefix, module, own):
        self.module = module
        self.names = [f"{prefix}.{name}".lstrip(".") for name in own]
        self.size = module.weight.numel()

    def positions(self, x, n_records):
        """Return the tokens of each record, of shape (n_records, n_positions)."""
        return _by_record(x, n_records, 1)[:, :, 0]

    def block(self, parts):
        """Return the Jacobian, from the tokens and derivatives of each call."""
        tokens = torch.cat([x for x, _ in parts], dim=1)
        outputs = torch.cat(
            [
                d.reshape(len(d), len(tokens), -1, d.shape[-1]).transpose(0, 1)
                for _, d in parts
            ],
            dim=2,
        )
        if self.module.padding_idx is not None:
            trained = tokens != self.module.padding_idx
            outputs = outputs * trained[:, None, :, None]
        return LookupBlock(tokens, outputs, self.module.num_embeddings)

    def flatten(self, tensors):
        """Arrange the tensors of the parameters in a vector."""
        return tensors[self.names[0]].flatten()

    def unflatten(self, vector):
        """Return the tensors by parameter name: the inverse of `flatten`."""
        return {self.names[0]: vector.reshape(self.module.weight.shape)}


class OtherParameters:
    """Parameters that are used in any way, differentiated record by record.

    Parameters
    ----------
    module : torch.nn.Module
        The whole module.
    names : list of str
    """

    def __init__(self, module, names):
        self.module = module
        self.names = names
        parameters = dict(module.named_parameters())
        self._parameters = {name: parameters[name].detach() for name in names}
        self.size = sum(value.numel() for value in self._parameters.values())

    def rows_together(self, inputs, logits_of):
        """Return the rows of all records, (n_records, n_logits, size), by `vmap`.

        None if `vmap` does not support an operation of the module, such as those of
        recurrent layers.
        """
        jacobian = vmap(jacrev(self._logits(logits_of)), in_dims=(None, 0))
        try:
            with warnings.catch_warnings():
                # Some operations are mapped one by one, which is slower but correct.
                warnings.filterwarnings("ignore", "There is a performance drop")
                return self._rows(jacobian(self._parameters, inputs))
        except RuntimeError:
            return None

    def rows_one_by_one(self, inputs, logits_of):
        """Return the same as `rows_together`, one record after another."""
        jacobian = jacrev(self._logits(logits_of))
        each = [self._rows(jacobian(self._parameters, x), 1) for x in inputs]
        return torch.stack(each)

    def _logits(self, logits_of):
        def logits(parameters, x):
            outputs = functional_call(self.module, parameters, (x[None],))
            return logits_of(outputs)[0]

        return logits

    def _rows(self, jacobian, n_axes=2):
        # A parameter may be a single number, without an axis.
        parts = [
            jacobian[name].reshape(*jacobian[name].shape[:n_axes], -1)
            for name in self.names
        ]
        return torch.cat(parts, -1).detach()

    def flatten(self, tensors):
        """Arrange the tensors of the parameters in a vector."""
        return torch.cat([tensors[name].flatten() for name in self.names])

    def unflatten(self, vector):
        """Return the tensors by parameter name: the inverse of `flatten`."""
        sizes = [self._parameters[name].numel() for name in self.names]
        parts = vector.split(sizes)
        return {
            name: part.reshape(self._parameters[name].shape)
            for name, part in zip(self.names, parts, strict=True)
        }
