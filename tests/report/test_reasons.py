"""Why a record is exposed, in words."""

import numpy as np
import pandas as pd
import pytest

from skpriv.datasets import describe_columns
from skpriv.report import _reasons
from skpriv.report._neighborhood import Neighborhood

N = 200


def find(values, **options):
    frame = pd.DataFrame({"x": values})
    columns = describe_columns(frame, **options)
    return _reasons.gather(_reasons.rare_values(frame, columns), len(frame))


def test_few_are_a_handful_or_one_in_a_thousand_but_no_tenth():
    assert _reasons.is_few(5, 200)
    assert not _reasons.is_few(6, 200)
    assert _reasons.is_few(48, 48_842)
    assert not _reasons.is_few(3, 20)


def test_a_value_that_few_share_is_told_without_the_value():
    values = np.array(["often", "seldom"])[(np.arange(N) < 2).astype(int)]
    reasons = find(values)
    text = "few records have this value of 'x' (2 of 200)"
    expected = {"kind": "rare_value", "text": text, "column": "x", "share": 0.01}
    assert reasons[0] == reasons[1] == [expected]
    assert reasons[2] == []


def test_a_flag_that_few_have_is_a_rare_value():
    reasons = find((np.arange(N) == 3).astype(int))
    assert reasons[3][0]["text"] == "few records have this value of 'x' (1 of 200)"
    assert reasons[4] == []


@pytest.mark.parametrize(("shift", "word"), [(50.0, "high"), (-50.0, "low")])
def test_a_number_far_from_the_others_is_told_in_robust_deviations(shift, word):
    values = np.random.default_rng(0).normal(size=N)
    values[7] = shift
    reasons = find(values)
    (reason,) = reasons[7]
    middle = np.median(values)
    spread = 1.4826 * np.median(np.abs(values - middle))
    times = abs(shift - middle) / spread
    assert reason["text"] == (
        f"'x' is unusually {word}: 1 of 200 goes as far, {times:.0f} robust standard "
        "deviations from the median"
    )
    assert sum(map(bool, reasons)) == 1


def test_numbers_that_differ_from_most_are_rare_without_a_spread():
    values = np.zeros(N)
    values[:3] = [5.5, 6.5, 7.5]
    values[3:60] = 1.0
    reasons = find(values)
    assert reasons[2][0]["text"] == "'x' is unusually high: 1 of 200 goes as far"
    assert reasons[0][0]["text"] == "'x' is unusually high: 3 of 200 go as far"
    assert reasons[3] == []


def test_dates_are_far_like_numbers():
    values = pd.Series(pd.date_range("2024-01-01", periods=N))
    values[9] = pd.Timestamp("1900-01-01")
    reasons = find(values)
    assert reasons[9][0]["text"].startswith(
        "'x' is unusually low: 1 of 200 goes as far"
    )
    assert sum(map(bool, reasons)) == 1


def test_a_missing_value_is_a_reason_where_few_are_missing():
    values = np.random.default_rng(0).normal(size=N)
    values[4] = np.nan
    assert find(values)[4][0]["text"] == "few records have no value of 'x' (1 of 200)"
    values[: N // 2] = np.nan
    assert not any(find(values))


def test_columns_that_are_left_out_are_no_reason():
    assert not any(find([f"person {i}" for i in range(N)]))


def test_rare_classes_and_groups_are_told():
    labels = np.array(["a"] * (N - 3) + ["b", "b", "c"])
    findings = [*_reasons.rare_labels(labels), *_reasons.rare_groups({"sex": labels})]
    reasons = _reasons.gather(findings, N)
    assert reasons[0] == []
    rare = {reason["kind"]: reason["text"] for reason in reasons[N - 2]}
    assert rare == {
        "rare_class": "few records are of its class (2 of 200)",
        "rare_group": "few records are in its group by 'sex' (2 of 200)",
    }
    assert "it is the only record of its class" in reasons[N - 1][0]["text"]


def neighborhood(labels, distance=None):
    n_records = len(labels)
    distance = np.ones(n_records) if distance is None else distance
    return Neighborhood(labels.shape[1], labels, distance, np.sort(distance))


def test_labels_that_neighbours_contradict_are_told():
    labels = np.tile([0, 0, 0, 0, 1], (4, 1))
    (finding,) = _reasons.contradicted_classes(
        np.array([0, 1, 2, 1]), neighborhood(labels, np.array([1, 1, 1, np.nan]))
    )
    assert finding.records.tolist() == [1, 2]  # of record 3 nothing is known
    assert finding.texts == [
        "only 1 of its 5 nearest neighbours has its label",
        "none of its 5 nearest neighbours has its label",
    ]
    np.testing.assert_array_equal(finding.shares, [0.2, 0])


def test_quantities_that_neighbours_contradict_are_told():
    y = np.arange(20.0)
    y[3] += 60
    (finding,) = _reasons.contradicted_quantities(
        y, neighborhood(np.arange(20.0)[:, np.newaxis] + 2)
    )
    assert finding.records.tolist() == [3]
    assert "29 times as far" in finding.texts[0]


def test_labels_that_models_without_the_record_doubt_are_told():
    signals = np.tile([[4.0, -4.0, 4.0]], (4, 1))
    membership = np.tile([[True], [False]], (2, 3))
    signals[membership[:, 1], 1] = 9.0
    (finding,) = _reasons.doubted_classes(signals, membership)
    assert finding.records.tolist() == [1]
    assert finding.texts == [
        "the label may be wrong: models trained without the record give it a "
        "probability of 1.8%"
    ]
    assert _reasons.doubted_classes(-signals, membership) == []


def test_errors_that_are_unusually_large_are_told():
    (finding,) = _reasons.doubted_quantities(np.array([1.0, 1.0, 1.0, 12.0, np.nan]))
    assert finding.records.tolist() == [3]
    assert "12 times as far off as usual" in finding.texts[0]
    assert _reasons.doubted_quantities(np.zeros(3)) == []


def test_records_whose_neighbours_are_far_are_told():
    distance = np.linspace(1, 2, N)
    distance[11] = 30
    (finding,) = _reasons.unlike_all(neighborhood(np.zeros((N, 1)), distance))
    assert 11 in finding.records
    text = finding.texts[finding.records.tolist().index(11)]
    assert text == (
        "its nearest neighbours are further away than those of 99.5% of the records"
    )
    assert len(finding.records) <= 0.02 * N
    assert not _reasons.unlike_all(
        neighborhood(np.zeros((N, 1)), np.linspace(1, 1.1, N))
    )[0].records.size


def test_the_strongest_reasons_come_first_and_no_kind_crowds_the_others_out():
    records = np.array([0])
    findings = [
        _reasons.Finding("rare_value", records, [f"v{i}"], np.array([i / 10]), "x")
        for i in (5, 1, 4, 2, 3)
    ]
    findings.append(_reasons.Finding("wrong_label", records, ["w"], np.array([0.9])))
    (reasons,) = _reasons.gather(findings, 1)
    assert [reason["text"] for reason in reasons] == ["w", "v1", "v2", "v3"]


@pytest.mark.parametrize(
    ("find_high", "kind", "better"),
    [
        (_reasons.unusual_mixes, "unusual_mix", "rare_value"),
        (_reasons.hard_to_predict, "hard_to_predict", "wrong_label"),
    ],
)
def test_a_high_score_is_told_unless_it_is_explained(find_high, kind, better):
    scores = np.arange(N, dtype=float)
    scores[3] = np.nan
    (finding,) = find_high(scores)
    assert finding.kind == kind
    # 190 of the other 199 with a score are lower.
    assert finding.records.tolist() == list(range(N - 9, N))
    assert finding.texts[0].endswith("95.5% of the records")
    assert finding.texts[-1].endswith("99.5% of the records")
    why = _reasons.Finding(better, np.array([N - 1]), ["why"], np.array([0.1]))
    reasons = _reasons.gather([finding, why], N)
    assert [reason["text"] for reason in reasons[N - 1]] == ["why"]
    assert [reason["kind"] for reason in reasons[N - 2]] == [kind]


def test_scores_that_are_the_same_for_all_explain_nothing():
    assert _reasons.hard_to_predict(np.zeros(N)) == []
    assert _reasons.unusual_mixes(np.full(N, np.nan)) == []
