"""Models in Pipelines are scored on the rows that they were trained on."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder

from skpriv import GLSScorer


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": rng.integers(0, 40, 200).astype(str)})
    y = 2 * rng.normal(size=200) + 0.05 * frame.city.astype(int).to_numpy()
    return frame, y


def encoder(folds=KFold):
    cv = folds(5, shuffle=True, random_state=0)
    return make_column_transformer((TargetEncoder(cv=cv), ["city"]))


def hat(A, curvature, penalty):
    H = (A.T * curvature) @ A + np.diag([*[penalty] * (A.shape[1] - 1), 0])
    return curvature * np.einsum("ij,ij->i", A, np.linalg.solve(H, A.T).T)


def with_intercept(Z):
    return np.column_stack([Z, np.ones(len(Z))])


@pytest.mark.parametrize("nested", [False, True])
def test_least_squares_on_cross_fitted_encodings(records, nested):
    frame, y = records
    model = Ridge()
    steps = [make_pipeline(encoder(), model)] if nested else [encoder(), model]
    scorer = GLSScorer(make_pipeline(*steps)).fit(frame, y)
    A = with_intercept(encoder().fit_transform(frame, y))
    truth = hat(A, np.ones(200), 1)
    assert_allclose(scorer.scores_, truth, rtol=1e-9)
    # Of what transform returns, the leverages would be other ones.
    other = with_intercept(scorer.estimator_[0].transform(frame)) if not nested else A
    assert nested or np.abs(hat(other, np.ones(200), 1) / truth - 1).max() > 1
    assert_array_equal(scorer.score_samples(frame), scorer.scores_)
    assert_allclose(scorer.get_influence().hat_matrix_diag, truth, rtol=1e-9)


def test_logistic_regression_on_cross_fitted_encodings(records):
    frame, y = records[0], (records[1] > np.median(records[1])).astype(int)
    pipeline = make_pipeline(
        encoder(StratifiedKFold), LogisticRegression(C=0.01, tol=1e-8)
    )
    scorer = GLSScorer(pipeline).fit(frame, y)
    A = with_intercept(encoder(StratifiedKFold).fit_transform(frame, y))
    p = scorer.estimator_[-1].predict_proba(A[:, :1])[:, 1]
    assert_allclose(scorer.scores_, hat(A, p * (1 - p), 100), rtol=1e-8)
    assert scorer.newton_step_.max() < 1e-3


def test_new_rows_are_transformed(records):
    frame, y = records
    scorer = GLSScorer(make_pipeline(encoder(), Ridge())).fit(frame, y)
    A = with_intercept(encoder().fit_transform(frame, y))
    new = with_intercept(scorer.estimator_[0].transform(frame[:9]))
    inverse = np.linalg.inv(A.T @ A + np.diag([1, 0]))
    truth = np.einsum("ij,jk,ik->i", new, inverse, new)
    assert_allclose(scorer.score_samples(frame[:9], y[:9] + 1), truth, rtol=1e-9)


def test_each_fold_is_fitted_on_its_own_encodings(records):
    frame, y = records
    pipeline, cv = make_pipeline(encoder(), Ridge()), KFold(4)
    scores = GLSScorer(pipeline, cv=cv).fit(frame, y).scores_
    for train, test in cv.split(frame):
        own = encoder()
        A = with_intercept(own.fit_transform(frame.iloc[train], y[train]))
        new = with_intercept(own.transform(frame.iloc[test]))
        inverse = np.linalg.inv(A.T @ A + np.diag([1, 0]))
        truth = np.einsum("ij,jk,ik->i", new, inverse, new)
        assert_allclose(scores[test], truth, rtol=1e-9)


def test_an_embedding_that_transforms_training_rows_otherwise():
    X = np.random.default_rng(0).normal(size=(120, 3))
    embed = LocallyLinearEmbedding(n_neighbors=8, n_components=2, random_state=0)
    pipeline = make_pipeline(StandardScaler(), embed, Ridge(alpha=0.01))
    scorer = GLSScorer(pipeline).fit(X, X[:, 0])
    Z = clone(embed).fit_transform(StandardScaler().fit_transform(X))
    truth = hat(with_intercept(Z), np.ones(120), 0.01)
    assert_allclose(scorer.scores_, truth, rtol=1e-6)


def test_a_perceptron_on_cross_fitted_encodings(records):
    pytest.importorskip("torch")
    frame, y = records
    mlp = MLPRegressor(hidden_layer_sizes=(), alpha=1.0, solver="lbfgs")
    pipeline = make_pipeline(encoder(), mlp.set_params(random_state=0))
    scores = GLSScorer(pipeline).fit(frame, y).scores_
    A = with_intercept(encoder().fit_transform(frame, y))
    assert_allclose(scores, hat(A, np.ones(200), 1), rtol=1e-6)


class Oversampler(BaseEstimator):
    """A step as imbalanced-learn has them."""

    def fit(self, X, y):
        return self

    def fit_resample(self, X, y):
        return np.concatenate([X, X[y == 1]]), np.concatenate([y, y[y == 1]])


class ResamplingPipeline(Pipeline):
    """A Pipeline that resamples, as that of imbalanced-learn."""

    def fit(self, X, y=None, **params):
        X, y = self.steps[-2][1].fit_resample(X, y)
        self.steps[-1][1].fit(X, y)
        return self


@pytest.mark.parametrize("kind", ["plain", "frozen", "nested", "nested before"])
def test_a_pipeline_that_resamples_is_refused_by_the_name_of_the_step(kind):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (X[:, 0] > 1).astype(int)
    steps = [("more", Oversampler()), ("model", LogisticRegression())]
    pipeline = ResamplingPipeline(steps)
    if kind == "frozen":
        pipeline = FrozenEstimator(pipeline.fit(X, y))
    elif kind == "nested":
        pipeline = make_pipeline(StandardScaler(), pipeline)
    elif kind == "nested before":
        scaler = Pipeline([("scale", StandardScaler())])
        pipeline = ResamplingPipeline([("scale", scaler), *steps])
    with pytest.raises(TypeError, match=r"Oversampler\(\), which resamples"):
        GLSScorer(pipeline).fit(X, y)


def test_the_fit_method_of_the_model_is_its_own_afterwards(records):
    scorer = GLSScorer(make_pipeline(encoder(), Ridge())).fit(*records)
    assert "fit" not in vars(scorer.estimator_[-1])
