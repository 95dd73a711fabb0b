"""The regression of a noisy quantity on covariates."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LinearRegression

from skpriv.risk._stack import (
    Fitted,
    _isotonic,
    default_members,
    out_of_fold_predictions,
    ranks,
    stack,
)


def test_ranks_have_the_middle_at_one_half_and_keep_what_is_missing():
    found = ranks(np.array([3.0, np.nan, 1.0, 3.0, 7.0]))
    np.testing.assert_allclose(found, [0.5, np.nan, 0.125, 0.5, 0.875])


@pytest.mark.parametrize("increasing", [True, False])
def test_isotonic_regression_is_that_of_scikit_learn(increasing):
    rng = np.random.default_rng(0)
    x, new = rng.integers(0, 40, size=200) / 40, rng.uniform(-0.2, 1.2, size=50)
    y = x + rng.normal(size=200)
    model = IsotonicRegression(increasing=increasing, out_of_bounds="clip").fit(x, y)
    found = _isotonic(x, y, new, increasing)
    np.testing.assert_allclose(found, model.predict(new), atol=1e-12)


def test_a_record_does_not_affect_its_own_prediction():
    rng = np.random.default_rng(0)
    covariates, target = rng.random((250, 2)), rng.normal(size=250)
    members = default_members(covariates)
    before = out_of_fold_predictions(members, covariates, target)
    target[7] += 100
    after = out_of_fold_predictions(members, covariates, target)
    fold = np.arange(250) % 5 == 7 % 5
    np.testing.assert_array_equal(after[:, fold], before[:, fold])
    assert (after[:, ~fold] != before[:, ~fold]).any()


def test_other_covariates_are_predicted_from_as_if_they_stood_alone():
    rng = np.random.default_rng(0)
    covariates, other = rng.random((2, 250, 2))
    target = covariates.sum(axis=1)
    members = [Fitted(LinearRegression())]
    _, found = out_of_fold_predictions(members, covariates, target, other)
    np.testing.assert_allclose(found[:, 0], other.sum(axis=1))


def test_records_without_a_covariate_have_the_mean_of_such_records():
    covariates = np.linspace(0, 1, 100)[:, np.newaxis].copy()
    covariates[::4] = np.nan
    target = np.where(np.isnan(covariates[:, 0]), 5.0, covariates[:, 0])
    members = default_members(covariates)
    (predictions,) = out_of_fold_predictions(members, covariates, target)
    np.testing.assert_allclose(predictions[::4, 0], 5.0)


def test_unknown_targets_are_predicted_but_not_learnt_from():
    covariates = np.linspace(0, 1, 100)[:, np.newaxis]
    target = covariates[:, 0].copy()
    target[3::10] = np.nan
    (predictions,) = out_of_fold_predictions(
        [Fitted(LinearRegression())], covariates, target
    )
    np.testing.assert_allclose(predictions[:, 0], covariates[:, 0], atol=1e-12)
    np.testing.assert_allclose(stack(predictions, target), [1.0])
