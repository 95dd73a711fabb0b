"""Inputs that would be read as something else are refused, and the reason is said."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from skpriv import (
    GLSScorer,
    KNNShapleyScorer,
    LeverageAttack,
    LiRAAttack,
    LossAttack,
    WaKAAttack,
    WaKAScorer,
)

N = 40
SCORERS = [
    WaKAScorer(3),
    KNNShapleyScorer(3),
    GLSScorer(LogisticRegression()),
    LiRAAttack(LogisticRegression(), n_shadows=8, random_state=0),
    LossAttack(LogisticRegression()),
    WaKAAttack(),
    LeverageAttack(),
]
on_numbers = [s for s in SCORERS if not isinstance(s, LiRAAttack | LossAttack)]
takes_classes = [s for s in SCORERS if not isinstance(s, LeverageAttack)]


def by_class(scorer):
    return type(scorer).__name__


@pytest.fixture
def records():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    return X, (X[:, 0] + rng.normal(size=N) > 0).astype(int)


@pytest.mark.parametrize("scorer", SCORERS, ids=by_class)
def test_masked_values_are_refused_and_a_mask_of_none_is_not(records, scorer):
    X, y = records
    masked = np.ma.masked_array(X, mask=np.eye(N, 3, dtype=bool))
    message = r"X must have no masked values, but 3 of 120 are masked"
    with pytest.raises(ValueError, match=message):
        scorer.fit(masked, y)
    labels = np.ma.masked_array(y, mask=np.arange(N) < 5)
    with pytest.raises(ValueError, match="y must have no masked values, but 5 of 40"):
        scorer.fit(X, labels)
    expected = scorer.fit(X, y).scores_
    with pytest.raises(ValueError, match=message):
        scorer.score_samples(masked, y)
    whole = np.ma.masked_array(X), np.ma.masked_array(y)
    np.testing.assert_array_equal(scorer.fit(*whole).scores_, expected)


@pytest.mark.parametrize("scorer", takes_classes, ids=by_class)
def test_masked_labels_of_new_rows_are_refused(records, scorer):
    X, y = records
    labels = np.ma.masked_array(y, mask=np.arange(N) < 5)
    with pytest.raises(ValueError, match="y must have no masked values"):
        scorer.fit(X, y).score_samples(X, labels)


@pytest.mark.parametrize("scorer", takes_classes, ids=by_class)
def test_labels_of_several_kinds_are_refused(records, scorer):
    X, y = records
    mixed = np.array([0, "a"], dtype=object)[y]
    with pytest.raises(TypeError, match=r"y must have labels of one kind.*'a'"):
        scorer.fit(X, mixed)


@pytest.mark.parametrize("scorer", SCORERS, ids=by_class)
def test_a_lazy_frame_is_refused(records, scorer):
    polars = pytest.importorskip("polars")
    X, y = records
    frame = polars.DataFrame(X, schema=["a", "b", "c"])
    with pytest.raises(TypeError, match=r"X is a LazyFrame.*pass X\.collect\(\)"):
        scorer.fit(frame.lazy(), y)
    assert np.isfinite(scorer.fit(frame, y).scores_).any()


@pytest.mark.parametrize("scorer", on_numbers, ids=by_class)
@pytest.mark.parametrize("kind", ["date", "duration", "polars"])
def test_columns_of_dates_are_refused_by_name(records, scorer, kind):
    X, y = records
    value = pd.Timedelta(days=3) if kind == "duration" else pd.Timestamp("2020-02-01")
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(when=value)
    if kind == "polars":
        frame = pytest.importorskip("polars").DataFrame(frame.to_dict("list"))
    with pytest.raises(TypeError, match=r"X must have columns of numbers.*\['when'\]"):
        scorer.fit(frame, y)
