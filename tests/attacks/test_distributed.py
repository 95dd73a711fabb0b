import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from skpriv import LiRAAttack, RiskEstimator

distributed = pytest.importorskip("distributed")
# Two clusters at a time would ask for the same port.
pytestmark = pytest.mark.xdist_group("distributed")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_dask_cluster_gives_the_bits_of_one_process(client, tmp_path):
    X, y = load_iris(return_X_y=True)
    attack = LiRAAttack(
        RandomForestClassifier(3), n_shadows=12, cache_dir=tmp_path, random_state=0
    )
    with parallel_config("dask"), distributed.get_task_stream(client) as stream:
        far = attack.fit(X, y)
    near = LiRAAttack(RandomForestClassifier(3), n_shadows=12, random_state=0).fit(X, y)
    for name in ("signals_", "membership_", "saturated_", "scores_", "attack_success_"):
        assert_array_equal(getattr(far, name), getattr(near, name), err_msg=name)
    assert len({task["worker"] for task in stream.data}) == 2
    assert len(list(tmp_path.glob("shadow-*.npz"))) == 12
    assert np.isfinite(far.scores_).all()


def test_dask_cluster_gives_the_same_risk_as_one_process(client):
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(3)
    with parallel_config("dask"):
        far = RiskEstimator(model, n_shadows=8, random_state=0).fit(X, y)
    near = RiskEstimator(model, n_shadows=8, random_state=0).fit(X, y)
    for name in ("scores_", "interval_"):
        assert_array_equal(getattr(far, name), getattr(near, name), err_msg=name)
