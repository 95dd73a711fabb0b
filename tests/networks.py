"""Networks for the tests: one factory of skorch nets, and the modules they train."""

import torch
from skorch import (
    NeuralNet,
    NeuralNetBinaryClassifier,
    NeuralNetClassifier,
    NeuralNetRegressor,
)
from torch import nn

from skpriv.leverage.network._mlp import PerceptronReader
from skpriv.leverage.network._skorch import SkorchReader

CRITERIA = {
    NeuralNetClassifier: nn.CrossEntropyLoss,
    NeuralNetBinaryClassifier: nn.BCEWithLogitsLoss,
    NeuralNetRegressor: nn.MSELoss,
}


def make_net(module, kind=NeuralNetClassifier, **parameters):
    """Make a net that trains for a few epochs on all rows.

    Parameters
    ----------
    module : torch.nn.Module, class or function
    kind : type, default=NeuralNetClassifier
        Class of the net, which has a usual criterion.
    **parameters
        Passed to the net in addition to, or instead of, the defaults.
    """
    defaults = {
        "criterion": next(CRITERIA[k] for k in kind.__mro__ if k in CRITERIA),
        "max_epochs": 3,
        "lr": 0.1,
        "train_split": None,
        "verbose": 0,
    }
    return kind(module, **{**defaults, **parameters})


def fitted_net(module, kind=NeuralNetClassifier, *, weight_decay=0.0, **parameters):
    """Make a net of a module with weights that need no training."""
    decay = {"optimizer__weight_decay": weight_decay}
    return make_net(module, kind, **decay, **parameters).initialize()


class LazyPerceptron(nn.Module):
    """Two layers for rows of any shape."""

    def __init__(self, n_outputs=3, n_hidden=6, dropout=0.0):
        super().__init__()
        self.inner = nn.LazyLinear(n_hidden)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.LazyLinear(n_outputs)

    def forward(self, x):
        return self.out(self.dropout(torch.tanh(self.inner(x.flatten(1)))))


def two_layers(n_inputs=4, n_hidden=5, n_outputs=3):
    return nn.Sequential(
        nn.Linear(n_inputs, n_hidden), nn.Tanh(), nn.Linear(n_hidden, n_outputs)
    )


def reader(model):
    """Return the reader that the adapter of a network has."""
    kind = SkorchReader if isinstance(model, NeuralNet) else PerceptronReader
    return kind(model)
