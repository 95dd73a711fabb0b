"""Attacks on regressors, whose signal is the prediction."""

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skpriv import (
    GLSScorer,
    LiRAAttack,
    LossAttack,
    RiskEstimator,
    RMIAAttack,
)
from skpriv.evaluation import (
    cross_val_membership,
    membership_game,
    records_at_risk,
    success_by_group,
)
from skpriv.metrics import attack_report

X, Y = (rows[:120] for rows in load_diabetes(return_X_y=True))
FEW = {"n_shadows": 8, "random_state": 0}
TREE = DecisionTreeRegressor(min_samples_leaf=3)


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), Ridge()),
        TransformedTargetRegressor(Ridge(), transformer=StandardScaler()),
        TREE,
        KNeighborsRegressor(3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_signals_are_the_predictions_of_models_of_halves(model):
    attack = LiRAAttack(model, **FEW, store_models=True).fit(X, Y)
    expected = [shadow.predict(X) for shadow in attack.models_]
    assert_array_equal(attack.signals_, expected)
    assert_array_equal(attack.target_signals_, attack.target_.predict(X))
    assert_array_equal(attack.membership_.sum(axis=1), 60)
    assert_array_equal(attack.membership_[1::2], ~attack.membership_[::2])
    # Halves are random, not every other record in the order of the labels.
    assert len(np.unique(attack.membership_, axis=0)) == 8
    if isinstance(model, TransformedTargetRegressor | KNeighborsRegressor):
        rows = attack.membership_[0]
        refit = clone(model).fit(X[rows], Y[rows])
        assert_array_equal(attack.signals_[0], refit.predict(X))
    assert not hasattr(attack, "classes_")
    assert not attack.saturated_.any()
    assert not attack.missing_class_.any()


def _shadows(n_shadows=64, n_records=300, seed=0):
    """Simulate models, the first tenth of whose records move predictions by 3."""
    rng = np.random.default_rng(seed)
    membership = np.zeros((n_shadows, n_records), dtype=bool)
    for pair in range(n_shadows // 2):
        membership[2 * pair] = rng.permutation(n_records) % 2 == 0
    membership[1::2] = ~membership[::2]
    sign = np.where(np.arange(n_records) % 2, 1.0, -1.0)
    gap = 3 * sign * (np.arange(n_records) < n_records / 10)
    signals = 50 + rng.normal(size=membership.shape) + gap * membership
    return signals, membership, 50 + 10 * sign


def test_score_is_the_log_ratio_of_two_normal_densities():
    signals, membership, y = _shadows()
    values = signals[0] + 0.5
    attack = LiRAAttack.from_signals(
        signals, membership, y=y, target_signals=values, variance="record"
    )
    in_, out = (
        norm(*(f(signals, axis=0, where=side) for f in (np.mean, _deviation)))
        for side in (membership, ~membership)
    )
    assert_allclose(attack.scores_, in_.logpdf(values) - out.logpdf(values), rtol=1e-9)


def _deviation(values, axis, where):
    return values.std(axis=axis, where=where, ddof=1)


def test_offline_looks_on_the_side_of_the_label():
    signals, membership, y = _shadows()
    values = signals[0]
    attack = LiRAAttack.from_signals(
        signals,
        membership,
        y=y,
        target_signals=values,
        mode="offline",
        variance="record",
    )
    mean = signals.mean(axis=0, where=~membership)
    z = (values - mean) / _deviation(signals, 0, ~membership) * np.sign(y - mean)
    assert_allclose(attack.scores_, -norm.logsf(z) / np.log(10), rtol=1e-9)
    # Below the mean as well as above.
    assert attack.attack_success_[:30:2].mean() > 0.65
    assert attack.attack_success_[1:30:2].mean() > 0.65


@pytest.mark.parametrize("mode", ["online", "offline", "offline-density"])
def test_success_finds_the_exposed_records_and_no_others(mode):
    signals, membership, y = _shadows()
    attack = LiRAAttack.from_signals(signals, membership, y=y, mode=mode)
    success = attack.attack_success_
    best = {"online": norm.cdf(1.5), "offline": 0.75, "offline-density": 0.72}[mode]
    assert success[:30].mean() == pytest.approx(best, abs=0.03)
    assert success[30:].mean() == pytest.approx(0.5, abs=0.02)
    assert attack.attack_success_halves_.shape == (2, 300)


def test_records_at_risk_are_found_above_and_below_their_label():
    signals, membership, y = _shadows()
    attack = LiRAAttack.from_signals(signals, membership, y=y)
    in_, out = attack.signal_pairs()
    assert ((in_ - out).mean(axis=0)[:30] > 0).all()
    assert set(records_at_risk(attack).records) == set(range(30))
    result = success_by_group(attack, np.arange(300) < 30)
    assert result.attack_success[1] > 0.85


@pytest.mark.parametrize(("factor", "shift"), [(1e-9, 0.0), (1e9, 0.0), (1.0, 1e9)])
def test_units_of_the_labels_do_not_matter(factor, shift):
    attacks = [
        LiRAAttack(LinearRegression(), **FEW).fit(X, y) for y in (Y, Y * factor + shift)
    ]
    assert_allclose(attacks[1].scores_, attacks[0].scores_, atol=1e-4)
    assert_array_equal(attacks[1].attack_success_, attacks[0].attack_success_)
    assert not attacks[1].zero_variance_.any()


def test_model_that_learns_by_heart_exposes_every_record():
    attack = LiRAAttack(KNeighborsRegressor(1), **FEW).fit(X, Y + 1e-3 * np.arange(120))
    assert attack.zero_variance_.all()
    assert (attack.attack_success_ > 0.9).mean() > 0.9
    assert np.isfinite(attack.scores_).all()


def test_constant_labels_expose_nobody():
    attack = LiRAAttack(Ridge(), **FEW).fit(X, np.ones(120))
    assert attack.zero_variance_.all()
    assert np.isfinite(attack.scores_).all()
    assert_allclose(attack.attack_success_, 0.5, atol=0.25)


def test_new_rows_are_scored_with_their_labels():
    attack = LiRAAttack(Ridge(), mode="offline", store_models=True, **FEW)
    attack.fit(X[:100], Y[:100])
    new = attack.score_samples(X, Y)
    assert_array_equal(new[:100], attack.scores_)
    # A label at the prediction's side is evidence of membership, another is not.
    predicted = attack.target_.predict(X[100:])
    mean = np.mean([model.predict(X[100:]) for model in attack.models_], axis=0)
    far = np.sign(predicted - mean) * 1000
    toward, away = (attack.score_samples(X[100:], mean + side) for side in (far, -far))
    assert (toward > away).all()
    with pytest.raises(ValueError, match="mode must be"):
        LiRAAttack(Ridge(), **FEW).fit(X[:100], Y[:100]).score_samples(X, Y)


def test_frozen_target_and_score_target():
    target = FrozenEstimator(TREE.fit(X[:60], Y[:60]))
    attack = LiRAAttack(target=target, n_shadows=16, random_state=0).fit(X, Y)
    assert_array_equal(attack.target_signals_, target.predict(X))
    assert_array_equal(attack.score_target(target, X, Y), attack.scores_)
    assert attack_report(np.arange(120) < 60, attack.scores_).auc > 0.6


def test_cache_resumes_and_jobs_change_nothing(tmp_path):
    plain = LiRAAttack(TREE, **FEW).fit(X, Y)
    cached = LiRAAttack(TREE, cache_dir=tmp_path, **FEW).fit(X, Y)
    (tmp_path / "shadow-00003.npz").unlink()
    with parallel_config("threading"):
        resumed = LiRAAttack(TREE, cache_dir=tmp_path, n_jobs=2, **FEW).fit(X, Y)
    for attack in (cached, resumed):
        assert_array_equal(attack.signals_, plain.signals_)
        assert_array_equal(attack.scores_, plain.scores_)
    other = Y + (np.arange(120) == 3)
    with pytest.raises(ValueError, match=r"y \(rows 3\)"):
        LiRAAttack(TREE, cache_dir=tmp_path, **FEW).fit(X, other)


def test_augmented_queries_are_averaged():
    attack = LiRAAttack(LinearRegression(), augmentations=0.5, **FEW).fit(X, Y)
    plain = LiRAAttack(LinearRegression(), **FEW).fit(X, Y)
    # Opposite shifts cancel in a linear model.
    assert_allclose(attack.signals_, plain.signals_, rtol=1e-9)


def test_one_column_of_labels_is_one_output():
    attack = LiRAAttack(LinearRegression(), **FEW).fit(X, Y[:, np.newaxis])
    plain = LiRAAttack(LinearRegression(), **FEW).fit(X, Y)
    assert_allclose(attack.signals_, plain.signals_, rtol=1e-12)
    assert_array_equal(attack.score_samples(X, Y), attack.scores_)


def test_loss_attack_is_minus_the_squared_error():
    attack = LossAttack(Ridge()).fit(X, Y)
    assert_allclose(attack.scores_, -((attack.target_.predict(X) - Y) ** 2))
    predicted = attack.target_.predict(X + 1)
    assert_allclose(attack.score_samples(X + 1, Y), -((Y - predicted) ** 2))


@pytest.mark.parametrize(
    ("attack", "message"),
    [
        (LiRAAttack(Ridge(), signal="logit", **FEW), "signal must be 'auto' or 'pred"),
        (LiRAAttack(Ridge(), smoothing=0.5, **FEW), "smoothing must be 'auto'"),
        (LossAttack(Ridge(), smoothing=0.5), "smoothing must be 'auto'"),
        (RMIAAttack(Ridge()), "must be a classifier for RMIAAttack.*LiRAAttack"),
    ],
)
def test_what_makes_no_sense_for_a_regressor_is_refused(attack, message):
    with pytest.raises(ValueError, match=message):
        attack.fit(X, Y)


def test_prediction_is_no_signal_of_a_classifier():
    attack = LiRAAttack(LogisticRegression(), signal="prediction", **FEW)
    with pytest.raises(ValueError, match="signal must be 'auto' or 'logit' or"):
        attack.fit(X, Y > 100)


def test_several_outputs_are_refused():
    both = np.column_stack([Y, Y])
    with pytest.raises(ValueError, match="y must have a single output for LiRA"):
        LiRAAttack(Ridge(), **FEW).fit(X, both)
    with pytest.raises(ValueError, match="Ridge predicts 2 outputs"):
        LiRAAttack(target=Ridge().fit(X, both), **FEW).fit(X, Y)


def test_labels_must_be_numbers():
    with pytest.raises(ValueError, match=r"numeric|string"):
        LiRAAttack(Ridge(), **FEW).fit(X, Y.astype(str))


@pytest.mark.parametrize("labels", [Y, Y.round()], ids=["numbers", "integers"])
def test_games_draw_random_halves_whatever_the_labels_are(labels):
    attack = LossAttack(DecisionTreeRegressor())
    game = membership_game(attack, X, labels, n_rounds=6, random_state=0)
    assert len(np.unique(game.membership, axis=0)) == 6
    assert game.report.auc > 0.9
    folds = cross_val_membership(attack, X, labels, cv=3, random_state=0)
    assert folds.report.auc > 0.9


@pytest.mark.parametrize("scale", [2.0**-900, 2.0**900])
@pytest.mark.parametrize(
    "scorer",
    [
        LiRAAttack(Ridge(), n_shadows=6),
        LossAttack(Ridge()),
        RiskEstimator(Ridge(), n_shadows=8),
    ],
    ids=lambda scorer: type(scorer).__name__,
)
def test_targets_whose_squares_overflow_or_vanish_are_refused(scorer, scale):
    with pytest.raises(ValueError, match="y must have a largest absolute value"):
        scorer.fit(X, Y * scale)


def test_attack_power_is_refused_where_squares_of_targets_vanish():
    scorer = GLSScorer(Ridge(), variant="attack_power")
    with pytest.raises(ValueError, match="y must have a largest absolute value"):
        scorer.fit(X, Y * 2.0**-900)


def test_signals_whose_squares_vanish_are_refused():
    signals, membership = np.full((8, 5), 1e-200), np.arange(40).reshape(8, 5) % 2
    with pytest.raises(ValueError, match="signals must have a largest absolute value"):
        LiRAAttack.from_signals(signals, membership, y=np.ones(5))
