"""An audit: a model is fitted, and its training records are scored."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpriv import GLSScorer, KNNShapleyScorer
from skpriv.datasets import EncodedTable
from skpriv.report import (
    KINDS,
    audit,
    audit_table,
    choose_kind,
    format_report,
    summarise,
)
from skpriv.report._audit import _build, standardize

N = 60


def make_table(task="classification", n_classes=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4))
    if task == "regression":
        return EncodedTable(X, 1e6 + 40 * X[:, 0], None, "y", [], None)
    y = rng.integers(0, n_classes, N)
    return EncodedTable(X, y, [f"c{i}" for i in range(n_classes)], "y", [], None)


def kind_id(kind):
    return f"{kind.name}-{kind.task}"


@pytest.mark.parametrize("kind", KINDS, ids=kind_id)
def test_every_score_of_every_kind_is_computed(kind):
    table = make_table(kind.task)
    found = audit_table(kind, table)
    assert list(found.scores) == list(kind.scorers)
    for scores in found.scores.values():
        assert np.isfinite(scores).all()
    report = summarise(found, table, source="here", n_top=3)
    assert (report["neighbors"] is None) == (kind.name == "knn")
    top = next(iter(found.scores.values())).argmax()
    assert report["most_exposed"][0]["record"] == top + 1


@pytest.mark.parametrize("kind", KINDS, ids=kind_id)
def test_summary_fits_nothing(kind, monkeypatch):
    table = make_table(kind.task)
    found = audit_table(kind, table, n_shadows=6 if kind.attackable else None)

    def fit(self, *args, **kwargs):
        raise AssertionError("fitted")

    monkeypatch.setattr(type(found.estimator), "fit", fit)
    for scorer in found.scorers.values():
        monkeypatch.setattr(type(scorer), "fit", fit)
    assert summarise(found, table, source="here", n_top=3)["model"]


@pytest.mark.parametrize("kind", KINDS, ids=kind_id)
def test_audit_of_an_estimator_is_that_of_its_kind(kind):
    table = make_table(kind.task)
    expected = audit_table(kind, table)
    fitted = expected.estimator
    for estimator in (fitted, clone(fitted)):
        found = audit(estimator, table.X, expected.y)
        assert list(found.scores) == list(expected.scores)
        for name, scores in expected.scores.items():
            np.testing.assert_array_equal(found.scores[name], scores)
        np.testing.assert_array_equal(
            found.predictions.predicted, expected.predictions.predicted
        )
    assert found.title == type(fitted).__name__


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(n_estimators=5),
        make_pipeline(StandardScaler(), GaussianNB()),
        KNeighborsClassifier(7, weights="distance"),
    ],
    ids=["forest", "pipeline", "weighted neighbours"],
)
def test_any_classifier_is_an_audit_without_the_sections_of_others(model):
    table = make_table()
    found = audit(model, table.X, table.y, n_shadows=6)
    repeated = audit(model, table.X, table.y, n_shadows=6)
    np.testing.assert_array_equal(found.attack.scores_, repeated.attack.scores_)
    report = summarise(found, table, source="here", n_top=3)
    assert list(report["scores"]) == ["waka", "knn_shapley", "knn_leave_one_out"]
    assert "effective_parameters" not in report["model"]
    assert report["neighbors"]["n_neighbors"] == 5
    text = format_report(report)
    assert f"Model    {found.title}" in text
    assert "leverage" not in text
    assert "LiRA" in text


def test_forest_of_a_quantity_is_an_audit():
    table = make_table("regression")
    found = audit(RandomForestRegressor(5), table.X, table.y)
    report = summarise(found, table, source="here", n_top=3)
    assert 0.5 < report["model"]["r2"] < 1
    assert list(report["scores"]) == ["knn_shapley"]
    assert "of the variance of the label" in format_report(report)


def test_model_without_a_score_is_an_audit():
    table = make_table()
    found = audit(GaussianNB(), table.X, table.y, scorers={}, n_shadows=6)
    report = summarise(found, table, source="here", n_top=3)
    assert report["scores"] == {}
    assert report["most_exposed"] == []
    assert report["neighbors"] is None
    text = format_report(report)
    assert "mean LiRA success" in text
    assert "most exposed" not in text


def test_pipeline_has_the_scores_of_its_last_step():
    table = make_table()
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8))
    found = audit(model, table.X, table.y)
    expected = GLSScorer(model).fit(table.X, table.y)
    np.testing.assert_allclose(found.scores["leverage"], expected.scores_, rtol=1e-6)


@pytest.mark.parametrize(("n_classes", "n_weights"), [(0, 5), (2, 5), (3, 15)])
def test_weights_of_a_linear_model_are_counted(n_classes, n_weights):
    kind = replace(KINDS[0], make=lambda n_weights: n_weights, needs=("n_weights",))
    assert _build(kind, np.zeros((1, 4)), n_classes, n_neighbors=5) == n_weights


def test_frozen_model_is_refused():
    table = make_table()
    model = FrozenEstimator(GaussianNB().fit(table.X, table.y))
    with pytest.raises(ValueError, match="must not be a FrozenEstimator"):
        audit(model, table.X, table.y)


def test_classes_may_have_any_names():
    table = make_table()
    expected = audit(LogisticRegression(), table.X, table.y, n_shadows=6)
    names = np.array(["a", "b", "c"])[table.y]
    found = audit(LogisticRegression(), table.X, names, n_shadows=6)
    for name, scores in expected.scores.items():
        np.testing.assert_array_equal(found.scores[name], scores)
    codes = np.searchsorted(["a", "b", "c"], found.predictions.predicted)
    np.testing.assert_array_equal(codes, expected.predictions.predicted)


@pytest.mark.parametrize(
    ("name", "task", "model"),
    [
        ("logistic", "classification", LogisticRegression(tol=1e-10, max_iter=10_000)),
        ("ridge", "classification", RidgeClassifier()),
        ("ridge", "regression", Ridge()),
    ],
)
def test_leverage_is_that_of_the_audited_model(name, task, model):
    table = make_table(task)
    found = audit_table(choose_kind(name, task), table)
    expected = GLSScorer(model).fit(table.X, table.y)
    # Both end at the optimum, by different solvers.
    np.testing.assert_allclose(found.scores["leverage"], expected.scores_, rtol=1e-5)
    report = summarise(found, table, source="here", n_top=3)
    assert report["model"]["effective_parameters"] == pytest.approx(
        expected.effective_parameters_, rel=1e-5
    )


def test_predicted_attack_and_leverage_are_of_one_fit():
    table = make_table()
    found = audit_table(choose_kind("logistic", "classification"), table)
    for name in ("leverage", "attack_power"):
        model = found.scorers[name].estimator_.estimator
        np.testing.assert_array_equal(model.coef_, found.estimator.coef_)
    expected = GLSScorer(
        LogisticRegression(tol=1e-10, max_iter=10_000), variant="attack_power"
    ).fit(table.X, table.y)
    np.testing.assert_allclose(
        found.scores["attack_power"], expected.scores_, rtol=1e-5
    )


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e150])
def test_quantity_has_zero_mean_and_unit_variance(scale):
    y = standardize(scale * np.arange(N))
    assert y.mean() == pytest.approx(0, abs=1e-12)
    assert y.std() == pytest.approx(1)
    assert (np.diff(y) > 0).all()


def test_scores_of_a_quantity_do_not_depend_on_its_unit():
    table = make_table("regression")
    kind = choose_kind("ridge", "regression")
    found = audit_table(kind, table).scores
    other = audit_table(kind, replace(table, y=1000 - 8 * table.y)).scores
    for name in found:
        np.testing.assert_allclose(found[name], other[name], rtol=1e-7)
    scaled = (table.y - table.y.mean()) / table.y.std()
    expected = KNNShapleyScorer(task="regression").fit(table.X, scaled).scores_
    np.testing.assert_allclose(found["knn_shapley"], expected, rtol=1e-7)


def test_score_that_takes_too_long_is_left_out_and_named():
    kind, table = choose_kind("ridge", "regression"), make_table("regression")
    spec = kind.scorers["knn_shapley"]
    assert spec.most_records == 5000
    slow = {**kind.scorers, "knn_shapley": replace(spec, most_records=N - 1)}
    found = audit_table(replace(kind, scorers=slow), table)
    assert list(found.scores) == ["leverage"]
    report = summarise(found, table, source="here", n_top=3)
    assert report["too_slow"] == ["Shapley"]
    assert report["neighbors"] is None
    just = {**kind.scorers, "knn_shapley": replace(spec, most_records=N)}
    assert len(audit_table(replace(kind, scorers=just), table).scores) == 2


def test_model_that_has_not_converged_is_reported_without_a_warning():
    kind, table = choose_kind("logistic", "classification"), make_table(n_classes=2)
    table.X[:, 0] += 3 * table.y
    hasty = replace(kind, make=lambda: LogisticRegression(C=1e9, max_iter=1), needs=())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = audit_table(hasty, table)
        report = summarise(found, table, source="here", n_top=N)
    missing = int(np.isnan(found.scores["leverage"]).sum())
    assert missing > 0
    assert report["model"]["not_converged"] == missing
    assert report["model"]["effective_parameters"] is None
    for name in ("leverage", "attack_power"):
        assert report["scores"][name]["missing"] == missing
    assert report["scores"]["waka"]["missing"] == 0
    ranked = [record["leverage"] for record in report["most_exposed"]]
    assert ranked[N - missing :] == [None] * missing


def test_one_record_per_class_is_an_audit():
    table = EncodedTable(np.eye(2), np.array([0, 1]), ["a", "b"], "y", [], None)
    for kind in (kind for kind in KINDS if kind.task == "classification"):
        found = audit_table(kind, table)
        report = summarise(found, table, source="here", n_top=3)
        assert report["model"]["accuracy"] == 0
        for score in report["scores"].values():
            assert score["missing"] == 0
