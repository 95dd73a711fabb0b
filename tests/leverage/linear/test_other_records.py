"""A fitted model that was fitted on other records than those given is found out."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    TweedieRegressor,
)
from sklearn.preprocessing import StandardScaler

from skpriv import GLSScorer

N = 200
MODELS = [
    LinearRegression(),
    LinearRegression(positive=True),
    Ridge(alpha=2.0),
    Ridge(alpha=2.0, solver="svd", fit_intercept=False),
    RidgeClassifier(),
    Lasso(alpha=0.05),
    ElasticNet(alpha=0.05),
    Ridge(solver="sag", random_state=0),
    Ridge(solver="lsqr"),
]


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(0)
    X = 3 + rng.normal(size=(N, 5))
    return X, X @ [1.0, 0.5, 0.3, 0, 0] + rng.normal(size=N)


def targets(model, y):
    return (y > np.median(y)).astype(int) if isinstance(model, RidgeClassifier) else y


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_records_that_it_was_fitted_on_have_the_scores_of_a_new_fit(
    records, model, weighted
):
    X, y = records[0], targets(model, records[1])
    weights = np.random.default_rng(1).uniform(0.5, 2, N) if weighted else None
    frozen = FrozenEstimator(model.fit(X, y, sample_weight=weights))
    scores = GLSScorer(frozen).fit(X, y, sample_weight=weights).scores_
    assert np.isfinite(scores).all()
    new = GLSScorer(model).fit(X, y, sample_weight=weights).scores_
    assert_allclose(scores, new, rtol=1e-9)


@pytest.mark.parametrize(
    ("n_missing", "models"), [(1, MODELS[:5]), (20, MODELS[:7]), (100, MODELS)]
)
def test_it_has_no_scores_where_it_was_fitted_without_some_of_them(
    records, n_missing, models
):
    X = records[0]
    for model in models:
        y = targets(model, records[1])
        model.fit(X[n_missing:], y[n_missing:])
        for variant in ("leverage", "self_influence"):
            scorer = GLSScorer(FrozenEstimator(model), variant=variant)
            with pytest.warns(ConvergenceWarning, match="fitted on other rows"):
                scorer.fit(X, y)
            assert np.isnan(scorer.scores_).all()
            assert not scorer.converged_.any()


def test_it_has_no_scores_where_it_was_fitted_with_weights(records):
    X, y = records
    weights = np.random.default_rng(1).uniform(0.5, 2, N)
    frozen = FrozenEstimator(Ridge().fit(X, y, sample_weight=weights))
    with pytest.warns(ConvergenceWarning, match="with other weights"):
        scorer = GLSScorer(frozen).fit(X, y)
    assert np.isnan(scorer.scores_).all()
    with pytest.warns(ConvergenceWarning, match="other rows"):
        assert np.isnan(scorer.score_samples(X[:3] + 1, y[:3])).all()


@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fits_that_leave_rounding_errors_are_not_suspected(dtype):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(300, 4))
    X = np.column_stack([1000 + Z, 1e3 * Z[:, 0] + 1e-2 * rng.normal(size=300)])
    X, y = X.astype(dtype), (Z[:, 0] + rng.normal(size=300)).astype(dtype)
    for model in (Ridge(1e-6), LinearRegression(), Ridge(), Lasso(0.1)):
        scores = GLSScorer(FrozenEstimator(model.fit(X, y))).fit(X, y).scores_
        assert np.isfinite(scores).all()


def test_fits_of_sparse_rows_are_not_suspected():
    rng = np.random.default_rng(0)
    X = sp.random(300, 20, density=0.2, format="csr", random_state=0)
    y = X @ rng.normal(size=20) + rng.normal(size=300)
    for model in (LinearRegression(), Ridge(0.1), Ridge(solver="sag")):
        scores = GLSScorer(FrozenEstimator(model.fit(X, y))).fit(X, y).scores_
        assert np.isfinite(scores).all()


SMOOTH = [
    LogisticRegression(),
    LogisticRegression(solver="newton-cg", C=10),
    LogisticRegression(solver="newton-cholesky"),
    PoissonRegressor(alpha=0.1),
    PoissonRegressor(alpha=0.1, solver="newton-cholesky"),
    TweedieRegressor(power=1.5, link="log", alpha=0.1),
]


def smooth_targets(model, y, n_classes=2):
    if isinstance(model, LogisticRegression):
        return np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    return np.floor(np.exp(np.clip((y - y.mean()) / 4, -2, 2)) * 2)


@pytest.mark.parametrize("model", SMOOTH, ids=str)
@pytest.mark.parametrize("n_missing", [5, 60])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_smooth_models_that_were_fitted_without_some_records_are_found_out(
    records, model, n_missing, n_classes
):
    X, y = records[0] - 3, smooth_targets(model, records[1], n_classes)
    model.fit(X[n_missing:], y[n_missing:])
    with pytest.warns(ConvergenceWarning, match="fitted on other rows"):
        scorer = GLSScorer(FrozenEstimator(model)).fit(X, y)
    assert np.isnan(scorer.scores_).all()
    model.fit(X, y)
    assert np.isfinite(GLSScorer(FrozenEstimator(model)).fit(X, y).scores_).all()


def test_smooth_models_of_weighted_records_need_the_weights(records):
    X, y = records[0] - 3, smooth_targets(SMOOTH[0], records[1])
    weights = np.random.default_rng(1).uniform(0.2, 5, N)
    frozen = FrozenEstimator(LogisticRegression().fit(X, y, sample_weight=weights))
    scorer = GLSScorer(frozen).fit(X, y, sample_weight=weights)
    assert np.isfinite(scorer.scores_).all()
    with pytest.warns(ConvergenceWarning, match="with other weights"):
        assert np.isnan(GLSScorer(frozen).fit(X, y).scores_).all()


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_digits])
@pytest.mark.parametrize(
    "solver", ["lbfgs", "newton-cg", "newton-cholesky", "sag", "saga"]
)
def test_fits_at_the_default_tolerance_are_not_suspected(load, solver):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X[::2])
    model = LogisticRegression(solver=solver, max_iter=1000).fit(X, y[::2])
    scorer = GLSScorer(FrozenEstimator(model)).fit(X, y[::2])
    assert np.isfinite(scorer.scores_).all()


STOPPED_OTHERWISE = [
    LogisticRegression(solver="liblinear"),
    LogisticRegression(solver="liblinear", C=10, intercept_scaling=10),
    LogisticRegression(solver="liblinear", dual=True, max_iter=10000),
    LogisticRegression(solver="liblinear", class_weight="balanced"),
    LogisticRegression(solver="sag", max_iter=5000),
    LogisticRegression(solver="saga", C=0.1, tol=1e-6, max_iter=20000),
    LogisticRegression(solver="saga", fit_intercept=False, max_iter=5000),
]


@pytest.mark.parametrize("model", STOPPED_OTHERWISE, ids=str)
@pytest.mark.parametrize("as_rows", [np.asarray, sp.csr_matrix])
def test_solvers_with_other_stopping_rules_are_found_out_and_not_suspected(
    model, as_rows
):
    X, y = load_breast_cancer(return_X_y=True)
    X = as_rows(StandardScaler().fit_transform(X)[:400, :8])
    y, kept = y[:400], np.random.default_rng(0).permutation(400)[10:]
    model.set_params(random_state=0).fit(X[kept], y[kept])
    with pytest.warns(ConvergenceWarning, match="fitted on other rows"):
        scorer = GLSScorer(FrozenEstimator(model)).fit(X, y)
    assert np.isnan(scorer.scores_).all()
    weights = np.random.default_rng(1).uniform(0.2, 5, 400)
    for given in (None, weights):
        frozen = FrozenEstimator(model.fit(X, y, sample_weight=given))
        scorer = GLSScorer(frozen).fit(X, y, sample_weight=given)
        assert np.isfinite(scorer.scores_).all()
    with pytest.warns(ConvergenceWarning, match="with other weights"):
        assert np.isnan(GLSScorer(frozen).fit(X, y).scores_).all()
