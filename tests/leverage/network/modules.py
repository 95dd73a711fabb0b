"""Small modules with layers of all kinds, and their Jacobians row by row."""

import torch
from torch import nn
from torch.func import functional_call


class Reused(nn.Module):
    """A layer that is called twice and overwritten, and a weight used outside of it."""

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
    """Inside, records are not the first axis."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 3)
        self.out = nn.Linear(3, 3)

    def forward(self, x):
        steps = torch.tanh(self.inner(x.reshape(len(x), -1, 2).transpose(0, 1)))
        return self.out(steps.cumsum(0)[-1])


class Tied(nn.Module):
    """An embedding whose table is also the weight of the last layer."""

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


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.LSTM(2, 3, batch_first=True)
        self.out = nn.Linear(3, 2)

    def forward(self, x):
        return self.out(self.inner(x.reshape(len(x), 3, 2))[0][:, -1])


NETS = {
    "linear": (lambda: nn.Linear(4, 3), (4,)),
    "convolutions": (convolutions, (60,)),
    "sequences": (sequences, (24,)),
    "volumes": (volumes, (24,)),
    "embeddings": (embeddings, (5,)),
    "reused": (Reused, (4,)),
    "time first": (TimeFirst, (6,)),
    "tied": (Tied, (5,)),
    "recurrent": (Recurrent, (6,)),
}


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
    """Return the Jacobians, by one backward pass per record and logit."""
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
