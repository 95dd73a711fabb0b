"""The attack of an audit, and what the report says of it."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from skpriv import LiRAAttack
from skpriv.datasets import EncodedTable, TableError
from skpriv.evaluation import records_at_risk, success_by_group
from skpriv.metrics import attack_report, score_agreement
from skpriv.report import audit_table, choose_kind, summarise

N = 60


def make_table(y=None, classes="abc"):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4))
    y = rng.integers(0, len(classes), N) if y is None else np.array(y)
    return EncodedTable(X[: y.size], y, list(classes), "y", [], None)


def audit(name, table, n_shadows=16, n_neighbors=5):
    kind = choose_kind(name, "classification")
    return audit_table(kind, table, n_neighbors=n_neighbors, n_shadows=n_shadows)


@pytest.fixture(scope="module", params=["logistic", "knn"])
def attacked(request):
    table = make_table()
    found = audit(request.param, table)
    return found, table, summarise(found, table, source="here", n_top=3)


def test_attack_is_on_the_audited_model(attacked):
    found, table, _ = attacked
    if type(found.estimator) is LogisticRegression:
        assert found.attack.target_ is found.estimator
    else:
        assert type(found.estimator) is KNeighborsClassifier
    expected = LiRAAttack(found.estimator, n_shadows=16, random_state=0)
    expected.fit(table.X, table.y)
    assert_array_equal(found.attack.signals_, expected.signals_)
    assert_array_equal(found.attack.scores_, expected.scores_)


def test_report_of_an_attack_is_what_the_metrics_say(attacked):
    found, table, report = attacked
    attack, told = found.attack, report["attack"]
    assert told["n_shadows"] == 16
    assert told["success"]["value"] == pytest.approx(attack.attack_success_.mean())
    groups = success_by_group(attack, table.y)
    for i, name in enumerate(table.classes):
        assert told["success_by_class"][name] == {
            "value": groups.attack_success[i],
            "low": groups.low[i],
            "high": groups.high[i],
        }
    areas = [
        attack_report(members, scores).auc
        for members, scores in zip(
            attack.membership_, attack.shadow_scores(), strict=True
        )
    ]
    assert told["auc"]["value"] == pytest.approx(np.mean(areas))
    assert told["auc"]["low"] == pytest.approx(np.quantile(areas, 0.025))
    assert told["tpr"]["1.0%"]["value"] is None  # 30 non-members do not resolve it


def test_agreement_is_what_the_metric_says(attacked):
    found, _, report = attacked
    success, halves = found.attack.attack_success_, found.attack.attack_success_halves_
    for name, scores in found.scores.items():
        expected = score_agreement(success, scores, halves=halves)
        agreement = report["attack"]["agreement"][name]
        assert agreement["value"] == pytest.approx(expected.spearman)
        assert agreement["low"] == pytest.approx(expected.spearman_interval[0])
        assert agreement["top"] == pytest.approx(expected.top_overlap[2])
        attainable = agreement["attainable"]
        assert (attainable is None) == np.isnan(expected.attainable)
        assert attainable is None or attainable == pytest.approx(expected.attainable)


def test_every_record_has_its_success_and_the_report_is_plain(attacked):
    found, _, report = attacked
    records = report["records"]
    assert_array_equal(records["attack_success"], found.attack.attack_success_)
    low, high = found.attack.attack_success_interval_.T
    assert_array_equal(records["attack_success_low"], low)
    assert_array_equal(records["attack_success_high"], high)
    top = report["most_exposed"][0]
    assert top["attack_success"] == records["attack_success"][top["record"] - 1]
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_records_at_risk_are_counted_and_the_surest_named():
    table = make_table(np.arange(N) % 2, "ab")
    table.X[:, 0] += 9 * table.y
    table.y[7] = 1 - table.y[7]  # a label that only the record itself tells
    found = audit("knn", table, 64, n_neighbors=1)
    report = summarise(found, table, source="here", n_top=1)
    risk, at_risk = report["attack"]["at_risk"], report["records"]["at_risk"]
    expected = records_at_risk(found.attack, fdr=0.05).records
    assert expected[0] == 7
    assert risk["surest"] == [8]
    assert np.flatnonzero(at_risk).tolist() == sorted(expected)
    assert risk["records"] == len(expected)
    assert risk["part_of_records"] == len(expected) / N


def test_no_attack_is_none(attacked):
    found, table, _ = attacked
    report = summarise(replace(found, attack=None), table, source="here", n_top=3)
    assert report["attack"] is None
    assert "attack_success" not in report["records"]


def test_few_shadows_give_no_attainable():
    table = make_table()
    report = summarise(audit("knn", table, 6), table, source="here", n_top=3)
    for agreement in report["attack"]["agreement"].values():
        assert agreement["attainable"] is None
        assert agreement["value"] is not None


def test_score_without_values_agrees_with_nothing():
    table = make_table()
    found = audit("knn", table, 12)
    found.scores["waka"][3:] = np.nan
    report = summarise(found, table, source="here", n_top=3)
    assert set(report["attack"]["agreement"]["waka"].values()) == {None}
    assert report["attack"]["agreement"]["knn_shapley"]["value"] is not None


@pytest.mark.parametrize("name", ["logistic", "knn"])
@pytest.mark.parametrize("y", [[0, 1, 1, 1, 1], [0, 0, 1], [0, 1]])
def test_halves_that_cannot_hold_two_classes_are_refused(name, y):
    with pytest.raises(TableError, match="at least two classes of 2 records or more"):
        audit(name, make_table(y, "ab"), n_neighbors=1)


def test_halves_with_fewer_records_than_neighbours_are_refused():
    table = make_table([0, 1] * 4, "ab")
    with pytest.raises(TableError, match=r"8 records are too few .* 5 .* at least 10,"):
        audit("knn", table, n_neighbors=5)
    assert audit("knn", table, n_neighbors=4).attack is not None
    assert audit("logistic", table, n_neighbors=5).attack is not None


@pytest.mark.parametrize("name", ["logistic", "knn"])
def test_fewest_records_can_be_attacked(name):
    table = make_table([0, 0, 1, 1], "ab")
    found = audit(name, table, 6, n_neighbors=2)
    report = summarise(found, table, source="here", n_top=3)
    assert 0 <= report["attack"]["success"]["value"] <= 1


def test_class_of_one_record_has_no_interval():
    table = make_table([0, 0, 0, 1, 1, 1, 2], "abc")
    report = summarise(audit("logistic", table, 6), table, source="here", n_top=3)
    assert report["attack"]["success_by_class"]["c"]["low"] is None
