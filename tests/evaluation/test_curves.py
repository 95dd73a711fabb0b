import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skpriv import GLSScorer, LiRAAttack, LossAttack, WaKAScorer
from skpriv.evaluation import minimization_curve, onion_effect

X, Y = load_iris(return_X_y=True)
TRAIN, TEST = np.arange(0, 150, 2), np.arange(1, 150, 2)


def _curve(scores, **parameters):
    return minimization_curve(
        GaussianNB(), X[TRAIN], Y[TRAIN], scores, X[TEST], Y[TEST], **parameters
    )


def test_step_is_the_model_of_the_records_that_are_left():
    scores = np.random.default_rng(0).normal(size=75)
    curve = _curve(scores, fractions=[0, 0.4])
    for step, kept in enumerate((np.arange(75), np.argsort(-scores)[30:])):
        model = GaussianNB().fit(X[TRAIN[kept]], Y[TRAIN[kept]])
        expected = f1_score(Y[TEST], model.predict(X[TEST]), average="macro")
        assert_allclose(curve.macro_f1[step], expected)
        assert_array_equal(curve.class_counts[step], np.bincount(Y[TRAIN[kept]]))
    assert_array_equal(curve.n_records, [75, 45])
    assert_allclose(curve.class_balance[0], 1.0)
    assert curve.class_balance[1] < 1


def test_adding_the_lowest_is_removing_the_highest():
    scores = np.random.default_rng(0).normal(size=75)
    removed = _curve(scores, fractions=[0.2, 0.6])
    added = _curve(scores, fractions=[0.8, 0.4], action="add", order="lowest")
    assert_array_equal(added.macro_f1, removed.macro_f1)
    assert_array_equal(added.class_counts, removed.class_counts)


def test_random_order_does_not_look_at_the_score():
    first, second = (
        _curve(scores, order="random", random_state=0)
        for scores in np.random.default_rng(0).normal(size=(2, 75))
    )
    assert_array_equal(first.macro_f1, second.macro_f1)


def test_ties_are_broken_at_random():
    first, second = (
        _curve(np.zeros(75), fractions=[0.9], random_state=seed) for seed in (0, 1)
    )
    assert (first.class_counts != second.class_counts).any()


def test_step_without_two_classes_is_not_a_number():
    with pytest.warns(UserWarning, match=r"At fractions \[0.7\] fewer than two"):
        curve = _curve(Y[TRAIN].astype(float), fractions=[0.0, 0.7])
    assert np.isnan(curve.macro_f1[1])
    assert curve.class_balance[1] == 0


@pytest.mark.parametrize("fractions", [[1.1], [], ["few"], [[0.1]]], ids=str)
def test_fractions_that_are_no_numbers_from_0_to_1_are_refused(fractions):
    message = re.escape(
        f"must be one or more numbers between 0 and 1; it is {fractions!r}"
    )
    with pytest.raises(ValueError, match=message):
        _curve(np.zeros(75), fractions=fractions)


def test_curves_begin_and_end_where_there_is_something_to_train_on():
    scores = np.random.default_rng(0).normal(size=75)
    removed, added = (_curve(scores, action=action) for action in ("remove", "add"))
    assert_array_equal(removed.fraction, np.arange(10) / 10)
    assert_array_equal(added.fraction, np.arange(1, 11) / 10)
    assert added.n_records[-1] == removed.n_records[0] == 75
    assert added.macro_f1[-1] == removed.macro_f1[0]


def test_most_exposed_are_removed_and_the_rest_is_measured_again():
    effect = onion_effect(WaKAScorer(3), X, Y, fraction=0.2)
    scores = WaKAScorer(3).fit(X, Y).scores_
    assert effect.removed.size == 30
    assert scores[effect.removed].min() >= scores[effect.kept].max() - 1e-12
    assert_array_equal(effect.before, scores[effect.kept])
    again = WaKAScorer(3).fit(X[effect.kept], Y[effect.kept]).scores_
    assert_array_equal(effect.after, again)
    assert_allclose(effect.mean_change, (again - scores[effect.kept]).mean())


def test_records_without_exposure_show_no_onion_effect():
    # Measured on the shadows that picked them, those kept would rise by about 0.02.
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 1))
    attack = LiRAAttack(LogisticRegression(), n_shadows=24, random_state=0)
    effect = onion_effect(attack, rows, rng.integers(0, 2, 600), fraction=0.3)
    assert abs(effect.mean_change) < 4 * effect.mean_change_error


def test_onion_effect_measures_what_a_forgetful_model_forgets():
    labels = np.random.default_rng(0).permutation(Y)
    attack = LiRAAttack(DecisionTreeClassifier(), n_shadows=12, random_state=0)
    effect = onion_effect(attack, X, labels)
    assert effect.kept.size == 135
    assert effect.after.shape == effect.before.shape == (135,)


def test_the_target_is_trained_again_on_what_is_left():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    for target in (FrozenEstimator(model), model):
        effect = onion_effect(LossAttack(target=target), X, y, fraction=0.2)
        assert effect.mean_change != 0
        fresh = onion_effect(
            LossAttack(LogisticRegression(max_iter=1000)), X, y, fraction=0.2
        )
        assert_allclose(effect.after, fresh.after)


@pytest.mark.parametrize(
    "attack",
    [
        WaKAScorer(3),
        LossAttack(target=GaussianNB().fit(X, Y)),
        LiRAAttack(GaussianNB(), n_shadows=12, random_state=0),
    ],
    ids=lambda attack: type(attack).__name__,
)
def test_pipeline_is_measured_by_the_attack_that_it_ends_in(attack):
    effect = onion_effect(make_pipeline(StandardScaler(), attack), X, Y)
    rows = StandardScaler().fit_transform(X)
    assert_array_equal(effect.before, onion_effect(attack, rows, Y).before)
    assert effect.after.shape == (135,)


def test_shadows_of_all_records_stay_in_their_folder(tmp_path):
    attack = LiRAAttack(GaussianNB(), n_shadows=12, random_state=0)
    kept = clone(attack).set_params(cache_dir=tmp_path)
    effect = onion_effect(make_pipeline(StandardScaler(), kept), X, Y)
    plain = onion_effect(make_pipeline(StandardScaler(), attack), X, Y)
    assert_array_equal(effect.after, plain.after)


def test_estimator_without_scores_has_no_onion_effect():
    with pytest.raises(TypeError, match=r"got KernelDensity\(\), which has no sc"):
        onion_effect(KernelDensity(), X, Y)


@pytest.mark.parametrize(
    ("attack", "fraction", "message"),
    [
        (WaKAScorer(3), 0.999, "leaves 0 of 150"),
        (WaKAScorer(3), 0.994, "leaves 1 of 150"),
        (LossAttack(DummyClassifier()), 0.98, "leaves 3 of 150 records, .* at least 4"),
        (LossAttack(DummyClassifier()), 0.7, "leaves 45 of 150 records, .* 1 class"),
    ],
)
def test_fraction_that_leaves_too_little_is_named(attack, fraction, message):
    # The records of the larger class are the more exposed to a guess by the shares.
    labels = np.repeat([0, 1], [45, 105])
    with pytest.raises(ValueError, match=f"{fraction},? .*{message}"):
        onion_effect(attack, X, labels, fraction=fraction)


@pytest.mark.parametrize(
    "wrap", [lambda s: s, lambda s: make_pipeline(StandardScaler(), s)]
)
def test_a_frozen_model_has_no_onion_effect(wrap):
    X, y = load_iris(return_X_y=True)
    frozen = FrozenEstimator(LogisticRegression(max_iter=1000).fit(X, y))
    with pytest.raises(ValueError, match="its estimator is frozen"):
        onion_effect(wrap(GLSScorer(frozen)), X, y)
