import joblib
import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpriv import LiRAAttack

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")

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
