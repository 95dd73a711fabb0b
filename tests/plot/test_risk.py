import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skpriv import LiRAAttack, RiskEstimator
from skpriv.evaluation import records_at_risk
from skpriv.plot import RiskDisplay

RISK = np.array([0.6, 0.5, 0.9, 0.7])
INTERVAL = np.array([[0.55, 0.65], [0.5, 0.52], [0.8, 1.0], [np.nan, np.nan]])


def labels_of(display):
    return [text.get_text() for text in display.ax_.get_legend().texts]


def test_records_are_drawn_from_the_lowest_risk_to_the_highest():
    display = RiskDisplay.from_predictions(
        RISK,
        interval=INTERVAL,
        at_risk=[False, False, True, True],
        confidence_level=0.9,
        fdr=0.1,
    )
    assert_array_equal(display.line_.get_xdata(), [1, 2, 3, 4])
    assert_array_equal(display.line_.get_ydata(), [0.5, 0.6, 0.7, 0.9])
    assert_array_equal(display.at_risk_.get_xydata(), [[3, 0.7], [4, 0.9]])
    segments = display.intervals_.get_segments()
    ends = {segment[0, 0]: tuple(segment[:, 1]) for segment in segments}
    assert ends == {1: (0.5, 0.52), 2: (0.55, 0.65), 4: (0.8, 1.0)}
    assert_array_equal(display.chance_level_.get_ydata(), [0.5, 0.5])
    assert labels_of(display) == [
        "Risk of a record",
        "90% interval",
        "At risk: 2 of 4 (false discovery rate 10%)",
        "Guessing",
    ]


def test_intervals_of_many_records_are_a_band():
    rng = np.random.default_rng(0)
    risk = 0.5 + rng.random(500) / 2
    interval = np.column_stack([risk - 0.1, risk + 0.1])
    display = RiskDisplay.from_predictions(risk, interval=interval)
    (path,) = display.intervals_.get_paths()
    at = path.vertices[path.vertices[:, 0] == 249.5, 1]
    assert_allclose(at.max() - at.min(), 0.2, atol=0.01)
    assert display.line_.get_marker() == "None"
    # An interval that goes below guessing is not cut off.
    assert display.ax_.get_ylim()[0] < risk.min() - 0.1


def test_nothing_is_marked_where_no_record_is_at_risk():
    for at_risk in (None, np.zeros(4)):
        display = RiskDisplay.from_predictions(RISK, at_risk=at_risk)
        assert display.at_risk_ is None
        assert display.intervals_ is None
        assert labels_of(display) == ["Risk of a record", "Guessing"]


def test_risk_of_an_estimator_is_drawn_with_its_records_at_risk():
    X, y = load_iris(return_X_y=True)
    y = np.random.default_rng(0).permutation(y)
    tree = DecisionTreeClassifier(max_depth=6)
    risk = RiskEstimator(
        tree, scorers={}, n_shadows=8, confidence_level=0.8, random_state=0
    ).fit(X, y)
    display = RiskDisplay.from_estimator(risk, fdr=0.2, threshold=0.6)
    assert_array_equal(display.risk, risk.scores_)
    assert_array_equal(display.interval, risk.interval_)
    listed = records_at_risk(risk, fdr=0.2, threshold=0.6).records
    assert 0 < listed.size < 150
    assert_array_equal(np.flatnonzero(display.at_risk), np.sort(listed))
    assert labels_of(display)[1] == "80% interval"
    assert "(false discovery rate 20%)" in labels_of(display)[2]


def test_estimator_without_a_risk_is_refused():
    for estimator in (LogisticRegression(), LiRAAttack()):
        with pytest.raises(TypeError, match="must be a RiskEstimator; got"):
            RiskDisplay.from_estimator(estimator)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"risk": [0.5, np.nan]}, "risk contains NaN"),
        (
            {"risk": RISK, "interval": INTERVAL[:3]},
            r"interval must have shape \(4, 2\)",
        ),
        ({"risk": RISK, "at_risk": [True]}, r"at_risk must have shape \(4,\)"),
        ({"risk": ["high", "low"]}, "could not convert string"),
    ],
)
def test_arrays_that_do_not_fit_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        RiskDisplay.from_predictions(**parameters)
