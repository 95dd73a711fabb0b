"""The contract of GLSScorer: rows, folds, Pipelines, and the errors it raises."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    MultiTaskLasso,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skpriv import GLSScorer


def logistic(**params):
    return LogisticRegression(**{"tol": 1e-8, "max_iter": 1000, **params})


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:200, :6], y[:200]


def test_default_model_follows_the_target(iris):
    X, y = iris
    assert isinstance(GLSScorer().fit(X, y).estimator_, LogisticRegression)
    assert isinstance(GLSScorer().fit(X, X[:, 0] + 0.5 * y).estimator_, Ridge)
    assert isinstance(GLSScorer().fit(X[:, :2], X[:, 2:]).estimator_, Ridge)


def test_training_rows_are_recognised_with_and_without_labels(cancer):
    X, y = cancer
    scorer = GLSScorer(logistic()).fit(X, y)
    assert_array_equal(scorer.score_samples(X), scorer.scores_)
    assert_array_equal(scorer.score_samples(X[5:9], y[5:9]), scorer.scores_[5:9])
    assert_array_equal(scorer.score_samples(X[::-1]), scorer.scores_[::-1])


def test_new_rows_are_scored_as_rows_that_join_with_weight_one(cancer):
    X, y = cancer
    weights = np.full(len(y), 3.0)
    scorer = GLSScorer(logistic()).fit(X[5:], y[5:], sample_weight=weights[5:])
    p = scorer.estimator_.predict_proba(X)[:, 1]
    Z = np.column_stack([X, np.ones(len(X))])
    H = (Z[5:].T * (3 * p * (1 - p))[5:]) @ Z[5:]
    H += np.diag(np.append(np.ones(6), 0))
    truth = p * (1 - p) * np.einsum("ij,ij->i", Z, np.linalg.solve(H, Z.T).T)
    assert_allclose(scorer.score_samples(X[:5], y[:5]), truth[:5], rtol=1e-9)
    assert_allclose(scorer.scores_, 3 * truth[5:], rtol=1e-9)


def test_new_rows_need_labels(cancer):
    X, y = cancer
    scorer = GLSScorer(logistic()).fit(X, y)
    with pytest.raises(ValueError, match="y must be given"):
        scorer.score_samples(X + 0.1)


@pytest.mark.parametrize("variant", ["leverage", "self_influence", "attack_power"])
def test_string_labels_are_only_names(cancer, variant):
    X, y = cancer
    names = np.array(["out", "in"])[y]
    numbers = GLSScorer(logistic(), variant=variant).fit(X, y)
    strings = GLSScorer(logistic(), variant=variant).fit(X, names)
    assert_allclose(strings.scores_, numbers.scores_, rtol=1e-5)
    assert_allclose(
        strings.score_samples(X[:4] + 1, names[:4]),
        numbers.score_samples(X[:4] + 1, y[:4]),
        rtol=1e-5,
    )


def test_self_influence_of_a_wrong_label_is_higher(cancer):
    X, y = cancer
    scorer = GLSScorer(logistic(), variant="self_influence").fit(X, y)
    both = [scorer.score_samples(X[:50] + 0.01, np.full(50, c)) for c in (0, 1)]
    wrong = both[1] > both[0]
    assert_array_equal(wrong, scorer.estimator_.predict(X[:50] + 0.01) == 0)


@pytest.mark.parametrize("variant", ["leverage", "self_influence", "attack_power"])
@pytest.mark.parametrize("model", [logistic(), logistic(class_weight="balanced")])
def test_cross_fitting_scores_each_record_at_a_model_without_it(cancer, model, variant):
    X, y = cancer
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    cv = StratifiedKFold(3)
    scorer = GLSScorer(model, variant=variant, cv=cv).fit(X, y, sample_weight=weights)
    train, test = next(iter(cv.split(X, y)))
    fold = GLSScorer(model, variant=variant).fit(X[train], y[train], weights[train])
    ones = fold.score_samples(X[test], y[test])
    if variant == "attack_power":
        weighted = fold._sensitivities.terms(X[test], y[test], weights[test])
        ones = fold._scores_of(weighted, members=False)
    else:
        ones = ones * weights[test]
    assert_allclose(scorer.scores_[test], ones, rtol=1e-9)
    assert_array_equal(scorer.score_samples(X[test]), scorer.scores_[test])
    whole = GLSScorer(model, variant=variant).fit(X, y, sample_weight=weights)
    assert scorer.effective_parameters_ == whole.effective_parameters_


def test_repeated_folds_are_averaged(cancer):
    X, y = cancer
    cv = RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)
    both = GLSScorer(logistic(), cv=cv).fit(X, y).scores_
    splits = list(cv.split(X, y))
    single = [
        GLSScorer(logistic(), cv=part).fit(X, y).scores_
        for part in (splits[:2], splits[2:])
    ]
    assert_allclose(both, np.mean(single, axis=0), rtol=1e-12)


def test_folds_that_leave_a_record_in_are_an_error(cancer):
    X, y = cancer
    cv = ShuffleSplit(n_splits=1, random_state=0)
    with pytest.raises(ValueError, match="no test set"):
        GLSScorer(logistic(), cv=cv).fit(X, y)


def test_a_class_that_a_fold_lacks_is_an_error(cancer):
    X, y = cancer
    y = np.append(y[:-1], 2)
    with pytest.raises(ValueError, match=r"labels \[2\]"):
        GLSScorer(logistic(), cv=KFold(2)).fit(X, y)


def test_pipelines_inside_see_raw_frames():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X["group"] = np.where(X.pop("sex") > 0, "a", "b")
    encode = make_column_transformer(
        (OneHotEncoder(drop="first"), ["group"]), remainder=StandardScaler()
    )
    scorer = GLSScorer(make_pipeline(encode, LinearRegression())).fit(X, y)
    direct = GLSScorer(LinearRegression()).fit(encode.fit_transform(X), y)
    assert_allclose(scorer.scores_, direct.scores_, rtol=1e-9)
    assert_array_equal(scorer.score_samples(X.iloc[3:6]), scorer.scores_[3:6])
    assert list(scorer.feature_names_in_) == list(X.columns)
    polars = GLSScorer(make_pipeline(StandardScaler(), Ridge())).fit(
        pl.DataFrame({"a": X["bmi"].to_numpy(), "b": X["bp"].to_numpy()}), y
    )
    pandas = GLSScorer(make_pipeline(StandardScaler(), Ridge())).fit(
        X[["bmi", "bp"]], y
    )
    assert_allclose(polars.scores_, pandas.scores_, rtol=1e-12)


def test_pipelines_outside_score_what_they_transform(cancer):
    X, y = cancer
    outside = make_pipeline(StandardScaler(), GLSScorer(logistic())).fit(X, y)
    inside = GLSScorer(make_pipeline(StandardScaler(), logistic())).fit(X, y)
    assert_allclose(outside.score_samples(X), inside.scores_, rtol=1e-9)
    assert_allclose(outside[-1].scores_, inside.scores_, rtol=1e-9)


def test_pipelines_may_start_from_text():
    words = ["spam and eggs", "eggs", "spam", "ham and eggs", "ham", "spam spam ham"]
    y = [0, 0, 1, 1, 0, 1]
    scorer = GLSScorer(make_pipeline(TfidfVectorizer(), logistic())).fit(words, y)
    assert np.isfinite(scorer.scores_).all()
    assert_array_equal(scorer.score_samples(words[2:4]), scorer.scores_[2:4])


def test_weights_reach_the_last_step_of_a_pipeline(cancer):
    X, y = cancer
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    pipeline = make_pipeline(StandardScaler(), logistic())
    scores = GLSScorer(pipeline).fit(X, y, sample_weight=weights).scores_
    plain = GLSScorer(logistic()).fit(
        StandardScaler().fit_transform(X), y, sample_weight=weights
    )
    assert_allclose(scores, plain.scores_, rtol=1e-9)
    nested = GLSScorer(make_pipeline(pipeline)).fit(X, y, sample_weight=weights)
    assert_allclose(nested.scores_, scores, rtol=1e-9)
    with sklearn.config_context(enable_metadata_routing=True):
        model = logistic().set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = GLSScorer(make_pipeline(scaler, model))
        assert_allclose(routed.fit(X, y, sample_weight=weights).scores_, scores)


def test_frozen_models_are_scored_as_they_are(cancer):
    X, y = cancer
    model = logistic(C=0.3).fit(X, y)
    scorer = GLSScorer(FrozenEstimator(model)).fit(X, y)
    assert scorer.estimator_.estimator is model
    assert_allclose(scorer.scores_, GLSScorer(logistic(C=0.3)).fit(X, y).scores_)
    pipeline = make_pipeline(StandardScaler(), logistic()).fit(X, y)
    assert_allclose(
        GLSScorer(FrozenEstimator(pipeline)).fit(X, y).scores_,
        GLSScorer(pipeline).fit(X, y).scores_,
    )
    steps = make_pipeline(StandardScaler(), FrozenEstimator(pipeline[-1]))
    weights = np.ones(len(y))
    for frozen in (FrozenEstimator(pipeline), steps):
        assert_allclose(
            GLSScorer(frozen).fit(X, y, sample_weight=weights).scores_,
            GLSScorer(pipeline).fit(X, y).scores_,
        )
    for frozen in (FrozenEstimator(model), steps):
        with pytest.raises(ValueError, match="frozen"):
            GLSScorer(frozen, cv=3).fit(X, y)
    with pytest.raises(NotFittedError):
        GLSScorer(FrozenEstimator(logistic())).fit(X, y)
    with pytest.raises(ValueError, match=r"labels \[7\]"):
        GLSScorer(FrozenEstimator(model)).fit(X, np.where(y == 1, 7, 0))


@pytest.mark.parametrize("scoring", [None, "mean"])
def test_grid_search_over_the_penalty_of_the_wrapped_model(cancer, scoring):
    X, y = cancer
    if scoring == "mean":
        # Prefer the model that exposes new rows least.
        def scoring(scorer, X, y):
            return -scorer.score_samples(X, y).mean()

    grid = {"estimator__C": [1e-3, 1.0]}
    search = GridSearchCV(GLSScorer(logistic()), grid, scoring=scoring, cv=3).fit(X, y)
    assert search.best_params_["estimator__C"] == (1e-3 if scoring else 1.0)
    assert search.best_params_["estimator__C"] == search.best_estimator_.estimator_.C


def test_score_is_the_models_own_score(cancer):
    X, y = cancer
    scorer = GLSScorer(logistic(), variant="self_influence")
    with pytest.raises(NotFittedError):
        scorer.score(X, y)
    scorer.fit(X, y)
    assert scorer.score(X, y) == scorer.estimator_.score(X, y)


def test_fitted_scorers_survive_pickling(cancer):
    X, y = cancer
    for model in (logistic(), Ridge(), SGDClassifier("log_loss", average=True)):
        if isinstance(model, SGDClassifier):
            model.set_params(max_iter=3000, tol=None, alpha=0.1, random_state=0)
        scorer = GLSScorer(model).fit(X, y)
        twin = pickle.loads(pickle.dumps(scorer))
        assert_array_equal(twin.scores_, scorer.scores_)
        assert_array_equal(
            twin.score_samples(X[:3] + 1, y[:3]), scorer.score_samples(X[:3] + 1, y[:3])
        )


def test_refitting_forgets_the_last_fit(cancer):
    X, y = cancer
    scorer = GLSScorer(logistic()).fit(X, y)
    first = scorer.scores_
    assert scorer.fit(X[:100], y[:100]).scores_.shape == (100,)
    assert_array_equal(scorer.fit(X, y).scores_, first)


def test_single_precision_is_enough_for_features(cancer):
    X, y = cancer
    single = GLSScorer(logistic()).fit(X.astype(np.float32), y)
    assert single.scores_.dtype == np.float64
    # As far as the solver gets in single precision.
    assert_allclose(single.scores_, GLSScorer(logistic()).fit(X, y).scores_, rtol=1e-2)


def test_frames_keep_their_names(cancer):
    X, y = cancer
    frame = pd.DataFrame(X, columns=list("abcdef"))
    scorer = GLSScorer(logistic()).fit(frame, y)
    assert list(scorer.feature_names_in_) == list("abcdef")
    assert list(scorer.estimator_.feature_names_in_) == list("abcdef")
    assert scorer.score(frame, y) > 0.8
    assert_array_equal(scorer.score_samples(frame), scorer.scores_)
    folds = GLSScorer(logistic(), cv=3).fit(frame, y)
    assert_allclose(folds.scores_, GLSScorer(logistic(), cv=3).fit(X, y).scores_)
    with pytest.raises(ValueError, match="feature names"):
        scorer.score_samples(frame[list("fedcba")])


@pytest.mark.parametrize(
    ("estimator", "match"),
    [
        (RandomForestClassifier(), "Supported are ElasticNet, GammaRegressor"),
        (make_pipeline(StandardScaler(), RandomForestClassifier()), "RandomForest"),
        (LogisticRegressionCV(), "LogisticRegressionCV"),
        (MultiTaskLasso(), "MultiTaskLasso"),
        (SGDClassifier(), "loss='hinge'"),
        (SGDClassifier(loss="squared_hinge"), "log_loss"),
    ],
    ids=str,
)
def test_unknown_models_are_a_type_error_that_says_what_is_supported(
    cancer, estimator, match
):
    with pytest.raises(TypeError, match=match):
        GLSScorer(estimator).fit(*cancer)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"variant": "self_influence", "space": "logit"}, "space='logit'"),
        ({"variant": "hat"}, "'variant' parameter of GLSScorer must be"),
        ({"space": "odds"}, "'space' parameter of GLSScorer must be"),
        ({"cv": "five"}, "'cv' parameter of GLSScorer must be"),
    ],
    ids=str,
)
def test_parameters_that_do_not_apply_are_named(cancer, params, match):
    with pytest.raises(ValueError, match=match):
        GLSScorer(**params).fit(*cancer)


def test_multilabel_classification_is_an_error(iris):
    X, y = iris
    with pytest.raises(ValueError, match="multilabel"):
        GLSScorer(RidgeClassifier()).fit(X, np.column_stack([y == 0, y == 1]))


def test_labels_of_another_kind_or_class_are_an_error(iris):
    X, y = iris
    scorer = GLSScorer(logistic()).fit(X, y)
    with pytest.raises(ValueError, match="strings"):
        scorer.score_samples(X[:2], ["a", "b"])
    with pytest.raises(ValueError, match=r"labels \[9\]"):
        scorer.score_samples(X[:2] + 1, [0, 9])


def test_sparse_coefficients_are_read(cancer):
    X, y = cancer
    model = logistic(C=0.1, l1_ratio=0.5, solver="saga", max_iter=10_000).fit(X, y)
    dense = GLSScorer(FrozenEstimator(model)).fit(X, y).scores_
    sparse = GLSScorer(FrozenEstimator(model.sparsify())).fit(X, y).scores_
    assert_array_equal(sparse, dense)


def test_an_empty_active_set_leaves_the_intercept(iris):
    X, y = iris
    scores = GLSScorer(Lasso(alpha=100.0)).fit(X, y + 0.5).scores_
    assert_allclose(scores, 1 / len(y))


class Recorder:
    """A callback that notes what ends."""

    def __init__(self):
        self.ended = []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.task_name)

    def teardown(self, estimator, context):
        pass


def test_folds_report_to_callbacks(cancer):
    X, y = cancer
    recorder = Recorder()
    GLSScorer(logistic(), cv=3).set_callbacks(recorder).fit(X, y)
    assert recorder.ended == ["fold"] * 3 + ["fit"]


def test_new_rows_are_scored_after_one_record():
    scorer = GLSScorer(Ridge()).fit([[1.0, 2.0]], [3.0])
    assert np.isfinite(scorer.score_samples([[2.0, 1.0]], [0.0])).all()


@pytest.mark.parametrize("tol", [0.0, 1.0, 1e10])
def test_tol_is_a_small_number(iris, tol):
    with pytest.raises(ValueError, match="'tol' parameter"):
        GLSScorer(tol=tol).fit(*iris)
