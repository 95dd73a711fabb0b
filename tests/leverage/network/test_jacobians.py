import pytest
import torch
from modules import NETS, naive_rows, net_and_inputs
from numpy.testing import assert_allclose

from skpriv.leverage._network._blocks import FactoredBlock, LookupBlock, rows
from skpriv.leverage._network._jacobians import Jacobians


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
