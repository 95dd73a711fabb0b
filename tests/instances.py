"""Estimators, in several settings each, for the tests that all must pass."""

import numpy as np
from networks import LazyPerceptron, make_net
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
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
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from skorch import NeuralNetClassifier, NeuralNetRegressor

import skpriv
from skpriv import (
    GLSScorer,
    KNNLeaveOneOutScorer,
    KNNShapleyScorer,
    LeverageAttack,
    LiRAAttack,
    LossAttack,
    RiskEstimator,
    RMIAAttack,
    WaKAAttack,
    WaKAScorer,
)


class Perceptron(LazyPerceptron):
    """As many outputs as the checks have classes."""

    def __init__(self, n_outputs=12):
        super().__init__(n_outputs)


def small_net(kind=NeuralNetClassifier, **parameter):
    """Make a net; one parameter of its module or optimizer can be given.

    The order in which skorch's repr lists several of them differs between processes,
    and pytest-xdist compares the names of tests.
    """
    return make_net(Perceptron, kind, max_epochs=2, lr=0.01, **parameter)


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
    LiRAAttack(n_shadows=6),
    LiRAAttack(DecisionTreeClassifier(max_depth=2), n_shadows=6, variance="record"),
    LiRAAttack(KNeighborsClassifier(1), n_shadows=6, mode="offline", signal="hinge"),
    LiRAAttack(
        DecisionTreeClassifier(max_depth=2),
        n_shadows=6,
        mode="offline-density",
        variance="pooled",
        signal="loss",
        smoothing=0.1,
        augmentations=0.1,
        store_models=True,
        n_jobs=1,
    ),
    LiRAAttack(Ridge(), n_shadows=6, mode="offline", store_models=True),
    LossAttack(),
    LossAttack(Ridge()),
    LossAttack(RandomForestClassifier(2, max_depth=2), smoothing=1.0),
    RMIAAttack(),
    RMIAAttack(
        KNeighborsClassifier(2),
        n_shadows=2,
        mode="offline",
        gamma=2.0,
        offline_slope=1.0,
        store_models=True,
    ),
    WaKAAttack(),
    WaKAAttack(1, metric="manhattan", neighborhood=3),
    WaKAAttack(20, subset_probability=0.3, neighborhood=None),
    LeverageAttack(),
    LeverageAttack(fit_intercept=False),
    GLSScorer(),
    GLSScorer(Ridge(), variant="self_influence"),
    GLSScorer(Ridge(), cv=3),
    GLSScorer(LinearRegression(), space="logit"),
    GLSScorer(LogisticRegression(), variant="attack_power", cv=2),
    GLSScorer(LogisticRegression(C=np.inf, max_iter=1000)),
    GLSScorer(
        LogisticRegression(
            solver="saga", l1_ratio=0.5, tol=1e-5, max_iter=5000, random_state=0
        )
    ),
    GLSScorer(RidgeClassifier(class_weight="balanced")),
    GLSScorer(ElasticNet(alpha=0.01)),
    GLSScorer(HuberRegressor()),
    GLSScorer(HuberRegressor(), variant="attack_power"),
    GLSScorer(Ridge(), variant="attack_power", cv=2),
    GLSScorer(PoissonRegressor()),
    GLSScorer(TweedieRegressor(power=0)),
    GLSScorer(SGDClassifier(loss="log_loss", random_state=0)),
    GLSScorer(make_pipeline(StandardScaler(), PCA(1), LogisticRegression(tol=1e-6))),
    GLSScorer(small_net(), random_state=0),
    GLSScorer(small_net(), variant="self_influence", layers=2, cv=2, random_state=0),
    GLSScorer(
        small_net(NeuralNetRegressor, module__n_outputs=1),
        layers="all",
        solver="cg",
        random_state=0,
    ),
    GLSScorer(
        # With a penalty, conjugate gradients need a tenth of the steps.
        make_pipeline(StandardScaler(), small_net(optimizer__weight_decay=0.1)),
        solver="sketch",
        n_sketches=8,
        variant="attack_power",
        random_state=0,
    ),
    GLSScorer(
        MLPClassifier(hidden_layer_sizes=3, max_iter=3), layers=2, random_state=0
    ),
    GLSScorer(
        MLPRegressor(hidden_layer_sizes=3, max_iter=3), layers="all", random_state=0
    ),
    RiskEstimator(n_shadows=8),
    RiskEstimator(Ridge(), n_shadows=8, regressor=Ridge()),
    RiskEstimator(n_shadows=0),
    RiskEstimator(
        RandomForestClassifier(2, max_depth=2),
        n_shadows=8,
        scorers={"waka": WaKAScorer()},
    ),
]

# An estimator that is not listed is tested with its default parameters.
_LISTED = {type(instance).__name__ for instance in INSTANCES}
INSTANCES += [
    getattr(skpriv, name)()
    for name in skpriv.__all__
    if isinstance(getattr(skpriv, name), type) and name not in _LISTED
]
