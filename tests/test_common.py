"""What scikit-learn expects of every estimator, with no expected failure."""

import pytest
from instances import INSTANCES
from sklearn.utils.estimator_checks import parametrize_with_checks


# The checks fit separable classes, and models that no tolerance makes converge.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(INSTANCES)
def test_estimator_follows_scikit_learn(estimator, check):
    check(estimator)
