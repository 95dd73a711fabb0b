"""Jacobians are the gradients of single records, for layers of all kinds."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from modules import NETS, naive_rows, net_and_inputs
from numpy.testing import assert_allclose
from torch import nn

from skpriv.leverage.network._blocks import FactoredBlock, LookupBlock, rows
from skpriv.leverage.network._jacobians import Jacobians


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


def test_parameters_outside_of_layers_keep_their_order():
    # Else a sketch would differ from process to process.
    module, inputs = net_and_inputs("convolutions")
    names = [name for name, _ in module.named_parameters()]
    jacobians = Jacobians(module, names, lambda out: out, inputs)
    rest = jacobians.layers[-1].names
    assert len(rest) == 6
    assert rest == [name for name in names if name in rest]


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


class Unused(nn.Module):
    """A layer that is not used, and one whose weight is used outside of it."""

    def __init__(self):
        super().__init__()
        self.idle = nn.Linear(4, 3)
        self.inner = nn.Linear(4, 3)
        self.out = nn.Linear(4, 3)

    def forward(self, x):
        return self.out(x) + nn.functional.linear(x, 2 * self.inner.weight)


class Routed(nn.Module):
    """A layer that sees only some positions, perhaps as many as there are records."""

    def __init__(self):
        super().__init__()
        self.expert = nn.Linear(4, 6)
        self.out = nn.Linear(30, 3)

    def forward(self, x):
        positions = x.reshape(-1, 4)
        chosen = positions[:, 0] > 0
        out = positions.new_zeros(len(positions), 6)
        out = out.index_put((chosen.nonzero()[:, 0],), self.expert(positions[chosen]))
        return self.out(torch.tanh(out).reshape(len(x), -1))


class SequenceFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4, bias=False)
        self.out = nn.Linear(4, 3)

    def forward(self, x):
        return self.out(torch.tanh(self.inner(x.transpose(0, 1))).mean(0))


def awkward_cases():
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    silent = normal(12, 5, 4)
    silent[:3] = 0
    chosen = normal(24, 5, 4)
    chosen[:, :, 0] = -1.0
    chosen[:, :3, 0] = 1.0  # three of five positions: a multiple of the records
    prelu = nn.Sequential(nn.Linear(4, 6), nn.PReLU(), nn.Linear(6, 3))
    return {
        "unused": (Unused(), normal(5, 4)),
        "first records are silent": (SequenceFirst(), silent),
        "chosen positions": (Routed(), chosen),
        "other chosen positions": (Routed(), normal(7, 5, 4)),
        "as many records as logits": (prelu, normal(3, 4)),
        "more records than logits": (prelu, normal(8, 4)),
    }


@pytest.mark.parametrize("name", awkward_cases())
def test_blocks_of_no_layer_are_used_without_verification(name):
    torch.manual_seed(0)
    module, inputs = awkward_cases()[name]
    module = module.double().eval().requires_grad_(False)
    names = [name for name, _ in module.named_parameters()]
    jacobians = Jacobians(module, names, lambda out: out, inputs)
    for batch in (inputs[:3], inputs, inputs[-2:]):
        found = rows(jacobians.blocks(batch)[1])
        expected = naive_rows(module, jacobians, batch)
        assert_allclose(found, expected, rtol=1e-10, atol=1e-13)


def test_threads_do_not_mix_their_observations():
    module, inputs = net_and_inputs("volumes", 40)
    names = [name for name, _ in module.named_parameters()]
    jacobians = Jacobians(module, names, lambda out: out, inputs)
    expected = rows(jacobians.blocks(inputs)[1])
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: rows(jacobians.blocks(inputs)[1]), range(16)):
            assert torch.equal(found, expected)


def test_modules_are_left_as_they_were(case):
    module, inputs, jacobians = case
    jacobians.blocks(inputs)
    assert not any(p.requires_grad for p in module.parameters())
    assert not any(m._forward_hooks for m in module.modules())
