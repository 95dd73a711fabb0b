"""Which records have a score, and the warnings about the others."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from skpriv.leverage._scores import (
    LARGEST_STEP,
    RecordTerms,
    Status,
    assess,
    has_converged,
    is_valid,
    model_step,
    warn_of_missing,
)

EACH = np.array([0, *list(Status)])


def terms(step, leverage=None):
    step = np.asarray(step, dtype=float)
    leverage = np.ones_like(step) if leverage is None else np.asarray(leverage)
    status = np.full(step.shape, Status.VALID)
    return RecordTerms(status, leverage, leverage, leverage, newton_step=step)


def test_every_reason_takes_the_score_away():
    assert_array_equal(is_valid(EACH), EACH == 0)
    late = EACH == Status.NOT_CONVERGED
    assert_array_equal(is_valid(EACH, at_any_weights=True), (EACH == 0) | late)


def test_a_record_that_is_not_estimable_may_have_converged():
    assert_array_equal(
        has_converged(EACH), (EACH == 0) | (EACH == Status.NOT_ESTIMABLE)
    )
    assert not has_converged(np.array([Status.NOT_ESTIMABLE | Status.NOT_SOLVED]))


def test_no_record_has_converged_further_than_the_model():
    # The median by leverage is the middle record's step.
    found = assess(terms([0.01, 0.2, 0.3], [1.0, 5.0, 1.0]))
    assert_array_equal(found.newton_step, [0.2, 0.2, 0.3])
    assert_array_equal(found.status, [Status.NOT_CONVERGED] * 3)
    found = assess(terms([0.01, 0.2, LARGEST_STEP]), least_step=0.05)
    assert_array_equal(found.newton_step, [0.05, 0.2, LARGEST_STEP])
    assert_array_equal(is_valid(found.status), [True, False, True])


def test_a_step_that_is_not_a_number_has_not_converged():
    found = assess(terms([0.0, np.nan]))
    assert_array_equal(is_valid(found.status), [True, False])


def test_the_step_of_a_model_ignores_records_without_leverage():
    assert model_step(terms([np.nan, 0.3, 5.0], [1.0, 1.0, 0.0])) == 0.3
    assert model_step(terms([0.3], [np.nan])) == 0


def test_each_record_is_counted_once_by_its_most_severe_reason():
    both = Status.NOT_A_MINIMUM | Status.NOT_CONVERGED
    status = np.array([0, both, both, Status.NOT_ESTIMABLE])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_missing(status)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 2
    assert messages[0].startswith("2 of 4 records have no score (NaN): the model is ")
    assert messages[1].startswith("1 of 4 records has no score (NaN): their pred")


@pytest.mark.parametrize("reason", list(Status))
def test_every_reason_has_a_warning(reason):
    with pytest.warns(ConvergenceWarning, match="3 of 3 records have no score"):
        warn_of_missing(np.full(3, reason))


def test_scores_that_hold_anywhere_are_given_with_a_warning():
    late = np.array([Status.NOT_CONVERGED])
    with pytest.warns(ConvergenceWarning, match="ha(s|ve) the leverage of the optimum"):
        warn_of_missing(late, at_any_weights=True)


def test_terms_that_were_not_computed_stay_none_when_joined():
    joined = RecordTerms.concatenate([terms([0.1]), terms([0.2, 0.3])])
    assert_array_equal(joined.newton_step, [0.1, 0.2, 0.3])
    assert joined.confidence_shift is None
    assert joined.residuals is None
