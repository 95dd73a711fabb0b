from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from skpriv import LiRAAttack, LossAttack, RMIAAttack, WaKAAttack

INSTANCES = [
    LiRAAttack(),
    LossAttack(),
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
    WaKAAttack(3, subset_probability=0.3),
    WaKAAttack(20, neighborhood=None),
    LiRAAttack(KNeighborsClassifier(2), n_shadows=6),
    LiRAAttack(RandomForestClassifier(2, max_depth=2), n_shadows=6, variance="record"),
    LiRAAttack(KNeighborsClassifier(1), n_shadows=6, mode="offline", signal="hinge"),
    LiRAAttack(
        n_shadows=6,
        mode="offline-density",
        variance="pooled",
        signal="loss",
        smoothing=0.1,
        augmentations=0.1,
        store_models=True,
        n_jobs=1,
    ),
]


@parametrize_with_checks(INSTANCES)
def test_estimator_keeps_to_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)
