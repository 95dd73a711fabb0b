"""Audits that the tests of the report share, as each takes a second."""

import numpy as np
import pytest
from audited import N, make_people, model_of_people
from sklearn.linear_model import LogisticRegression, Ridge

from skpriv import audit


@pytest.fixture(scope="session")
def people():
    return make_people()


@pytest.fixture(scope="session")
def of_people(people):
    X, y = people
    region = np.where(np.arange(N) < N - 4, "north", "south")
    groups = {"job": X["job"], "region": region}
    names = [f"person {i}" for i in range(N)]
    return audit(model_of_people(), X, y, groups=groups, ids=names)


@pytest.fixture(scope="session")
def of_quantity():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=80)
    y[7] += 3
    return audit(Ridge(), X, y, n_shadows=8)


@pytest.fixture(scope="session")
def of_three():
    return audit(LogisticRegression(), [[1.0], [1.0], [1.0]], [0, 1, 0])
