"""The command skpriv audit on models that a user names."""

import json
import pickle
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from skpriv import cli

N = 80


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table, which is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "person": [f"p{place}" for place in range(N)],
            "age": rng.integers(18, 90, N),
            "job": rng.choice(["clerk", "nurse"], N),
            "trained": np.arange(N) % 4 > 0,
        }
    )
    table["income"] = np.where(table["age"] > 50, "high", "low")
    table.to_csv("people.csv", index=False)
    return tmp_path


def a_pipeline(last):
    columns = make_column_transformer(
        (OrdinalEncoder(), ["job"]), (OneHotEncoder(), ["job"]), remainder="drop"
    )
    return make_pipeline(columns, last)


def fitted(last, label="income", members_only=False):
    table = pd.read_csv("people.csv")
    table = table[table["trained"]] if members_only else table
    return a_pipeline(last).fit(table[["age", "job"]], table[label])


def run(*options, label="income"):
    arguments = ["audit", "people.csv", "--label", label, "--drop", "trained"]
    quick = ["--shadows", "8", "--measures", "never", "--json", "report.json"]
    return cli.main([*arguments, *quick, *options])


def report():
    with open("report.json", encoding="utf-8") as file:
        return json.load(file)


def assert_fault(capsys, code, fault, folder):
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("skpriv audit: error: ")
    assert fault in err
    assert not (folder / "report.json").exists()
    assert not [path for path in folder.iterdir() if path.name.endswith(".tmp")]


TREES = {
    RandomForestClassifier: "sklearn.tree._tree.Tree",
    HistGradientBoostingClassifier: (
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
    ),
}


@pytest.mark.parametrize("kind", list(TREES))
def test_fitted_pipeline_from_a_skops_file_is_audited(folder, capsys, kind):
    model = fitted(kind(random_state=0), members_only=True)
    skops.io.dump(model, "model.skops")
    assert_fault(
        capsys, run("--model", "model.skops"), f"--trust {TREES[kind]}", folder
    )
    options = ["--trust", TREES[kind], "--members", "trained", "--id", "person"]
    assert run("--model", "model.skops", *options) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert kind.__name__ in out
    found = report()
    assert found["model"]["given_fitted"] is True
    assert found["data"]["records"] == N * 3 // 4
    table = pd.read_csv("people.csv")
    others = table[~table["trained"]]
    right = (model.predict(others[["age", "job"]]) == others["income"]).mean()
    assert found["model"]["performance"]["on"] == "test data"
    assert found["model"]["performance"]["estimate"]["value"] == pytest.approx(right)
    members = np.flatnonzero(table["trained"])
    assert found["records"]["record"] == (members + 1).tolist()
    assert found["records"]["id"] == table["person"][members].tolist()
    assert found["records"]["label"] == table["income"][members].tolist()


def test_pickle_needs_trust(folder, capsys):
    joblib.dump(fitted(RandomForestClassifier(5)), "model.joblib")
    code = run("--model", "model.joblib")
    assert_fault(capsys, code, "add --trust pickle", folder)
    assert run("--model", "model.joblib", "--trust", "pickle") == 0
    assert report()["model"]["name"] == "RandomForestClassifier"


def test_object_of_a_module_is_audited(folder, capsys):
    (folder / "models_by_hand.py").write_text(
        "import torch\n"
        "from skorch import NeuralNetClassifier\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "model = LogisticRegression(C=3)\n"
        "class Net(torch.nn.Sequential):\n"
        "    def __init__(self):\n"
        "        super().__init__(torch.nn.LazyLinear(2), torch.nn.Softmax(-1))\n"
        "def net():\n"
        "    return NeuralNetClassifier(Net, max_epochs=2, verbose=0)\n"
    )
    assert run("--model", "models_by_hand:model") == 0
    assert report()["model"]["text"] == "LogisticRegression(C=3)"
    assert report()["model"]["given_fitted"] is False
    assert run("--model", "models_by_hand:net", "--quiet") == 0
    assert report()["model"]["name"] == "NeuralNetClassifier"
    assert set(report()["data"]["classes"]) == {"high", "low"}
    assert set(report()["records"]["label"]) == {"high", "low"}


def test_regressor_takes_the_quantity_as_it_is(folder, capsys):
    model = fitted(LinearRegression(), label="age")
    table = pd.read_csv("people.csv")
    skops.io.dump(model, "model.skops")
    assert run("--model", "model.skops", "--quantity", label="age") == 2
    assert "trained on 'age', which the table does not have" in capsys.readouterr().err
    table["wage"] = 1000.0 + 50 * table["age"]
    table.to_csv("people.csv", index=False)
    model = fitted(LinearRegression(), label="wage")
    skops.io.dump(model, "model.skops")
    assert run("--model", "model.skops", "--quantity", label="wage") == 0
    found = report()
    assert found["records"]["label"] == table["wage"].tolist()
    training = model.score(table[["age", "job"]], table["wage"])
    assert found["model"]["performance"]["training"] == pytest.approx(training)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--model", "missing.skops"], "missing.skops: no such file"),
        (["--model", "missing:model"], "no module 'missing' in the current directory"),
        (["--model", "people.csv"], "is not a model; it must be a file that ends in"),
        (["--model", "tree"], "'tree' is none of logistic, ridge, knn"),
        (["--model", "number.pkl", "--trust", "pickle"], "holds an int, which has no"),
        (["--model", "forest", "--trust", "pickle"], "--trust can only be used with a"),
        (["--members", "nothing"], "no such column in the table, and no such file"),
        (["--members", "job"], "the column must hold 1 and 0"),
        (["--members", "income"], "the column must hold 1 and 0"),
        (["--members", "rows.txt"], "line 2 must be the number of a record, from 1 to"),
        (["--members", "rows.txt", "--id", "person"], "line 1 must be an identifier"),
        (["--members", "trained", "--json", "people.csv"], "is the input"),
        (["--model", "number.pkl", "--json", "number.pkl"], "is the input"),
        (["--members", "rows.txt", "--json", "rows.txt"], "is the input"),
    ],
)
def test_fault_is_one_line_and_no_file(folder, capsys, options, fault):
    (folder / "number.pkl").write_bytes(pickle.dumps(3))
    (folder / "rows.txt").write_text("3\nx\n")
    before = (folder / "people.csv").read_bytes()
    assert_fault(capsys, run(*options), fault, folder)
    assert (folder / "people.csv").read_bytes() == before


def test_model_of_other_columns_is_a_fault(folder, capsys):
    model = fitted(RandomForestClassifier(2))
    joblib.dump(model, "model.pkl")
    pd.read_csv("people.csv").rename(columns={"job": "work"}).to_csv("people.csv")
    code = run("--model", "model.pkl", "--trust", "pickle")
    assert_fault(
        capsys, code, "trained on 'job', which the table does not have", folder
    )


def test_model_that_fails_is_a_fault(folder, capsys):
    (folder / "models_that_fail.py").write_text(
        "from sklearn.linear_model import LogisticRegression\n"
        "class Model(LogisticRegression):\n"
        "    def fit(self, X, y):\n"
        "        raise RuntimeError('cannot learn\\nthis')\n"
    )
    code = run("--model", "models_that_fail:Model")
    fault = "the audit of the model failed: RuntimeError: cannot learn\n"
    assert_fault(capsys, code, fault, folder)


@pytest.mark.parametrize("by", ["column", "numbers", "identifiers"])
def test_members_are_the_records_of_a_built_in_model(folder, by):
    table = pd.read_csv("people.csv")
    members = np.flatnonzero(table["trained"])
    options = ["--members", "trained"]
    if by == "numbers":
        (folder / "rows.txt").write_text("\n".join(map(str, members + 1)))
        options = ["--members", "rows.txt"]
    elif by == "identifiers":
        (folder / "rows.txt").write_text("\n".join(table["person"][members]))
        options = ["--members", "rows.txt", "--id", "person"]
    assert run(*options) == 0
    found = report()
    assert found["records"]["record"] == (members + 1).tolist()
    assert found["model"]["performance"]["on"] == "test data"
    assert "trained" not in [column["name"] for column in found["data"]["columns"]]
