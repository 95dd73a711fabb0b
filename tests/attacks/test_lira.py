"""LiRA attacks any classifier, and tells how often it succeeds on each record."""

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skpriv import LiRAAttack
from skpriv.metrics import attack_report, score_agreement

X, Y = load_iris(return_X_y=True)
TREE = DecisionTreeClassifier(max_depth=4)
RESULTS = (
    "signals_",
    "membership_",
    "saturated_",
    "scores_",
    "attack_success_",
    "attack_success_interval_",
)


def _noisy_iris():
    """Iris with twelve labels wrong, which a model can only learn by heart."""
    labels = Y.copy()
    wrong = np.random.default_rng(0).choice(Y.size, 12, replace=False)
    labels[wrong] = (labels[wrong] + 1) % 3
    return labels, wrong


def _same(first, second):
    for name in RESULTS:
        assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)


@pytest.mark.parametrize(
    "estimator",
    [
        TREE,
        LogisticRegression(max_iter=1000),
        GaussianNB(),
        SVC(),
        RandomForestClassifier(3),
        HistGradientBoostingClassifier(max_iter=2),
        KNeighborsClassifier(3),
        make_pipeline(StandardScaler(), SVC()),
        GridSearchCV(TREE, {"max_depth": [1, 3]}, cv=2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_classifier_can_be_attacked(estimator):
    attack = LiRAAttack(estimator, n_shadows=6, random_state=0).fit(X, Y)
    assert attack.signals_.dtype == np.float32
    assert attack.signals_.shape == attack.membership_.shape == (6, 150)
    for name in RESULTS:
        assert np.isfinite(getattr(attack, name)).all()
    assert ((attack.attack_success_ >= 0) & (attack.attack_success_ <= 1)).all()
    assert_array_equal(attack.score_samples(X), attack.scores_)


def test_records_learnt_by_heart_are_the_most_exposed():
    labels, wrong = _noisy_iris()
    attack = LiRAAttack(DecisionTreeClassifier(), n_shadows=32, random_state=0)
    success = attack.fit(X, labels).attack_success_
    rest = np.setdiff1d(np.arange(Y.size), wrong)
    assert success[wrong].mean() > 0.8
    assert success[rest].mean() < 0.65
    assert attack.scores_[wrong].mean() > attack.scores_[rest].mean()


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["a", "b", "c"])[Y],
        np.array(["a", "b", "c"], dtype=object)[Y],
        Y == 1,
        np.array([-7, 40, 3])[Y],
        np.array([-7.0, 40, 3])[Y],
    ],
    ids=["str", "object", "bool", "int", "float"],
)
def test_labels_of_any_kind_are_kept(labels):
    attack = LiRAAttack(TREE, n_shadows=6, random_state=0)
    rows, given = X.copy(), labels.copy()
    attack.fit(rows, given)
    assert_array_equal(rows, X)
    assert_array_equal(given, labels)
    assert set(attack.classes_) == set(labels) == set(attack.target_.classes_)
    codes = np.unique(labels, return_inverse=True)[1]
    plain = LiRAAttack(TREE, n_shadows=6, random_state=0).fit(X, codes)
    _same(attack, plain)


def test_class_of_one_record_is_missed_by_half_of_the_shadows_and_told():
    labels = Y.copy()
    labels[0] = 9
    for estimator in (TREE, LogisticRegression(max_iter=1000), KNeighborsClassifier(1)):
        attack = LiRAAttack(estimator, n_shadows=8, random_state=0).fit(X, labels)
        assert attack.missing_class_[0] == 4
        assert not attack.missing_class_[1:].any()
        assert attack.saturated_[0] >= 4
        assert np.isfinite(attack.signals_).all()
        assert attack.attack_success_[0] > 0.8


@pytest.mark.xdist_group("workers of LiRA")  # which are started once
@pytest.mark.parametrize("estimator", [RandomForestClassifier(3), TREE])
def test_results_do_not_depend_on_the_workers(estimator):
    def fitted(n_jobs, backend):
        attack = LiRAAttack(estimator, n_shadows=6, n_jobs=n_jobs, random_state=1)
        with parallel_config(backend):
            return attack.fit(X, Y)

    alone = fitted(1, "loky")
    for backend in ("loky", "threading", "multiprocessing"):
        _same(alone, fitted(2, backend))


def test_another_seed_draws_other_shadows():
    first, again, other = (
        LiRAAttack(TREE, n_shadows=6, random_state=seed).fit(X, Y) for seed in (0, 0, 1)
    )
    _same(first, again)
    assert (first.membership_ != other.membership_).any()


def test_target_that_exists_is_attacked_as_it_is():
    member = np.arange(Y.size) % 2 == 0
    labels, _ = _noisy_iris()
    model = DecisionTreeClassifier(random_state=0).fit(X[member], labels[member])
    fitted = [
        LiRAAttack(target=target, n_shadows=32, random_state=0).fit(X, labels)
        for target in (model, FrozenEstimator(model))
    ]
    assert fitted[0].target_ is model
    _same(*fitted)
    assert isinstance(fitted[0].shadow_estimator(), DecisionTreeClassifier)
    assert attack_report(member, fitted[0].scores_).auc > 0.6
    own = LiRAAttack(DecisionTreeClassifier(), n_shadows=32, random_state=0)
    scores = own.fit(X, labels).score_target(model, X, labels)
    assert_array_equal(scores, fitted[0].scores_)


def test_target_of_other_classes_is_refused():
    model = TREE.fit(X, Y + 5)
    with pytest.raises(
        ValueError, match=r"target has classes that are not in y: \[5, 6"
    ):
        LiRAAttack(target=clone(model).fit(X, Y + 5), n_shadows=6).fit(X, Y)


class Booster:
    """A model with a part of the interface, as those that libraries train natively."""

    def predict(self, X):
        return np.full(len(X), 0.5)


@pytest.mark.parametrize("estimator", [None, TREE])
def test_target_that_is_no_classifier_is_refused_by_name(estimator):
    with pytest.raises(TypeError, match="got a Booster, which has no fit"):
        LiRAAttack(estimator, target=Booster(), n_shadows=6).fit(X, Y)


def test_shadow_scores_give_each_shadow_its_roc_curve():
    labels, _ = _noisy_iris()
    attack = LiRAAttack(DecisionTreeClassifier(), n_shadows=32, random_state=0)
    scores = attack.fit(X, labels).shadow_scores()
    hits = np.where(attack.membership_, scores > 0, scores < 0) + 0.5 * (scores == 0)
    rates = [
        [hits[side[:, i], i].mean() for i in range(Y.size)]
        for side in (attack.membership_, ~attack.membership_)
    ]
    assert_allclose(attack.attack_success_, np.mean(rates, axis=0), rtol=1e-12)
    aucs = [
        attack_report(member, score).auc
        for member, score in zip(attack.membership_, scores, strict=True)
    ]
    assert min(aucs) > 0.5


def test_halves_of_the_shadows_tell_which_agreement_is_attainable():
    labels, _ = _noisy_iris()
    attack = LiRAAttack(DecisionTreeClassifier(), n_shadows=32, random_state=0)
    attack.fit(X, labels)
    halves = attack.attack_success_halves_
    assert halves.shape == (2, Y.size)
    agreement = score_agreement(attack.attack_success_, attack.scores_, halves=halves)
    assert 0 < agreement.attainable <= 1
    few = LiRAAttack(TREE, n_shadows=6, random_state=0).fit(X, Y)
    with pytest.raises(AttributeError, match="at least 12 shadows; there are 6"):
        few.attack_success_halves_  # noqa: B018


def test_signals_of_models_trained_elsewhere_give_the_same_numbers():
    attack = LiRAAttack(TREE, n_shadows=12, random_state=0, mode="offline").fit(X, Y)
    again = LiRAAttack.from_signals(
        attack.signals_,
        attack.membership_.astype(int),
        target_signals=attack.target_signals_,
        mode="offline",
    )
    for name in ("attack_success_", "attack_success_interval_", "scores_"):
        assert_array_equal(getattr(again, name), getattr(attack, name))
    assert_array_equal(again.shadow_scores(), attack.shadow_scores())
    with pytest.raises(AttributeError, match="cannot score rows; see scores_"):
        again.score_samples(X)


def test_signals_that_do_not_fit_are_refused():
    signals, membership = np.zeros((6, 4)), np.tile([[1], [0]], (3, 4))
    with pytest.raises(ValueError, match=r"membership must .* got shape \(5, 4\)"):
        LiRAAttack.from_signals(signals, membership[1:])
    with pytest.raises(ValueError, match="have the shape of signals"):
        LiRAAttack.from_signals(signals, membership * 2)
    with pytest.raises(
        ValueError, match=r"target_signals must have shape .* got \(3,\)"
    ):
        LiRAAttack.from_signals(signals, membership, target_signals=[1.0, 2, 3])
    with pytest.raises(
        ValueError, match=r"no parameters but mode and variance, .* got n_jobs"
    ):
        LiRAAttack.from_signals(signals, membership, n_jobs=2)
    with pytest.raises(ValueError, match="'mode' parameter"):
        LiRAAttack.from_signals(signals, membership, mode="both")
    with pytest.raises(AttributeError, match="not available without target_signals"):
        LiRAAttack.from_signals(signals, membership).scores_  # noqa: B018


@pytest.mark.parametrize("mode", ["offline", "offline-density"])
def test_rows_that_the_shadows_have_not_seen_are_scored_offline(mode):
    attack = LiRAAttack(
        GaussianNB(), n_shadows=8, mode=mode, store_models=True, random_state=0
    ).fit(X, Y)
    new = X[:5] + 0.05
    rows = np.vstack([X[10:13], new])
    scores = attack.score_samples(rows, np.append(Y[10:13], Y[:5]))
    assert_array_equal(scores[:3], attack.scores_[10:13])
    assert np.isfinite(scores).all()
    with pytest.raises(ValueError, match="labels that were not seen in fit"):
        attack.score_samples(new, np.full(5, 9))
    with pytest.raises(ValueError, match="y must be given: 5 of the 5 rows"):
        attack.score_samples(new)


def test_rows_that_cannot_be_scored_say_what_is_required():
    online = LiRAAttack(TREE, n_shadows=6, store_models=True).fit(X, Y)
    with pytest.raises(ValueError, match="mode must be 'offline' or 'offline-density'"):
        online.score_samples(X[:5] + 0.05, Y[:5])
    offline = LiRAAttack(TREE, n_shadows=6, mode="offline").fit(X, Y)
    with pytest.raises(ValueError, match="store_models must be True"):
        offline.score_samples(X[:5] + 0.05, Y[:5])


def test_several_queries_are_averaged():
    def mirrored(rows, rng):
        return [rows, rows[:, ::-1]]

    attack = LiRAAttack(
        GaussianNB(), n_shadows=6, augmentations=mirrored, random_state=0
    ).fit(X, Y)
    member = attack.membership_[0]
    model = GaussianNB().fit(X[member], Y[member])
    plain = LiRAAttack(GaussianNB(), n_shadows=6, random_state=0).fit(X, Y)
    assert_array_equal(plain.membership_, attack.membership_)
    p = model.predict_log_proba(X[:, ::-1])[np.arange(150), Y]
    between = (np.abs(p) > 1e-6) & (np.abs(p) < 10)
    expected = p[between] - np.log(-np.expm1(p[between]))
    assert_allclose(
        2 * attack.signals_[0, between] - plain.signals_[0, between],
        expected,
        rtol=1e-4,  # float32
        atol=1e-4,
    )


def test_frames_with_text_go_to_the_model_as_they_are():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    data = {
        "size": X[:, 0],
        "colour": np.array(["red", "blue", "green"])[Y],
        "w": X[:, 1],
    }
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough"),
        DecisionTreeClassifier(max_depth=3),
    )
    labels = (X[:, 2] > 4).astype(int)
    results = []
    for frame in (pd.DataFrame(data), pl.DataFrame(data)):
        attack = LiRAAttack(model, n_shadows=6, random_state=0).fit(frame, labels)
        assert list(attack.feature_names_in_) == ["size", "colour", "w"]
        assert_array_equal(attack.score_samples(frame), attack.scores_)
        part = attack.score_samples(frame[20:30], labels[20:30])
        assert_array_equal(part, attack.scores_[20:30])
        results.append(attack)
    _same(*results)


def test_sparse_rows_give_the_numbers_of_dense_ones():
    dense = LiRAAttack(TREE, n_shadows=6, random_state=0).fit(X, Y)
    sparse = LiRAAttack(TREE, n_shadows=6, random_state=0).fit(sp.csc_array(X), Y)
    _same(dense, sparse)
    assert_array_equal(sparse.score_samples(sp.csr_array(X)[3:9]), sparse.scores_[3:9])


class LabelOnly(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.tree_ = DecisionTreeClassifier(random_state=0).fit(X, y)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X):
        return self.tree_.predict(X)


def test_model_that_gives_labels_only_is_attacked_and_told():
    labels, wrong = _noisy_iris()
    attack = LiRAAttack(LabelOnly(), n_shadows=32, random_state=0)
    with pytest.warns(UserWarning, match="LabelOnly only predicts labels"):
        attack.fit(X, labels)
    assert attack.response_method_ == "predict"
    assert set(np.unique(attack.signals_)) == {-1.0, 1.0}
    assert attack.attack_success_[wrong].mean() > 0.7
    assert attack.zero_variance_.any()


class Recorder:
    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context):
        self.events.append(("end", context.task_name, context.task_id))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_is_reported_shadow_by_shadow(n_jobs):
    recorder = Recorder()
    attack = LiRAAttack(TREE, n_shadows=6, n_jobs=n_jobs, random_state=0)
    attack.set_callbacks(recorder).fit(X, Y)
    assert recorder.events[0] == "setup"
    assert recorder.events[-1] == "teardown"
    ended = {e[2] for e in recorder.events if e[:2] == ("end", "shadow")}
    assert ended == set(range(6))
    assert ("end", "fit", 0) in recorder.events


def test_failing_shadow_raises_its_own_error():
    with pytest.raises(ValueError, match="n_neighbors is 80, but a shadow has only 75"):
        LiRAAttack(KNeighborsClassifier(80), n_shadows=6).fit(X, Y)
    with pytest.raises(ValueError, match="n_samples_fit = 75"):
        LiRAAttack(KNeighborsClassifier(80, weights="distance"), n_shadows=6).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_shadows": 7}, "n_shadows must be even, .* got 7"),
        ({"n_shadows": 4}, "'n_shadows' parameter of LiRAAttack"),
        ({"mode": "both"}, "'mode' parameter of LiRAAttack"),
        ({"augmentations": -1.0}, "'augmentations' parameter"),
    ],
)
def test_invalid_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        LiRAAttack(TREE, **parameters).fit(X, Y)


def test_one_class_is_refused():
    with pytest.raises(
        ValueError, match="at least 2 classes for LiRAAttack, got 1 class, 0"
    ):
        LiRAAttack(TREE).fit(X, np.zeros(150, dtype=int))


def test_attack_is_at_its_strongest_where_the_model_remembers_most():
    rows, labels = load_breast_cancer(return_X_y=True)
    deep, shallow = (
        LiRAAttack(DecisionTreeClassifier(max_depth=d), n_shadows=16, random_state=0)
        .fit(rows, labels)
        .attack_success_.mean()
        for d in (None, 1)
    )
    assert deep > shallow


def test_a_row_alone_is_asked_with_noise_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    plain, noisy = (
        LiRAAttack(
            DecisionTreeClassifier(max_depth=3),
            n_shadows=8,
            mode="offline",
            augmentations=augmentations,
            store_models=True,
            random_state=0,
        )
        .fit(X, y)
        .score_samples(X[:1] + 0.1, y[:1])
        for augmentations in (None, 0.5)
    )
    assert abs(noisy - plain) > 1e-3


@pytest.mark.parametrize("augmentations", [None, 0.5])
@pytest.mark.parametrize("variance", ["auto", "pooled", "record"])
def test_the_score_of_a_new_row_does_not_depend_on_its_company(variance, augmentations):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    attack = LiRAAttack(
        LogisticRegression(),
        n_shadows=8,
        mode="offline",
        variance=variance,
        augmentations=augmentations,
        store_models=True,
        random_state=0,
    ).fit(X, y)
    new = np.vstack([X[:4] + 0.1, 50 * X[4:5]])
    together = attack.score_samples(new, y[:5])
    alone = [attack.score_samples(new[[i]], y[[i]])[0] for i in range(5)]
    assert_allclose(together, alone, rtol=1e-6)
