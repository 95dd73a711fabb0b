"""Each record's Jacobian in chosen parameters of a module, layer by layer."""

import warnings
from math import prod

import torch
from torch import nn
from torch.func import functional_call, jacrev, vmap

from skpriv.leverage._network._blocks import (
    DenseBlock,
    FactoredBlock,
    LookupBlock,
    backward,
)

_CONVOLUTIONS = {
    nn.Conv1d: nn.functional.conv1d,
    nn.Conv2d: nn.functional.conv2d,
    nn.Conv3d: nn.functional.conv3d,
}
_RECORDS_TO_VERIFY = 3
_AGREEMENT = 1e-6


class Jacobians:
    """Jacobians of a module's logits in chosen parameters.

    Linear, convolutional and embedding layers are seen at work, by hooks: what goes in
    and, by one backward pass a logit, how the logits answer to what comes out. What is
    left (norms, weights used outside a layer) is differentiated record by record. A
    layer is only believed after its gradient was found to be that of autograd.

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
        Inputs of a few records.

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
        layers, rest = _split_layers(module, names)
        example = example[:_RECORDS_TO_VERIFY]
        layers = [layer for layer in layers if self._works(layer, example)]
        seen = {name for layer in layers for name in layer.names}
        rest = [name for name in names if name not in seen]
        if rest:
            layers.append(Others(module, rest, logits_of, example))
        self.layers = layers
        self.n_logits = self.logits(example).shape[1]
        self._slices, self.size = [], 0
        for layer in self.layers:
            self._slices.append(slice(self.size, self.size + layer.size))
            self.size += layer.size

    def logits(self, inputs):
        """Return the logits of records, of shape (n_records, n_logits)."""
        return self._logits_of(self.module(inputs))

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
        logits, blocks = self._blocks(self.layers, inputs)
        return logits, list(zip(self._slices, blocks, strict=True))

    def _blocks(self, layers, inputs):
        watched = [layer for layer in layers if not isinstance(layer, Others)]
        logits, calls = self._watch(watched, inputs)
        derivatives = _derivatives(logits, [out for c in calls for _, out in c])
        blocks = []
        for layer, own in zip(watched, calls, strict=True):
            parts = [(x, next(derivatives)) for x, _ in own]
            blocks.append(layer.block(parts))
        if len(watched) < len(layers):
            blocks.append(layers[-1].block(inputs))
        return logits.detach(), blocks

    def _watch(self, layers, inputs):
        """Run the module, and keep the inputs and outputs of layers by call."""
        calls = [[] for _ in layers]

        def hook_of(layer, own):
            def hook(_, arguments, out):
                if not out.requires_grad:
                    out.requires_grad_()
                own.append((layer.places(arguments[0], len(inputs)), out))
                # A copy goes on, in which later layers may write.
                return out.clone()

            return hook

        handles = [
            layer.module.register_forward_hook(hook_of(layer, own))
            for layer, own in zip(layers, calls, strict=True)
        ]
        try:
            with torch.enable_grad():
                logits = self.logits(inputs)
        finally:
            for handle in handles:
                handle.remove()
        return logits, calls

    def _works(self, layer, example):
        """Whether the layer's gradient is the one that autograd finds."""
        try:
            logits, (block,) = self._blocks([layer], example)
        except _NotByRecordError:
            return False
        generator = torch.Generator().manual_seed(0)
        U = torch.randn(*logits.shape, 1, generator=generator, dtype=logits.dtype)
        U = U.to(logits.device)
        own = slice(0, layer.size)
        found = torch.zeros(layer.size, 1, dtype=logits.dtype, device=logits.device)
        backward([(own, block)], U, found)
        parameters = dict(self.module.named_parameters())
        leaves = {name: parameters[name].detach().clone() for name in layer.names}
        for leaf in leaves.values():
            leaf.requires_grad_()
        with torch.enable_grad():
            outputs = functional_call(self.module, leaves, (example,))
            total = (self._logits_of(outputs) * U[:, :, 0]).sum()
            if not total.requires_grad:
                return False
            gradient = torch.autograd.grad(
                total, list(leaves.values()), materialize_grads=True
            )
        true = layer.flatten(dict(zip(leaves, gradient, strict=True)))
        difference = torch.linalg.vector_norm(found[:, 0] - true)
        return bool(difference <= _AGREEMENT * torch.linalg.vector_norm(true))

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


def _by_record(x, n_records, n_last):
    """Arrange what a layer saw as (n_records, n_places, n_last)."""
    if x.numel() % (n_records * n_last):
        raise _NotByRecordError
    return x.reshape(n_records, -1, n_last)


def _derivatives(logits, outputs):
    """Yield the derivative of all logits in each output of a layer."""
    if not outputs:
        return
    gradients = [
        torch.autograd.grad(
            logits[:, c].sum(), outputs, retain_graph=True, materialize_grads=True
        )
        for c in range(logits.shape[1])
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
    logits_of : callable
        Takes the module's outputs to logits.
    example : Tensor
        Inputs of a few records.
    """

    def __init__(self, module, names, logits_of, example):
        self.module = module
        self.names = names
        self._logits_of = logits_of
        parameters = dict(module.named_parameters())
        self._parameters = {name: parameters[name].detach() for name in names}
        self.size = sum(value.numel() for value in self._parameters.values())
        self._jacobian = self._together
        try:
            self._together(example)
        except RuntimeError:
            # Not every operation can be mapped over records: recurrent layers cannot.
            self._jacobian = self._one_by_one

    def block(self, inputs):
        """Return the Jacobian of records' logits."""
        return DenseBlock(self._jacobian(inputs).detach())

    def _logits(self, parameters, x):
        return self._logits_of(functional_call(self.module, parameters, (x[None],)))[0]

    def _together(self, inputs):
        jacobian = vmap(jacrev(self._logits), in_dims=(None, 0))
        with warnings.catch_warnings():
            # Some operations are mapped one by one, which is slower and right.
            warnings.filterwarnings("ignore", "There is a performance drop")
            return self._rows(jacobian(self._parameters, inputs))

    def _one_by_one(self, inputs):
        jacobian = jacrev(self._logits)
        each = [self._rows(jacobian(self._parameters, x), 1) for x in inputs]
        return torch.stack(each)

    def _rows(self, jacobian, n_axes=2):
        return torch.cat([jacobian[name].flatten(n_axes) for name in self.names], -1)

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
