from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from skpriv import LiRAAttack

INSTANCES = [
    LiRAAttack(),
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
