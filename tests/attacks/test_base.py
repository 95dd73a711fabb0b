"""Targets, models and queries that an attack must refuse, or take as they are."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skpriv import LiRAAttack, LossAttack, RMIAAttack, WaKAAttack
from skpriv.attacks._shadows._signals import model_signals

X, Y = load_iris(return_X_y=True)
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
FEW = {"n_shadows": 6, "random_state": 0}


class _Margins(ClassifierMixin, BaseEstimator):
    """Answers with the margins that it is given."""

    def __init__(self, margins):
        self.margins = margins

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.resize(self.margins, len(X))

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


@pytest.mark.parametrize("labels", [Y.astype(str), Y + 1, np.where(Y == 2, 7, Y)])
def test_target_of_other_labels_is_refused(labels):
    target = TREE.fit(X, labels)
    attack = LiRAAttack(TREE, **FEW).fit(X, Y)
    with pytest.raises(ValueError, match="target has classes that are not in y"):
        attack.score_target(target, X, Y)
    with pytest.raises(ValueError, match="target has classes that are not in y"):
        LossAttack(target=target).fit(X, Y)
    near = KNeighborsClassifier().fit(X, labels)
    with pytest.raises(ValueError, match="target has classes that are not in y"):
        WaKAAttack(target=near).fit(X, Y)


def test_target_of_another_kind_than_the_shadows_is_refused():
    regressor = LinearRegression().fit(X, Y)
    attack = LiRAAttack(TREE, **FEW).fit(X, Y)
    with pytest.raises(
        TypeError, match=r"target must be a fitted classifier, got LinearRegression"
    ):
        attack.score_target(regressor, X, Y)
    with pytest.raises(
        TypeError, match=r"target must be a fitted classifier, got LinearRegression"
    ):
        LiRAAttack(TREE, target=regressor, **FEW).fit(X, Y)
    with pytest.raises(TypeError, match="target must be a fitted regressor"):
        LiRAAttack(LinearRegression(), target=TREE.fit(X, Y), **FEW).fit(X, Y)
    with pytest.raises(TypeError, match="target must be a fitted regressor"):
        LiRAAttack(LinearRegression(), **FEW).fit(X, Y).score_target(TREE, X, Y)


def test_waka_refuses_a_target_of_another_metric():
    target = KNeighborsClassifier(p=1).fit(X, Y)
    with pytest.raises(
        ValueError, match=r"target must have the metric .* metric='euclidean'"
    ):
        WaKAAttack(target=target).fit(X, Y)
    with pytest.raises(
        ValueError, match=r"target must have the metric .* metric='minkowski'"
    ):
        WaKAAttack(target=target, metric="minkowski", metric_params={"p": 3}).fit(X, Y)


@pytest.mark.parametrize(
    ("metric", "params"), [("manhattan", None), ("l1", None), ("minkowski", {"p": 1})]
)
def test_waka_takes_a_metric_by_any_of_its_names(metric, params):
    target = KNeighborsClassifier(p=1).fit(X, Y)
    attack = WaKAAttack(target=target, metric=metric, metric_params=params)
    own = WaKAAttack(metric="manhattan").fit(X, Y)
    assert_array_equal(attack.fit(X, Y).scores_, own.scores_)


def test_target_and_shadows_answer_by_the_same_method():
    linear = LogisticRegression(max_iter=1000).fit(X, Y)
    message = "target come from decision_function.* estimator, from predict_proba"
    for estimator in (GaussianNB(), KNeighborsClassifier()):
        with pytest.raises(ValueError, match=message):
            LiRAAttack(estimator, target=linear, **FEW).fit(X, Y)
        attack = LiRAAttack(estimator, **FEW).fit(X, Y)
        with pytest.raises(ValueError, match=message):
            attack.score_target(linear, X, Y)


def test_cached_shadows_serve_no_target_of_another_method(tmp_path):
    LiRAAttack(GaussianNB(), cache_dir=tmp_path, **FEW).fit(X, Y)
    linear = LogisticRegression(max_iter=1000).fit(X, Y)
    attack = LiRAAttack(GaussianNB(), target=linear, cache_dir=tmp_path, **FEW)
    with pytest.raises(ValueError, match="response_method"):
        attack.fit(X, Y)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_outputs_that_are_not_finite_are_counted(bad):
    y = (Y > 0).astype(int)
    model = _Margins([bad, 1.0, 2.0]).fit(X, y)
    with pytest.raises(ValueError, match="_Margins is NaN or infinite for 50 of 150"):
        model_signals(model, X, y, model.classes_)


@pytest.mark.parametrize("kind", ["logit", "hinge", "loss"])
def test_huge_margins_are_clipped_to_float32(kind):
    y = (Y > 0).astype(int)
    model = _Margins([1e300, -1e300, 1e39]).fit(X, y)
    signals, _ = model_signals(model, X, y, model.classes_, kind=kind)
    assert np.isfinite(signals.astype(np.float32)).all()
    assert np.isfinite(LiRAAttack(model, **FEW).fit(X, y).target_signals_).all()


def test_ratios_that_differ_by_rounding_are_ties():
    ratios = np.array([0.3, 0.1 + 0.2, 0.5, -2.0])
    assert ratios[0] < ratios[1]
    share = RMIAAttack()._share_exceeded(ratios, ratios)
    assert_array_equal(share, [0.25, 0.25, 0.75, 0])


def test_estimator_may_show_predict_only_once_fitted():
    stack = StackingClassifier([("tree", TREE)], GaussianNB(), cv=2)
    assert LiRAAttack(stack, **FEW).fit(X, Y).response_method_ == "predict_proba"


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_noise_on_a_frame_is_that_on_its_array(package):
    names = [f"x{column}" for column in range(X.shape[1])]
    frames = pytest.importorskip(package)
    frame = frames.DataFrame(dict(zip(names, X.T, strict=True)))
    ours = LiRAAttack(TREE, augmentations=0.1, **FEW).fit(frame, Y)
    plain = LiRAAttack(TREE, augmentations=0.1, **FEW).fit(X, Y)
    assert_array_equal(ours.target_.feature_names_in_, names)
    assert_array_equal(ours.signals_, plain.signals_)


@pytest.mark.parametrize(
    "returned",
    [None, [], 3, X, [X.tolist()], [None]],
    ids=["None", "empty", "number", "matrix", "lists", "Nones"],
)
def test_callable_that_returns_no_matrices_is_named(returned):
    attack = LiRAAttack(TREE, augmentations=lambda X, rng: returned, **FEW)
    with pytest.raises(ValueError, match="augmentations returned"):
        attack.fit(X, Y)


@pytest.mark.parametrize("kind", ["array", "frame", "text"])
def test_infinite_values_are_the_business_of_the_classifier(kind):
    rows = X.copy()
    rows[::7, 0], rows[1::7, 1] = np.inf, -np.inf
    if kind != "array":
        rows = pd.DataFrame(rows)
    if kind == "text":
        rows[2] = np.array(["a", "b", "c"])[Y]
    attack = LossAttack(DummyClassifier(strategy="prior")).fit(rows, Y)
    some = [70, 7, 8, 1, 100]
    part = rows[some] if kind == "array" else rows.iloc[some]
    assert_array_equal(attack.score_samples(part), attack.scores_[some])
    assert_array_equal(attack.score_samples(part, Y[some]), attack.scores_[some])
    with pytest.raises(ValueError, match="contains infinity"):
        LossAttack().fit(X + np.where(np.arange(4) == 1, np.inf, 0), Y)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda frozen: frozen,
        lambda frozen: make_pipeline(StandardScaler(), frozen),
        lambda frozen: VotingClassifier([("nb", GaussianNB()), ("tree", frozen)]),
    ],
    ids=["alone", "pipeline", "voting"],
)
@pytest.mark.parametrize("kind", [LiRAAttack, RMIAAttack])
def test_shadows_that_would_know_all_records_are_refused(kind, wrap):
    frozen = FrozenEstimator(clone(TREE).fit(X, Y))
    with pytest.raises(ValueError, match=r"frozen model, .* got FrozenEstimator"):
        kind(wrap(frozen), **FEW).fit(X, Y)
    scaler = FrozenEstimator(StandardScaler().fit(X))
    model = make_pipeline(scaler, TREE)
    assert kind(model, **FEW).fit(X, Y).scores_.any()
