import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn
from torch.func import functional_call

from skpriv.leverage._network._blocks import FactoredBlock, LookupBlock, rows
from skpriv.leverage._network._jacobians import Jacobians


class Reused(nn.Module):
    """A layer at two places, written over in place, and a weight used outside."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.randn(4))
        self.out = nn.Linear(4, 3, bias=False)

    def forward(self, x):
        x = torch.relu_(self.inner(x)) * self.scale
        x = torch.tanh_(self.inner(x))
        return self.out(x) + x @ self.out.weight.T**2


class TimeFirst(nn.Module):
    """Records are not the first axis inside."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 3)
        self.out = nn.Linear(3, 3)

    def forward(self, x):
        steps = torch.tanh(self.inner(x.reshape(len(x), -1, 2).transpose(0, 1)))
        return self.out(steps.cumsum(0)[-1])


class Tied(nn.Module):
    """An embedding whose table is the last layer's weight too."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 4, padding_idx=0)
        self.norm = nn.LayerNorm(4)
        self.out = nn.Linear(4, 5)
        self.out.weight = self.table.weight

    def forward(self, x):
        return self.out(self.norm(self.table(x).mean(dim=1)))


def embeddings():
    return nn.Sequential(
        nn.Embedding(6, 4, padding_idx=2), nn.Flatten(), nn.Linear(20, 3)
    )


def convolutions():
    return nn.Sequential(
        nn.Unflatten(1, (2, 6, 5)),
        nn.Conv2d(2, 4, (3, 2), stride=(2, 1), padding=1, dilation=(1, 2)),
        nn.BatchNorm2d(4),
        nn.ReLU(inplace=True),
        nn.Conv2d(4, 6, 2, groups=2, padding="same", padding_mode="circular"),
        nn.Tanh(),
        nn.Flatten(),
        nn.LayerNorm(6 * 3 * 5),
        nn.Linear(6 * 3 * 5, 4),
    )


def sequences():
    return nn.Sequential(
        nn.Unflatten(1, (3, 8)),
        nn.Conv1d(3, 5, 3, padding="same"),
        nn.GELU(),
        nn.Linear(8, 4, bias=False),
        nn.Flatten(),
        nn.utils.parametrizations.weight_norm(nn.Linear(20, 3)),
    )


def volumes():
    return nn.Sequential(
        nn.Unflatten(1, (1, 2, 3, 4)),
        nn.Conv3d(1, 3, 2),
        nn.Flatten(),
        nn.Linear(18, 2),
    )


NETS = {
    "linear": (lambda: nn.Linear(4, 3), (4,)),
    "convolutions": (convolutions, (60,)),
    "sequences": (sequences, (24,)),
    "volumes": (volumes, (24,)),
    "embeddings": (embeddings, (5,)),
    "reused": (Reused, (4,)),
    "time first": (TimeFirst, (6,)),
    "tied": (Tied, (5,)),
    "recurrent": (lambda: Recurrent(), (6,)),
}


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.LSTM(2, 3, batch_first=True)
        self.out = nn.Linear(3, 2)

    def forward(self, x):
        return self.out(self.inner(x.reshape(len(x), 3, 2))[0][:, -1])


def net_and_inputs(name, n_records=5, seed=0):
    torch.manual_seed(seed)
    make, shape = NETS[name]
    module = make().double()
    takes_tokens = any(isinstance(m, nn.Embedding) for m in module.modules())
    if takes_tokens:
        inputs = torch.randint(0, 5, (n_records, *shape))
    else:
        inputs = torch.randn(n_records, *shape, dtype=torch.float64)
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_var.uniform_(0.5, 2)
            part.running_mean.normal_()
    return module.eval().requires_grad_(False), inputs


def naive_rows(module, jacobians, inputs):
    """One backward pass a record and logit."""
    names = [name for layer in jacobians.layers for name in layer.names]
    parameters = dict(module.named_parameters())
    leaves = {name: parameters[name].clone().requires_grad_() for name in names}
    jacobian = []
    for x in inputs:
        logits = functional_call(module, leaves, (x[None],))[0]
        gradients = [
            torch.autograd.grad(
                logit, leaves.values(), retain_graph=True, materialize_grads=True
            )
            for logit in logits
        ]
        jacobian.append(
            torch.stack(
                [
                    jacobians.flatten(dict(zip(leaves, g, strict=True)))
                    for g in gradients
                ]
            )
        )
    return torch.stack(jacobian)


@pytest.fixture(params=NETS)
def case(request):
    module, inputs = net_and_inputs(request.param)
    names = [name for name, _ in module.named_parameters()]
    return module, inputs, Jacobians(module, names, lambda out: out, inputs)


def test_rows_are_the_gradients_of_single_records(case):
    module, inputs, jacobians = case
    logits, blocks = jacobians.blocks(inputs)
    assert_allclose(logits, module(inputs), rtol=1e-13)
    expected = naive_rows(module, jacobians, inputs)
    assert jacobians.size == sum(p.numel() for p in module.parameters())
    assert_allclose(rows(blocks), expected, rtol=1e-10, atol=1e-13)


def test_products_are_those_of_the_rows(case):
    _, inputs, jacobians = case
    _, blocks = jacobians.blocks(inputs)
    for own, block in blocks:
        J = block.rows()
        assert block.shape == J.shape[:2]
        V = torch.randn(own.stop - own.start, 3, dtype=J.dtype)
        U = torch.randn(*J.shape[:2], 3, dtype=J.dtype)
        roots = torch.randn(J.shape[0], J.shape[1], 2, dtype=J.dtype)
        weighed = block.weigh(roots)
        for form in (block, block.cheapest()):
            assert_allclose(form.forward(V), J @ V, atol=1e-12)
            expected = J.flatten(0, 1).T @ U.flatten(0, 1)
            assert_allclose(form.backward(U), expected, atol=1e-12)
        assert_allclose(weighed.rows(), roots.mT @ J, atol=1e-12)


def test_any_choice_of_parameters_has_its_columns(case):
    module, inputs, _ = case
    for name, parameter in module.named_parameters():
        jacobians = Jacobians(module, [name], lambda out: out, inputs)
        assert jacobians.size == parameter.numel()
        found = rows(jacobians.blocks(inputs)[1])
        expected = naive_rows(module, jacobians, inputs)
        assert_allclose(found, expected, rtol=1e-10, atol=1e-13)


def test_flattening_is_undone(case):
    module, _, jacobians = case
    parameters = dict(module.named_parameters())
    again = jacobians.unflatten(jacobians.flatten(parameters))
    assert again.keys() == parameters.keys()
    for name, value in parameters.items():
        assert torch.equal(again[name], value)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("linear", [FactoredBlock]),
        ("volumes", [FactoredBlock, FactoredBlock]),
        ("embeddings", [LookupBlock, FactoredBlock]),
    ],
)
def test_common_layers_keep_factors(name, kinds):
    module, inputs = net_and_inputs(name)
    names = [name for name, _ in module.named_parameters()]
    jacobians = Jacobians(module, names, lambda out: out, inputs)
    assert [type(block) for _, block in jacobians.blocks(inputs)[1]] == kinds


def test_weights_that_are_used_outside_their_layer_are_found_out():
    module, inputs = net_and_inputs("reused")
    names = [name for name, _ in module.named_parameters()]
    jacobians = Jacobians(module, names, lambda out: out, inputs)
    assert jacobians.layers[-1].names == ["scale", "out.weight"]


def test_modules_are_left_as_they_were(case):
    module, inputs, jacobians = case
    jacobians.blocks(inputs)
    assert not any(p.requires_grad for p in module.parameters())
    assert not any(m._forward_hooks for m in module.modules())
