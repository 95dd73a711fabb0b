"""Every scorer passes scikit-learn's own checks, whatever it wraps."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import (
    ElasticNet,
    HuberRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skpriv import GLSScorer

SCORERS = [
    GLSScorer(),
    GLSScorer(Ridge(), score="self_influence"),
    GLSScorer(Ridge(), cv=3),
    GLSScorer(LinearRegression(), space="logit"),
    GLSScorer(LogisticRegression(), score="attack_power", cv=2),
    GLSScorer(LogisticRegression(C=np.inf, max_iter=1000)),
    GLSScorer(
        LogisticRegression(
            solver="saga", l1_ratio=0.5, tol=1e-5, max_iter=5000, random_state=0
        )
    ),
    GLSScorer(RidgeClassifier(class_weight="balanced")),
    GLSScorer(ElasticNet(alpha=0.01)),
    GLSScorer(HuberRegressor()),
    GLSScorer(PoissonRegressor()),
    GLSScorer(TweedieRegressor(power=0)),
    GLSScorer(SGDClassifier(loss="log_loss", random_state=0)),
    GLSScorer(make_pipeline(StandardScaler(), PCA(1), LogisticRegression(tol=1e-6))),
]


# The checks fit separable classes, and models that no tolerance makes converge.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(SCORERS)
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)
