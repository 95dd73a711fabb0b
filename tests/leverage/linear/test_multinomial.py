"""Softmax kernels equal naive twins, and one logit agrees with two."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import softmax
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

from skpriv import GLSScorer
from skpriv.leverage._softmax import (
    centred_trace,
    curvature_trace,
    kronecker_rows,
    others,
    output_kernels,
    quadratic,
    softmax_hessian,
    step_size,
)
from skpriv.leverage.linear._multinomial import MultinomialSensitivities
from skpriv.leverage.linear._objective import Objective
from skpriv.leverage.linear._targets import ClassIndicators


def case(seed, n=9, size=3, n_classes=4, sharpness=1.0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, size))
    proba = softmax(sharpness * rng.normal(size=(n, n_classes)), axis=1)
    return Z, proba, rng.uniform(0.5, 2, size=n)


def curvatures(proba):
    return [np.diag(p) - np.outer(p, p) for p in proba]


def naive_hessian(Z, proba, weights):
    return sum(
        w * np.kron(L, np.outer(z, z))
        for w, L, z in zip(weights, curvatures(proba), Z, strict=True)
    )


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 4), st.integers(2, 5))
@settings(deadline=None, max_examples=30)
def test_hessian_equals_its_naive_twin(seed, n, size, n_classes):
    Z, proba, weights = case(seed, n, size, n_classes)
    batches = [(slice(0, n // 2), Z[: n // 2], 0), (slice(n // 2, n), Z[n // 2 :], 0)]
    H = softmax_hessian(batches, proba, weights, size)
    naive = naive_hessian(Z, proba, weights)
    assert_allclose(np.tril(H), np.tril(naive), atol=1e-13 * n)


def test_output_kernels_equal_their_naive_twin():
    Z, proba, _ = case(0)
    G = np.cov(np.random.default_rng(1).normal(size=(12, 40)))
    K = output_kernels(Z, G, 4)
    for z, k in zip(Z, K, strict=True):
        J = np.kron(np.eye(4), z)
        assert_allclose(k, J @ G @ J.T, rtol=1e-12)
    assert_allclose(
        kronecker_rows(proba, Z), [np.kron(p, z) for p, z in zip(proba, Z, strict=True)]
    )


@pytest.mark.parametrize("sharpness", [1.0, 30.0])
def test_traces_equal_their_naive_twins(sharpness):
    Z, proba, _ = case(0, sharpness=sharpness)
    K = output_kernels(Z, np.cov(np.random.default_rng(1).normal(size=(12, 40))), 4)
    naive = [np.trace(L @ k) for L, k in zip(curvatures(proba), K, strict=True)]
    # The naive twin is the one that loses digits where p is near 1.
    assert_allclose(curvature_trace(proba, K), naive, rtol=1e-8, atol=1e-15)
    center = np.eye(4) - 0.25
    assert_allclose(centred_trace(K), [np.trace(center @ k @ center) for k in K])
    assert_allclose(
        quadratic(proba, K), [p @ k @ p for p, k in zip(proba, K, strict=True)]
    )


def test_trace_keeps_its_digits_where_a_class_is_certain():
    # Tr(ΛK) with p = (1 - 2e, e, e) and K = diag(1, 2, 3) is 7e to first order.
    e = 1e-13
    proba = np.array([[1 - 2 * e, e, e]])
    K = np.diag([1.0, 2.0, 3.0])[None]
    assert_allclose(curvature_trace(proba, K), 7 * e, rtol=1e-10)
    assert_allclose(others(proba)[0], [2 * e, 1 - e, 1 - e], rtol=1e-12)


def test_step_size_of_two_classes_is_the_step_of_their_difference():
    _, proba, _ = case(0, n_classes=2)
    steps = np.random.default_rng(0).normal(size=proba.shape)
    assert_allclose(step_size(proba, steps), np.abs(steps[:, 1] - steps[:, 0]))


@pytest.mark.parametrize("penalty", [0.0, 2.0])
def test_one_logit_and_two_logits_agree(penalty):
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(60, 4)), rng.logistic(size=60)
    y = (X[:, 0] + noise > 0).astype(int)
    C = np.inf if penalty == 0 else 1 / penalty
    model = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12)
    scorer = GLSScorer(model).fit(X, y)
    coef, intercept = scorer.estimator_.coef_, scorer.estimator_.intercept_
    objective = Objective(
        None,
        np.vstack([-coef, coef]) / 2,
        np.append(-intercept, intercept) / 2,
        True,
        np.zeros(2),
        # |w|² / 4 in each of two logits is half of the penalty of their difference.
        np.full(2, 2 * penalty),
        np.ones((2, 4), dtype=bool),
        ClassIndicators(np.array([0, 1]), 2, 0.0, np.ones(2)),
    )
    ones = np.ones(60)
    two = MultinomialSensitivities(objective).solve(X, y, ones, attack_power=True)
    two = two.terms(X, y, ones)
    one = GLSScorer(model, variant="attack_power").fit(X, y)
    one = one._sensitivities.terms(X, y, ones)
    assert_allclose(two.leverage, scorer.scores_, rtol=1e-8)
    assert_allclose(two.self_influence, one.self_influence, rtol=1e-8)
    assert_allclose(
        two.confidence_shift / np.sqrt(two.confidence_variance),
        one.confidence_shift / np.sqrt(one.confidence_variance),
        rtol=1e-8,
    )
    assert two.newton_step.max() < 1e-6


def test_unpenalised_leverages_count_the_parameters():
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(0)
    # Three features and noisy labels: classes overlap.
    X, y = scale(X[:, :3]), np.where(rng.uniform(size=len(y)) < 0.3, 0, y)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    scorer = GLSScorer(model).fit(X, y)
    assert_allclose(scorer.effective_parameters_, 2 * 4, rtol=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_penalised_leverages_add_up_to_the_trace_of_the_smoother(fit_intercept):
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(
        C=0.5, fit_intercept=fit_intercept, solver="newton-cholesky", tol=1e-12
    )
    scorer = GLSScorer(model).fit(X, y)
    Z = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    proba = scorer.estimator_.predict_proba(X)
    D = naive_hessian(Z, proba, np.ones(len(X)))
    penalty = np.full(Z.shape[1], 2.0)
    if fit_intercept:
        penalty[-1] = 0
    H = D + np.diag(np.tile(penalty, 3))
    assert_allclose(
        scorer.effective_parameters_, np.trace(np.linalg.pinv(H) @ D), rtol=1e-8
    )


def test_wide_softmax_equals_the_full_hessian():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(15, 25)), np.arange(15) % 3
    new = rng.normal(size=(4, 25))
    model = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000)
    scorer = GLSScorer(model).fit(X, y)
    Z = np.column_stack([X, np.ones(15)])
    proba = scorer.estimator_.predict_proba(X)
    H = naive_hessian(Z, proba, np.ones(15))
    H += np.diag(np.tile(np.append(np.full(25, 0.5), 0), 3))
    inverse = np.linalg.pinv(H)

    def truth(rows):
        proba = scorer.estimator_.predict_proba(rows)
        K = output_kernels(np.column_stack([rows, np.ones(len(rows))]), inverse, 3)
        return curvature_trace(proba, K)

    assert_allclose(scorer.scores_, truth(X), rtol=1e-8)
    assert_allclose(scorer.score_samples(new, y[:4]), truth(new), rtol=1e-8)
