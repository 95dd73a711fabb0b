"""The audit: from any model and its records to what is known of each of them."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from audited import ONLY, UNLIKE, WRONG, N, make_people, model_of_people
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import skpriv
from skpriv import RiskEstimator, audit
from skpriv.evaluation import records_at_risk


def numbers(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


def test_records_keep_the_index_and_have_what_is_known(of_people, people):
    X, y = people
    records = of_people.records
    assert_array_equal(records.index, X.index)
    first = [
        "id",
        "label",
        "risk",
        "low",
        "high",
        "at_risk",
        "reasons",
        "job",
        "region",
    ]
    assert list(records)[: len(first)] == first
    assert list(records)[len(first) :] == list(of_people.summary["scores"])
    assert_array_equal(records["label"], y)
    assert_array_equal(records["id"], [f"person {i}" for i in range(N)])
    known = records["risk"].dropna()
    assert len(known) == N - 1
    assert known.between(0.5, 1).all()
    assert (records["low"] <= records["risk"]).sum() == N - 1


def test_risk_is_that_of_the_estimator(people):
    X, y = people
    found = audit(model_of_people(), X, y, n_shadows=8, random_state=3)
    risk = RiskEstimator(model_of_people(), n_shadows=8, random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        risk.fit(X, y)
    measured = np.arange(N) != ONLY
    assert_array_equal(found.records["risk"][measured], risk.scores_[measured])
    assert_array_equal(found.records["low"][measured], risk.interval_[measured, 0])
    listed = records_at_risk(risk, fdr=0.05).records
    assert set(np.flatnonzero(found.records["at_risk"])) == set(listed) - {ONLY}
    for name in risk.covariates_:
        assert_array_equal(found.records[name], risk.covariates_[name])


def test_rare_records_are_on_top_and_the_reason_is_told(of_people):
    top = of_people.summary["most_exposed"]
    assert top[0]["record"] == f"r{ONLY}"
    assert top[0]["risk"] is None
    assert not top[0]["at_risk"]
    assert "only record of its class" in top[0]["reasons"][0]["text"]
    assert "cannot be measured" in " ".join(of_people.summary["verdict"])
    by_name = {record["record"]: record for record in top[:4]}
    for record, kind in ((UNLIKE, "unlike_all"), (WRONG, "contradicted")):
        kinds = [reason["kind"] for reason in by_name[f"r{record}"]["reasons"]]
        assert kind in kinds
    assert "wrong_label" in {r["kind"] for r in by_name[f"r{WRONG}"]["reasons"]}
    columns = {r["column"] for r in by_name[f"r{UNLIKE}"]["reasons"]}
    assert {"age", "wealth"} <= columns


def test_records_at_risk_come_first_and_each_part_by_risk():
    X, y = numbers(100)
    found = audit(RandomForestClassifier(20), X, y, n_shadows=8, n_top=100)
    records = found.records
    assert 1 < records["at_risk"].sum() < 100
    order = [record["record"] for record in found.summary["most_exposed"]]
    ranked = records.loc[order]
    assert ranked["at_risk"].tolist() == sorted(ranked["at_risk"], reverse=True)
    for part in (ranked[ranked["at_risk"]], ranked[~ranked["at_risk"]]):
        assert part["risk"].is_monotonic_decreasing


def test_the_same_seed_gives_the_same_audit(of_people, people):
    X, y = people
    with parallel_config("threading"):
        again = audit(model_of_people(), X, y, n_shadows=16, n_jobs=2)
    assert_array_equal(again.records["risk"], of_people.records["risk"])


def test_a_fitted_model_is_the_one_that_is_audited():
    X, y = numbers()
    model = RandomForestClassifier(5, random_state=0).fit(X, y)
    found = audit(model, X, y, n_shadows=8)
    assert found.model is model
    assert found.summary["model"]["given_fitted"]
    frozen = audit(FrozenEstimator(model), X, y, n_shadows=8)
    assert_array_equal(frozen.records["risk"], found.records["risk"])
    assert frozen.summary["model"]["name"] == "RandomForestClassifier"
    other = audit(clone(model), X, y, n_shadows=8)
    assert not other.summary["model"]["given_fitted"]
    assert other.summary["model"]["text"].count("random_state=0") == 1


def test_a_model_that_shadows_cannot_train_is_refused():
    X, y = numbers()
    model = make_pipeline(FrozenEstimator(LogisticRegression().fit(X, y)))
    with pytest.raises(ValueError, match="must not be or contain a frozen model"):
        audit(model, X, y, n_shadows=8)


def test_frames_of_any_kind_give_the_same_audit():
    X, y = numbers()
    model = LogisticRegression()
    risks, reasons = [], []
    names = ["x0", "x1", "x2"]
    for rows in (X, pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        found = audit(model, rows, y, n_shadows=8)
        risks.append(found.records["risk"])
        reasons.append(found.records["reasons"].tolist())
    for risk in risks[1:]:
        assert_allclose(risk, risks[0], rtol=1e-12)  # other layouts in memory
    assert reasons[1] == reasons[0] == reasons[2]


@pytest.mark.parametrize("form", ["texts", "sparse", "images"])
def test_rows_without_columns_are_an_audit(form):
    rng = np.random.default_rng(0)
    words = rng.choice(["ape", "bee", "cat", "dog"], size=(40, 3))
    texts = [" ".join(row) for row in words]
    y = np.array(["ape" in text for text in texts]).astype(int)
    model = make_pipeline(CountVectorizer(), LogisticRegression())
    rows = texts
    if form == "sparse":
        rows, model = sp.csr_array(CountVectorizer().fit_transform(texts)), model[-1]
    elif form == "images":
        rows, model = rng.normal(size=(40, 2, 2)), _Flat(LogisticRegression())
    found = audit(model, rows, y, n_shadows=8)
    assert found.summary["data"]["records"] == 40
    assert found.summary["data"]["columns"] == []
    assert found.records["risk"].notna().all()


class _Flat(ClassifierMixin, BaseEstimator):
    """Takes images."""

    def __init__(self, inner=None):
        self.inner = inner

    def fit(self, X, y):
        self.fitted_ = clone(self.inner).fit(np.reshape(X, (len(X), -1)), y)
        self.classes_ = self.fitted_.classes_
        return self

    def predict_proba(self, X):
        return self.fitted_.predict_proba(np.reshape(X, (len(X), -1)))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_nets_are_audited():
    torch = pytest.importorskip("torch")
    from skorch import NeuralNetClassifier

    X, y = numbers()
    net = NeuralNetClassifier(
        lambda: torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Softmax(dim=1)),
        max_epochs=2,
        train_split=None,
        verbose=0,
    )
    found = audit(net, X.astype(np.float32), y, n_shadows=8)
    assert found.summary["model"]["name"] == "NeuralNetClassifier"
    assert not found.summary["model"]["given_fitted"]
    assert found.records["risk"].notna().all()


def test_a_model_that_only_predicts_labels_is_an_audit_with_a_note():
    X, y = numbers()

    class Decided(DecisionTreeClassifier):
        def __getattribute__(self, name):
            if name in ("predict_proba", "predict_log_proba"):
                raise AttributeError(name)
            return super().__getattribute__(name)

    found = audit(Decided(max_depth=3), X, y, n_shadows=8)
    reasons = " ".join(note["reason"] for note in found.summary["data"]["notes"])
    assert "only predicts labels" in reasons
    assert "wrong_label" not in str(found.summary["most_exposed"])


def test_test_data_measure_how_good_the_model_is():
    X, y = numbers()
    found = audit(LogisticRegression(), X, y, X_test=X, y_test=1 - y, n_shadows=8)
    performance = found.summary["model"]["performance"]
    assert performance["on"] == "test data"
    assert performance["folds"] is None
    right = performance["training"]
    assert performance["estimate"]["value"] == pytest.approx(1 - right)


def test_records_can_be_ranked_by_a_score():
    X, y = numbers()
    found = audit(LogisticRegression(), X, y, rank_by="leverage", n_shadows=8)
    top = [record["scores"]["leverage"] for record in found.summary["most_exposed"]]
    assert top == sorted(found.records["leverage"], reverse=True)[:10]
    with pytest.raises(ValueError, match=r"rank_by must be 'risk' or one of 'attack_p"):
        audit(LogisticRegression(), X, y, rank_by="nothing", n_shadows=8)


def test_inputs_are_not_changed():
    X, y = make_people()
    before = X.copy(), y.copy()
    audit(model_of_people(), X, y, groups="job", n_shadows=8)
    pd.testing.assert_frame_equal(X, before[0])
    pd.testing.assert_series_equal(y, before[1])


@pytest.mark.parametrize(
    ("X", "y", "model", "why"),
    [
        ([[1.0], [1.0], [1.0]], [0, 1, 0], LogisticRegression(), "too few records: 3"),
        (np.ones((20, 1)), np.zeros(20), LogisticRegression(), "the same label"),
        (np.ones((20, 1)), np.zeros(20), Ridge(), "the same label"),
        (np.eye(12), [0] * 11 + [1], LogisticRegression(), "fewer than two classes"),
        (np.eye(12), [0, 1] * 6, KNeighborsClassifier(7), "fewer than the 7 neigh"),
    ],
)
def test_where_nothing_can_be_said_the_summary_says_so(X, y, model, why):
    found = audit(model, X, y)
    summary = found.summary
    assert found.risk is None
    assert why in summary["unmeasurable"]
    assert summary["verdict"][0].startswith("Nothing can be said about the risk:")
    assert summary["risk"]["mean"] is None
    assert summary["attack"] is None
    assert summary["most_exposed"][0]["risk"] is None
    assert found.records["risk"].isna().all()
    assert "Nothing can be said" in repr(found)


def test_records_that_are_all_alike_are_not_exposed():
    found = audit(LogisticRegression(), np.ones((20, 2)), [0, 1] * 10, n_shadows=8)
    assert found.summary["risk"]["at_risk"]["records"] == 0
    assert found.summary["risk"]["mean"]["value"] < 0.6


GOOD = {"model": LogisticRegression(), "X": np.eye(12), "y": [0, 1] * 6}


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"model": LogisticRegression}, TypeError, "model must be a classifier or reg"),
        ({"model": "forest"}, TypeError, "model must be a classifier or regressor"),
        (
            {"model": CountVectorizer()},
            TypeError,
            "model must be a classifier or a reg",
        ),
        ({"y": None}, ValueError, "y must hold the labels"),
        ({"y": [0, 1]}, ValueError, "inconsistent numbers of samples"),
        ({"n_shadows": 6}, ValueError, "n_shadows must be at least 8; got 6"),
        ({"n_shadows": 9}, ValueError, "n_shadows must be even; got 9"),
        ({"n_shadows": "9"}, ValueError, "n_shadows must be a whole number"),
        ({"n_top": -1}, ValueError, "n_top must be at least 0"),
        ({"fdr": 1.0}, ValueError, "fdr must be between 0 and 1"),
        ({"random_state": "x"}, ValueError, "random_state must be a whole number"),
        ({"X_test": np.eye(12)}, ValueError, "y_test must be given"),
        ({"groups": "sex"}, ValueError, "groups must name columns of X; it has no 's"),
        ({"groups": {"sex": [1]}}, ValueError, r"groups\['sex'\] must have shape"),
        ({"ids": "person"}, ValueError, "ids must name a column of X"),
        ({"ids": [1]}, ValueError, "ids must have shape"),
    ],
)
def test_a_bad_argument_is_one_error_that_names_it(changes, error, message):
    with pytest.raises(error, match=message) as caught:
        audit(**{**GOOD, **changes})
    assert "\n" not in str(caught.value)


def test_files_are_for_their_owner_and_agree(of_people, tmp_path):
    path = tmp_path / "report.json"
    assert of_people.to_json(path) is None
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text()) == of_people.summary
    assert of_people.to_json() == path.read_text(encoding="utf-8")


def test_values_are_told_only_if_asked_for(of_people, people):
    X, _ = people
    text = of_people.to_json() + repr(of_people)
    for value in (X["age"].iloc[UNLIKE], X["wealth"].iloc[UNLIKE]):
        assert f"{value}" not in text
    shown = of_people.with_values()
    assert shown is not of_people.summary
    (unlike,) = (r for r in shown["most_exposed"] if r["record"] == f"r{UNLIKE}")
    values = {r["column"]: r.get("value") for r in unlike["reasons"]}
    assert values["age"] == str(X["age"].iloc[UNLIKE])
    for record in of_people.summary["most_exposed"]:
        assert all("value" not in reason for reason in record["reasons"])


def test_repr_tells_the_verdict_and_the_most_exposed(of_people):
    text = repr(of_people)
    assert text.startswith("Audit of LogisticRegression on 120 records\nSomeone who")
    assert f"  person {ONLY} (not measured): " in text


def test_audit_is_a_public_name():
    assert skpriv.audit is audit
    assert "audit" in skpriv.__all__
