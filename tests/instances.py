"""Estimators, in several settings each, for the tests that all must pass."""

from skpriv import KNNLeaveOneOutScorer, KNNShapleyScorer, WaKAScorer

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
]
