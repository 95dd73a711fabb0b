"""Networks of skorch are attacked like any other model."""

import copy
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skpriv import LiRAAttack
from skpriv.attacks._shadows._fingerprint import fingerprint

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")
EarlyStopping = pytest.importorskip("skorch.callbacks").EarlyStopping

X, Y = load_iris(return_X_y=True)
X = X.astype(np.float32)


def _network(**parameters):
    return skorch.NeuralNetClassifier(
        torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)
        ),
        criterion=torch.nn.CrossEntropyLoss,
        max_epochs=3,
        lr=0.1,
        verbose=0,
        **parameters,
    )


@pytest.mark.parametrize(
    "wrap", [lambda n: n, lambda n: make_pipeline(StandardScaler(), n)]
)
def test_networks_are_seeded_and_leave_the_random_state_alone(wrap):
    network = wrap(_network(iterator_train__shuffle=True))
    state = torch.random.get_rng_state()
    first, again, other = (
        LiRAAttack(network, n_shadows=6, random_state=seed).fit(X, Y)
        for seed in (0, 0, 1)
    )
    assert_array_equal(first.signals_, again.signals_)
    assert_array_equal(first.target_signals_, again.target_signals_)
    assert (first.signals_ != other.signals_).any()
    assert np.isfinite(first.scores_).all()
    assert torch.equal(torch.random.get_rng_state(), state)


def test_networks_that_regress_take_one_column_of_labels():
    net = skorch.NeuralNetRegressor(
        torch.nn.Linear(3, 1), max_epochs=3, train_split=None, verbose=0
    )
    y = X[:, 3:]
    attack = LiRAAttack(net, n_shadows=6, random_state=0).fit(X[:, :3], y)
    assert_array_equal(attack.target_signals_, attack.target_.predict(X[:, :3])[:, 0])
    assert np.isfinite(attack.scores_).all()


def test_networks_give_the_same_bits_in_processes():
    network = _network()
    alone = LiRAAttack(network, n_shadows=6, n_jobs=1, random_state=0).fit(X, Y)
    with parallel_config("loky"):
        apart = LiRAAttack(network, n_shadows=6, n_jobs=2, random_state=0).fit(X, Y)
    assert_array_equal(alone.signals_, apart.signals_)


def test_weights_of_a_network_do_not_pass_from_shadow_to_shadow():
    network = _network()
    before = joblib.hash([p.detach().numpy() for p in network.module.parameters()])
    LiRAAttack(network, n_shadows=6, random_state=0).fit(X, Y)
    after = joblib.hash([p.detach().numpy() for p in network.module.parameters()])
    assert before == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"callbacks": [EarlyStopping(patience=1)]}, {"callbacks": [EarlyStopping()]}),
        (
            {"callbacks": [("stop", EarlyStopping(patience=1))]},
            {"callbacks": [("stop", EarlyStopping())]},
        ),
        (
            {"criterion__weight": torch.tensor([1.0, 2.0, 1.0])},
            {"criterion__weight": torch.tensor([1.0, 2.0, 3.0])},
        ),
    ],
    ids=["callback", "named callback", "weights"],
)
def test_parameters_of_a_network_are_told_from_one_another(before, after):
    first, same, other = (
        fingerprint(X, Y, _network(**copy.deepcopy(parameters)))[0]
        for parameters in (before, before, after)
    )
    del first["estimator__module"], same["estimator__module"]
    del other["estimator__module"]
    assert first == same != other


class Scaled(torch.nn.Module):
    def __init__(self, by):
        super().__init__()
        self.by = by


def test_a_setting_of_a_module_is_told_from_another():
    one, same, other = (
        fingerprint(X, Y, skorch.NeuralNetClassifier(Scaled(by)))[0]
        for by in (1.0, 1.0, 2.0)
    )
    assert one == same != other


def test_the_version_of_torch_belongs_to_the_cache_of_a_network_alone():
    assert {"skorch", "torch"} <= set(fingerprint(X, Y, _network())[1])
    assert "torch" not in fingerprint(X, Y, StandardScaler())[1]


DESCRIBE = """
import json, numpy as np, torch, skorch
from skpriv.attacks._shadows._fingerprint import fingerprint
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
weight = torch.tensor([1.0, 2.0])
net = skorch.NeuralNetClassifier(net, criterion__weight=weight)
loss = torch.nn.CrossEntropyLoss(weight)
X, y = np.zeros((4, 4)), np.zeros(4)
described = json.dumps(fingerprint(X, y, net, loss=loss))
"""


def test_a_network_is_described_alike_in_every_process():
    here = {}
    with torch.random.fork_rng():
        exec(DESCRIBE, here)
    done = subprocess.run(
        [sys.executable, "-c", DESCRIBE + "print(described)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == here["described"] + "\n"


def test_a_network_with_loaded_weights_is_no_shadow():
    network = _network().initialize()
    with pytest.raises(ValueError, match="module is an object"):
        LiRAAttack(network, n_shadows=6, random_state=0).fit(X, Y)


def _to_numpy(frame):
    # A copy, for torch warns of arrays that may not be written to.
    return frame.to_numpy(copy=True)


def test_noise_leaves_the_type_of_the_rows():
    for rows in (X, pd.DataFrame(X)):
        model = _network()
        if rows is not X:
            model = make_pipeline(FunctionTransformer(_to_numpy), model)
        attack = LiRAAttack(model, augmentations=0.1, n_shadows=6, random_state=0)
        assert np.isfinite(attack.fit(rows, Y).scores_).all()
