"""Each record's Jacobian in chosen parameters of a module, layer by layer."""

import warnings
from contextlib import contextmanager
from math import prod
from threading import RLock

import torch
from torch import nn
from torch.func import functional_call, jacrev, vmap

from skpriv.leverage.network._blocks import (
    DenseBlock,
    FactoredBlock,
    LookupBlock,
)

_CONVOLUTIONS = {
    nn.Conv1d: nn.functional.conv1d,
    nn.Conv2d: nn.functional.conv2d,
    nn.Conv3d: nn.functional.conv3d,
}
_AGREEMENT = 1e-6
_RUNNING = RLock()


class Jacobians:
    """Jacobians of a module's logits in chosen parameters.

    Linear, convolutional and embedding layers are seen at work, by hooks: what goes in
    and, by one backward pass a logit, how the logits answer to what comes out. What is
    left (norms, weights used outside a layer) is differentiated record by record.

    Neither is believed: one more backward pass, from random values, tells whether the
    blocks of a batch have the gradient that autograd finds. A layer whose blocks have
    not is differentiated record by record.

    The parameters form one vector, layer by layer; `flatten` and `unflatten` say how.

    Parameters
    ----------
    module : torch.nn.Module
        In evaluation mode, without gradients of its own.
    names : sequence of str
        The chosen parameters.
    logits_of : callable
        Takes the module's outputs to logits of shape (n_records, n_logits).
    example : Tensor
        Inputs of a record or more.

    Attributes
    ----------
    layers : list
        The layers that have the parameters, in the order of the vector.
    size : int
        Number of parameters.
    n_logits : int
    """

    def __init__(self, module, names, logits_of, example):
        self.module = module
        self._logits_of = logits_of
        self.layers, rest = _split_layers(module, names)
        self._watched = set(range(len(self.layers)))
        if rest:
            self.layers.append(Others(module, rest))
        self.n_logits = logits_of(module(example[:1])).shape[1]
        self._slices, self.size = [], 0
        for layer in self.layers:
            self._slices.append(slice(self.size, self.size + layer.size))
            self.size += layer.size

    def blocks(self, inputs):
        """Return the logits of some records, and their Jacobians.

        Parameters
        ----------
        inputs : Tensor of shape (n_records, ...)

        Returns
        -------
        logits : Tensor of shape (n_records, n_logits)
        blocks : list of (slice, block)
            The parameters of each layer in the vector of all, and the Jacobian in them.
        """
        logits, found, check = self._watch(inputs)
        blocks = []
        for index, layer in enumerate(self.layers):
            block = found.get(index)
            if block is None or not check(layer, block):
                # What failed once is not tried again.
                self._watched.discard(index)
                block = self._by_record(layer, inputs, check)
            blocks.append(block)
        return logits.detach(), list(zip(self._slices, blocks, strict=True))

    def _watch(self, inputs):
        """Run the module once, and look at its layers at work.

        Returns
        -------
        logits : Tensor of shape (n_records, n_logits)
        found : dict of int to block
            The Jacobians of the layers that are watched, by number.
        check : callable
            Tells of a layer and a block whether its gradient is the true one.
        """
        watched = sorted(self._watched)
        calls = [_Calls(self.layers[index], len(inputs)) for index in watched]
        parameters = dict(self.module.named_parameters())
        leaves = {
            name: parameters[name].detach().clone().requires_grad_()
            for layer in self.layers
            for name in layer.names
        }
        # Hooks hang on the module, which another thread may run at the same time.
        with _RUNNING, _hooked(calls), torch.enable_grad():
            logits = self._logits_of(functional_call(self.module, leaves, (inputs,)))
        generator = torch.Generator().manual_seed(0)
        U = torch.randn(logits.shape, generator=generator, dtype=logits.dtype)
        U = U.to(logits.device)
        gradient = dict.fromkeys(leaves)
        if logits.requires_grad:
            values = _gradients((logits * U).sum(), list(leaves.values()))
            gradient = dict(zip(leaves, values, strict=True))

        def check(layer, block):
            tensors = {name: gradient[name] for name in layer.names}
            if any(value is None for value in tensors.values()):
                return False
            true = layer.flatten(tensors)
            error = torch.linalg.vector_norm(block.backward(U[:, :, None])[:, 0] - true)
            return bool(error <= _AGREEMENT * torch.linalg.vector_norm(true))

        outputs = [out for own in calls for out in own.outputs]
        derivatives = _derivatives(logits, outputs)
        found = {}
        for index, own in zip(watched, calls, strict=True):
            parts = [(x, next(derivatives)) for x in own.places]
            if parts and own.by_record:
                found[index] = self.layers[index].block(parts)
        return logits, found, check

    def _by_record(self, layer, inputs, check):
        """Differentiate the logits in a layer's parameters record by record."""
        others = Others(self.module, layer.names)
        order = layer.flatten(others.unflatten(torch.arange(others.size)))
        rows = others.rows_together(inputs, self._logits_of)
        if rows is not None and check(layer, DenseBlock(rows[:, :, order])):
            return DenseBlock(rows[:, :, order])
        return DenseBlock(others.rows_one_by_one(inputs, self._logits_of)[:, :, order])

    def flatten(self, tensors):
        """Arrange tensors by parameter name in the vector of all parameters.

        Parameters
        ----------
        tensors : dict of str to Tensor
            Each of the parameter's shape.

        Returns
        -------
        vector : Tensor of shape (n_parameters,)
        """
        return torch.cat([layer.flatten(tensors) for layer in self.layers])

    def unflatten(self, vector):
        """Return the tensors, by parameter name, that `flatten` took."""
        tensors = {}
        for layer, own in zip(self.layers, self._slices, strict=True):
            tensors.update(layer.unflatten(vector[own]))
        return tensors


class _NotByRecordError(Exception):
    """A layer's inputs do not come record by record."""


class _Calls:
    """What went in and out of a layer, call by call."""

    def __init__(self, layer, n_records):
        self.layer = layer
        self.n_records = n_records
        self.places, self.outputs = [], []
        self.by_record = True

    def hook(self, module, arguments, out):
        try:
            places = self.layer.places(arguments[0], self.n_records)
            _by_record(out, self.n_records, 1)
        except _NotByRecordError:
            self.by_record = False
        if not self.by_record:
            return None
        if not out.requires_grad:
            out.requires_grad_()
        self.places.append(places)
        self.outputs.append(out)
        # A copy goes on, in which later layers may write.
        return out.clone()


@contextmanager
def _hooked(calls):
    handles = [own.layer.module.register_forward_hook(own.hook) for own in calls]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _by_record(x, n_records, n_last):
    """Arrange what a layer saw as (n_records, n_places, n_last)."""
    if x.numel() % (n_records * n_last):
        raise _NotByRecordError
    return x.reshape(n_records, -1, n_last)


def _gradients(total, inputs):
    return torch.autograd.grad(total, inputs, retain_graph=True, materialize_grads=True)


def _derivatives(logits, outputs):
    """Yield the derivative of all logits in each output of a layer."""
    if not outputs:
        return
    gradients = [
        _gradients(logits[:, c].sum(), outputs) for c in range(logits.shape[1])
    ]
    for parts in zip(*gradients, strict=True):
        yield torch.stack(parts, dim=0)


def _split_layers(module, names):
    """Return the layers that can be watched, and the names of other parameters."""
    names, layers = set(names), []
    for prefix, layer in module.named_modules():
        own = [
            name
            for name in ("weight", "bias")
            if f"{prefix}.{name}".lstrip(".") in names
            and getattr(layer, name, None) is not None
        ]
        kind = _kind_of(layer)
        if own and kind is not None:
            layers.append(kind(prefix, layer, own))
    seen = {name for layer in layers for name in layer.names}
    return layers, [name for name in names if name not in seen]


def _kind_of(layer):
    kind = type(layer)
    if kind is nn.Linear:
        return LinearLayer
    if kind in _CONVOLUTIONS and layer.groups == 1 and layer.padding_mode == "zeros":
        return ConvolutionalLayer
    if kind is nn.Embedding and layer.max_norm is None:
        return EmbeddingLayer
    return None


class LinearLayer:
    """A fully connected layer: a weight, transposed, above its bias.

    Parameters
    ----------
    prefix : str
        Its name in the module.
    module : torch.nn.Linear
    own : list of {"weight", "bias"}
        Which of its parameters are chosen.
    """

    def __init__(self, prefix, module, own):
        self.module = module
        self._own = own
        self.names = [f"{prefix}.{name}".lstrip(".") for name in own]
        self.size = sum(getattr(module, name).numel() for name in own)

    def places(self, x, n_records):
        """Return what the weight multiplies, of shape (n_records, n_places, n_in)."""
        return self._with_constant(_by_record(x.detach(), n_records, x.shape[-1]))

    def _with_constant(self, places):
        if "weight" not in self._own:
            places = places[:, :, :0]
        if "bias" in self._own:
            one = places.new_ones(places.shape[0], places.shape[1], 1)
            return torch.cat([places, one], dim=2)
        return places.clone()

    def block(self, parts):
        """Return the Jacobian, from inputs and derivatives of each call."""
        inputs = torch.cat([places for places, _ in parts], dim=1)
        outputs = [self._outputs(d, len(places)) for places, d in parts]
        return FactoredBlock(inputs, torch.cat(outputs, dim=2))

    def _outputs(self, derivative, n_records):
        derivative = self._channels_last(derivative)
        n_logits, n_outputs = len(derivative), derivative.shape[-1]
        derivative = derivative.reshape(n_logits, n_records, -1, n_outputs)
        return derivative.transpose(0, 1)

    def _channels_last(self, derivative):
        return derivative

    def flatten(self, tensors):
        """Arrange a tensor of each parameter in a vector."""
        values = [tensors[name] for name in self.names]
        # The inputs' axes first: a weight becomes a matrix, and a bias one more row.
        return torch.cat(
            [v.flatten(1).T if v.dim() > 1 else v[None] for v in values]
        ).flatten()

    def unflatten(self, vector):
        """Return the tensors that `flatten` took."""
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
    """A convolution: at each place it multiplies the patch around it by its weight."""

    def places(self, x, n_records):
        """Return what the weight multiplies, of shape (n_records, n_places, n_in)."""
        module = self.module
        spatial = module.weight.dim() - 2
        if x.dim() != spatial + 2:
            raise _NotByRecordError
        size = prod(module.weight.shape[1:])
        # Convolving with one kernel an element of the patch reads the patches out.
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
    """A table of vectors, looked up by token."""

    def __init__(self, prefix, module, own):
        self.module = module
        self.names = [f"{prefix}.{name}".lstrip(".") for name in own]
        self.size = module.weight.numel()

    def places(self, x, n_records):
        """Return the tokens of each record, of shape (n_records, n_places)."""
        return _by_record(x, n_records, 1)[:, :, 0]

    def block(self, parts):
        """Return the Jacobian, from tokens and derivatives of each call."""
        tokens = torch.cat([places for places, _ in parts], dim=1)
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
        """Arrange a tensor of each parameter in a vector."""
        return tensors[self.names[0]].flatten()

    def unflatten(self, vector):
        """Return the tensors that `flatten` took."""
        return {self.names[0]: vector.reshape(self.module.weight.shape)}


class Others:
    """Parameters of any use: differentiated record by record.

    Parameters
    ----------
    module : torch.nn.Module
        The whole.
    names : list of str
    """

    def __init__(self, module, names):
        self.module = module
        self.names = names
        parameters = dict(module.named_parameters())
        self._parameters = {name: parameters[name].detach() for name in names}
        self.size = sum(value.numel() for value in self._parameters.values())

    def rows_together(self, inputs, logits_of):
        """Return all records' rows, (n_records, n_logits, size), by mapping.

        None if the module has an operation that cannot be mapped over records, as
        recurrent layers have.
        """
        jacobian = vmap(jacrev(self._logits(logits_of)), in_dims=(None, 0))
        try:
            with warnings.catch_warnings():
                # Some operations are mapped one by one, which is slower and right.
                warnings.filterwarnings("ignore", "There is a performance drop")
                return self._rows(jacobian(self._parameters, inputs))
        except RuntimeError:
            return None

    def rows_one_by_one(self, inputs, logits_of):
        """Return the same, record after record."""
        jacobian = jacrev(self._logits(logits_of))
        each = [self._rows(jacobian(self._parameters, x), 1) for x in inputs]
        return torch.stack(each)

    def _logits(self, logits_of):
        def logits(parameters, x):
            outputs = functional_call(self.module, parameters, (x[None],))
            return logits_of(outputs)[0]

        return logits

    def _rows(self, jacobian, n_axes=2):
        parts = [jacobian[name].flatten(n_axes) for name in self.names]
        return torch.cat(parts, -1).detach()

    def flatten(self, tensors):
        """Arrange a tensor of each parameter in a vector."""
        return torch.cat([tensors[name].flatten() for name in self.names])

    def unflatten(self, vector):
        """Return the tensors that `flatten` took."""
        sizes = [self._parameters[name].numel() for name in self.names]
        parts = vector.split(sizes)
        return {
            name: part.reshape(self._parameters[name].shape)
            for name, part in zip(self.names, parts, strict=True)
        }
