"""Scores equal those found by refitting with a perturbed label, model by model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import root
from scipy.special import expit
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
    TweedieRegressor,
)

from skpriv import GLSScorer

# Finite differences and solvers leave errors of a smaller order than this.
RTOL = 1e-3

RECORDS = [0, 3, 7, 11]


def problem(seed=0, n=30, p=3, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[:, 1] += 0.5 * X[:, 0] + 1
    signal = X @ rng.normal(size=(p, n_classes))
    classes = (signal + rng.gumbel(size=signal.shape)).argmax(axis=1)
    weights = rng.uniform(0.5, 2, size=n)
    return X, classes, signal[:, 0] + rng.normal(size=n), weights


def sensitivity_to_target(estimator, X, y, weights, i):
    """Trace of d prediction / d target of a record, by central differences."""
    total = 0.0
    for output in range(y.reshape(len(y), -1).shape[1]):
        predictions = []
        for change in (-1e-4, 1e-4):
            moved = y.reshape(len(y), -1).copy()
            moved[i, output] += change
            moved = moved.reshape(y.shape)
            estimator.fit(X, moved, sample_weight=weights)
            predictions.append(estimator.predict(X[[i]]).reshape(-1)[output])
        total += (predictions[1] - predictions[0]) / 2e-4
    return total / y.reshape(len(y), -1).shape[1]


def sensitivity_to_class(estimator, X, y, weights, i, transform):
    """Trace of d output / d label of a record, by adding a little of each label."""

    def slope(step):
        total = 0.0
        for c in range(len(np.unique(y))):
            outputs = []
            for added in (0.0, step):
                estimator.fit(
                    np.vstack([X, X[i]]),
                    np.append(y, c),
                    sample_weight=np.append(weights, added),
                )
                outputs.append(transform(estimator, X[[i]])[c])
            total += (outputs[1] - outputs[0]) / step
        return total

    # Richardson's extrapolation of one-sided differences.
    return weights[i] * (2 * slope(5e-4) - slope(1e-3))


def proba(estimator, X):
    return estimator.predict_proba(X)[0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        LinearRegression(positive=True),
        Ridge(alpha=2.0),
        Ridge(alpha=2.0, positive=True, tol=1e-12),
        ElasticNet(alpha=0.2, tol=1e-14, max_iter=10**5),
        Lasso(alpha=0.2, tol=1e-14, max_iter=10**5),
        TweedieRegressor(power=0, alpha=0.3, solver="newton-cholesky", tol=1e-12),
    ],
    ids=str,
)
def test_leverage_of_real_targets(model, fit_intercept, weighted):
    X, _, y, weights = problem()
    weights = weights if weighted else np.ones(len(X))
    model.set_params(fit_intercept=fit_intercept)
    scores = GLSScorer(model).fit(X, y, sample_weight=weights).scores_
    truth = [sensitivity_to_target(model, X, y, weights, i) for i in RECORDS]
    assert_allclose(scores[RECORDS], truth, rtol=RTOL)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize(
    "model",
    [
        PoissonRegressor(),
        GammaRegressor(),
        TweedieRegressor(power=1.5),
    ],
    ids=str,
)
def test_leverage_of_positive_targets(model, alpha, fit_intercept, weighted):
    X, _, y, weights = problem(seed=1)
    y = np.exp(y / 2)
    weights = weights if weighted else np.ones(len(X))
    model.set_params(
        fit_intercept=fit_intercept,
        alpha=alpha,
        solver="newton-cholesky",
        tol=1e-12,
    )
    scores = GLSScorer(model).fit(X, y, sample_weight=weights).scores_
    truth = [sensitivity_to_target(model, X, y, weights, i) for i in RECORDS]
    assert_allclose(scores[RECORDS], truth, rtol=RTOL)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize(
    ("power", "link"), [(0, "log"), (3, "log"), (1, "identity"), (2, "identity")]
)
def test_leverage_under_a_link_that_is_not_canonical(
    power, link, alpha, fit_intercept, weighted
):
    X, _, y, weights = problem(seed=1)
    y = np.exp(y / 4)
    if link == "identity":
        X = np.abs(X)
        y += X.sum(axis=1)
    weights = weights if weighted else np.ones(len(X))
    model = TweedieRegressor(
        power=power, link=link, alpha=alpha, fit_intercept=fit_intercept
    )
    design = np.hstack([X, np.full((len(X), 1), float(fit_intercept))])
    mean = np.exp if link == "log" else np.asarray

    def solve(y, start):
        def gradient(theta):
            mu = mean(design @ theta)
            residual = weights * (mu - y) * mu ** (-power)
            g = design.T @ (residual * mu if link == "log" else residual)
            g += weights.sum() * alpha * np.append(theta[:-1], 0)
            return g if fit_intercept else np.append(g[:-1], theta[-1])

        solution = root(gradient, start, tol=1e-14)
        assert np.abs(solution.fun).max() < 1e-9
        return solution.x

    start = np.linalg.lstsq(design, np.log(y) if link == "log" else y)[0]
    theta = solve(y, start)
    model.coef_, model.intercept_ = theta[:-1], theta[-1]
    scores = GLSScorer(FrozenEstimator(model)).fit(X, y, sample_weight=weights).scores_
    for i in RECORDS:
        outputs = []
        for step in (-1e-5, 1e-5):
            moved = y.copy()
            moved[i] += step
            outputs.append(mean(design[i] @ solve(moved, theta)))
        assert_allclose(scores[i], (outputs[1] - outputs[0]) / 2e-5, rtol=RTOL)


def test_leverages_under_a_log_link_do_not_add_up_to_the_number_of_parameters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = rng.gamma(2, np.exp(0.3 * X @ [1, -1, 0.5]))
    model = GammaRegressor(alpha=0, tol=1e-10, max_iter=10_000)
    scorer = GLSScorer(model).fit(X, y)
    truth = [
        sensitivity_to_target(clone(model), X, y, np.ones(50), i) for i in range(50)
    ]
    assert_allclose(scorer.effective_parameters_, np.sum(truth), rtol=RTOL)
    assert abs(scorer.effective_parameters_ - 4) > 0.1
    assert_allclose(scorer.get_influence().hat_matrix_diag.sum(), 4, rtol=1e-9)
    poisson = PoissonRegressor(alpha=0, tol=1e-10, max_iter=10_000)
    # The logarithm is the canonical link of the Poisson distribution.
    assert_allclose(GLSScorer(poisson).fit(X, y).effective_parameters_, 4, rtol=1e-9)


@pytest.mark.parametrize("alpha", [1.5, [0.1, 10.0]])
def test_leverage_of_several_targets(alpha):
    X, _, y, weights = problem()
    Y = np.column_stack([y, np.sin(3 * y)])
    model = Ridge(alpha=alpha)
    scores = GLSScorer(model).fit(X, Y, sample_weight=weights).scores_
    truth = [sensitivity_to_target(model, X, Y, weights, i) for i in RECORDS]
    assert_allclose(scores[RECORDS], truth, rtol=RTOL)


def test_leverage_of_several_targets_with_an_active_set_each():
    X, _, y, weights = problem(p=5)
    Y = np.column_stack([y, np.sin(3 * y)])
    model = Lasso(alpha=0.15, tol=1e-14, max_iter=10**5)
    scorer = GLSScorer(model).fit(X, Y, sample_weight=weights)
    active = scorer.estimator_.coef_ != 0
    assert active.any(axis=1).all()
    assert not active.all(axis=1).any()
    truth = [sensitivity_to_target(model, X, Y, weights, i) for i in RECORDS]
    assert_allclose(scorer.scores_[RECORDS], truth, rtol=RTOL)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_leverage_of_logistic_regression(n_classes, C, fit_intercept, weighted):
    X, y, _, weights = problem(n_classes=n_classes, n=40)
    weights = weights if weighted else np.ones(len(X))
    model = LogisticRegression(
        C=C, fit_intercept=fit_intercept, solver="newton-cholesky", tol=1e-12
    )
    scores = GLSScorer(model).fit(X, y, sample_weight=weights).scores_
    truth = [sensitivity_to_class(model, X, y, weights, i, proba) for i in RECORDS]
    assert_allclose(scores[RECORDS], truth, rtol=RTOL)


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_leverage_where_liblinear_penalises_the_intercept(l1_ratio):
    X, y, _, weights = problem(n=40)
    model = LogisticRegression(
        C=0.7,
        solver="liblinear",
        l1_ratio=l1_ratio,
        intercept_scaling=2.0,
        tol=1e-12,
        max_iter=10**5,
        random_state=0,
    )
    scores = GLSScorer(model).fit(X, y, sample_weight=weights).scores_
    truth = [sensitivity_to_class(model, X, y, weights, i, proba) for i in RECORDS]
    assert_allclose(scores[RECORDS], truth, rtol=RTOL)


@pytest.mark.parametrize(("n_classes", "l1_ratio"), [(2, 1.0), (3, 0.6), (3, 1.0)])
def test_leverage_on_the_active_set_of_an_elastic_net(n_classes, l1_ratio):
    X, y, _, weights = problem(n_classes=n_classes, n=40, p=4)
    model = LogisticRegression(
        C=0.2, l1_ratio=l1_ratio, solver="saga", tol=1e-13, max_iter=10**5
    )
    scorer = GLSScorer(model).fit(X, y, sample_weight=weights)
    active = scorer.estimator_.coef_ != 0
    assert active.any()
    assert not active.all()
    truth = [sensitivity_to_class(model, X, y, weights, i, proba) for i in RECORDS[:2]]
    assert_allclose(scorer.scores_[RECORDS[:2]], truth, rtol=RTOL)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logit_leverage_of_logistic_regression(n_classes):
    X, y, _, weights = problem(n_classes=n_classes, n=40)
    model = LogisticRegression(C=2.0, solver="newton-cholesky", tol=1e-12)

    def logits(estimator, X):
        f = estimator.decision_function(X).ravel()
        # One logit answers to the label through its own class alone.
        return np.array([0.0, f[0]]) if n_classes == 2 else f

    scores = GLSScorer(model, space="logit").fit(X, y, sample_weight=weights).scores_
    if n_classes == 2:
        half = GLSScorer(model).fit(X, y, sample_weight=weights)
        p = half.estimator_.predict_proba(X)[:, 1]
        assert_allclose(scores * p * (1 - p), half.scores_, rtol=1e-10)
        return
    truth = [sensitivity_to_class(model, X, y, weights, i, logits) for i in RECORDS]
    assert_allclose(scores[RECORDS], truth, rtol=RTOL)


def test_self_influence_is_the_loss_that_a_record_saves_itself():
    X, y, _, weights = problem(n_classes=3, n=40)
    model = LogisticRegression(C=2.0, solver="newton-cholesky", tol=1e-12)
    scorer = GLSScorer(model, variant="self_influence")
    scores = scorer.fit(X, y, sample_weight=weights).scores_
    for i in RECORDS:
        losses = []
        for step in (-1e-4, 1e-4):
            moved = weights.copy()
            moved[i] += step
            model.fit(X, y, sample_weight=moved)
            losses.append(-model.predict_log_proba(X[[i]])[0, y[i]])
        truth = weights[i] * (losses[0] - losses[1]) / 2e-4
        assert_allclose(scores[i], truth, rtol=RTOL)


@pytest.mark.parametrize(
    "model",
    [Ridge(alpha=2.0), PoissonRegressor(solver="newton-cholesky", tol=1e-12)],
    ids=str,
)
def test_self_influence_of_real_targets(model):
    X, _, y, weights = problem()
    y = np.exp(y / 2)
    scorer = GLSScorer(model, variant="self_influence")
    scores = scorer.fit(X, y, sample_weight=weights).scores_
    for i in RECORDS:
        losses = []
        for step in (-1e-4, 1e-4):
            moved = weights.copy()
            moved[i] += step
            if isinstance(model, PoissonRegressor):
                # Its penalty counts next to the mean loss: hold it next to the sum.
                alpha = weights.sum() / moved.sum()
                mean = clone(model).set_params(alpha=alpha)
                mean = mean.fit(X, y, sample_weight=moved).predict(X[[i]])[0]
                losses.append(mean - y[i] * np.log(mean))
            else:
                f = model.fit(X, y, sample_weight=moved).predict(X[[i]])[0]
                losses.append((f - y[i]) ** 2 / 2)
        truth = weights[i] * (losses[0] - losses[1]) / 2e-4
        assert_allclose(scores[i], truth, rtol=RTOL)


def test_ridge_classifier_is_ridge_on_signs():
    X, y, _, weights = problem(n_classes=3)
    signs = 2.0 * (y[:, None] == np.arange(3)) - 1
    classifier = GLSScorer(RidgeClassifier(alpha=0.5)).fit(X, y, weights)
    regression = GLSScorer(Ridge(alpha=0.5)).fit(X, signs, weights)
    assert_allclose(classifier.scores_, regression.scores_, rtol=1e-12)


def test_balanced_classes_are_weights_of_records():
    X, y, _, weights = problem(n_classes=3, n=40)
    y[:10] = 0
    balanced = LogisticRegression(
        class_weight="balanced", solver="newton-cholesky", tol=1e-12
    )
    total = np.bincount(y, weights=weights)
    same = weights * weights.sum() / (3 * total[y])
    plain = LogisticRegression(solver="newton-cholesky", tol=1e-12)
    assert_allclose(
        GLSScorer(balanced).fit(X, y, sample_weight=weights).scores_,
        GLSScorer(plain).fit(X, y, sample_weight=same).scores_,
        rtol=1e-9,
    )


# SGD comes near to its optimum, no more. These solve its objective exactly, put the
# solution into a fitted model, and perturb labels there.

ALPHA = 0.05


def sgd_slopes(loss, t, f):
    """Derivative of the loss in f, for targets t in {0, 1} or real ones."""
    if loss == "log_loss":
        return expit(f) - t
    if loss == "squared_error":
        return f - t
    if loss == "huber":
        return np.clip(f - t, -0.5, 0.5)
    one = np.where(f < 1, -2 * (1 - np.maximum(f, -1)), 0)
    zero = np.where(f > -1, 2 * (1 + np.minimum(f, 1)), 0)
    return t * one + (1 - t) * zero


def solve_sgd(loss, X, targets, weights, start):
    design = np.column_stack([X, np.ones(len(X))])

    def gradient(theta):
        slopes = weights * sgd_slopes(loss, targets, design @ theta)
        return design.T @ slopes + len(X) * ALPHA * np.append(theta[:-1], 0)

    return root(gradient, start, tol=1e-14).x


@pytest.mark.parametrize("loss", ["log_loss", "modified_huber", "squared_error"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_leverage_of_sgd_classifier(loss, n_classes):
    X, y, _, weights = problem(n_classes=n_classes, n=40)
    class_weight = {c: 1.0 + c for c in range(n_classes)}
    model = SGDClassifier(
        loss=loss, alpha=ALPHA, class_weight=class_weight, random_state=0
    ).fit(X, y, sample_weight=weights)
    record, expected = 3, 0.0
    for j, row in enumerate(model.coef_):
        hit = y == model.classes_[-len(model.coef_) :][j]
        both = weights * np.where(hit, class_weight[1] if n_classes == 2 else 1 + j, 1)
        start = np.append(row, model.intercept_[j])
        signs = 2.0 * hit - 1
        low = -1.0 if loss == "squared_error" else 0.0
        targets = np.where(hit, 1.0, low)

        theta = solve_sgd(loss, X, targets, both, start)
        model.coef_[j], model.intercept_[j] = theta[:-1], theta[-1]
        outputs = []
        for step in (-1e-5, 1e-5):
            moved = targets.copy()
            moved[record] += step
            f = np.append(X[record], 1) @ solve_sgd(loss, X, moved, both, theta)
            outputs.append(
                {
                    "log_loss": expit(f),
                    "modified_huber": (np.clip(f, -1, 1) + 1) / 2,
                    "squared_error": f,
                }[loss]
            )
        expected += (outputs[1] - outputs[0]) / 2e-5
        assert signs.any()
    if loss == "squared_error":
        expected /= len(model.coef_)
    scorer = GLSScorer(FrozenEstimator(model)).fit(X, y, sample_weight=weights)
    assert_allclose(scorer.scores_[record], expected, rtol=RTOL)


@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_sgd_with_an_elastic_net_is_logistic_regression(l1_ratio):
    X, y, _, _ = problem(n=40, p=5)
    logistic = LogisticRegression(
        C=1 / (40 * 0.15), l1_ratio=l1_ratio, solver="saga", tol=1e-12, max_iter=10**5
    )
    exact = GLSScorer(logistic).fit(X, y)
    assert (exact.estimator_.coef_ == 0).any()
    model = SGDClassifier(
        loss="log_loss", penalty="elasticnet", l1_ratio=l1_ratio, alpha=0.15
    ).fit(X, y)
    model.coef_ = exact.estimator_.coef_
    model.intercept_ = exact.estimator_.intercept_
    scorer = GLSScorer(FrozenEstimator(model)).fit(X, y)
    assert_allclose(scorer.scores_, exact.scores_, rtol=1e-10)
    assert_allclose(scorer.newton_step_, exact.newton_step_, atol=1e-9)


@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_leverage_of_sgd_regressor(loss):
    X, _, y, weights = problem()
    model = SGDRegressor(loss=loss, alpha=ALPHA, epsilon=0.5, random_state=0).fit(X, y)
    start = np.append(model.coef_, model.intercept_)
    theta = solve_sgd(loss, X, y, weights, start)
    model.coef_, model.intercept_ = theta[:-1], theta[-1:]
    scores = GLSScorer(FrozenEstimator(model)).fit(X, y, sample_weight=weights).scores_
    for i in RECORDS:
        outputs = []
        for step in (-1e-5, 1e-5):
            moved = y.copy()
            moved[i] += step
            solution = solve_sgd(loss, X, moved, weights, theta)
            outputs.append(np.append(X[i], 1) @ solution)
        truth = (outputs[1] - outputs[0]) / 2e-5
        assert_allclose(scores[i], truth, rtol=RTOL, atol=1e-6)


def test_sgd_itself_comes_near_the_objective_that_is_read_off_it():
    X, y, _, weights = problem(n=200)
    class_weight = {0: 1.0, 1: 3.0}
    model = SGDClassifier(
        loss="log_loss",
        alpha=ALPHA,
        class_weight=class_weight,
        average=10_000,
        max_iter=1000,
        tol=None,
        random_state=0,
    )
    scorer = GLSScorer(model).fit(X, y, sample_weight=weights)
    both = weights * np.where(y == 1, 3.0, 1.0)
    theta = solve_sgd("log_loss", X, y, both, np.zeros(4))
    # As near as a stochastic solver comes.
    assert_allclose(scorer.estimator_.coef_[0], theta[:-1], atol=0.02)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_leverage_of_huber_regression(fit_intercept, alpha):
    X, _, y, weights = problem()
    y[::6] += 4
    model = HuberRegressor(alpha=alpha, fit_intercept=fit_intercept, epsilon=1.2)
    model.fit(X, y, sample_weight=weights)
    ones = np.full((len(X), 1), float(fit_intercept))
    design = np.hstack([X, ones])

    def solve(y, start, weights=weights):
        def gradient(theta):
            z = (y - design @ theta[:-1]) / theta[-1]
            clipped = np.clip(z, -1.2, 1.2)
            slopes = -2 * design.T @ (weights * clipped)
            slopes += 2 * alpha * np.append(theta[:-2], 0)
            if not fit_intercept:
                slopes[-1] = theta[-2]
            return np.append(slopes, weights @ (1 - clipped**2))

        return root(gradient, start, tol=1e-14).x

    start = np.concatenate([model.coef_, [model.intercept_, model.scale_]])
    theta = solve(y, start)
    model.coef_, model.intercept_, model.scale_ = theta[:-2], theta[-2], theta[-1]
    scores = GLSScorer(FrozenEstimator(model)).fit(X, y, sample_weight=weights).scores_
    for i in [0, 1, 2, 3, 6]:
        outputs = []
        for step in (-1e-5, 1e-5):
            moved = y.copy()
            moved[i] += step
            outputs.append(design[i] @ solve(moved, theta)[:-1])
        truth = (outputs[1] - outputs[0]) / 2e-5
        assert_allclose(scores[i], truth, rtol=RTOL, atol=1e-6)
    assert (scores[[0, 6]] == 0).any()
    influence = GLSScorer(FrozenEstimator(model), variant="self_influence")
    influence.fit(X, y, sample_weight=weights)
    for i in [0, 1, 2, 3, 6]:
        losses = []
        for step in (-1e-5, 1e-5):
            moved = weights.copy()
            moved[i] += step
            solution = solve(y, theta, moved)
            sigma = solution[-1]
            z = abs(y[i] - design[i] @ solution[:-1]) / sigma
            losses.append(sigma + sigma * (z**2 if z < 1.2 else 2.4 * z - 1.44))
        truth = weights[i] * (losses[0] - losses[1]) / 2e-5
        assert_allclose(influence.scores_[i], truth, rtol=RTOL)
