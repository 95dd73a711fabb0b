"""Estimators, in several settings each, for the tests that all must pass."""

import numpy as np
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

from skpriv import GLSScorer, KNNLeaveOneOutScorer, KNNShapleyScorer, WaKAScorer

INSTANCES = [
    WaKAScorer(),
    WaKAScorer(n_neighbors=1, variant="removal", threshold=0.3),
    WaKAScorer(n_neighbors=40, variant="addition", subset_probability=0.9),
    WaKAScorer(n_neighbors=3, neighborhood=7, metric="manhattan"),
    WaKAScorer(n_neighbors=2, neighborhood=20, metric="precomputed"),
    WaKAScorer(n_neighbors=2, subset_probability=1.0, metric="cosine"),
    KNNShapleyScorer(),
    KNNShapleyScorer(n_neighbors=50),
    KNNShapleyScorer(n_neighbors=2, neighborhood=3),
    KNNShapleyScorer(n_neighbors=3, metric="precomputed"),
    KNNLeaveOneOutScorer(),
    KNNLeaveOneOutScorer(n_neighbors=100, metric="chebyshev"),
    KNNLeaveOneOutScorer(n_neighbors=1, metric="precomputed"),
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
