import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")

from skorch import (  # noqa: E402
    NeuralNet,
    NeuralNetBinaryClassifier,
    NeuralNetClassifier,
    NeuralNetRegressor,
)
from torch import nn  # noqa: E402

from skpriv.leverage.network._detect import is_network  # noqa: E402
from skpriv.leverage.network._losses import (  # noqa: E402
    LogisticLoss,
    SoftmaxLoss,
    SquaredLoss,
)
from skpriv.leverage.network._read import (  # noqa: E402
    check_network,
    read_network,
    rows_for,
)
from skpriv.leverage.network._targets import read_targets  # noqa: E402

X, SPECIES = load_iris(return_X_y=True)
X = X.astype(np.float32)
N = len(X)


def _net(kind=NeuralNetClassifier, module=None, n_outputs=3, **parameters):
    defaults = {
        NeuralNetClassifier: {"criterion": nn.CrossEntropyLoss},
        NeuralNetBinaryClassifier: {},
        NeuralNetRegressor: {},
    }
    if module is None:
        module = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, n_outputs))
    parameters = {**defaults.get(kind, {}), **parameters}
    return kind(module, max_epochs=1, train_split=None, verbose=0, lr=0.1, **parameters)


def _fit_mlp(kind, y, X=X, sample_weight=None, **parameters):
    parameters = {"max_iter": 3, "hidden_layer_sizes": 4, **parameters}
    model = kind(random_state=0, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, sample_weight)


class Subclass(NeuralNetClassifier):
    """A net that skorch does not know."""


class Penalised(NeuralNetClassifier):
    def get_loss(self, y_pred, y_true, *args, **kwargs):
        return super().get_loss(y_pred, y_true, *args, **kwargs) + y_pred.square().sum()


class Rerouted(NeuralNetClassifier):
    def infer(self, x, **fit_params):
        return super().infer(2 * x, **fit_params)


class CustomLoss(nn.CrossEntropyLoss):
    """A criterion that may be anything."""


def test_networks_are_told_from_other_models():
    for kind in NeuralNetClassifier, NeuralNetBinaryClassifier, NeuralNetRegressor:
        assert is_network(_net(kind))
    assert is_network(Subclass(nn.Linear))
    assert is_network(MLPClassifier())
    assert is_network(MLPRegressor())
    assert not is_network(LogisticRegression())
    assert not is_network(None)


@pytest.mark.parametrize(
    "model",
    [
        _net(),
        _net(Subclass, criterion=nn.CrossEntropyLoss(label_smoothing=0.1)),
        _net(criterion=nn.CrossEntropyLoss(weight=torch.ones(3))),
        _net(criterion=nn.NLLLoss, criterion__reduction="sum"),
        _net(NeuralNetClassifier, criterion=nn.BCEWithLogitsLoss),
        _net(NeuralNetBinaryClassifier, criterion__pos_weight=torch.tensor([2.0])),
        _net(NeuralNetRegressor),
        _net(NeuralNetRegressor, criterion=lambda: nn.MSELoss()),
        MLPClassifier(),
        MLPRegressor(),
    ],
)
def test_supported_networks_pass(model):
    check_network(model)


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (NeuralNet(nn.Linear, nn.CrossEntropyLoss), "ends in a NeuralNet; supported"),
        (_net(criterion=nn.MultiMarginLoss), "MultiMarginLoss; supported are CrossEn"),
        (_net(criterion=CustomLoss), "CustomLoss; supported are"),
        (_net(criterion=nn.MSELoss), "MSELoss; supported are CrossEntropyLoss"),
        (_net(NeuralNetRegressor, criterion=nn.L1Loss), "L1Loss; supported are MSEL"),
        (_net(NeuralNetRegressor, criterion=nn.CrossEntropyLoss), "supported are MSEL"),
        (_net(NeuralNetBinaryClassifier, criterion=nn.BCELoss), "BCELoss; supported"),
        (_net(Penalised), "whose own get_loss may change"),
        (_net(Rerouted), "whose own infer may change"),
        (MLPRegressor(loss="poisson"), "loss='poisson'; supported is 'squared_error'"),
    ],
)
def test_other_networks_and_losses_are_refused_by_name(model, match):
    with pytest.raises(TypeError, match=match):
        check_network(model)


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (_net(criterion__reduction="none"), "reduction='none'; it wants 'mean' or"),
        (_net(criterion__ignore_index=0), "ignore_index=0"),
        (_net(criterion=nn.NLLLoss(ignore_index=2)), "ignore_index=2"),
        (
            _net(criterion__weight=torch.ones(3), criterion__label_smoothing=0.1),
            "both weight and label_smoothing",
        ),
        (
            _net(NeuralNetBinaryClassifier, criterion__weight=torch.ones(1)),
            "records of one batch",
        ),
        (
            _net(NeuralNetBinaryClassifier, criterion__pos_weight=torch.ones(2)),
            "each of 2 outputs",
        ),
    ],
)
def test_parameters_of_a_loss_that_are_not_understood_are_refused(model, match):
    with pytest.raises(ValueError, match=match):
        check_network(model)


def test_a_net_trimmed_for_prediction_is_refused():
    net = _net().fit(X, SPECIES)
    net.trim_for_prediction()
    with pytest.raises(ValueError, match="trimmed for prediction"):
        check_network(net)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, bool])
def test_rows_become_what_a_net_computes_in(dtype):
    rows = rows_for(_net(), X.astype(dtype))
    assert rows.dtype == np.float32
    double = _net(module=nn.Linear(4, 3).double())
    assert rows_for(double, X.astype(dtype)).dtype == np.float64
    assert rows_for(_net(module=_Probabilities), X.astype(dtype)).dtype == np.float32


@pytest.mark.parametrize("shape", [(6, 4), (6, 1, 4), (6, 1, 2, 2)])
def test_rows_keep_their_shape(shape):
    rows = rows_for(_net(), np.arange(24.0).reshape(shape))
    assert_array_equal(rows, np.arange(24.0).reshape(shape))


def test_rows_of_an_embedding_stay_integers_and_build_it_with_no_trace():
    words = np.arange(12, dtype=np.int32).reshape(4, 3)
    built = _net(module=nn.Sequential(nn.Embedding(12, 2), nn.Flatten()))
    net = _net(module=nn.Embedding, module__num_embeddings=3, module__embedding_dim=2)
    state = torch.random.get_rng_state()
    for model in built, net, copy.deepcopy(net).initialize():
        assert rows_for(model, words).dtype == np.int64
        assert rows_for(model, words.astype(float)).dtype == np.float32
    for model in built, net:
        torch.random.set_rng_state(state)
        rows_for(model, words)
        assert torch.equal(torch.random.get_rng_state(), state)


def test_rows_of_a_perceptron_keep_their_precision_and_may_be_sparse():
    assert rows_for(MLPClassifier(), X).dtype == np.float32
    assert rows_for(MLPClassifier(), X.astype(np.float64)).dtype == np.float64
    assert rows_for(MLPClassifier(), X.astype(int)).dtype == np.float64
    assert sp.issparse(rows_for(MLPClassifier(), sp.csr_array(X)))


def test_rows_that_no_module_takes_are_refused():
    with pytest.raises(TypeError, match="X is a dict of several inputs"):
        rows_for(_net(), {"a": X, "b": X})
    with pytest.raises(TypeError, match="Sparse data was passed"):
        rows_for(_net(), sp.csr_array(X))
    with pytest.raises(ValueError, match="Expected 2D array"):
        rows_for(_net(), X[:, 0])


NAMES = np.array(["rose", "iris", "fern"])


@pytest.mark.parametrize(
    ("labels", "numbers"),
    [
        (np.array([0, 1, 2]), [0, 1, 2]),
        (np.array([0, 2, 5]), [0, 2, 5]),
        (np.array([1, 2, 3]), [0, 1, 2]),
        (np.array([-1, 0, 1]), [0, 1, 2]),
        (np.array([1.0, 0.0, 2.0]), [1, 0, 2]),
        (np.array([True, False, True]), [1, 0, 1]),
        (NAMES, [2, 1, 0]),
        (NAMES.astype(object), [2, 1, 0]),
    ],
)
def test_labels_are_numbers_of_outputs_or_numbered_in_order(labels, numbers):
    targets = read_targets(_net(), labels[[0, 1, 2, 1]])
    codes = targets.codes(labels)
    assert codes.dtype == targets.for_fit(labels).dtype == np.int64
    assert_array_equal(codes, numbers)
    assert_array_equal(targets.for_fit(labels), numbers)
    assert_array_equal(targets.codes(labels[1:2]), numbers[1:2])


def test_labels_have_the_places_that_the_net_was_told():
    targets = read_targets(_net(classes=list(NAMES)), NAMES[[2, 1]])
    assert_array_equal(targets.codes(NAMES), [0, 1, 2])
    frozen = _net(classes=list(NAMES)).fit(X, SPECIES)
    assert_array_equal(read_targets(frozen, NAMES, frozen=True).codes(NAMES), [0, 1, 2])
    targets = read_targets(_net(classes=[0, 1, 2]), np.array([1, 2]))
    assert_array_equal(targets.codes(np.arange(3)), [0, 1, 2])


@pytest.mark.parametrize("y", [SPECIES + 1, SPECIES[50:], SPECIES.astype(float)])
def test_labels_of_a_frozen_net_are_numbers_of_its_outputs(y):
    net = _net(n_outputs=4).fit(X, SPECIES)
    targets = read_targets(net, y, frozen=True)
    assert_array_equal(targets.codes(y), y.astype(int))
    # Labels that the net was fitted on are known, whether or not they are among y.
    assert_array_equal(targets.codes(np.array([0, 2])), [0, 2])


@pytest.mark.parametrize("y", [NAMES[SPECIES], SPECIES - 1, SPECIES + 0.0 - 1])
def test_labels_whose_numbers_a_frozen_net_does_not_tell_are_refused(y):
    net = _net().fit(X, SPECIES)
    with pytest.raises(ValueError, match="wants the numbers of its outputs"):
        read_targets(net, y, frozen=True)
    with pytest.raises(ValueError, match="from 0 on to 1"):
        read_targets(
            _net(NeuralNetBinaryClassifier, n_outputs=1).fit(X, (SPECIES > 0) * 1.0),
            np.array([0, 2]),
            frozen=True,
        )


@pytest.mark.parametrize(
    "labels", [[0, 1], [1, 2], [0, 2], [-1, 1], [False, True], ["a", "b"], [0.0, 1.0]]
)
def test_labels_of_a_binary_net_are_0_and_1(labels):
    labels = np.array(labels)
    targets = read_targets(_net(NeuralNetBinaryClassifier), labels[[1, 0, 1]])
    assert_array_equal(targets.codes(labels), [0, 1])
    assert targets.codes(labels).dtype == np.int64
    assert_array_equal(targets.for_fit(labels), [0, 1])
    assert targets.for_fit(labels).dtype == np.float32


def test_a_binary_net_refuses_a_third_class():
    with pytest.raises(ValueError, match="y has 3 classes, but NeuralNetBinaryClass"):
        read_targets(_net(NeuralNetBinaryClassifier), SPECIES)


@pytest.mark.parametrize("y", [SPECIES, NAMES[SPECIES], SPECIES + 3])
def test_labels_of_a_perceptron_are_numbered_as_it_does(y):
    model = _fit_mlp(MLPClassifier, y)
    for targets in read_targets(model, y), read_targets(model, y[:9], frozen=True):
        assert targets.for_fit(y) is y
        assert_array_equal(model.classes_[targets.codes(y)], y)


@pytest.mark.parametrize("model", [_net(), MLPClassifier()])
@pytest.mark.parametrize("y", [SPECIES, NAMES[SPECIES], SPECIES + 3])
def test_unknown_labels_are_refused(model, y):
    targets = read_targets(model, y[:100])
    with pytest.raises(ValueError, match=r"that the model was not fitted on; it knows"):
        targets.codes(y)


@pytest.mark.parametrize(
    "model", [_net(), _net(NeuralNetBinaryClassifier), MLPClassifier()]
)
def test_targets_that_are_no_labels_are_refused(model):
    with pytest.raises(ValueError, match=r"several labels or probabilities a record"):
        read_targets(model, np.eye(3))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        read_targets(model, X[:, 0])


@pytest.mark.parametrize("kind", [_net(NeuralNetRegressor), MLPRegressor()])
def test_targets_of_a_regression_come_with_or_without_their_axis(kind):
    y = X[:, 0].astype(np.float64)
    targets = read_targets(kind, y)
    assert_array_equal(targets.codes(y), y[:, None])
    assert_array_equal(targets.codes(y[:, None]), y[:, None])
    assert targets.codes(y).dtype == np.float64
    with pytest.raises(ValueError, match=r"shape \(150, 2\).*fitted on 1 targets"):
        targets.codes(X[:, :2])
    two = read_targets(kind, X[:, :2])
    assert two.codes(X[:, :2]).shape == (N, 2)


def test_targets_are_fitted_in_two_dimensions_by_nets_only():
    y = X[:, 0].astype(np.float64)
    fitted = read_targets(_net(NeuralNetRegressor), y).for_fit(y)
    assert fitted.shape == (N, 1)
    assert fitted.dtype == np.float32
    assert read_targets(MLPRegressor(), y).for_fit(y) is y


def _fitted(model, y):
    targets = read_targets(model, y)
    model = model.fit(rows_for(model, X), targets.for_fit(y))
    return model, targets


class _Probabilities(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        return self.linear(x).softmax(dim=1)


CLASSIFIERS = [
    (_net(), SPECIES),
    (_net(criterion__label_smoothing=0.2), NAMES[SPECIES]),
    (_net(criterion__weight=torch.tensor([1.0, 2.0, 0.5])), SPECIES + 2),
    (_net(criterion=nn.NLLLoss, module=_Probabilities), SPECIES),
    (_net(NeuralNetBinaryClassifier, n_outputs=1), SPECIES == 1),
    (
        _net(NeuralNetBinaryClassifier, nn.Sequential(nn.Linear(4, 1), nn.Flatten(0))),
        SPECIES == 1,
    ),
    (
        _net(
            NeuralNetBinaryClassifier,
            n_outputs=1,
            criterion__pos_weight=torch.tensor(3.0),
        ),
        SPECIES == 1,
    ),
    (
        _net(
            NeuralNetClassifier,
            nn.Sequential(nn.Linear(4, 1), nn.Flatten(0)),
            criterion=nn.BCEWithLogitsLoss,
        ),
        SPECIES == 1,
    ),
]
REGRESSORS = [
    (_net(NeuralNetRegressor, n_outputs=1), X[:, 0]),
    (_net(NeuralNetRegressor, n_outputs=2), X[:, :2]),
]


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize(("model", "y"), CLASSIFIERS + REGRESSORS)
def test_losses_of_a_net_add_up_to_what_skorch_minimises(model, y, reduction):
    model = copy.deepcopy(model).set_params(criterion__reduction=reduction)
    model, targets = _fitted(model, y)
    network = read_network(model, N)
    inputs, codes = network.inputs(X), network.codes(targets.codes(y))
    network.check(inputs, codes)
    logits = network.loss.logits(network.module(inputs))
    assert logits.dtype == torch.float64
    weights = network.loss.weights(codes)
    total = float((weights * network.loss.loss(logits, codes)).sum())
    with torch.no_grad():
        model.module_.eval()
        y_pred = model.infer(X)
        expected = float(model.get_loss(y_pred, targets.for_fit(y)))
    ones = torch.ones(len(codes))
    divisor = 1 if reduction == "sum" else network.loss.total(codes, ones)
    # The net computes in single precision.
    assert total / divisor == pytest.approx(expected, rel=1e-5)
    assert network.loss.total(codes, ones) == pytest.approx(
        N if reduction == "sum" or not network.loss.weighted_mean else weights.sum()
    )


@pytest.mark.parametrize(("model", "y"), CLASSIFIERS)
def test_logits_give_the_probabilities_of_a_net(model, y):
    model, _ = _fitted(copy.deepcopy(model), y)
    network = read_network(model, N)
    logits = network.loss.logits(network.module(network.inputs(X)))
    proba = logits.softmax(1) if logits.shape[1] > 1 else logits.sigmoid()
    expected = model.predict_proba(X)[:, -logits.shape[1] :]
    # Single precision's epsilon, which skorch adds to probabilities, stays in them.
    assert_allclose(proba.numpy(), expected, rtol=1e-4, atol=2e-7)


def test_the_module_is_a_copy_in_double_precision_for_evaluation():
    module = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Dropout(0.5))
    model = _net(module=module).fit(X, SPECIES)
    model.module_.train()
    before = copy.deepcopy(model.module_.state_dict())
    network = read_network(model, N)
    assert {p.dtype for p in network.module.parameters()} == {torch.float64}
    assert not any(p.requires_grad for p in network.module.parameters())
    assert not any(part.training for part in network.module.modules())
    network.module(network.inputs(X))
    assert model.module_.training
    assert all(p.requires_grad for p in model.module_.parameters())
    after = model.module_.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_inputs_are_in_double_precision_and_integers_stay():
    network = read_network(_net().fit(X, SPECIES), N)
    assert network.inputs(X[:2]).dtype == torch.float64
    assert network.inputs(np.ones((2, 3), np.int32)).dtype == torch.int64
    assert_array_equal(network.inputs(sp.csr_array(X)).numpy(), X)


PENALISING = ["SGD", "Adam", "Adagrad", "Adadelta", "Adamax", "ASGD", "NAdam", "RAdam"]
PENALISING += ["RMSprop"]


def _decay(expected, optimizer, **parameters):
    return pytest.param(optimizer, parameters, expected, id=optimizer.__name__)


@pytest.mark.parametrize(
    ("optimizer", "parameters", "expected"),
    [
        *[_decay(0.25, getattr(torch.optim, name)) for name in PENALISING],
        _decay(0.0, torch.optim.AdamW),
        _decay(0.0, torch.optim.NAdam, decoupled_weight_decay=True),
        _decay(0.0, torch.optim.RAdam, decoupled_weight_decay=True),
    ],
)
def test_weight_decay_is_a_penalty_where_it_enters_the_gradient(
    optimizer, parameters, expected
):
    parameters = {f"optimizer__{name}": value for name, value in parameters.items()}
    model = _net(optimizer=optimizer, optimizer__weight_decay=0.25, **parameters)
    network = read_network(model.fit(X, SPECIES), N)
    assert set(network.weight_decay.values()) == {expected}
    assert list(network.weight_decay) == [
        n for n, _ in model.module_.named_parameters()
    ]


def test_weight_decay_is_that_of_the_parameters_own_group():
    groups = [("0.*", {"weight_decay": 0.5}), ("*.bias", {"weight_decay": 0.0})]
    model = _net(optimizer__param_groups=groups, optimizer__weight_decay=0.25)
    weight_decay = read_network(model.fit(X, SPECIES), N).weight_decay
    expected = {"0.weight": 0.5, "0.bias": 0.5, "2.weight": 0.25, "2.bias": 0.0}
    assert weight_decay == expected


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"batch_size": 50}, 1 / 50),
        ({"batch_size": -1}, 1 / N),
        ({"batch_size": 100}, 2 / N),
        ({"batch_size": 100, "iterator_train__drop_last": True}, 1 / 100),
        ({"batch_size": 7, "iterator_train__batch_size": 75}, 1 / 75),
    ],
)
def test_weight_decay_next_to_a_sum_is_counted_once_a_batch(parameters, expected):
    model = _net(optimizer__weight_decay=1.0, criterion__reduction="sum", **parameters)
    model.set_params(lr=1e-3)
    weight_decay = read_network(model.fit(X, SPECIES), N).weight_decay
    assert_allclose(list(weight_decay.values()), expected, rtol=1e-14)


def test_weight_decay_survives_pickling():
    model = _net(optimizer__weight_decay=0.125).fit(X, SPECIES)
    network = read_network(pickle.loads(pickle.dumps(model)), N)
    assert set(network.weight_decay.values()) == {0.125}


def test_frozen_parameters_are_not_trainable():
    model = _net(optimizer__weight_decay=0.25)
    model.module[0].requires_grad_(False)
    network = read_network(model.fit(X, SPECIES), N)
    assert network.trainable == {"2.weight", "2.bias"}
    assert len(network.weight_decay) == 4


def _gradient(network, targets, y, sample_weight=None):
    """Gradient of the sum of losses and penalties in the parameters, by name."""
    module = copy.deepcopy(network.module).requires_grad_()
    parameters = dict(module.named_parameters())
    codes = network.codes(targets.codes(y))
    if sample_weight is None:
        sample_weight = np.ones(len(y))
    sample_weight = torch.tensor(sample_weight)
    weights = network.loss.weights(codes) * sample_weight
    logits = network.loss.logits(module(network.inputs(X)))
    objective = (weights * network.loss.loss(logits, codes)).sum()
    for name, parameter in parameters.items():
        decay = network.weight_decay[name] * network.loss.total(codes, sample_weight)
        objective = objective + decay * parameter.square().sum() / 2
    gradients = torch.autograd.grad(objective, list(parameters.values()))
    return dict(zip(parameters, gradients, strict=True))


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize(("model", "y"), CLASSIFIERS + REGRESSORS)
def test_a_step_of_descent_follows_the_objective(model, y, reduction):
    """A step on all records at once is the gradient of the objective."""
    model = copy.deepcopy(model).set_params(
        criterion__reduction=reduction,
        batch_size=-1,
        optimizer__weight_decay=0.5,
        lr=0.1 if reduction == "mean" else 1e-3,
        warm_start=True,
    )
    model, targets = _fitted(model, y)
    network = read_network(model, N)
    before = {name: p.detach().clone() for name, p in model.module_.named_parameters()}
    model.partial_fit(X, targets.for_fit(y))
    gradients = _gradient(network, targets, y)
    codes = network.codes(targets.codes(y))
    total = network.loss.total(codes, torch.ones(len(codes)))
    divisor = total if reduction == "mean" else 1
    after = dict(model.module_.named_parameters())
    for name, gradient in gradients.items():
        step = (before[name] - after[name].detach()).double() / model.lr
        # Weights have seven digits, which a small step has less of.
        atol = 1e-6 / model.lr
        torch.testing.assert_close(step, gradient / divisor, rtol=1e-4, atol=atol)


MLPS = [
    (MLPClassifier, SPECIES),
    (MLPClassifier, NAMES[SPECIES]),
    (MLPClassifier, SPECIES == 1),
    (MLPRegressor, X[:, 0].astype(np.float64)),
    (MLPRegressor, X[:, :3].astype(np.float64)),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("kind", "y"), MLPS)
def test_a_step_of_a_perceptron_follows_the_objective(kind, y, weighted):
    rows = X.astype(np.float64)
    sample_weight = np.arange(N) % 3 + 0.5 if weighted else None
    model = _fit_mlp(
        kind,
        y,
        rows,
        sample_weight,
        solver="sgd",
        alpha=20.0,
        momentum=0.0,
        learning_rate_init=1e-3,
        batch_size=N,
        max_iter=1,
        warm_start=True,
    )
    network = read_network(model, N, sample_weight=sample_weight)
    targets = read_targets(model, y, frozen=True)
    gradients = _gradient(network, targets, y, sample_weight)
    divisor = N if sample_weight is None else sample_weight.sum()
    before = dict(network.module.named_parameters())
    with pytest.warns(ConvergenceWarning):
        model.fit(rows, y, sample_weight)
    after = dict(read_network(model, N).module.named_parameters())
    for name, gradient in gradients.items():
        step = (before[name] - after[name]) / 1e-3
        torch.testing.assert_close(step, gradient / divisor, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"solver": "lbfgs"}, 1 / N),
        ({"solver": "lbfgs", "early_stopping": True}, 1 / N),
        ({"solver": "adam"}, 1 / N),
        ({"solver": "sgd", "batch_size": 50}, 1 / 50),
        ({"solver": "sgd", "batch_size": 100}, (1 / 100 + 1 / 50) / 2),
        ({"early_stopping": True, "validation_fraction": 0.2}, 1 / 120),
    ],
)
def test_alpha_is_divided_by_the_batch_and_is_of_weights_only(parameters, expected):
    model = _fit_mlp(MLPClassifier, SPECIES, alpha=0.5, **parameters)
    network = read_network(model, N)
    assert network.trainable == set(network.weight_decay)
    for name, decay in network.weight_decay.items():
        assert decay == pytest.approx(0.5 * expected * name.endswith("weight"))
    doubled = read_network(model, N, sample_weight=np.full(N, 2.0))
    assert doubled.weight_decay["0.weight"] == pytest.approx(0.25 * expected)


@pytest.mark.parametrize(
    ("kind", "y", "loss"),
    [
        (MLPClassifier, SPECIES, SoftmaxLoss),
        (MLPClassifier, SPECIES == 0, LogisticLoss),
        (MLPRegressor, X[:, 0], SquaredLoss),
    ],
)
def test_a_perceptron_divides_by_the_weights_of_records(kind, y, loss):
    network = read_network(_fit_mlp(kind, y), N)
    assert isinstance(network.loss, loss)
    weights = torch.tensor([0.5, 2.0])
    assert network.loss.total(torch.zeros(2, dtype=torch.int64), weights) == 2.5


def test_a_perceptron_of_several_labels_is_refused():
    labels = np.stack([SPECIES == 0, X[:, 0] > 5.5], axis=1)
    with pytest.raises(ValueError, match="MLPClassifier of 2 labels a record"):
        read_network(_fit_mlp(MLPClassifier, labels), N)


@pytest.mark.parametrize("model", [_net(), MLPClassifier()])
def test_the_device_is_that_of_the_parameters_unless_given(model):
    model = (
        model.fit(X, SPECIES)
        if isinstance(model, skorch.NeuralNet)
        else _fit_mlp(MLPClassifier, SPECIES)
    )
    for device in "auto", "cpu":
        network = read_network(model, N, device)
        assert network.device == network.inputs(X).device == torch.device("cpu")
        assert network.codes(SPECIES).device.type == "cpu"
    missing = "nowhere" if torch.cuda.is_available() else "cuda"
    with pytest.raises(ValueError, match=f"device='{missing}' is not there: "):
        read_network(model, N, missing)
