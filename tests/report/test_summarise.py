import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from skpriv.datasets import EncodedTable
from skpriv.report import SCORERS, summarise
from skpriv.report._summarise import describe_scores, percentiles, predict_left_out

SCORES = st.lists(
    st.one_of(st.sampled_from([0.0, 0.1, 0.2]), st.floats(0, 1)), min_size=1
).map(np.array)


@given(scores=SCORES)
@settings(deadline=None)
def test_percentile_is_the_share_below_with_ties_counted_half(scores):
    expected = [
        100 * ((scores < s).sum() + (scores == s).sum() / 2) / len(scores)
        for s in scores
    ]
    np.testing.assert_allclose(percentiles(scores), expected, rtol=1e-12)


@pytest.mark.parametrize("n_neighbors", [1, 3, 39, 100])
def test_left_out_prediction_is_that_of_a_model_without_the_record(n_neighbors):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 3, 40)
    predicted, agreement = predict_left_out(X, y, n_neighbors)
    k = min(n_neighbors, 39)
    for i in range(40):
        rest = np.arange(40) != i
        model = KNeighborsClassifier(k).fit(X[rest], y[rest])
        assert predicted[i] == model.predict(X[[i]])[0]
        nearest = model.kneighbors(X[[i]], return_distance=False)[0]
        assert agreement[i] == pytest.approx((y[rest][nearest] == y[i]).mean())


def test_duplicates_are_neighbours_and_the_record_itself_is_not():
    X = np.repeat([[0.0], [1.0]], 3, axis=0)
    _, agreement = predict_left_out(X, np.array([0, 0, 1, 1, 1, 1]), 2)
    np.testing.assert_array_equal(agreement, [0.5, 0.5, 0, 1, 1, 1])


def test_description_of_scores():
    scores = np.zeros(200)
    scores[:4] = [5.0, 1.0, 1.0, 1.0]
    y = np.repeat([0, 1], 100)
    y[[3, 100]] = 1, 0
    found = describe_scores(scores, y, ["a", "b"])
    assert found["distribution"]["maximum"] == 5
    assert found["distribution"]["median"] == 0
    assert found["distribution"]["mean"] == pytest.approx(0.04)
    assert found["distribution"]["zeros"] == 0.98
    assert found["top_shares"] == {"1%": 6 / 8, "10%": 1.0}
    assert found["by_class"]["b"]["records"] == 100
    assert found["by_class"]["b"]["part_of_records"] == 0.5
    assert found["by_class"]["b"]["part_of_sum"] == 1 / 8
    assert found["by_class"]["a"]["mean"] == pytest.approx(0.07)


def test_part_of_a_sum_of_zero_is_none_and_not_a_number():
    found = describe_scores(np.zeros(3), np.array([0, 1, 1]), ["a", "b"])
    assert found["top_shares"] == {"1%": None, "10%": None}
    assert found["by_class"]["a"]["part_of_sum"] is None


@pytest.fixture
def encoded():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = np.array([0, 0, 1, 0])
    return EncodedTable(X, y, ["no", "yes"], "ill", [], None)


def sum_up(encoded, scores, **options):
    scorers = {
        name: SimpleNamespace(scores_=np.array(values), **options)
        for name, values in scores.items()
    }
    return summarise(
        scorers, encoded, source="here", n_neighbors=2, n_top=3, specs=SCORERS
    )


def test_most_exposed_are_ranked_by_the_first_score_and_ties_by_the_next(encoded):
    report = sum_up(
        encoded,
        {"waka": [0.1, 0.3, 0.3, 0.0], "knn_leave_one_out": [0.5, 0.2, 0.4, 0.9]},
    )
    top = report["most_exposed"]
    assert [record["record"] for record in top] == [3, 2, 1]
    assert top[0]["label"] == "yes"
    assert top[0]["waka"] == 0.3
    assert top[0]["waka_percentile"] == 75
    assert top[0]["like_neighbors"] == 0


def test_records_are_in_the_order_of_the_table(encoded):
    records = sum_up(encoded, {"waka": [0.1, 0.3, 0.3, 0.0]})["records"]
    assert records["record"] == [1, 2, 3, 4]
    assert records["label"] == ["no", "no", "yes", "no"]
    assert records["waka"] == [0.1, 0.3, 0.3, 0.0]


def test_report_is_plain_data(encoded):
    report = sum_up(encoded, {"waka": [0.0] * 4}, truncation_bound_=np.float64(0.001))
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert report["scores"]["waka"]["error_bound"] == 0.001
    assert report["model"]["part_of_most_frequent_class"] == 0.75
    assert report["data"]["classes"] == {"no": 3, "yes": 1}
