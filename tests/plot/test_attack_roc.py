import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skpriv import LiRAAttack, LossAttack, RiskEstimator
from skpriv.evaluation import membership_game
from skpriv.metrics import attack_roc
from skpriv.plot import AttackRocDisplay

X, Y = load_iris(return_X_y=True)
LABELS = np.random.default_rng(0).permutation(Y)
TREE = DecisionTreeClassifier(random_state=0)


def band_of(display, x):
    """Return the ends of the band at a point of the curve."""
    (path,) = display.band_.get_paths()
    at = path.vertices[np.isclose(path.vertices[:, 0], x), 1]
    return at.min(), at.max()


def labels_of(display):
    return [text.get_text() for text in display.ax_.get_legend().texts]


def test_curve_of_scores_is_drawn_on_logarithmic_axes():
    rng = np.random.default_rng(0)
    y_true = np.repeat([1, 0], 100)
    y_score = rng.normal(size=200) + 2 * y_true
    display = AttackRocDisplay.from_predictions(
        y_true, y_score, confidence_level=0.9, name="normal"
    )
    roc = attack_roc(y_true, y_score, confidence_level=0.9)
    assert_array_equal(display.line_.get_xdata(), roc.fpr)
    assert_array_equal(display.line_.get_ydata(), roc.tpr)
    middle = roc.fpr.size // 2
    assert_allclose(
        band_of(display, roc.fpr[middle]), (roc.low[middle], roc.high[middle])
    )
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == "log"
    assert display.ax_.get_xlim() == display.ax_.get_ylim() == (0.01, 1)
    assert labels_of(display) == [
        f"normal (AUC = {roc.auc:.2f})",
        "90% confidence, pointwise",
        "Guessing",
    ]


def test_curve_of_a_fitted_attack_is_the_mean_over_its_shadows():
    attack = LiRAAttack(TREE, n_shadows=12, random_state=0)
    pipeline = make_pipeline(StandardScaler(), attack).fit(X, LABELS)
    display = AttackRocDisplay.from_estimator(pipeline)
    attack = pipeline[-1]
    each = [
        attack_roc(members, scores).tpr
        for members, scores in zip(
            attack.membership_, attack.shadow_scores(), strict=True
        )
    ]
    assert_allclose(display.line_.get_ydata(), np.mean(each, axis=0))
    assert_allclose(display.high, np.quantile(each, 0.975, axis=0))
    assert labels_of(display)[0].startswith("LiRAAttack (AUC = ")
    assert labels_of(display)[1] == "95% of 12 models"


def test_rounds_of_the_game_are_drawn():
    game = membership_game(LossAttack(TREE), X, LABELS, n_rounds=2, random_state=0)
    display = AttackRocDisplay.from_predictions(game.membership, game.scores)
    assert display.n_targets == 2
    assert_allclose(display.auc, game.auc.mean())


def test_curves_are_compared_on_the_axes_of_the_smallest_rate():
    y_true, y_score = np.repeat([1, 0], 1000), np.arange(2000.0)
    display = AttackRocDisplay.from_predictions(y_true, y_score)
    display = AttackRocDisplay.from_predictions(
        y_true[::100], y_score[::100], ax=display.ax_
    )
    assert display.ax_.get_xlim() == (0.001, 1)


def test_curve_without_a_band_and_without_a_name_has_no_label():
    display = AttackRocDisplay(fpr=np.array([0.1, 1]), tpr=np.array([0.5, 1])).plot()
    assert display.band_ is None
    assert labels_of(display) == ["Guessing"]


@pytest.mark.parametrize(
    "attack", [LossAttack(TREE), RiskEstimator()], ids=lambda a: type(a).__name__
)
def test_attack_that_cannot_score_its_shadows_is_refused(attack):
    with pytest.raises(TypeError, match=r"must be a LiRAAttack.* use from_predictions"):
        AttackRocDisplay.from_estimator(attack)
