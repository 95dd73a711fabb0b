"""Networks that compute in another precision than that of skorch."""

import numpy as np
import pytest
import torch
from skorch import NeuralNetClassifier
from torch import nn

from skpriv import GLSScorer

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(20, 5)).astype("f4"), np.arange(20) % 3


class Half(nn.Module):
    """Rounds its features on the way, which the dtype of the outputs does not show."""

    def __init__(self, dtype=torch.float16):
        super().__init__()
        self.layer, self.dtype = nn.Linear(5, 3), dtype

    def forward(self, x):
        return self.layer(x.to(self.dtype).to(self.layer.weight.dtype))


class Double(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 3)
        self.double()

    def forward(self, x):
        return self.layer(x)


def _net(module, **params):
    return NeuralNetClassifier(
        module,
        criterion=nn.CrossEntropyLoss,
        max_epochs=2,
        train_split=None,
        verbose=0,
        **params,
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_within_the_forward_is_refused(dtype):
    net = _net(Half, module__dtype=dtype)
    with pytest.raises(ValueError, match=r"computes in torch\.b?float16 in its"):
        GLSScorer(net, layers="all", random_state=0).fit(X, Y)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_double_net_knows_its_training_rows(dtype):
    rows = RNG.normal(size=X.shape).astype(dtype)
    scorer = GLSScorer(_net(Double), layers="all", random_state=0).fit(rows, Y)
    np.testing.assert_array_equal(scorer.score_samples(rows), scorer.scores_)
    np.testing.assert_array_equal(scorer.score_samples(rows[3:7]), scorer.scores_[3:7])
