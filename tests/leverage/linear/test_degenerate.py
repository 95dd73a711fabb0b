"""Degenerate inputs get the right value where one exists, else NaN with a reason."""

import warnings

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    HuberRegressor,
    LinearRegression,
    LogisticRegression,
    Ridge,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.preprocessing import OneHotEncoder, scale

from skpriv import GLSScorer
from skpriv.leverage import gaussian
from skpriv.leverage._inverse import (
    NegativeCurvatureError,
    inverse_root,
    whitening,
)
from skpriv.leverage.linear._features import Features


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] + rng.logistic(size=60) > 0).astype(int)
    return X, y


def unpenalised():
    return LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)


def disguises(X):
    """The same column space in increasingly ill-conditioned features."""
    rng = np.random.default_rng(1)
    ones = np.ones((len(X), 1))
    return {
        "duplicate": np.hstack([X, X[:, :2]]),
        "sum": np.hstack([X, X.sum(axis=1, keepdims=True)]),
        "constant": np.hstack([X, 3.7 * ones, 1e9 * ones / 3, 0 * ones]),
        "scales": X * [1e-8, 1e8, 1.0, 1e4],
        "offset": X + np.array([1e6, 0, -1e5, 3]),
        "mixed": X @ (rng.normal(size=(4, 4)) + 3 * np.ones((4, 4))),
    }


@pytest.mark.parametrize("name", list(disguises(np.eye(4))))
# scikit-learn's own solver drops a column of 1e-8 beside one of 1e8.
@pytest.mark.filterwarnings("ignore:.*leverage of the optimum")
def test_least_squares_depends_on_the_column_space_alone(data, name):
    X, y = data
    y = y + X[:, 1]
    plain = GLSScorer(LinearRegression()).fit(X, y).scores_
    other = GLSScorer(LinearRegression()).fit(disguises(X)[name], y)
    # An offset of 1e6 costs six digits of the features themselves.
    assert_allclose(other.scores_, plain, atol=1e-9 if name == "offset" else 1e-11)
    assert_allclose(other.effective_parameters_, 5, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", list(disguises(np.eye(4))))
def test_logistic_regression_depends_on_the_column_space_alone(data, name, n_classes):
    X, y = data
    if n_classes == 3:
        y = np.where(np.random.default_rng(2).uniform(size=60) < 0.3, 2, y)
    plain = GLSScorer(unpenalised()).fit(X, y)
    # The fitted model is transformed by hand: no solver converges on these features.
    disguised = disguises(X)[name]
    centred = disguised - disguised.mean(axis=0)
    logits = np.atleast_2d(plain.estimator_.decision_function(X).T)
    norms = np.linalg.norm(centred, axis=0)
    norms[norms <= 1e-9 * np.abs(disguised.mean(axis=0)) + 1e-300] = np.inf
    coef = (np.linalg.pinv(centred / norms) @ logits.T).T / norms
    model = unpenalised().fit(X, y)
    model.coef_, model.n_features_in_ = coef, disguised.shape[1]
    model.intercept_ = logits.mean(axis=1) - coef @ disguised.mean(axis=0)
    frozen = sklearn.frozen.FrozenEstimator(model)
    other = GLSScorer(frozen).fit(disguised, y)
    assert_allclose(other.scores_, plain.scores_, rtol=1e-6)
    assert_allclose(other.effective_parameters_, 5 * (n_classes - 1), rtol=1e-6)


def test_one_hot_with_a_redundant_level(data):
    X, y = data
    level = np.arange(60)[:, None] % 3
    full = OneHotEncoder(sparse_output=False).fit_transform(level)
    less = full[:, 1:]
    a = GLSScorer(unpenalised()).fit(np.hstack([X, less]), y).scores_
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000)
    b = GLSScorer(model).fit(np.hstack([X, full]), y).scores_
    assert_allclose(b, a, rtol=1e-5)


def test_scales_that_differ_by_16_orders_under_a_penalty(data):
    X, y = data
    wild = X * [1e-8, 1e8, 1.0, 1.0]
    y = y + X[:, 1]
    scores = GLSScorer(Ridge(alpha=1.0, solver="svd")).fit(wild, y).scores_
    # The penalty removes the tiny column, and hardly affects the huge one.
    A = np.column_stack([X[:, 1:], np.ones(60)])
    penalty = np.diag([1e-16, 1.0, 1.0, 0.0])
    assert_allclose(scores, np.diag(A @ np.linalg.solve(A.T @ A + penalty, A.T)))


def test_more_features_than_rows_without_a_penalty_interpolate():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 30)), rng.normal(size=12)
    X[3] = X[5]
    scorer = GLSScorer(LinearRegression()).fit(X, y)
    expected = np.ones(12)
    expected[[3, 5]] = 0.5
    assert_allclose(scorer.scores_, expected, rtol=1e-8)


def test_separable_classes_have_no_score(data):
    X, _ = data
    y = (X[:, 0] > 0).astype(int)
    model = LogisticRegression(C=np.inf, max_iter=10_000)
    with pytest.warns(ConvergenceWarning, match="60 of 60 records .* separated"):
        scorer = GLSScorer(model).fit(X, y)
    assert np.isnan(scorer.scores_).all()
    assert np.isnan(scorer.effective_parameters_)
    assert not scorer.converged_.any()
    penalised = GLSScorer(LogisticRegression(tol=1e-8)).fit(X, y)
    assert np.isfinite(penalised.scores_).all()


def test_only_the_records_that_are_separated_have_no_score(data):
    X, y = data
    level = np.zeros((60, 1))
    level[:5] = 1
    y[:5] = 1
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000)
    with pytest.warns(ConvergenceWarning, match="5 of 60 records"):
        scorer = GLSScorer(model).fit(np.hstack([X, level]), y)
    assert np.isnan(scorer.scores_[:5]).all()
    rest = GLSScorer(unpenalised()).fit(X[5:], y[5:])
    # The five affect no weight but that of their own level, which is at infinity.
    assert_allclose(scorer.scores_[5:], rest.scores_, rtol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_records_that_a_model_is_certain_of_have_no_score(data, n_classes):
    X, _ = data
    y = np.searchsorted(
        np.quantile(X[:, 0], np.arange(1, n_classes) / n_classes), X[:, 0]
    )
    model = LogisticRegression(C=np.inf, max_iter=10_000).fit(X, y)
    # Weights so large that all probabilities are exactly 0 or 1.
    model.coef_, model.intercept_ = model.coef_ * 1e8, model.intercept_ * 1e8
    with pytest.warns(ConvergenceWarning, match="60 of 60"):
        scorer = GLSScorer(sklearn.frozen.FrozenEstimator(model)).fit(X, y)
    assert np.isnan(scorer.scores_).all()


def test_a_model_that_has_not_converged_is_reported(data):
    X, y = data
    model = SGDClassifier(loss="log_loss", max_iter=1, tol=None, random_state=0)
    with pytest.warns(ConvergenceWarning, match="has not converged"):
        scorer = GLSScorer(model).fit(X, y)
    assert np.isnan(scorer.scores_).any()
    assert_allclose(np.isnan(scorer.scores_), ~scorer.converged_)
    assert_allclose(scorer.converged_, scorer.newton_step_ <= 0.1)


def test_leverage_of_least_squares_holds_at_any_weights(data):
    X, y = data
    # A model that need not be at the optimum, unlike LinearRegression.
    model = TweedieRegressor(power=0, alpha=0, solver="newton-cholesky").fit(X, y)
    exact = GLSScorer(sklearn.frozen.FrozenEstimator(model)).fit(X, y).scores_
    # Its solver might have stopped there with a loose tolerance.
    model.set_params(tol=100.0).coef_ = model.coef_ + 1
    frozen = sklearn.frozen.FrozenEstimator(model)
    with pytest.warns(ConvergenceWarning, match="the leverage of the optimum"):
        scorer = GLSScorer(frozen).fit(X, y)
    assert_allclose(scorer.scores_, exact, rtol=1e-12)
    assert not scorer.converged_.all()
    with pytest.warns(ConvergenceWarning, match="no score"):
        scorer = GLSScorer(frozen, variant="self_influence").fit(X, y)
    assert_allclose(np.isnan(scorer.scores_), ~scorer.converged_)


def test_newton_step_tells_the_error_of_a_score(data):
    X, y = data
    exact = GLSScorer(LogisticRegression(tol=1e-10)).fit(X, y).scores_
    with pytest.warns(ConvergenceWarning):
        rough = GLSScorer(LogisticRegression(max_iter=4)).fit(X, y)
    error = np.abs(rough.scores_ / exact - 1)
    known = rough.converged_
    # To first order; the bound is |1 - 2p| step plus the change of the total.
    assert (error[known] < 2 * rough.newton_step_.max()).all()
    assert rough.newton_step_.max() > 1e-3


def test_negative_curvature_gives_no_score(data):
    X, y = data
    model = TweedieRegressor(power=0, link="log", alpha=0).fit(X, y + 1.0)
    model.coef_, model.intercept_ = np.zeros(4), -5.0
    with pytest.warns(ConvergenceWarning, match="60 of 60 .* not at a minimum"):
        scorer = GLSScorer(sklearn.frozen.FrozenEstimator(model)).fit(X, y + 1.0)
    assert np.isnan(scorer.scores_).all()
    with pytest.warns(ConvergenceWarning, match="2 of 2 .* not at a minimum"):
        assert np.isnan(scorer.score_samples(X[:2] + 1, y[:2])).all()


def test_new_rows_beyond_the_training_span_have_no_score_without_a_penalty(data):
    X, y = data
    y = y + X[:, 1]
    double = np.hstack([X, X[:, :1], np.full((60, 1), 3.0)])
    scorer = GLSScorer(LinearRegression()).fit(double, y)
    new = double[:3] + np.array([1, 1, 1, 1, 1, 0])
    plain = GLSScorer(LinearRegression()).fit(X, y)
    assert_allclose(
        scorer.score_samples(new, y[:3]), plain.score_samples(X[:3] + 1, y[:3])
    )
    new[0, 0] += 0.01
    new[1, 5] += 0.01
    with pytest.warns(ConvergenceWarning, match="2 of 3 records .* rows do not"):
        scores = scorer.score_samples(new, y[:3])
    assert np.isnan(scores).tolist() == [True, True, False]


def test_new_rows_beyond_the_span_of_a_wide_matrix_have_no_score():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 20)), rng.normal(size=8)
    scorer = GLSScorer(LinearRegression()).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="1 of 2"):
        scores = scorer.score_samples(
            np.vstack([X[:4].mean(axis=0), rng.normal(size=20)]), y[:2]
        )
    assert np.isnan(scores).tolist() == [False, True]


def test_labels_of_outliers_do_not_affect_a_huber_regression(data):
    X, _ = data
    y = X @ [1, 2, 3, 4] + np.random.default_rng(0).normal(size=60)
    y[0] += 50
    scorer = GLSScorer(HuberRegressor(tol=1e-10, max_iter=1000)).fit(X, y)
    assert scorer.estimator_.outliers_[0]
    assert_allclose(scorer.scores_ == 0, scorer.estimator_.outliers_)


def test_inverse_root_equals_the_pseudo_inverse():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(9, 6)) * 10.0 ** np.arange(-3, 3)
    for H in (A.T @ A, A.T @ A * np.outer([1, 1, 1, 0, 0, 1], [1, 1, 1, 0, 0, 1])):
        root = inverse_root(H)
        inverse = root.inverse()
        assert_allclose(H @ inverse @ H, H, rtol=1e-8, atol=1e-12)
        assert_allclose(root.solve(H[:, 0]), inverse @ H[:, 0], atol=1e-9)
        half = A @ root.W
        expected = np.einsum("ij,jk,ik->i", A, inverse, A)
        assert_allclose((half**2).sum(axis=1), expected, rtol=1e-8)
    share = root.null_space_share(np.eye(6))
    assert_allclose(share, [0, 0, 0, 1, 1, 0], atol=1e-12)


def test_inverse_root_of_an_indefinite_matrix_raises():
    with pytest.raises(NegativeCurvatureError):
        inverse_root(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(NegativeCurvatureError):
        inverse_root(np.diag([1.0, -1.0]))


def test_whitening_finds_directions_that_a_gram_matrix_loses():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(50, 4)))[0]
    # Columns that differ by 1e-11 of their length, which their products cannot show.
    A = np.column_stack([Q[:, 0], Q[:, 0] + 1e-11 * Q[:, 1], Q[:, 2], Q[:, 2]])

    def gram(B):
        C = A if B is None else A @ B
        return C.T @ C

    B = whitening(gram, 4, 1e-13)
    assert B.shape == (4, 3)
    leverage = ((A @ B) ** 2).sum(axis=1)
    # Directions of relative size 1e-11, with rounding errors of 1e-16.
    assert_allclose(leverage, (Q[:, :3] ** 2).sum(axis=1), atol=1e-4)


def test_features_of_well_conditioned_data_are_the_centred_columns(data):
    X, _ = data
    features = Features(X, fit_intercept=True, penalized=False)
    (_, Z, null_space), *rest = features.batches(X)
    assert not rest
    assert_allclose(Z[:, :-1], scale(X, with_std=False), atol=1e-12)
    assert_allclose(Z[:, -1], 1)
    assert not null_space.any()


@pytest.mark.parametrize("variant", ["leverage", "self_influence"])
@pytest.mark.parametrize("max_iter", [20, 100, 1000])
def test_no_score_is_far_off_where_the_model_has_not_converged(variant, max_iter):
    # With unscaled features the solver stops far from the optimum. A small step of one
    # record's logit says little if the curvature of the others still changes.
    X, y = load_breast_cancer(return_X_y=True)
    tight = LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000)
    exact = GLSScorer(tight, variant=variant).fit(X, y).scores_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rough = GLSScorer(LogisticRegression(max_iter=max_iter), variant=variant).fit(
            X, y
        )
    known = ~np.isnan(rough.scores_)
    assert_allclose(rough.scores_[known], exact[known], rtol=0.2)
    assert_allclose(rough.converged_, known)


def test_leverages_of_saturated_fits_are_valid_for_the_gaussian_theory():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(20, 3)), np.eye(20)[0]])
    scores = GLSScorer(LinearRegression()).fit(X, rng.normal(size=20)).scores_
    assert scores[0] == pytest.approx(1)  # and, by rounding, often above it
    assert gaussian.attack_success(scores)[0] == pytest.approx(1)
    assert gaussian.attack_success(1 + 1e-12) == 1
    assert np.isnan(gaussian.attack_success(np.nan))


def test_negative_weights_are_an_error(data):
    X, y = data
    weights = np.ones(60)
    weights[3] = -1
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        GLSScorer(LogisticRegression()).fit(X, y, weights)


@pytest.mark.parametrize("frozen", [False, True])
def test_a_class_without_weight_cannot_be_balanced(frozen):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.array(["a", "b", "c"])[np.arange(60) % 3]
    model = LogisticRegression(class_weight="balanced")
    if frozen:
        model = sklearn.frozen.FrozenEstimator(model.fit(X, y))
    with pytest.raises(ValueError, match="is 0 in class 'c'"):
        GLSScorer(model).fit(X, y, sample_weight=y != "c")
