"""What scikit-learn expects of every estimator, with no expected failure."""

from instances import INSTANCES
from sklearn.utils.estimator_checks import parametrize_with_checks


@parametrize_with_checks(INSTANCES)
def test_estimator_follows_scikit_learn(estimator, check):
    check(estimator)
