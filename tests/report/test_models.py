import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier

from skpriv import GLSScorer, KNNShapleyScorer
from skpriv.datasets import EncodedTable
from skpriv.report import MODELS, choose_model, fit_audit, summarise
from skpriv.report._models import labels_for_models

TASKS = [(name, task) for name, by_task in MODELS.items() for task in by_task]
N = 60


def make_table(task="classification", n_classes=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4))
    if task == "regression":
        return EncodedTable(X, 1e6 + 40 * X[:, 0], None, "y", [], None)
    y = rng.integers(0, n_classes, N)
    return EncodedTable(X, y, [f"c{i}" for i in range(n_classes)], "y", [], None)


@pytest.mark.parametrize(
    ("name", "task", "title"),
    [
        (None, "classification", "logistic regression, C = 1"),
        (None, "regression", "ridge regression, alpha = 1"),
        ("ridge", "classification", "ridge classifier, alpha = 1"),
        ("ridge", "regression", "ridge regression, alpha = 1"),
        ("knn", "classification", "k-nearest neighbours"),
    ],
)
def test_model_fits_the_task(name, task, title):
    assert choose_model(name, task).title == title


@pytest.mark.parametrize("name", ["logistic", "knn"])
def test_models_of_classes_are_not_for_a_quantity(name):
    assert choose_model(name, "regression") is None


@pytest.mark.parametrize(("name", "task"), TASKS)
def test_every_score_of_every_model_is_fitted(name, task):
    model, table = MODELS[name][task], make_table(task)
    audit = fit_audit(model, table, 5)
    assert list(audit.scorers) == list(model.scorers)
    for scorer in audit.scorers.values():
        assert np.isfinite(scorer.scores_).all()
    report = summarise(audit, table, source="here", n_top=3)
    assert (report["neighbors"] is None) == (name == "knn")
    top = next(iter(audit.scorers.values())).scores_.argmax()
    assert report["most_exposed"][0]["record"] == top + 1


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
    audit = fit_audit(MODELS[name][task], table, 5)
    expected = GLSScorer(model).fit(table.X, table.y)
    # Both end at the optimum, by different solvers.
    np.testing.assert_allclose(
        audit.scorers["leverage"].scores_, expected.scores_, rtol=1e-5
    )
    report = summarise(audit, table, source="here", n_top=3)
    assert report["model"]["effective_parameters"] == pytest.approx(
        expected.effective_parameters_, rel=1e-5
    )


def test_predicted_attack_and_leverage_are_of_one_fit():
    table = make_table()
    scorers = fit_audit(MODELS["logistic"]["classification"], table, 5).scorers
    models = [scorers[n].estimator_.estimator for n in ("leverage", "attack_power")]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    expected = GLSScorer(
        LogisticRegression(tol=1e-10, max_iter=10_000), variant="attack_power"
    ).fit(table.X, table.y)
    np.testing.assert_allclose(
        scorers["attack_power"].scores_, expected.scores_, rtol=1e-5
    )


def test_many_weights_are_fitted_without_their_square_and_converge():
    rng = np.random.default_rng(0)
    make = MODELS["logistic"]["classification"].make
    assert make(4, 3).solver == "newton-cholesky"
    assert make(1500, 2).solver == "newton-cholesky"
    model = make(1500, 3)
    assert model.solver != "newton-cholesky"
    X, y = rng.normal(size=(N, 4)), rng.integers(0, 3, N)
    assert GLSScorer(model).fit(X, y).newton_step_.max() < 1e-3


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e150])
def test_quantity_has_zero_mean_and_unit_variance(scale):
    table = replace(make_table("regression"), y=scale * np.arange(N))
    y = labels_for_models(table)
    assert y.mean() == pytest.approx(0, abs=1e-12)
    assert y.std() == pytest.approx(1)
    assert (np.diff(y) > 0).all()


def test_scores_of_a_quantity_do_not_depend_on_its_unit():
    table = make_table("regression")
    model = MODELS["ridge"]["regression"]
    found = fit_audit(model, table, 5).scorers
    other = fit_audit(model, replace(table, y=1000 - 8 * table.y), 5).scorers
    for name in found:
        np.testing.assert_allclose(found[name].scores_, other[name].scores_, rtol=1e-7)
    scaled = (table.y - table.y.mean()) / table.y.std()
    expected = KNNShapleyScorer(task="regression").fit(table.X, scaled).scores_
    np.testing.assert_allclose(found["knn_shapley"].scores_, expected, rtol=1e-7)


def test_score_that_takes_too_long_is_left_out_and_named():
    model, table = MODELS["ridge"]["regression"], make_table("regression")
    spec = model.scorers["knn_shapley"]
    assert spec.most_records == 5000
    slow = {**model.scorers, "knn_shapley": replace(spec, most_records=N - 1)}
    audit = fit_audit(replace(model, scorers=slow), table, 5)
    assert list(audit.scorers) == ["leverage"]
    report = summarise(audit, table, source="here", n_top=3)
    assert report["too_slow"] == ["Shapley"]
    assert report["neighbors"] is None
    just = {**model.scorers, "knn_shapley": replace(spec, most_records=N)}
    assert len(fit_audit(replace(model, scorers=just), table, 5).scorers) == 2


def test_model_that_has_not_converged_is_reported_without_a_warning():
    model, table = MODELS["logistic"]["classification"], make_table(n_classes=2)
    table.X[:, 0] += 3 * table.y
    hasty = replace(model, make=lambda p, c: LogisticRegression(C=1e9, max_iter=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        audit = fit_audit(hasty, table, 5)
        report = summarise(audit, table, source="here", n_top=N)
    missing = int(np.isnan(audit.scorers["leverage"].scores_).sum())
    assert missing > 0
    assert report["model"]["not_converged"] == missing
    assert report["model"]["effective_parameters"] is None
    for name in ("leverage", "attack_power"):
        assert report["scores"][name]["missing"] == missing
    assert report["scores"]["waka"]["missing"] == 0
    ranked = [record["leverage"] for record in report["most_exposed"]]
    assert ranked[N - missing :] == [None] * missing


def test_one_record_a_class_is_an_audit():
    table = EncodedTable(np.eye(2), np.array([0, 1]), ["a", "b"], "y", [], None)
    for name in MODELS:
        model = MODELS[name]["classification"]
        audit = fit_audit(model, table, 5)
        report = summarise(audit, table, source="here", n_top=3)
        assert report["model"]["accuracy"] == 0
        for score in report["scores"].values():
            assert score["missing"] == 0
