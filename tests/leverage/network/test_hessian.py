"""Scores of unusual modules are those of gradients that are differenced by hand."""

import copy

import numpy as np
import pytest
import torch
from networks import make_net
from numpy.testing import assert_allclose
from torch import nn

from skpriv import GLSScorer
from skpriv.leverage.network import _hessian

N, DAMPING = 14, 10.0
RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((N, 5)).astype(np.float32)
TOKENS = RNG.integers(7, size=(N, 4))
SEQUENCES = RNG.standard_normal((N, 3, 4)).astype(np.float32)
Y = np.arange(N) % 3


class Temperature(nn.Module):
    """A parameter without an axis."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 3)
        self.temperature = nn.Parameter(torch.tensor(1.3))

    def forward(self, x):
        return self.inner(x) * self.temperature


class Keyword(nn.Module):
    """Layers that are called by keyword."""

    def __init__(self):
        super().__init__()
        self.inner, self.out = nn.Linear(5, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.out(input=torch.tanh(self.inner(input=x)))


class KeywordTokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(7, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.out(input=torch.tanh(self.table(input=x)).mean(dim=1))


class KeywordImages(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.out = nn.Conv1d(3, 2, 3), nn.Linear(8, 3)

    def forward(self, x):
        return self.out(torch.tanh(self.inner(input=x)).flatten(1))


class SingleOutputs(nn.Module):
    """Outputs in single precision."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 3)

    def forward(self, x):
        return self.inner(x).float()


class Autocast(nn.Module):
    """Inside, torch chooses the precision; it leaves double precision as it is."""

    def __init__(self):
        super().__init__()
        self.inner, self.out = nn.Linear(5, 4), nn.Linear(4, 3)

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            return self.out(torch.tanh(self.inner(x)))


class Bag(nn.Module):
    """No second derivative in torch."""

    def __init__(self):
        super().__init__()
        self.table, self.out = nn.EmbeddingBag(7, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.out(torch.tanh(self.table(x)))


class Attention(nn.Module):
    """No second derivative of fused attention in torch."""

    def __init__(self):
        super().__init__()
        self.inner = nn.TransformerEncoderLayer(4, 2, 6, batch_first=True, dropout=0)
        self.out = nn.Linear(4, 3)

    def forward(self, x):
        return self.out(self.inner(x).mean(dim=1))


def weight_norm():
    """A wrong second derivative in torch."""
    inner = nn.utils.parametrizations.weight_norm(nn.Linear(5, 5))
    return nn.Sequential(inner, nn.Tanh(), nn.Linear(5, 3))


def relu():
    return nn.Sequential(nn.Linear(5, 20), nn.ReLU(), nn.Linear(20, 3))


MODULES = {
    "temperature": (Temperature, ROWS),
    "keyword": (Keyword, ROWS),
    "keyword tokens": (KeywordTokens, TOKENS),
    "keyword images": (KeywordImages, np.repeat(SEQUENCES, 2, axis=2)[:, :, :6]),
    "single outputs": (SingleOutputs, ROWS),
    "autocast": (Autocast, ROWS),
    "bag": (Bag, TOKENS),
    "attention": (Attention, SEQUENCES),
    "weight norm": (weight_norm, ROWS),
    "relu": (relu, ROWS),
}
TWICE_DIFFERENTIABLE = MODULES.keys() - {"bag", "attention", "weight norm"}


class _ByHand:
    """Gradients and Jacobians of a module in double precision, by autograd alone."""

    def __init__(self, module, X):
        self.module = copy.deepcopy(module).double().eval()
        self.parameters = list(self.module.parameters())
        X = torch.from_numpy(X)
        self.X = X if X.dtype == torch.int64 else X.double()
        self.theta = self._join(self.parameters)

    def _join(self, tensors):
        return torch.cat([t.detach().reshape(-1) for t in tensors])

    def _move_to(self, theta):
        parts = torch.split(theta, [p.numel() for p in self.parameters])
        with torch.no_grad():
            for parameter, values in zip(self.parameters, parts, strict=True):
                parameter.copy_(values.reshape(parameter.shape))

    def gradient(self, theta):
        self._move_to(theta)
        loss = nn.functional.cross_entropy(
            self.module(self.X).double(), torch.from_numpy(Y), reduction="sum"
        )
        return self._join(torch.autograd.grad(loss, self.parameters))

    def hessian(self, step=1e-6):
        columns = []
        for u in step * torch.eye(len(self.theta), dtype=torch.float64):
            ends = self.gradient(self.theta + u), self.gradient(self.theta - u)
            columns.append((ends[0] - ends[1]) / (2 * step))
        self._move_to(self.theta)
        H = torch.stack(columns)
        return (H + H.T).numpy() / 2

    def jacobians(self):
        for x in self.X:
            logits = self.module(x[None])[0].double()
            rows = [
                torch.autograd.grad(f, self.parameters, retain_graph=True)
                for f in logits
            ]
            J = torch.stack([self._join(row) for row in rows])
            p = logits.detach().softmax(dim=0)
            yield J.numpy(), (torch.diag(p) - p[:, None] * p).numpy()

    def leverages(self, full):
        pairs = list(self.jacobians())
        H = self.hessian() if full else sum(J.T @ L @ J for J, L in pairs)
        inverse = np.linalg.inv(H + N * DAMPING * np.eye(len(H)))
        return np.array([np.trace(L @ J @ inverse @ J.T) for J, L in pairs])


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("curvature", ["ggn", "hessian"])
def test_scores_of_unusual_modules_are_those_by_hand(name, curvature):
    module, X = MODULES[name]
    scorer = GLSScorer(
        make_net(module, max_epochs=20),
        layers="all",
        curvature=curvature,
        damping=DAMPING,
        random_state=0,
    ).fit(X, Y)
    expected = _ByHand(scorer.estimator_.module_, X).leverages(curvature == "hessian")
    # Where outputs are in single precision, so are differences of gradients by hand.
    single = name == "single outputs"
    assert_allclose(scorer.scores_, expected, rtol=1e-2 if single else 1e-5)


@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_each_solver_uses_the_verified_products(solver):
    scorer = GLSScorer(
        make_net(weight_norm, max_epochs=20),
        layers="all",
        curvature="hessian",
        damping=DAMPING,
        solver=solver,
        random_state=0,
    ).fit(ROWS, Y)
    expected = _ByHand(scorer.estimator_.module_, ROWS).leverages(full=True)
    assert_allclose(scorer.scores_, expected, rtol=1e-5)


@pytest.mark.parametrize("name", MODULES)
def test_products_are_differenced_only_where_torch_is_wrong(name, monkeypatch):
    made = []

    class Recorded(_hessian.Hessian):
        def __init__(self, gauss_newton):
            super().__init__(gauss_newton)
            made.append(self)

    monkeypatch.setattr("skpriv.leverage.network._sensitivities.Hessian", Recorded)
    module, X = MODULES[name]
    GLSScorer(
        make_net(module),
        layers="all",
        curvature="hessian",
        damping=DAMPING,
        random_state=0,
    ).fit(X, Y)
    (hessian,) = made
    assert (hessian.step is None) == (name in TWICE_DIFFERENTIABLE)


class Converting(nn.Module):
    """It computes in a precision of its own."""

    def __init__(self, before=None, after=None):
        super().__init__()
        self.inner = nn.Linear(5, 3)
        self.before, self.after = before, after

    def forward(self, x):
        x = self.inner(x if self.before is None else x.to(self.before))
        return x if self.after is None else x.to(self.after)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"before": torch.float32}, "must be able to compute in double precision"),
        ({"after": torch.bfloat16}, "returns outputs in torch.bfloat16"),
        ({"after": torch.float16}, "returns outputs in torch.float16"),
    ],
)
def test_other_precisions_are_refused_in_one_line(parameters, match):
    parameters = {f"module__{name}": value for name, value in parameters.items()}
    net = make_net(Converting, max_epochs=0, **parameters)
    with pytest.raises(ValueError, match=match) as raised:
        GLSScorer(net).fit(ROWS, Y)
    assert "\n" not in str(raised.value)


class RoughBag(nn.Module):
    """A gradient with many jumps, of which torch has no second derivative either."""

    def __init__(self):
        super().__init__()
        self.table, self.out = nn.EmbeddingBag(7, 4), nn.Linear(4, 3)

    def forward(self, x):
        values = self.table(x)
        return self.out(values + 1e-3 * (1e9 * values).sin().abs())


def test_neither_way_to_differentiate_twice_is_said_in_one_line():
    net = make_net(RoughBag, max_epochs=0)
    scorer = GLSScorer(net, layers="all", curvature="hessian", damping=DAMPING)
    with pytest.raises(ValueError, match="its gradient is not smooth enough"):
        scorer.fit(TOKENS, Y)
