"""The summary: every number is what the API gives, in plain data."""

import importlib.resources
import json

import jsonschema
import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from audited import N
from sklearn.model_selection import KFold, cross_val_predict

from skpriv.evaluation import detection_limit, success_by_group
from skpriv.metrics import attack_report, attack_roc, epsilon_lower_bound
from skpriv.report._groups import SMALLEST_GROUP
from skpriv.report._subject import make_subject
from skpriv.report._summarise import hash_of


@pytest.fixture(params=["of_people", "of_quantity", "of_three"])
def any_audit(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def schema():
    text = (
        importlib.resources.files("skpriv.report").joinpath("schema.json").read_text()
    )
    return json.loads(text)


def test_summary_is_plain_and_follows_the_schema(any_audit, schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(any_audit.summary, schema)
    text = json.dumps(any_audit.summary, allow_nan=False)
    assert json.loads(text) == any_audit.summary
    jsonschema.validate(any_audit.with_values(), schema)


def test_schema_refuses_what_is_no_summary(of_three, schema):
    for change in ({"schema": 2}, {"verdict": []}, {"extra": 1}, {"risk": None}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**of_three.summary, **change}, schema)


def test_every_column_of_records_is_complete(any_audit):
    columns = any_audit.summary["records"]
    n_records = any_audit.summary["data"]["records"]
    assert {len(column) for column in columns.values()} == {n_records}


def test_risk_is_what_the_evaluation_says(of_people):
    told, risk = of_people.summary["risk"], of_people.risk
    measured = of_people.records["risk"].notna().to_numpy()
    mean = success_by_group(risk, measured, correction="none")
    assert told["mean"] == {
        "value": mean.attack_success[1],
        "low": mean.low[1],
        "high": mean.high[1],
    }
    assert told["mean"]["value"] == pytest.approx(risk.scores_[measured].mean())
    assert told["not_measured"] == N - measured.sum() == 1
    assert told["detection_limit"] == detection_limit(risk, fdr=0.05)
    assert told["at_risk"]["records"] == of_people.records["at_risk"].sum()
    assert told["at_risk"]["part"] == of_people.records["at_risk"].mean()
    values = of_people.records["risk"].dropna()
    assert told["distribution"]["p90"] == pytest.approx(values.quantile(0.9))
    assert told["distribution"]["maximum"] == values.max()
    highest = of_people.records.loc[told["highest"]["record"]]
    assert told["highest"]["estimate"]["low"] == highest["low"]
    assert told["highest"]["record"] == of_people.summary["most_exposed"][1]["record"]


def test_attack_is_what_the_metrics_say(of_people):
    attack, told = of_people.risk.attack_, of_people.summary["attack"]
    targets = list(zip(attack.membership_, attack.shadow_scores(), strict=True))
    reports = [attack_report(*t, fprs=[0.001, 0.01]) for t in targets]
    areas = [report.auc for report in reports]
    assert told["auc"]["value"] == pytest.approx(np.mean(areas))
    assert told["auc"]["low"] == pytest.approx(np.quantile(areas, 0.025))
    assert [point["fpr"] for point in told["tpr"]] == [0.001, 0.01]
    assert told["tpr"][0]["estimate"]["value"] is None  # 60 do not resolve it
    bounds = [epsilon_lower_bound(*t, confidence_level=0.975) for t in targets]
    assert told["epsilon"] == {
        "value": float(np.median(bounds)),
        "confidence_level": 0.95,
    }
    roc = attack_roc(attack.membership_, attack.shadow_scores(), max_points=100)
    for name in ("fpr", "tpr", "low", "high"):
        np.testing.assert_array_equal(told["roc"][name], roc[name])


def test_groups_are_what_the_evaluation_says(of_people):
    told = {group["column"]: group["groups"] for group in of_people.summary["groups"]}
    assert list(told) == ["stage", "job", "region"]
    records = of_people.records
    for column, of in (("stage", "label"), ("job", "job"), ("region", "region")):
        names = records[of].to_numpy(dtype=str)
        expected = success_by_group(of_people.risk, names)
        for group in told[column]:
            i = list(expected.group).index(group["name"])
            assert group["records"] == expected.n_records[i]
            assert group["at_risk"] == records["at_risk"][names == group["name"]].sum()
            assert group["too_small"] == (group["records"] < SMALLEST_GROUP)
            if group["too_small"]:
                assert group["estimate"] is None
            else:
                assert group["estimate"]["value"] == expected.attack_success[i]
                assert group["estimate"]["high"] == expected.high[i]
    assert [group["too_small"] for group in told["region"]] == [False, True]


def test_performance_is_what_left_out_records_show(of_people, people):
    X, y = people
    told = of_people.summary["model"]["performance"]
    assert told["folds"] == 5
    assert told["on"] == "records left out"
    assert told["measure"] == "accuracy"
    assert told["training"] == of_people.model.score(X, y)
    frequent = y.value_counts()
    assert told["baseline"] == {"value": frequent.max() / N, "class": frequent.idxmax()}
    folds = KFold(4, shuffle=True, random_state=0)
    other = (cross_val_predict(of_people.model, X, y, cv=folds) == y).mean()
    assert told["estimate"]["value"] == pytest.approx(other, abs=0.08)
    assert told["estimate"]["low"] < told["estimate"]["value"]
    assert told["by_class"]["ageless"] == 0
    sizes = of_people.summary["data"]["classes"]
    parts = [told["by_class"][name] * number for name, number in sizes.items()]
    assert sum(parts) / N == pytest.approx(told["estimate"]["value"])


def test_scores_have_words_and_weights(of_people):
    scores = of_people.summary["scores"]
    assert set(scores) == set(of_people.risk.covariates_)
    assert scores["leverage"]["title"] == "leverage"
    for name, score in scores.items():
        assert score["weight"] == of_people.risk.weights_[name]


def test_quantities_have_no_classes(of_quantity):
    summary = of_quantity.summary
    assert summary["data"]["classes"] is None
    assert summary["data"]["quantity"]["maximum"] == max(summary["records"]["label"])
    assert summary["model"]["task"] == "regression"
    assert summary["model"]["performance"]["measure"] == "r2"
    assert summary["model"]["performance"]["baseline"] is None
    assert summary["groups"] == []
    (first, *_) = summary["most_exposed"]
    assert first["record"] == 7
    assert {"wrong_label", "contradicted"} & {r["kind"] for r in first["reasons"]}


def test_how_it_was_made_is_told(of_people):
    made = of_people.summary["made"]
    assert made["options"]["n_shadows"] == 16
    assert made["random_state"] == 0
    assert made["command"] is None
    assert made["versions"]["numpy"] == np.__version__


def test_hash_tells_records_apart(people):
    X, y = people

    def found(X, y):
        return hash_of(make_subject(X, y))

    assert found(X, y) == found(X.copy(), y.astype(object))
    assert found(X, y) == found(pl.from_pandas(X), y)
    assert found(X, y) != found(X.iloc[::-1], y)
    assert found(X, y) != found(X, y.iloc[::-1])
    assert found(X, y) != found(X.rename(columns={"age": "years"}), y)
    rows, codes = np.eye(4), np.arange(4)
    for form in (
        sp.csr_array,
        lambda X: X.reshape(4, 2, 2),
        lambda X: list(map(str, X)),
    ):
        assert found(form(rows), codes) == found(form(rows.copy()), codes)
        assert found(form(rows), codes) != found(form(2 * rows), codes)


def test_the_only_record_of_a_class_is_judged_by_no_other(of_people):
    first = of_people.summary["most_exposed"][0]
    kinds = {reason["kind"] for reason in first["reasons"]}
    assert "rare_class" in kinds
    assert not {"wrong_label", "contradicted"} & kinds
