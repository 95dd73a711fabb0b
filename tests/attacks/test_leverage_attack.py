"""The optimal attack on least squares agrees with theory, and no attack beats it."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm, rankdata
from sklearn.linear_model import LinearRegression

from skpriv import LeverageAttack, LiRAAttack, RMIAAttack
from skpriv.attacks._shadows._likelihood import Reference
from skpriv.leverage.gaussian import tradeoff_curve


def _draw(rng, n_samples=60, n_features=20, n_outputs=1, scale=2.0):
    X = rng.normal(size=(n_samples, n_features)) * rng.uniform(0.1, 3, (n_samples, 1))
    mean = X @ rng.normal(size=(n_features, n_outputs)) + 1
    y, fresh = mean + scale * rng.normal(size=(2, n_samples, n_outputs))
    return (X, y, fresh) if n_outputs > 1 else (X, y[:, 0], fresh[:, 0])


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_leverage_is_the_diagonal_of_the_hat_matrix(fit_intercept):
    X, y, _ = _draw(np.random.default_rng(0))
    X[:, 3] = X[:, 4]
    design = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    expected = np.diag(design @ np.linalg.pinv(design))
    attack = LeverageAttack(fit_intercept=fit_intercept).fit(X, y)
    assert_allclose(attack.leverage_, expected, rtol=1e-9)
    residuals = y - LinearRegression(fit_intercept=fit_intercept).fit(X, y).predict(X)
    assert_allclose(attack.sigma2_, (residuals**2).sum() / (60 - expected.sum()))


def test_score_is_the_log_likelihood_ratio_of_the_residual():
    X, y, _ = _draw(np.random.default_rng(0))
    attack = LeverageAttack().fit(X, y)
    residual, h = y - attack.target_.predict(X), attack.leverage_
    member, other = (norm(0, np.sqrt(attack.sigma2_ * v)) for v in (1 - h, 1 + h))
    expected = member.logpdf(residual) - other.logpdf(residual)
    assert_allclose(attack.scores_, expected, rtol=1e-9)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_roc_of_a_record_lies_on_the_curve_of_the_theory(n_outputs):
    rng = np.random.default_rng(0)
    X, y, _ = _draw(rng, n_outputs=n_outputs)
    mean = LinearRegression().fit(X, y).predict(X)
    n_draws, sigma = 500, 1.5
    scores = np.empty((2, n_draws, len(X)))
    for draw in range(n_draws):
        labels, fresh = mean + sigma * rng.normal(size=(2, *y.shape))
        attack = LeverageAttack(target=LinearRegression().fit(X, labels))
        attack.fit(X, labels)
        # The variance of the errors is known here, as it is in the theory.
        attack.sigma2_ = sigma**2
        scores[:, draw] = (
            attack.score_samples(X, labels),
            attack.score_samples(X, fresh),
        )
    alpha = np.array([0.01, 0.1, 0.5])
    thresholds = np.quantile(scores[1], 1 - alpha, axis=0)
    missed = (scores[0] <= thresholds[:, np.newaxis]).mean(axis=1)
    expected = tradeoff_curve(alpha[:, np.newaxis], attack.leverage_, n_outputs)
    # Binomial error of the members, and as much again of the threshold.
    error = np.sqrt(0.25 / n_draws) + np.sqrt(alpha / n_draws)[:, np.newaxis] * 2
    assert (np.abs(missed - expected) < 4 * error).all()
    success = np.mean([scores[0] > 0, scores[1] < 0], axis=(0, 1))
    assert_allclose(
        attack.attack_success_, success, atol=4 * np.sqrt(0.25 / (2 * n_draws))
    )


def _complementary_draws(n_draws, sigma, rng):
    """Residuals of records at models that saw their label, or a fresh one instead.

    Models 2i and 2i + 1 saw the labels of complementary halves of the records. Returns
    the residuals, which of them are of members, and the scores of LeverageAttack.
    """
    X, y, _ = _draw(rng)
    mean = LinearRegression().fit(X, y).predict(X)
    membership = rng.permuted(np.tile(np.arange(60) % 2 == 0, (n_draws, 1)), axis=1)
    membership[1::2] = ~membership[::2]
    residuals, scores = np.empty((2, n_draws, 60))
    for draw, member in enumerate(membership):
        labels, fresh = mean + sigma * rng.normal(size=(2, 60))
        asked = np.where(member, labels, fresh)
        attack = LeverageAttack().fit(X, labels)
        attack.sigma2_ = sigma**2  # known, as it is to the theory
        scores[draw] = attack.score_samples(X, asked)
        residuals[draw] = asked - attack.target_.predict(X)
    return residuals, membership, scores


def _lira(signals, membership, **parameters):
    attack = LiRAAttack.from_signals(signals, membership, **parameters)
    return attack.shadow_scores()


def _rmia(signals, membership):
    """Each model attacked with the help of 8 others, its partner not among them."""
    scores = np.empty(signals.shape)
    for target in range(len(signals)):
        others = (target // 2 * 2 + 2 + np.arange(8)) % len(signals)
        scores[target] = RMIAAttack(n_shadows=8)._score_signals(
            signals[target], Reference(signals[others], membership[others])
        )
    return scores


# What other attacks make of the residuals, in units of sigma: their loss is r ** 2 / 2.
RIVALS = {
    "loss": lambda r, member: -(r**2),
    "LiRA of the residual": _lira,
    "LiRA of the residual, own variance": partial(_lira, variance="record"),
    "LiRA of the residual, one variance": partial(_lira, variance="pooled"),
    "LiRA of the loss": lambda r, member: _lira(-(r**2), member),
    "LiRA of the log of the loss": lambda r, member: _lira(-np.log(r**2), member),
    "LiRA of the loss, offline": lambda r, member: _lira(
        -(r**2), member, mode="offline"
    ),
    "RMIA": lambda r, member: _rmia(-(r**2) / 2, member),
}


@pytest.fixture(scope="module")
def draws():
    return _complementary_draws(1000, 1.5, np.random.default_rng(1))


def _auc_of_each(scores, membership):
    n_members = membership.sum(axis=1)
    ranks = (rankdata(scores, axis=1) * membership).sum(axis=1)
    below = ranks - n_members * (n_members + 1) / 2
    return below / (n_members * (~membership).sum(axis=1))


def _tpr_of_each(scores, membership, alpha):
    """Members found in each draw, at one threshold for the non-members of all."""
    threshold = np.quantile(scores[~membership], 1 - alpha)
    return ((scores > threshold) & membership).sum(axis=1) / membership.sum(axis=1)


@pytest.mark.xdist_group("draws")  # which are drawn once
@pytest.mark.parametrize("rival", RIVALS)
def test_no_other_attack_on_the_same_draws_does_better(draws, rival):
    residuals, membership, scores = draws
    other = RIVALS[rival](residuals / 1.5, membership)
    assert np.isfinite(other).all()
    measures = [_auc_of_each]
    measures += [partial(_tpr_of_each, alpha=alpha) for alpha in (0.01, 0.05, 0.2)]
    for measure in measures:
        gap = np.subtract(measure(scores, membership), measure(other, membership))
        # By complementary pairs, which are drawn independently of each other.
        gap = gap.reshape(-1, 2).mean(axis=1)
        assert gap.mean() > -3 * gap.std() / np.sqrt(gap.size), measure


def test_rows_are_recognised_and_new_labels_are_scored():
    X, y, fresh = _draw(np.random.default_rng(0))
    attack = LeverageAttack().fit(X, y)
    assert_allclose(attack.score_samples(X[5:9]), attack.scores_[5:9])
    assert_allclose(attack.score_samples(X, y), attack.scores_)
    assert (attack.score_samples(X, fresh) != attack.scores_).all()
    with pytest.warns(UserWarning, match="1 rows of X have a leverage above 1"):
        scores = attack.score_samples(100 * X[:1], y[:1])
    assert np.isnan(scores).all()


def test_model_without_errors_gives_no_score():
    X, _, _ = _draw(np.random.default_rng(0))
    with pytest.warns(UserWarning, match="no errors on the records of fit"):
        scores = LeverageAttack().fit(X, np.zeros(60)).scores_
    assert np.isnan(scores).all()


def test_as_many_parameters_as_rows_are_refused():
    X, y, _ = _draw(np.random.default_rng(0), 20, 20)
    with pytest.raises(ValueError, match="got n_samples=20 and 20 parameters"):
        LeverageAttack().fit(X, y)


def test_a_record_alone_in_a_column_is_a_member_for_certain():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = np.c_[rng.normal(size=(60, 4)), np.arange(60) == 0]
        y = X @ [1, 2, 3, 4, 9] + rng.normal(size=60)
        attack = LeverageAttack().fit(X, y)
        assert attack.scores_[0] == np.inf
        assert np.isfinite(attack.scores_[1:]).all()


def test_a_target_without_errors_has_no_scores_whatever_the_rounding():
    X = np.random.default_rng(0).normal(size=(60, 4))
    for y in (X[:, 0], 100 + X @ [1, 2, 3, 4], 1e-5 * X[:, 1]):
        attack = LeverageAttack().fit(X, y)
        with pytest.warns(UserWarning, match="no errors"):
            assert np.isnan(attack.scores_).all()


@pytest.mark.parametrize("dtype", [str, object])
def test_labels_that_are_strings_are_refused(dtype):
    X, y, _ = _draw(np.random.default_rng(0))
    strings = np.where(y > 0, "1", "0").astype(dtype)
    with pytest.raises(
        ValueError, match=r"y must be numeric, .* got strings such as '"
    ):
        LeverageAttack().fit(X, strings)
    with pytest.raises(
        ValueError, match=r"y must be numeric, .* got strings such as '"
    ):
        LeverageAttack().fit(X, y).score_samples(X, strings)


@pytest.mark.parametrize(("given", "fitted"), [(1, 2), (2, 1)])
def test_target_of_other_outputs_than_y_is_refused(given, fitted):
    X, y, _ = _draw(np.random.default_rng(0), n_outputs=2)
    target = LinearRegression().fit(X, y[:, :fitted])
    with pytest.raises(
        ValueError, match=f"predicts {fitted} outputs, and y has {given}"
    ):
        LeverageAttack(target=target).fit(X, y[:, :given])
