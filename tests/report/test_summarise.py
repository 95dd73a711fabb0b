"""An audit, summed up in plain data."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skpriv.datasets import EncodedTable
from skpriv.report import Audit, choose_kind, summarise
from skpriv.report._prediction import predict_left_out
from skpriv.report._summarise import describe_scores, percentiles, rank

SCORES = st.lists(
    st.one_of(st.sampled_from([0.0, 0.1, 0.2, np.nan]), st.floats(0, 1)), min_size=1
).map(np.array)


@given(scores=SCORES)
@settings(deadline=None)
def test_percentile_is_the_share_below_with_ties_counted_half(scores):
    known = scores[~np.isnan(scores)]
    expected = [
        100 * ((known < s).sum() + (known == s).sum() / 2) / len(known)
        if s == s
        else np.nan
        for s in scores
    ]
    np.testing.assert_allclose(percentiles(scores), expected, rtol=1e-12)


def test_rank_is_by_the_first_score_then_the_next_and_missing_ones_are_last():
    first = np.array([np.nan, 0.2, 0.5, np.nan, 0.2])
    second = np.array([0.1, 0.3, np.nan, 0.2, np.nan])
    assert rank([first, second]).tolist() == [2, 1, 4, 3, 0]
    assert rank([]).size == 0


def make_table(y, classes):
    X = np.arange(len(y), dtype=float)[:, np.newaxis]
    return EncodedTable(X, np.array(y), classes, "ill", [], None)


def test_description_of_scores():
    scores = np.zeros(200)
    scores[:4] = [5.0, 1.0, 1.0, 1.0]
    y = np.repeat([0, 1], 100)
    y[[3, 100]] = 1, 0
    found = describe_scores(scores, make_table(y, ["a", "b"]))
    assert found["distribution"]["maximum"] == 5
    assert found["distribution"]["median"] == 0
    assert found["distribution"]["mean"] == pytest.approx(0.04)
    assert found["distribution"]["unexposed"] == 0.98
    assert found["missing"] == 0
    assert found["top_shares"] == {"1%": 6 / 8, "10%": 1.0}
    assert found["by_class"]["b"]["records"] == 100
    assert found["by_class"]["b"]["part_of_records"] == 0.5
    assert found["by_class"]["b"]["part_of_sum"] == 1 / 8
    assert found["by_class"]["a"]["mean"] == pytest.approx(0.07)


def test_part_of_a_sum_of_zero_is_none_and_not_a_number():
    found = describe_scores(np.zeros(3), make_table([0, 1, 1], ["a", "b"]))
    assert found["top_shares"] == {"1%": None, "10%": None}
    assert found["by_class"]["a"]["part_of_sum"] is None


def test_parts_are_of_what_exceeds_the_score_of_the_unexposed():
    scores, table = np.array([0.5, 0.5, 0.6, 0.9]), make_table([0, 0, 0, 1], ["a", "b"])
    found = describe_scores(scores, table, unexposed=0.5)
    assert found["distribution"]["unexposed"] == 0.5
    assert found["top_shares"]["1%"] == pytest.approx(0.8)
    assert found["by_class"]["b"]["part_of_sum"] == pytest.approx(0.8)
    assert found["by_class"]["b"]["mean"] == 0.9


def test_parts_of_a_sum_with_negative_terms_are_none():
    found = describe_scores(np.array([-0.1, 0.5]), make_table([0, 1], ["a", "b"]))
    assert found["top_shares"] == {"1%": None, "10%": None}
    assert found["by_class"]["b"]["part_of_sum"] is None


def test_a_score_that_is_negative_by_rounding_spoils_no_part():
    scores, table = np.array([-1e-17, 0.5]), make_table([0, 1], ["a", "b"])
    assert describe_scores(scores, table)["by_class"]["b"]["part_of_sum"] == 1


def test_records_without_a_score_are_counted_and_left_aside():
    scores = np.array([np.nan, 0.1, 0.3, np.nan])
    found = describe_scores(scores, make_table([0, 1, 1, 1], ["a", "b"]))
    assert found["missing"] == 2
    assert found["distribution"]["mean"] == pytest.approx(0.2)
    assert found["by_class"]["a"]["mean"] is None
    assert found["by_class"]["b"]["records"] == 3
    assert found["by_class"]["b"]["mean"] == pytest.approx(0.2)
    assert found["by_class"]["b"]["part_of_sum"] == 1


def test_nothing_but_missing_scores_is_no_number():
    found = describe_scores(np.full(3, np.nan), make_table([0, 0, 0], ["a"]))
    assert found["missing"] == 3
    assert set(found["distribution"].values()) == {None}
    assert set(found["top_shares"].values()) == {None}


@pytest.fixture
def encoded():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = np.array([0, 0, 1, 0])
    return EncodedTable(X, y, ["no", "yes"], "ill", [], None)


def sum_up(encoded, scores, **options):
    kind = choose_kind("knn", "classification")
    model = kind.build(n_neighbors=2).fit(encoded.X, encoded.y)
    predictions = predict_left_out(model, encoded.X, encoded.y)
    audit = Audit(
        estimator=model,
        title=kind.title,
        y=encoded.y,
        n_neighbors=2,
        specs=kind.scorers,
        scorers={name: SimpleNamespace(**options) for name in scores},
        scores={name: np.array(values) for name, values in scores.items()},
        predictions=predictions,
        neighbors=predictions,
        attack=None,
    )
    return summarise(audit, encoded, source="here", n_top=3)


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


def test_a_record_without_a_score_is_listed_last_and_has_none(encoded):
    report = sum_up(encoded, {"waka": [np.nan, 0.1, 0.3, 0.2]})
    assert report["records"]["waka"] == [None, 0.1, 0.3, 0.2]
    assert report["records"]["waka_percentile"][0] is None
    assert [record["record"] for record in report["most_exposed"]] == [3, 4, 2]
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_report_is_plain_data(encoded):
    report = sum_up(encoded, {"waka": [0.0] * 4}, truncation_bound_=np.float64(0.001))
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert report["scores"]["waka"]["error_bound"] == 0.001
    assert report["model"]["part_of_most_frequent_class"] == 0.75
    assert report["data"]["classes"] == {"no": 3, "yes": 1}
