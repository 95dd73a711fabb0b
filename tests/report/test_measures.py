"""What would help: each measure is tried on the audited model and records."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from skorch import NeuralNetClassifier

from skpriv import audit
from skpriv.report import _measures, _words
from skpriv.report._conduct import Settings, conduct
from skpriv.report._measures import measure_options
from skpriv.report._subject import Subject, make_subject


def make_people(n_records=120):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n_records),
            "income": rng.normal(size=n_records),
            "job": rng.choice(["clerk", "nurse"], n_records),
        }
    )
    X.loc[:2, "job"] = ["smith", "miller", "smith"]
    X.loc[3, "income"] = 40.0
    y = np.where(X["income"] + rng.normal(size=n_records) > 0, "yes", "no")
    return X, y


def make_model(last=None):
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["job"]),
        (StandardScaler(), ["age", "income"]),
    )
    return make_pipeline(columns, LogisticRegression() if last is None else last)


# The measures are tried once for all tests, in one process.
pytestmark = pytest.mark.xdist_group("measures")


@pytest.fixture(scope="module")
def measured():
    X, y = make_people()
    settings = Settings(n_shadows=8, fdr=0.5)
    return conduct(make_model(), make_subject(X, y), settings)


@pytest.fixture(scope="module")
def measures(measured):
    return measure_options(measured)


def by_name(measures):
    return {entry["name"]: entry for entry in measures["tried"]}


def trials_of(model, subject):
    return {trial.name: trial for trial in _measures._settings(model, subject)}


def a_subject(n_records=400):
    return Subject(np.zeros((n_records, 2)), np.arange(n_records) % 2, None, None)


def test_before_is_what_the_audit_found(measured, measures):
    before = measures["before"]
    assert before["records"] == 120
    assert before["at_risk"] == measured.at_risk.sum() > 0
    assert before["mean_risk"] == pytest.approx(measured.risk.scores_.mean())
    assert before["highest"] == measured.risk.scores_[measured.order[0]]
    found = measured.performance
    right = np.mean(found.y == found.predicted)
    assert before["performance"]["value"] == right
    low, high = (before["performance"][end] for end in ("low", "high"))
    assert low < right < high


def test_each_measure_is_an_audit_of_the_changed_model_or_records(measured, measures):
    X, y = make_people()
    entry = by_name(measures)["stronger penalty"]
    assert entry["change"] == "C = 0.1 in place of 1"
    model = make_model(LogisticRegression(C=0.1))
    again = audit(model, X, y, n_shadows=8, fdr=0.5, measures=False).summary
    assert entry["after"] == {
        "performance": again["model"]["performance"]["estimate"],
        "mean_risk": pytest.approx(again["risk"]["mean"]["value"]),
        "at_risk": again["risk"]["at_risk"]["records"],
        "highest": again["risk"]["highest"]["estimate"]["value"],
        "records": 120,
    }


def test_measures_of_columns_change_the_columns_that_they_name(measures):
    entries = by_name(measures)
    merged = entries["rare values merged"]["change"]
    assert "in 'job', values that fewer than 10" in merged
    capped = entries["extreme numbers capped"]["change"]
    assert capped.startswith("in 'age', 'income', numbers beyond the 10th highest")
    assert entries["column left out"]["change"].startswith("trained as if '")
    assert measures["not_tried"] == []


def test_columns_that_identify_the_records_stay_as_they_are():
    X, _ = make_people(60)
    subject = make_subject(X.assign(name=[f"p{i}" for i in range(60)]), np.arange(60))
    assert [name for name, _ in _measures._used_columns(subject)] == list(X.columns)


def test_records_left_out_are_judged_with_all_others(measured, measures):
    entry = by_name(measures)["most exposed left out"]
    n_left_out = min(measured.at_risk.sum(), 12)
    assert entry["after"]["records"] == 120 - n_left_out
    assert f"of the {120 - n_left_out} records that are left" in entry["note"]


def test_at_most_a_tenth_of_the_records_is_left_out():
    at_risk = np.arange(400) < 90
    order = np.arange(400)[::-1]
    (trial,) = _measures._records_left_out(None, a_subject(), at_risk, order[-90:])
    assert np.flatnonzero(~trial.kept).tolist() == list(range(50, 90))
    assert trial.change.startswith("the 40 most exposed of the 90 records at risk are")
    (trial,) = _measures._records_left_out(None, a_subject(), order == 7, [392])
    assert trial.change == "the record at risk is not trained on"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (LogisticRegression(C=2), {"stronger penalty": "C = 0.2 in place of 2"}),
        (LogisticRegression(C=np.inf), {"stronger penalty": "C = 1 in place of inf"}),
        (Ridge(), {"stronger penalty": "alpha = 10 in place of 1"}),
        (
            KNeighborsClassifier(5),
            {"more neighbours": "n_neighbors = 20 in place of 5"},
        ),
        (KNeighborsClassifier(150), {}),
        (
            RandomForestClassifier(),
            {"larger leaves": "min_samples_leaf = 10 in place of 1"},
        ),
        (
            HistGradientBoostingClassifier(),
            {"larger leaves": "min_samples_leaf = 40 in place of 20"},
        ),
        (
            DecisionTreeClassifier(min_samples_leaf=0.2),
            {"larger leaves": "min_samples_leaf = 0.5 in place of 0.2"},
        ),
        (DecisionTreeClassifier(min_samples_leaf=60), {}),
        (
            MLPClassifier(),
            {
                "stronger penalty": "alpha = 0.1 in place of 0.0001",
                "shorter training": "early_stopping = True in place of False",
            },
        ),
        (
            MLPClassifier(solver="lbfgs"),
            {"stronger penalty": "alpha = 0.1 in place of 0.0001"},
        ),
        (
            NeuralNetClassifier(torch.nn.Linear, max_epochs=8),
            {
                "stronger penalty": "optimizer__weight_decay = 0.01",
                "shorter training": "max_epochs = 4 in place of 8",
            },
        ),
        (
            NeuralNetClassifier(torch.nn.Linear, optimizer__weight_decay=0.1),
            {
                "stronger penalty": "optimizer__weight_decay = 1 in place of 0.1",
                "shorter training": "max_epochs = 5 in place of 10",
            },
        ),
        (GaussianNB(), {}),
    ],
)
def test_settings_are_those_of_the_kind_of_model(model, expected):
    for given in (model, make_pipeline(StandardScaler(), model)):
        trials = trials_of(given, a_subject())
        assert {name: trial.change for name, trial in trials.items()} == expected


def test_setting_is_changed_in_a_copy():
    model = make_pipeline(StandardScaler(), LogisticRegression())
    trial = trials_of(model, a_subject())["stronger penalty"]
    assert trial.model[-1].C == 0.1
    assert model[-1].C == 1


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({"a": 50, "b": 6, "c": 5}, ["b", "c"]),
        ({"a": 50, "b": 20, "c": 5}, ["b", "c"]),
        ({"a": 50, "b": 20}, []),
        ({"a": 3, "b": 2}, ["a", "b"]),
        ({"a": 3}, []),
    ],
)
def test_rare_values_are_merged_until_enough_records_share_one(numbers, expected):
    values = pd.Series([v for v, n in numbers.items() for _ in range(n)])
    assert _measures._values_to_merge(values) == expected
    assert _measures._values_to_merge(values.astype("category")) == expected


def test_changed_columns_reach_the_model_in_its_own_form():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    column = {"b": pd.Series([5.0, 6.0])}
    array = Subject(frame.to_numpy(), None, None, None, frame=frame)
    assert _measures._with_columns(array, column).tolist() == [[1, 5], [2, 6]]
    assert array.X.tolist() == [[1, 3], [2, 4]]
    indexed = Subject(frame.set_axis([7, 9]), None, None, None, frame=frame)
    changed = _measures._with_columns(indexed, column)
    assert changed["b"].to_dict() == {7: 5, 9: 6}
    encoded = Subject(None, None, None, None, frame=frame, encode=np.negative)
    changed = _measures._with_columns(encoded, column)
    assert changed.to_numpy().tolist() == [[-1, -5], [-2, -6]]
    for other in (frame.to_numpy().tolist(), None):
        assert not _measures._has_columns(Subject(other, None, None, None))


def test_what_cannot_be_tried_is_named(monkeypatch, measured):
    def fail(trial, *rest):
        raise ValueError(f"no {trial.name}.\nMore")

    monkeypatch.setattr(_measures, "_try", fail)
    found = measure_options(measured)
    assert found["tried"] == []
    first = found["not_tried"][0]
    assert first["reason"] == "no stronger penalty"
    assert first["change"] == "C = 0.1 in place of 1"


def test_frozen_and_unmeasurable_models_have_no_measures():
    X, y = make_people()
    frozen = FrozenEstimator(make_model().fit(X, y))
    found = audit(make_model(), X[:5], y[:5], measures=True)
    assert found.summary["measures"] is None
    measured = conduct(make_model(), make_subject(X, y), Settings(n_shadows=8))
    object.__setattr__(measured, "given", frozen)
    assert measure_options(measured) is None


def test_many_shadows_are_not_repeated_for_each_measure(monkeypatch):
    X, y = make_people(60)
    monkeypatch.setattr(_measures, "_MOST_SHADOWS", 8)
    model = GaussianNB()
    subject = make_subject(X[["age", "income"]], y)
    many = conduct(model, subject, Settings(n_shadows=12))
    few = conduct(model, subject, Settings(n_shadows=8))
    assert measure_options(many)["before"] == measure_options(few)["before"]


@pytest.mark.parametrize(
    ("measures", "seconds", "tried"),
    [
        ("auto", 1e9, True),
        ("auto", -1.0, False),
        (True, -1.0, True),
        (False, 1e9, False),
    ],
)
def test_measures_are_tried_if_the_audit_was_quick(
    monkeypatch, measures, seconds, tried
):
    X, y = make_people(60)
    monkeypatch.setattr("skpriv.report._audit.MOST_SECONDS", seconds)
    result = audit(GaussianNB(), X[["income"]], y, n_shadows=8, measures=measures)
    assert (result.summary["measures"] is not None) is tried


def test_measures_that_are_neither_auto_nor_a_boolean_are_refused():
    X, y = make_people(60)
    with pytest.raises(ValueError, match="measures must be 'auto', True or False"):
        audit(GaussianNB(), X[["income"]], y, measures="always")


def test_words_tell_what_was_tried_and_what_could_not_be(measures):
    told = dict(_words.explain_measures(measures))
    assert told["stronger penalty:"] == "C = 0.1 in place of 1."
    assert told["most exposed left out:"].endswith("that were not before.")
    failed = {"name": "larger leaves", "change": "leaves = 9", "reason": "no leaf"}
    (words,) = _words.explain_measures({"tried": [], "not_tried": [failed]})
    assert words == ("larger leaves:", "leaves = 9. It could not be tried: no leaf.")
    found = {
        "performance": {"value": 0.9, "low": 0.8, "high": 0.95},
        "mean_risk": 0.5,
        "at_risk": 1,
        "highest": 0.75,
        "records": 1200,
    }
    cells = _words.measure_cells("larger leaves", found)
    assert cells == ["larger leaves", "90.0%", "1", "1,200", "50.0%", "75.0%"]
