"""A choice of layers selects the parameters that it names."""

import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from skpriv.leverage.network._layers import select_parameters


def _plain():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4), nn.Linear(4, 2))


class _Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.conv1 = nn.Conv1d(1, 2, 3, bias=False)
        self.conv10 = nn.Conv1d(2, 2, 3)
        self.head = nn.Sequential(nn.LayerNorm(2), nn.Linear(2, 2))


class _Tied(nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.embed = nn.Embedding(5, 3)
        self.hidden = nn.Linear(3, 3)
        self.decode = nn.Linear(3, 5, bias=bias)
        self.decode.weight = self.embed.weight


HEAD = ("head.0.weight", "head.0.bias", "head.1.weight", "head.1.bias")


@pytest.mark.parametrize(
    ("module", "layers", "expected"),
    [
        (_plain(), "last", ("3.weight", "3.bias")),
        (_plain(), 1, ("3.weight", "3.bias")),
        (_plain(), 2, ("2.weight", "2.bias", "3.weight", "3.bias")),
        (_plain(), ["3.bias", "0"], ("0.weight", "0.bias", "3.bias")),
        (_Named(), "last", HEAD[2:]),
        (_Named(), 3, ("conv10.weight", "conv10.bias", *HEAD)),
        (_Named(), 5, ("scale", "conv1.weight", "conv10.weight", "conv10.bias", *HEAD)),
        (_Named(), ["conv1"], ("conv1.weight",)),
        (_Named(), ("head", "head.1"), HEAD),
        (_Named(), ["scale"], ("scale",)),
        (nn.Linear(2, 2), "last", ("weight", "bias")),
        (_Tied(bias=True), "last", ("embed.weight", "decode.bias")),
        (_Tied(bias=False), "last", ("embed.weight",)),
        (_Tied(bias=False), 2, ("embed.weight", "hidden.weight", "hidden.bias")),
        (_Tied(bias=True), ["decode.weight"], ("embed.weight",)),
    ],
)
def test_layers_name_parameters(module, layers, expected):
    assert select_parameters(module, layers) == expected


@pytest.mark.parametrize("module", [_plain(), _Named(), _Tied(True)])
def test_all_layers_are_all_parameters_once(module):
    names = tuple(name for name, _ in module.named_parameters())
    assert select_parameters(module, "all") == names


def test_a_module_used_twice_is_one_layer():
    shared = nn.Linear(3, 3)
    module = nn.Sequential(shared, nn.Linear(3, 3), shared)
    assert select_parameters(module, "last") == ("0.weight", "0.bias")
    assert len(select_parameters(module, 2)) == 4
    with pytest.raises(ValueError, match="network has 2"):
        select_parameters(module, 3)


def test_what_a_weight_is_computed_from_belongs_to_its_layer():
    module = nn.Sequential(nn.Linear(3, 3), weight_norm(nn.Linear(3, 2)))
    names = select_parameters(module, "last")
    assert len(names) == 3
    assert all(name.startswith("1.") for name in names)
    alone = weight_norm(nn.Linear(3, 2))
    assert len(select_parameters(alone, 1)) == 3


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ("last", ("2.weight",)),
        (2, ("0.weight", "0.bias", "2.weight")),
        ("all", ("0.weight", "0.bias", "2.weight")),
        (["2"], ("2.weight",)),
    ],
)
def test_frozen_parameters_are_passed_over(layers, expected):
    trainable = {"0.weight", "0.bias", "2.weight"}
    assert select_parameters(_plain(), layers, trainable) == expected


@pytest.mark.parametrize(
    ("layers", "trainable", "match"),
    [
        (4, None, r"layers=4 must be .* has 3: '0', '2', '3'"),
        (0, None, "layers=0"),
        (["2", "conv"], None, r"layers has 'conv'.*'0.weight', '0.bias', '2.weight'"),
        (["2.weigh"], None, "layers has '2.weigh'"),
        (["3"], {"0.weight"}, "layers has '3'"),
        ([], None, "selects no parameter"),
        ("last", set(), "without trained parameters"),
    ],
)
def test_choices_of_nothing_are_refused(layers, trainable, match):
    with pytest.raises(ValueError, match=match):
        select_parameters(_plain(), layers, trainable)
