"""Models that a user names: in a file, or in a Python module."""

import pickle
import sys
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
import torch
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from skorch import NeuralNetClassifier

from skpriv.report._models import (
    GivenModel,
    ModelError,
    features_for,
    labels_for,
    load_model,
)

TREE = "sklearn.tree._tree.Tree"


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"age": rng.integers(18, 90, 40), "job": rng.choice(["clerk", "nurse"], 40)}
    )


def encode(frame):
    return np.column_stack([frame["age"] / 90, frame["job"] == "nurse"]).astype(float)


@pytest.fixture
def encoded(frame):
    return encode(frame)


@pytest.fixture
def labels(frame):
    return np.where(frame["age"] > 50, "high", "low")


@pytest.fixture
def pipeline(frame, labels):
    columns = make_column_transformer((OneHotEncoder(), ["job"]), remainder="drop")
    return make_pipeline(columns, LogisticRegression()).fit(frame, labels)


def save(model, path):
    if path.suffix == ".skops":
        skops.io.dump(model, path)
    elif path.suffix == ".joblib":
        joblib.dump(model, path)
    else:
        path.write_bytes(pickle.dumps(model))
    return str(path)


def fault_of(source, **options):
    with pytest.raises(ModelError) as caught:
        load_model(source, **options)
    message = str(caught.value)
    assert message.startswith(source)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", ["model.skops", "m.pkl", "m.pickle", "m.JOBLIB"])
def test_file_gives_the_model_that_was_saved(tmp_path, pipeline, frame, name):
    path = save(pipeline, tmp_path / name.lower())
    if name != name.lower():
        path = str((tmp_path / name.lower()).rename(tmp_path / name))
    model = load_model(path, trust=["pickle"])
    assert model.fitted
    assert model.notes == []
    assert model.source == path
    found = model.estimator.predict_proba(frame)
    np.testing.assert_array_equal(found, pipeline.predict_proba(frame))


def test_untrusted_types_are_named_with_the_option_that_trusts_them(tmp_path):
    forest = RandomForestClassifier(2).fit([[0], [1]], [0, 1])
    path = save(forest, tmp_path / "forest.skops")
    fault = fault_of(path)
    assert f"types that are not trusted: {TREE};" in fault
    assert fault.endswith(f"--trust {TREE}")
    assert TREE in fault_of(path, trust=["pickle", "another.Type"])
    assert load_model(path, trust=[TREE, "another.Type"]).fitted


class Intruder(BaseEstimator):
    def __reduce__(self):
        return (pytest.fail, ("the file was loaded",))


@pytest.mark.parametrize("suffix", [".pkl", ".pickle", ".joblib"])
def test_pickle_is_not_loaded_without_trust(tmp_path, suffix):
    path = save(Intruder(), tmp_path / f"model{suffix}")
    fault = fault_of(path, trust=[TREE])
    assert "runs whatever code is in it" in fault
    assert "--trust pickle" in fault


def test_version_that_saved_the_model_is_a_note(tmp_path, pipeline, monkeypatch):
    monkeypatch.setattr("sklearn.base.__version__", "1.4.2")
    path = save(pipeline, tmp_path / "model.skops")
    monkeypatch.undo()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (note,) = load_model(path).notes
    assert "saved with scikit-learn 1.4.2" in note


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("model.skops", b"not a zip file", "cannot be loaded as a file of skops: Bad"),
        ("model.skops", b"PK\x05\x06" + bytes(18), "cannot be loaded as a file of sk"),
        ("model.pkl", b"not a pickle", "cannot be loaded as a file of pickle or"),
        ("model.pkl", pickle.dumps(1), "holds an int, which has no fit, so it is not"),
        ("model.pkl", pickle.dumps(StandardScaler()), "which has no predict, so"),
        ("model.pkl", pickle.dumps(KMeans()), "neither a classifier nor a regressor"),
        ("model.pt", b"", "is not a model; it must be a file that ends in .skops,"),
    ],
)
def test_file_without_a_model_is_a_fault(tmp_path, name, content, fault):
    path = tmp_path / name
    path.write_bytes(content)
    assert fault in fault_of(str(path), trust=["pickle"])


@pytest.mark.parametrize("suffix", [".skops", ".pkl"])
def test_missing_file_is_a_fault(tmp_path, suffix):
    assert "no such file" in fault_of(str(tmp_path / f"model{suffix}"))
    (tmp_path / f"folder{suffix}").mkdir()
    assert "is not a file" in fault_of(str(tmp_path / f"folder{suffix}"))


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module into the current directory, which nobody has imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(text, name=f"models_of_{tmp_path.name}"):
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    return write


@pytest.mark.parametrize("place", ["model", "make", "Model", "Holder.model"])
def test_object_class_or_function_gives_a_model(module, place):
    name = module(
        "from sklearn.linear_model import LogisticRegression as Model\n"
        "model = Model(C=3)\n"
        "def make():\n    return Model()\n"
        "class Holder:\n    model = model\n"
    )
    model = load_model(f"{name}:{place}")
    assert type(model.estimator) is LogisticRegression
    assert not model.fitted


def test_fitted_object_is_fitted_and_a_frozen_one_is_thawed(module):
    name = module(
        "from sklearn.frozen import FrozenEstimator\n"
        "from sklearn.linear_model import LinearRegression\n"
        "model = FrozenEstimator(LinearRegression().fit([[0], [1]], [0, 1]))\n"
    )
    model = load_model(f"{name}:model")
    assert model.fitted
    assert not isinstance(model.estimator, FrozenEstimator)


@pytest.mark.parametrize(
    ("text", "place", "fault"),
    [
        ("", "model", "has no 'model'"),
        ("model = 3", "model", "holds an int, which has no fit"),
        ("def model(x): pass", "model", "calling model() failed: TypeError: model()"),
        ("def model(): raise ValueError('a\\nb')", "model", "failed: ValueError: a"),
        ("def model(): return None", "model", "holds a NoneType, which has no fit"),
        ("1 / 0", "model", "failed: ZeroDivisionError: division by zero"),
        ("import sys; sys.exit('bye')", "model", "failed: SystemExit: bye"),
        ("import no_such_package", "model", "No module named 'no_such_package'"),
        ("model = (", "model", "failed: SyntaxError: '(' was never closed"),
    ],
)
def test_object_that_is_no_model_is_a_fault(module, text, place, fault):
    assert fault in fault_of(f"{module(text)}:{place}")


@pytest.mark.parametrize(
    "name", ["no_such_module", "no_such.package", "sklearn.nothing"]
)
def test_missing_module_is_a_fault(module, name):
    fault = fault_of(f"{name}:model")
    assert "in the current directory or installed" in fault


def test_text_that_is_neither_file_nor_object_is_a_fault():
    assert "package.module:object" in fault_of("logistics")


def given(estimator, fitted=True):
    return GivenModel(estimator, "the model", fitted)


def test_fitted_model_takes_its_columns_by_name(pipeline, frame):
    wider = frame.assign(extra=0)[["extra", "job", "age"]]
    X = features_for(given(pipeline), wider, encode)
    assert list(X.columns) == ["age", "job"]


def test_columns_that_the_table_lacks_are_named(pipeline, frame):
    with pytest.raises(ModelError, match="trained on 'job', which the table does not"):
        features_for(given(pipeline), frame[["age"]], encode)


def test_fitted_model_without_names_takes_numbers_by_their_number(frame, encoded):
    numbers = frame.assign(job=1.0)
    of_two = LinearRegression().fit(encoded, frame["age"])
    X = features_for(given(of_two), numbers, encode)
    np.testing.assert_array_equal(X, numbers)
    X = features_for(given(of_two), frame, encode)
    np.testing.assert_array_equal(X, encoded)
    of_three = LinearRegression().fit(np.zeros((4, 3)), np.arange(4))
    with pytest.raises(ModelError, match=r"trained on 3 features, but the table has 2"):
        features_for(given(of_three), frame, encode)


def test_model_that_cannot_predict_is_a_fault(frame, labels):
    model = make_pipeline(StandardScaler(), LogisticRegression())
    model.fit(frame.assign(job=0), labels)
    with pytest.raises(ModelError, match="cannot predict the first record: ValueError"):
        features_for(given(model), frame, encode)


def test_model_to_fit_takes_the_columns_that_it_selects_or_numbers(
    pipeline, frame, encoded
):
    assert features_for(given(pipeline, fitted=False), frame, encode) is frame
    model = given(LogisticRegression(), fitted=False)
    np.testing.assert_array_equal(features_for(model, frame, encode), encoded)


def make_net(n_features=2):
    layers = torch.nn.Linear(n_features, 2), torch.nn.Softmax(-1)
    return torch.nn.Sequential(*layers)


def test_network_takes_single_precision_and_numbers_of_classes(frame):
    net = NeuralNetClassifier(make_net, max_epochs=1, verbose=0)
    y, classes = np.arange(40) % 2, ["high", "low"]
    model = given(net, fitted=False)
    X = features_for(model, frame, encode)
    assert X.dtype == np.float32
    assert labels_for(model, y, classes) is y
    model = given(net.fit(X, y))
    assert features_for(model, frame, encode).dtype == np.float32
    with pytest.raises(ModelError, match="does not know the label 'high'; its classes"):
        labels_for(model, y, classes)


def test_network_without_a_task_is_a_fault(module):
    name = module(
        "import torch, skorch\n"
        "net = skorch.NeuralNet(torch.nn.Linear, torch.nn.MSELoss)\n"
    )
    assert "neither a classifier nor a regressor" in fault_of(f"{name}:net")


@pytest.mark.parametrize(
    ("learnt", "classes"),
    [
        (["high", "low"], ["high", "low"]),
        ([0, 1], ["0", "1"]),
        ([0.0, 2.0], ["0", "2"]),
        ([False, True], ["False", "True"]),
    ],
)
def test_fitted_classifier_takes_the_labels_of_its_training(learnt, classes):
    model = LogisticRegression().fit([[0], [1]], learnt)
    labels = labels_for(given(model), np.array([1, 0, 1]), classes)
    assert labels.tolist() == [learnt[1], learnt[0], learnt[1]]
    assert labels.dtype == model.classes_.dtype


def test_classifier_to_fit_takes_the_names_of_the_classes():
    model = given(LogisticRegression(), fitted=False)
    assert labels_for(model, np.array([1, 0]), ["a", "b"]).tolist() == ["b", "a"]


def test_label_of_the_other_task_is_a_fault():
    y = np.array([0.5, 1.5])
    with pytest.raises(ModelError, match="predicts classes, but the label column is a"):
        labels_for(given(LogisticRegression()), y, None)
    regressor = given(LinearRegression())
    with pytest.raises(ModelError, match="predicts a quantity, but the label column"):
        labels_for(regressor, np.array([0, 1]), ["a", "b"])
    assert labels_for(regressor, y, None) is y
