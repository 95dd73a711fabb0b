"""RiskEstimator trains shadows, finds scores that fit, and says what it cannot do."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.callback import AutoPropagatedCallback
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import BaggingRegressor, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skpriv import GLSScorer, RiskEstimator, WaKAScorer
from skpriv.evaluation import records_at_risk, success_by_group

N = 120
LEVERAGES = {"attack_power", "leverage", "self_influence"}
NEIGHBORS = {"shapley", "waka_5", "waka_1"}


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X[:N]), y[:N]


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X[:N], y[:N]


@pytest.fixture(scope="module")
def fitted(cancer):
    """Estimate the risk of each record, once for the tests that only look at it."""
    return RiskEstimator(n_shadows=8, random_state=0).fit(*cancer)


def names_of(risk):
    return set(risk.covariates_) - {"out_of_shadow_confidence", "out_of_shadow_error"}


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (LogisticRegression(), LEVERAGES | NEIGHBORS),
        (make_pipeline(StandardScaler(), LogisticRegression()), LEVERAGES | NEIGHBORS),
        (RandomForestClassifier(5), {"out_of_bag"} | NEIGHBORS),
        (RandomForestClassifier(5, bootstrap=False), NEIGHBORS),
        (DecisionTreeClassifier(), NEIGHBORS),
        (LinearSVC(), NEIGHBORS),
        (KNeighborsClassifier(), NEIGHBORS),
        (MLPClassifier(3, max_iter=5), {"self_influence"} | NEIGHBORS),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:signals have only two different values")
def test_scores_that_fit_the_model_are_found(cancer, model, expected):
    X, y = cancer
    risk = RiskEstimator(model, n_shadows=8, random_state=0).fit(X, y)
    assert names_of(risk) == expected
    assert ((risk.scores_ >= 0.5) & (risk.scores_ <= 1)).all()
    assert (risk.interval_[:, 0] <= risk.scores_).all()
    assert (risk.scores_ <= risk.interval_[:, 1]).all()
    assert set(risk.weights_) == {*risk.covariates_, "boosting"}
    np.testing.assert_array_equal(risk.score_samples(X), risk.scores_)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (Ridge(), LEVERAGES | {"shapley"}),
        (BaggingRegressor(n_estimators=5, max_features=0.5), {"out_of_bag", "shapley"}),
    ],
)
def test_regressors_have_a_risk(diabetes, model, expected):
    X, y = diabetes
    risk = RiskEstimator(model, n_shadows=8, random_state=0).fit(X, y)
    assert names_of(risk) == expected
    assert "out_of_shadow_error" in risk.covariates_
    assert risk.scores_.max() > 0.5
    assert not hasattr(risk, "classes_")


def test_out_of_bag_error_is_that_of_scikit_learn(cancer, diabetes):
    X, y = cancer
    forest = RandomForestClassifier(30, oob_score=True, random_state=3)
    risk = RiskEstimator(forest, n_shadows=8, random_state=0).fit(X, y)
    expected = risk.attack_.target_.oob_decision_function_[np.arange(len(y)), y]
    np.testing.assert_allclose(-np.asarray(risk.covariates_["out_of_bag"]), expected)
    X, y = diabetes
    bagging = BaggingRegressor(n_estimators=30, oob_score=True, max_features=0.5)
    risk = RiskEstimator(bagging, n_shadows=8, random_state=0).fit(X, y)
    expected = np.abs(y - risk.attack_.target_.oob_prediction_)
    np.testing.assert_allclose(risk.covariates_["out_of_bag"], expected)


def test_leverage_of_linear_models_is_that_of_the_model_under_attack(cancer):
    X, y = cancer
    model = LogisticRegression(tol=1e-8)
    risk = RiskEstimator(model, n_shadows=8, random_state=0).fit(X, y)
    expected = GLSScorer(model, variant="attack_power").fit(X, y).scores_
    np.testing.assert_allclose(risk.covariates_["attack_power"], expected, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_networks_are_scored_at_the_shadows_without_the_record(cancer):
    X, y = cancer
    net = MLPClassifier(3, max_iter=20)
    risk = RiskEstimator(net, n_shadows=8, random_state=0).fit(X, y)
    attack = clone(risk.attack_).set_params(store_models=True).fit(X, y)
    expected = np.zeros(len(y))
    for model, members in zip(attack.models_[:4], attack.membership_, strict=False):
        scorer = GLSScorer(FrozenEstimator(model), variant="self_influence")
        scorer.fit(X[members], y[members])
        expected[~members] += scorer.score_samples(X[~members], y[~members]) / 2
    found = risk.covariates_["self_influence"]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert not hasattr(risk.attack_, "models_")


def test_from_signals_gives_what_fit_gave(fitted):
    risk = fitted
    again = RiskEstimator.from_signals(
        risk.attack_.signals_,
        risk.attack_.membership_,
        covariates=risk.covariates_.drop(columns="out_of_shadow_confidence"),
    )
    np.testing.assert_array_equal(again.scores_, risk.scores_)
    np.testing.assert_array_equal(again.interval_, risk.interval_)
    assert again.weights_ == risk.weights_


def test_results_do_not_depend_on_the_number_of_workers_or_the_cache(
    cancer, fitted, tmp_path
):
    for n_jobs in (2, None):  # workers fill the cache, and the second run reads it
        other = clone(fitted).set_params(n_jobs=n_jobs, cache_dir=tmp_path).fit(*cancer)
        np.testing.assert_array_equal(other.scores_, fitted.scores_)
        np.testing.assert_array_equal(other.interval_, fitted.interval_)


def test_scorers_may_be_fitted_or_not_and_arrays(cancer):
    X, y = cancer
    waka = WaKAScorer(3)
    scorers = {
        "unfitted": waka,
        "fitted": clone(waka).fit(X, y),
        "pipeline": make_pipeline(StandardScaler(), waka),
        "array": np.arange(float(N)),
    }
    risk = RiskEstimator(scorers=scorers, n_shadows=8, random_state=0).fit(X, y)
    assert names_of(risk) == set(scorers)
    np.testing.assert_array_equal(
        risk.covariates_["unfitted"], risk.covariates_["fitted"]
    )
    np.testing.assert_array_equal(risk.covariates_["array"], np.arange(float(N)))
    both = RiskEstimator(
        scorers={"auto": "auto", "mine": y}, n_shadows=8, random_state=0
    ).fit(X, y)
    assert names_of(both) == LEVERAGES | NEIGHBORS | {"mine"}
    with pytest.raises(ValueError, match=r"scorers\['mine'\] must hold numbers"):
        RiskEstimator(scorers={"mine": ["a"] * N}, n_shadows=8).fit(X, y)
    with pytest.raises(
        ValueError, match=rf"scorers\['mine'\] must have shape \({N},\)"
    ):
        RiskEstimator(scorers={"mine": np.arange(3)}, n_shadows=8).fit(X, y)


def test_a_given_target_is_the_target_of_the_attack(cancer):
    X, y = cancer
    target = RandomForestClassifier(5, random_state=0).fit(X[: N // 2], y[: N // 2])
    risk = RiskEstimator(target=target, n_shadows=8, random_state=0).fit(X, y)
    assert risk.attack_.target_ is target
    # The target has not seen the second half, so that another forest is trained.
    assert np.isfinite(risk.covariates_["out_of_bag"][N // 2 :]).any()


def test_without_shadows_the_theory_alone_predicts(cancer):
    X, y = cancer
    risk = RiskEstimator(n_shadows=0).fit(X, y)
    power = GLSScorer(LogisticRegression(max_iter=1000), variant="attack_power")
    np.testing.assert_allclose(risk.scores_, power.fit(X, y).scores_, atol=0.01)
    assert risk.attack_ is None
    assert (risk.interval_[:, 1] > risk.scores_).any()
    with pytest.raises(ValueError, match="n_shadows must be at least 8 for a model"):
        RiskEstimator(DecisionTreeClassifier(), n_shadows=0).fit(X, y)


@pytest.mark.parametrize("n_shadows", [2, 6, 9])
def test_number_of_shadows_must_be_even_and_at_least_eight(cancer, n_shadows):
    with pytest.raises(ValueError, match="must be 0, or an even number that is"):
        RiskEstimator(n_shadows=n_shadows).fit(*cancer)


def test_new_rows_and_rows_of_no_record_are_refused(cancer):
    X, y = cancer
    risk = RiskEstimator(n_shadows=8, scorers={}, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="records can be scored; 1 row of X is"):
        risk.score_samples(X[:2] + np.array([[0.0], [1.0]]), y[:2])
    elsewhere = RiskEstimator.from_signals(
        risk.attack_.signals_, risk.attack_.membership_
    )
    with pytest.raises(AttributeError, match="made by from_signals"):
        elsewhere.score_samples(X)
    with pytest.raises(ValueError, match="takes no parameters but regressor"):
        RiskEstimator.from_signals(np.ones((8, 4)), np.eye(8)[:, :4], n_shadows=3)
    with pytest.raises(ValueError, match="n_shadows must be at least 8"):
        RiskEstimator.from_signals(np.ones((6, 4)), np.eye(6)[:, :4])
    with pytest.raises(ValueError, match="at least two models trained with it"):
        RiskEstimator.from_signals(np.ones((8, 4)), np.zeros((8, 4)))


@pytest.mark.parametrize(
    ("model", "n_rare"), [(DecisionTreeClassifier(), 1), (LogisticRegression(), 3)]
)
@pytest.mark.filterwarnings("ignore:signals have only two different values")
def test_a_class_of_few_records_has_a_risk(model, n_rare):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) < n_rare
    risk = RiskEstimator(model, n_shadows=8, random_state=0).fit(X, y)
    assert np.isfinite(risk.scores_).all()


def test_five_records_and_records_that_are_all_alike_have_a_risk():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5, 2)), np.array([0, 1, 0, 1, 0])
    assert np.isfinite(RiskEstimator(n_shadows=8).fit(X, y).scores_).all()
    alike = RiskEstimator(n_shadows=8).fit(np.ones((40, 2)), np.arange(40) % 2)
    assert alike.scores_.max() < 0.6


def test_levels_and_probabilities_agree_with_the_interval(cancer):
    X, y = cancer
    risk = RiskEstimator(n_shadows=8, confidence_level=0.8, random_state=0).fit(X, y)
    np.testing.assert_array_equal(risk.interval(0.8), risk.interval_)
    assert (risk.interval(0.99)[:, 1] >= risk.interval_[:, 1]).all()
    record = risk.scores_.argmax()
    high = risk.interval_[record, 1]
    # The interval takes for normal what is a mixture, in an uncertain unit.
    assert risk.probability_at_most(high)[record] == pytest.approx(0.9, abs=0.03)
    assert (np.diff([risk.probability_at_most(s).sum() for s in (0.5, 0.7)]) >= 0).all()


def test_scores_that_cannot_be_computed_are_named():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 3
    risk = RiskEstimator(RidgeClassifier(), n_shadows=8, random_state=0).fit(X, y)
    assert list(risk.omitted_) == ["attack_power"]
    assert "a model of a single output" in risk.omitted_["attack_power"]


def test_network_that_regresses_needs_shadows(diabetes):
    with pytest.raises(ValueError, match="n_shadows must be at least 8 for a model"):
        RiskEstimator(MLPRegressor(max_iter=5), n_shadows=0).fit(*diabetes)


def test_a_record_unlike_all_others_is_found():
    rng = np.random.default_rng(3)
    membership = rng.random((64, 300)) < 0.5
    membership[1::2] = ~membership[::2]
    signals = rng.normal(size=membership.shape)
    signals[:, 0] += 8 * membership[:, 0]
    risk = RiskEstimator.from_signals(signals, membership)
    assert risk.scores_[0] > 0.99
    assert risk.interval_[0, 0] > 0.99
    assert records_at_risk(risk).records.tolist() == [0]


def test_signals_of_two_values_are_said_to_be_rough():
    rng = np.random.default_rng(0)
    membership = rng.random((16, 50)) < 0.5
    membership[1::2] = ~membership[::2]
    with pytest.warns(UserWarning, match="signals have only two different values"):
        RiskEstimator.from_signals(rng.random((16, 50)) < 0.9, membership)


def test_success_out_of_range_is_refused(cancer):
    X, y = cancer
    power = np.linspace(0.5, 1.5, len(y))
    risk = RiskEstimator(n_shadows=8, scorers={"attack_power": power}, random_state=0)
    with pytest.raises(ValueError, match=r"'attack_power'\] must be between 0.5 and 1"):
        risk.fit(X, y)
    risk.set_params(scorers={}).fit(X, y)
    for success in (0.4, 2, np.nan):
        with pytest.raises(ValueError, match=r"success must be between 0\.5 and 1"):
            risk.probability_at_most(success)


def test_groups_and_records_at_risk_take_the_estimates(cancer, fitted):
    _, y = cancer
    risk = fitted
    groups = success_by_group(risk, y)
    for g, name in enumerate(groups.group):
        assert groups.attack_success[g] == pytest.approx(risk.scores_[y == name].mean())
        assert groups.low[g] <= groups.attack_success[g] <= groups.high[g]
    listed = records_at_risk(risk, threshold=0.6)
    assert listed.records.size
    assert risk.scores_[listed.records].min() > 0.6
    assert records_at_risk(risk, threshold=0.99).records.size < listed.records.size


class Recorder(AutoPropagatedCallback):
    """Notes which estimators begin a task, and which tasks."""

    max_estimator_depth = None

    def __init__(self):
        self.tasks = []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **_):
        self.tasks.append((context.estimator_name, context.task_name))

    def on_fit_task_end(self, estimator, context, **_):
        pass


def test_callbacks_follow_the_shadows(cancer):
    recorder = Recorder()
    risk = RiskEstimator(n_shadows=8, scorers={}, random_state=0)
    risk.set_callbacks(recorder).fit(*cancer)
    assert recorder.tasks.count(("LiRAAttack", "shadow")) == 8


class Interrupting(Recorder):
    """Interrupts the run after some shadows."""

    def __init__(self, after):
        super().__init__()
        self.after = after

    def on_fit_task_end(self, estimator, context, **_):
        if context.task_name == "shadow":
            self.after -= 1
            if not self.after:
                raise KeyboardInterrupt


def test_interrupted_run_resumes_with_the_same_bits(cancer, tmp_path):
    X, y = cancer
    whole = RiskEstimator(RandomForestClassifier(2), n_shadows=8, random_state=0)
    whole.fit(X, y)
    cut = clone(whole).set_params(cache_dir=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        clone(cut).set_callbacks(Interrupting(after=3)).fit(X, y)
    assert len(list(tmp_path.glob("shadow-*.npz"))) == 3
    resumed = cut.fit(X, y)
    np.testing.assert_array_equal(resumed.scores_, whole.scores_)
    np.testing.assert_array_equal(resumed.interval_, whole.interval_)
