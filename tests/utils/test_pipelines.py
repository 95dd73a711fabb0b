"""The end of a Pipeline is found through nested and frozen ones."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from skpriv.utils._pipelines import (
    fit_params_of_last_step,
    last_step,
    parts_of,
    replace_last_step,
    transform_before_last,
)

X = np.random.default_rng(0).normal(size=(20, 4))
MODEL = Ridge()


def nested():
    return make_pipeline(StandardScaler(), make_pipeline(PCA(2), MODEL))


@pytest.mark.parametrize(
    ("estimator", "n_transformers"),
    [
        (MODEL, 0),
        (FrozenEstimator(MODEL), 0),
        (Pipeline([("model", MODEL)]), 0),
        (nested(), 2),
        (FrozenEstimator(nested()), 2),
        (make_pipeline(MinMaxScaler(), FrozenEstimator(nested())), 3),
    ],
    ids=str,
)
def test_split_returns_the_model_and_all_transformers(estimator, n_transformers):
    transformers, model, _ = parts_of(estimator)
    assert model is MODEL
    assert len(transformers) == n_transformers


def test_a_model_is_frozen_however_deep_it_is_frozen():
    frozen = FrozenEstimator(MODEL)
    for estimator in (frozen, make_pipeline(PCA(2), frozen), FrozenEstimator(nested())):
        assert parts_of(estimator).frozen
    before = make_pipeline(FrozenEstimator(StandardScaler().fit(X)), MODEL)
    for estimator in (MODEL, nested(), before):
        assert not parts_of(estimator).frozen


def test_the_last_step_of_a_pipeline_may_be_frozen():
    frozen = FrozenEstimator(MODEL)
    assert last_step(make_pipeline(StandardScaler(), frozen)) is frozen
    assert last_step(nested()) is MODEL
    assert last_step(MODEL) is MODEL


def test_rows_are_transformed_by_all_steps_but_the_last():
    fitted = nested().fit(X, X[:, 0])
    expected = fitted[-1][:-1].transform(fitted[:-1].transform(X))
    assert_array_equal(transform_before_last(fitted, X), expected)
    assert transform_before_last(MODEL, X) is X
    assert transform_before_last(Pipeline([("model", MODEL)]), X) is X


def test_the_last_step_is_replaced_in_a_copy():
    before = nested()
    after = replace_last_step(before, lambda last: LogisticRegression(C=last.alpha))
    assert MODEL.alpha == last_step(after).C
    assert last_step(before) is MODEL
    assert replace_last_step(MODEL, lambda last: (last,)) == (MODEL,)


def test_fit_parameters_find_the_last_step():
    weights = np.arange(1.0, 21)
    params = fit_params_of_last_step(nested(), sample_weight=weights, other=None)
    assert list(params) == ["pipeline__ridge__sample_weight"]
    nested().fit(X, X[:, 0], **params)
    assert list(fit_params_of_last_step(MODEL, sample_weight=weights)) == [
        "sample_weight"
    ]
    with sklearn.config_context(enable_metadata_routing=True):
        assert list(fit_params_of_last_step(nested(), sample_weight=weights)) == [
            "sample_weight"
        ]
