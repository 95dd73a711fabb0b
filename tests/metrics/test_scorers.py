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

from skpriv import GLSScorer, LiRAAttack, LossAttack, RMIAAttack
from skpriv.metrics import (
    agreement_scorer,
    membership_scorer,
    neg_membership_scorer,
)


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


def test_negative_membership_picks_the_least_exposed_parameter(data):
    X, y = data
    membership = X[:, 1] > 0
    grid = {"column": [0, 1, 2]}
    with sklearn.config_context(enable_metadata_routing=True):
        least, most = (
            GridSearchCV(ColumnScore(), grid, scoring=scoring).fit(
                X, y, membership=membership
            )
            for scoring in (neg_membership_scorer, membership_scorer)
        )
    assert_allclose(
        least.cv_results_["mean_test_score"], -most.cv_results_["mean_test_score"]
    )
    assert most.best_params_ == {"column": 1}
    assert least.best_params_ != {"column": 1}
    assert repr(neg_membership_scorer) == "neg_membership_scorer"


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        (LiRAAttack(n_shadows=6), "mode must be 'offline' or 'offline-density'"),
        (RMIAAttack(n_shadows=4, mode="offline"), "store_models must be True"),
        (GLSScorer(cv=2), "cv must be None"),
        (make_pipeline(StandardScaler(), GLSScorer(cv=2)), "cv must be None"),
    ],
)
def test_scores_that_cannot_be_compared_are_told_in_one_line(data, estimator, reason):
    with pytest.warns(UserWarning, match=reason) as warned:
        values = cross_validate(estimator, *data, scoring=membership_scorer, cv=2)
    assert np.isnan(values["test_score"]).all()
    assert all("Traceback" not in str(w.message) for w in warned)


@pytest.mark.parametrize(
    "attack",
    [
        LossAttack(),
        LiRAAttack(n_shadows=6, mode="offline", store_models=True),
    ],
)
def test_attacks_that_score_new_rows_can_be_cross_validated(data, attack):
    X, y = data
    values = cross_validate(attack, X, y, scoring=membership_scorer, cv=3)
    assert np.isfinite(values["test_score"]).all()


def test_attack_that_knows_all_rows_is_scored_by_their_membership(data):
    X, y = data
    attack = LiRAAttack(n_shadows=6, random_state=0).fit(X, y)
    membership = X[:, 0] > 0
    assert_allclose(
        membership_scorer(attack, X, y, membership=membership),
        roc_auc_score(membership, attack.scores_),
    )


def test_missing_reference_names_the_setting_that_passes_it(data):
    X, y = data
    with pytest.raises(TypeError, match="enable_metadata_routing=True"):
        agreement_scorer(ColumnScore().fit(X, y), X, y)


@pytest.mark.parametrize("reference", [[1.0, 2.0], [1.0], np.ones((60, 2)), None])
def test_reference_of_another_shape_is_refused(data, reference):
    X, y = data
    with pytest.raises(ValueError, match=r"reference must have shape \(60,\)"):
        agreement_scorer(ColumnScore().fit(X, y), X, y, reference=reference)
