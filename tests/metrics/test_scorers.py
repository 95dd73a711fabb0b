import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpriv.metrics import agreement_scorer, membership_scorer


class ColumnScore(BaseEstimator):
    """Scores a row by one of its columns."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.scores_ = X[:, self.column]
        return self

    def score_samples(self, X, y=None):
        assert y is not None
        return X[:, self.column]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 3)), rng.integers(0, 2, 60)


@pytest.mark.parametrize(
    "wrap", [lambda s: s, lambda s: make_pipeline(StandardScaler(), s)]
)
def test_agreement_with_a_reference_picks_the_best_parameter(data, wrap):
    X, y = data
    estimator = wrap(ColumnScore())
    name = "column" if estimator.__class__ is ColumnScore else "columnscore__column"
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(estimator, {name: [0, 1, 2]}, scoring=agreement_scorer)
        search.fit(X, y, reference=np.exp(X[:, 1]))
    assert search.best_params_ == {name: 1}
    assert_allclose(search.best_score_, 1.0)


def test_agreement_scorer_is_the_rank_correlation(data):
    X, y = data
    value = agreement_scorer(ColumnScore().fit(X, y), X, y, reference=X[:, 1])
    assert_allclose(value, spearmanr(X[:, 0], X[:, 1])[0])


def test_membership_scorer_tells_training_rows_from_held_out_ones(data):
    X, y = data
    fold = np.arange(20)
    rest = np.setdiff1d(np.arange(60), fold)
    expected = roc_auc_score(np.repeat([1, 0], [40, 20]), X[np.append(rest, fold), 0])
    by_fold = cross_validate(
        ColumnScore(), X, y, scoring=membership_scorer, cv=KFold(3)
    )["test_score"]
    assert_allclose(by_fold[0], expected)


def test_membership_scorer_takes_the_membership_by_routing(data):
    X, y = data
    member = X[:, 2] > 0
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            ColumnScore(), {"column": [0, 2]}, scoring=membership_scorer
        ).fit(X, y, membership=member)
    assert search.best_params_ == {"column": 2}
    assert_allclose(search.best_score_, 1.0)


@pytest.mark.parametrize("reference", [[1.0, 2.0], [1.0], np.ones((60, 2)), None])
def test_reference_of_another_shape_is_refused(data, reference):
    X, y = data
    with pytest.raises(ValueError, match=r"reference must have shape \(60,\)"):
        agreement_scorer(ColumnScore().fit(X, y), X, y, reference=reference)
