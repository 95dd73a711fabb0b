"""Leverages and influence statistics equal those of statsmodels, and add up."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    SGDRegressor,
)
from sklearn.preprocessing import scale

from skpriv import GLSScorer
from skpriv.leverage._inverse import inverse_root
from skpriv.leverage.linear._curvature import quadratic_forms, weighted_gram


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X[:, :8]), y


def hat_matrix(X, penalty=0.0, fit_intercept=True):
    """The smoother of ridge regression, by textbook."""
    if fit_intercept:
        X = np.column_stack([X, np.ones(len(X))])
    P = penalty * np.eye(X.shape[1])
    if fit_intercept:
        P[-1, -1] = 0
    return X @ np.linalg.pinv(X.T @ X + P) @ X.T


@pytest.mark.parametrize("n", [1, 7])
def test_kernels_equal_their_naive_twins(n):
    rng = np.random.default_rng(n)
    Z, weights = rng.normal(size=(n, 4)), rng.uniform(size=n)
    assert_allclose(weighted_gram(Z, weights), Z.T @ np.diag(weights) @ Z, rtol=1e-12)
    mixed = weights - 0.5
    assert_allclose(weighted_gram(Z, mixed), Z.T @ np.diag(mixed) @ Z, atol=1e-14)
    H = np.cov(rng.normal(size=(4, 20)))
    naive = [z @ np.linalg.inv(H) @ z for z in Z]
    assert_allclose(quadratic_forms(inverse_root(H), Z), naive, rtol=1e-10)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_least_squares_equals_ols_influence(diabetes, fit_intercept):
    X, y = diabetes
    scorer = GLSScorer(LinearRegression(fit_intercept=fit_intercept)).fit(X, y)
    design = sm.add_constant(X) if fit_intercept else X
    truth = sm.OLS(y, design).fit().get_influence()
    influence = scorer.get_influence()
    assert_allclose(scorer.scores_, truth.hat_matrix_diag, atol=1e-10, rtol=1e-10)
    assert_allclose(influence.cooks_distance, truth.cooks_distance[0], rtol=1e-9)
    for name in (
        "hat_matrix_diag",
        "resid_studentized_internal",
        "resid_studentized_external",
        "resid_press",
    ):
        assert_allclose(getattr(influence, name), getattr(truth, name), rtol=1e-8)
    assert_allclose(influence.dffits, truth.dffits[0], rtol=1e-8)
    assert_allclose(scorer.effective_parameters_, design.shape[1], rtol=1e-12)
    assert (scorer.scores_ > 0).all()
    assert (scorer.scores_ < 1).all()


def test_logistic_regression_equals_pregibon(cancer):
    X, y = cancer
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    scorer = GLSScorer(model).fit(X, y)
    family = sm.families.Binomial()
    truth = sm.GLM(y, sm.add_constant(X), family=family).fit(tol=1e-13).get_influence()
    influence = scorer.get_influence()
    assert_allclose(scorer.scores_, truth.hat_matrix_diag, atol=1e-6)
    assert_allclose(influence.hat_matrix_diag, scorer.scores_, rtol=1e-12)
    # As far as statsmodels converges.
    assert_allclose(
        influence.resid_studentized, truth.resid_studentized, rtol=1e-4, atol=1e-6
    )
    assert_allclose(
        influence.cooks_distance, truth.cooks_distance[0], rtol=1e-4, atol=1e-8
    )
    assert_allclose(scorer.effective_parameters_, X.shape[1] + 1, rtol=1e-10)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        (PoissonRegressor, sm.families.Poisson()),
        (GammaRegressor, sm.families.Gamma(sm.families.links.Log())),
    ],
)
def test_generalised_linear_models_equal_glm_influence(diabetes, model, family):
    X, y = diabetes
    X = scale(X[:, :5])
    estimator = model(alpha=0, solver="newton-cholesky", tol=1e-12)
    influence = GLSScorer(estimator).fit(X, y).get_influence()
    truth = sm.GLM(y, sm.add_constant(X), family=family).fit(tol=1e-13).get_influence()
    assert_allclose(influence.hat_matrix_diag, truth.hat_matrix_diag, rtol=1e-6)
    assert_allclose(influence.resid_studentized, truth.resid_studentized, rtol=1e-5)
    assert_allclose(influence.cooks_distance, truth.cooks_distance[0], rtol=1e-5)


def test_several_targets_have_influence_statistics_each(diabetes):
    X, y = diabetes
    Y = np.column_stack([y, np.sqrt(y)])
    both = GLSScorer(LinearRegression()).fit(X, Y).get_influence()
    for j in range(2):
        one = GLSScorer(LinearRegression()).fit(X, Y[:, j]).get_influence()
        assert_allclose(both.cooks_distance[:, j], one.cooks_distance, rtol=1e-10)


def test_influence_of_a_loss_without_likelihood_is_a_type_error(diabetes):
    X, y = diabetes
    model = SGDRegressor(loss="huber", epsilon=50, eta0=0.1, max_iter=2000, tol=None)
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        scorer = GLSScorer(model.set_params(random_state=0, max_iter=5)).fit(X, y)
    with pytest.raises(TypeError, match="huber"):
        scorer.get_influence()


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_adds_up_to_the_trace_of_its_smoother(diabetes, alpha, fit_intercept):
    X, y = diabetes
    model = Ridge(alpha=alpha, fit_intercept=fit_intercept)
    scorer = GLSScorer(model).fit(X, y)
    H = hat_matrix(X, alpha, fit_intercept)
    assert_allclose(scorer.scores_, np.diag(H), rtol=1e-9)
    assert_allclose(scorer.effective_parameters_, np.trace(H), rtol=1e-10)


def test_elastic_net_adds_up_to_its_active_set(diabetes):
    X, y = diabetes
    model = ElasticNet(alpha=0.5, l1_ratio=1.0, tol=1e-12)
    scorer = GLSScorer(model).fit(scale(X), y)
    n_active = np.count_nonzero(scorer.estimator_.coef_)
    assert 0 < n_active < X.shape[1]
    assert_allclose(scorer.effective_parameters_, n_active + 1, rtol=1e-10)


@pytest.mark.parametrize("n", [20, 35])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_wide_ridge_equals_the_textbook_on_old_and_new_rows(n, fit_intercept):
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, 60)) + 2, rng.normal(size=n)
    new = rng.normal(size=(7, 60))
    model = Ridge(alpha=3.0, fit_intercept=fit_intercept)
    scorer = GLSScorer(model).fit(X, y)
    assert_allclose(
        scorer.scores_, np.diag(hat_matrix(X, 3.0, fit_intercept)), rtol=1e-9
    )
    D, E = X, new
    if fit_intercept:
        D, E = (np.column_stack([A, np.ones(len(A))]) for A in (X, new))
    P = 3.0 * np.eye(D.shape[1])
    if fit_intercept:
        P[-1, -1] = 0
    truth = np.diag(E @ np.linalg.solve(D.T @ D + P, E.T))
    assert_allclose(scorer.score_samples(new, np.zeros(7)), truth, rtol=1e-9)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_equals_dense(wide, n_classes):
    rng = np.random.default_rng(0)
    X = sp.random_array((50, 80 if wide else 6), density=0.3, rng=rng, format="csr")
    y = rng.integers(n_classes, size=50)
    new = sp.random_array((4, X.shape[1]), density=0.3, rng=rng, format="csr")
    model = LogisticRegression(tol=1e-8, max_iter=1000)
    sparse = GLSScorer(model).fit(X, y)
    dense = GLSScorer(model).fit(X.toarray(), y)
    # Two fits, each as near to the optimum as tol asks.
    assert_allclose(sparse.scores_, dense.scores_, rtol=1e-4)
    assert_allclose(
        sparse.score_samples(new, y[:4]),
        dense.score_samples(new.toarray(), y[:4]),
        rtol=1e-4,
    )


def test_batches_do_not_change_scores(cancer):
    X, y = cancer
    models = [Ridge(), LogisticRegression(tol=1e-8)]
    for model in models:
        whole = GLSScorer(model).fit(X, y).scores_
        with sklearn.config_context(working_memory=0.01):
            chunked = GLSScorer(model).fit(X, y).scores_
        assert_allclose(chunked, whole, rtol=1e-9)


def test_wide_batches_do_not_change_scores():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 500)), rng.normal(size=30)
    whole = GLSScorer(Ridge()).fit(X, y).scores_
    with sklearn.config_context(working_memory=0.05):
        chunked = GLSScorer(Ridge()).fit(X, y).scores_
    assert_allclose(chunked, whole, rtol=1e-9)


@given(st.integers(0, 10**6), st.integers(6, 30), st.integers(1, 8))
@settings(deadline=None, max_examples=30)
def test_least_squares_leverages_are_those_of_a_projection(seed, n, p):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, p)).astype(float)
    scorer = GLSScorer(LinearRegression()).fit(X, rng.normal(size=n))
    rank = np.linalg.matrix_rank(np.column_stack([X, np.ones(n)]))
    assert_allclose(scorer.effective_parameters_, rank, rtol=1e-9)
    assert scorer.scores_.min() >= -1e-10
    assert scorer.scores_.max() <= 1 + 1e-10
    moved = X @ (np.eye(p) + np.diag(rng.uniform(1, 2, size=p))) + rng.normal(size=p)
    other = GLSScorer(LinearRegression()).fit(moved, rng.normal(size=n))
    assert_allclose(other.scores_, scorer.scores_, atol=1e-9)
