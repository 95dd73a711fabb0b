"""Networks are read as they were trained: rows, labels, losses and penalties."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from networks import make_net, reader, two_layers
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from skorch import (
    NeuralNet,
    NeuralNetBinaryClassifier,
    NeuralNetClassifier,
    NeuralNetRegressor,
)
from torch import nn

from skpriv import GLSScorer
from skpriv.leverage._adapters import CurvatureOptions, adapt
from skpriv.leverage.network._adapter import (
    NetworkAdapter,
    PerceptronAdapter,
    SkorchAdapter,
)
from skpriv.leverage.network._losses import LogisticLoss, SoftmaxLoss, SquaredLoss

X, SPECIES = load_iris(return_X_y=True)
X = X.astype(np.float32)
N = len(X)


def _net(kind=NeuralNetClassifier, module=None, n_outputs=3, **parameters):
    module = two_layers(n_outputs=n_outputs) if module is None else module
    return make_net(module, kind, **{"max_epochs": 1, **parameters})


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


def test_each_kind_of_network_has_its_adapter():
    options = CurvatureOptions.of(GLSScorer())
    nets = [Subclass(nn.Linear)]
    for kind in NeuralNetClassifier, NeuralNetBinaryClassifier, NeuralNetRegressor:
        nets.append(_net(kind))
    for model in nets:
        assert type(adapt(model, options)) is SkorchAdapter
    for model in MLPClassifier(), MLPRegressor():
        assert type(adapt(model, options)) is PerceptronAdapter
    assert not isinstance(adapt(LogisticRegression(), options), NetworkAdapter)
    with pytest.raises(TypeError, match="estimator ends in None"):
        adapt(None, options)


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
    reader(model).check()


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
        (_net(Penalised), "that overrides get_loss"),
        (_net(Rerouted), "that overrides infer"),
        (MLPRegressor(loss="poisson"), "loss='poisson'; it must be 'squared_error'"),
    ],
)
def test_other_networks_and_losses_are_refused_by_name(model, match):
    with pytest.raises(TypeError, match=match):
        reader(model).check()


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (_net(criterion__reduction="none"), "reduction='none'; it must be 'mean' or"),
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
            "pos_weight for 2 outputs",
        ),
    ],
)
def test_parameters_of_a_loss_that_are_not_understood_are_refused(model, match):
    with pytest.raises(ValueError, match=match):
        reader(model).check()


def test_a_net_trimmed_for_prediction_is_refused():
    net = _net().fit(X, SPECIES)
    net.trim_for_prediction()
    with pytest.raises(ValueError, match="trimmed for prediction"):
        reader(net).check()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, bool])
def test_rows_become_what_a_net_computes_in(dtype):
    rows = reader(_net()).rows(X.astype(dtype))
    assert rows.dtype == np.float32
    double = _net(module=nn.Linear(4, 3).double())
    assert reader(double).rows(X.astype(dtype)).dtype == np.float64
    assert reader(_net(module=_Probabilities)).rows(X.astype(dtype)).dtype == np.float32


@pytest.mark.parametrize("shape", [(6, 4), (6, 1, 4), (6, 1, 2, 2)])
def test_rows_keep_their_shape(shape):
    rows = reader(_net()).rows(np.arange(24.0).reshape(shape))
    assert_array_equal(rows, np.arange(24.0).reshape(shape))


def test_rows_of_an_embedding_stay_integers_and_build_it_with_no_trace():
    words = np.arange(12, dtype=np.int32).reshape(4, 3)
    built = _net(module=nn.Sequential(nn.Embedding(12, 2), nn.Flatten()))
    net = _net(module=nn.Embedding, module__num_embeddings=3, module__embedding_dim=2)
    state = torch.random.get_rng_state()
    for model in built, net, copy.deepcopy(net).initialize():
        assert reader(model).rows(words).dtype == np.int64
        assert reader(model).rows(words.astype(float)).dtype == np.float32
    for model in built, net:
        torch.random.set_rng_state(state)
        reader(model).rows(words)
        assert torch.equal(torch.random.get_rng_state(), state)


def test_rows_of_a_perceptron_keep_their_precision_and_may_be_sparse():
    assert reader(MLPClassifier()).rows(X).dtype == np.float32
    assert reader(MLPClassifier()).rows(X.astype(np.float64)).dtype == np.float64
    assert reader(MLPClassifier()).rows(X.astype(int)).dtype == np.float64
    assert sp.issparse(reader(MLPClassifier()).rows(sp.csr_array(X)))


def test_rows_that_no_module_takes_are_refused():
    with pytest.raises(TypeError, match="X is a dict of several inputs"):
        reader(_net()).rows({"a": X, "b": X})
    with pytest.raises(TypeError, match="Sparse data was passed"):
        reader(_net()).rows(sp.csr_array(X))
    with pytest.raises(ValueError, match="Expected 2D array"):
        reader(_net()).rows(X[:, 0])


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
    targets = reader(_net()).targets(labels[[0, 1, 2, 1]], frozen=False)
    codes = targets.codes(labels)
    assert codes.dtype == targets.for_fit(labels).dtype == np.int64
    assert_array_equal(codes, numbers)
    assert_array_equal(targets.for_fit(labels), numbers)
    assert_array_equal(targets.codes(labels[1:2]), numbers[1:2])


def test_labels_have_the_positions_that_the_net_was_given():
    targets = reader(_net(classes=list(NAMES))).targets(NAMES[[2, 1]], frozen=False)
    assert_array_equal(targets.codes(NAMES), [0, 1, 2])
    frozen = _net(classes=list(NAMES)).fit(X, SPECIES)
    assert_array_equal(
        reader(frozen).targets(NAMES, frozen=True).codes(NAMES), [0, 1, 2]
    )
    targets = reader(_net(classes=[0, 1, 2])).targets(np.array([1, 2]), frozen=False)
    assert_array_equal(targets.codes(np.arange(3)), [0, 1, 2])


@pytest.mark.parametrize("y", [SPECIES + 1, SPECIES[50:], SPECIES.astype(float)])
def test_labels_of_a_frozen_net_are_numbers_of_its_outputs(y):
    net = _net(n_outputs=4).fit(X, SPECIES)
    targets = reader(net).targets(y, frozen=True)
    assert_array_equal(targets.codes(y), y.astype(int))
    # Labels that the net was fitted on are known, whether or not they are among y.
    assert_array_equal(targets.codes(np.array([0, 2])), [0, 2])


@pytest.mark.parametrize("y", [NAMES[SPECIES], SPECIES - 1, SPECIES + 0.0 - 1])
def test_labels_whose_numbers_a_frozen_net_does_not_tell_are_refused(y):
    net = _net().fit(X, SPECIES)
    with pytest.raises(ValueError, match="must be the numbers of its outputs"):
        reader(net).targets(y, frozen=True)
    with pytest.raises(ValueError, match="from 0 to 1"):
        reader(
            _net(NeuralNetBinaryClassifier, n_outputs=1).fit(X, (SPECIES > 0) * 1.0)
        ).targets(np.array([0, 2]), frozen=True)


@pytest.mark.parametrize(
    "labels", [[0, 1], [1, 2], [0, 2], [-1, 1], [False, True], ["a", "b"], [0.0, 1.0]]
)
def test_labels_of_a_binary_net_are_0_and_1(labels):
    labels = np.array(labels)
    targets = reader(_net(NeuralNetBinaryClassifier)).targets(
        labels[[1, 0, 1]], frozen=False
    )
    assert_array_equal(targets.codes(labels), [0, 1])
    assert targets.codes(labels).dtype == np.int64
    assert_array_equal(targets.for_fit(labels), [0, 1])
    assert targets.for_fit(labels).dtype == np.float32


def test_a_binary_net_refuses_a_third_class():
    with pytest.raises(ValueError, match="y has 3 classes, but a net with"):
        reader(_net(NeuralNetBinaryClassifier)).targets(SPECIES, frozen=False)


@pytest.mark.parametrize("y", [SPECIES, NAMES[SPECIES], SPECIES + 3])
def test_labels_of_a_perceptron_are_numbered_as_it_does(y):
    model = _fit_mlp(MLPClassifier, y)
    for targets in (
        reader(model).targets(y, frozen=False),
        reader(model).targets(y[:9], frozen=True),
    ):
        assert targets.for_fit(y) is y
        assert_array_equal(model.classes_[targets.codes(y)], y)


@pytest.mark.parametrize("model", [_net(), MLPClassifier()])
@pytest.mark.parametrize("y", [SPECIES, NAMES[SPECIES], SPECIES + 3])
def test_unknown_labels_are_refused(model, y):
    targets = reader(model).targets(y[:100], frozen=False)
    with pytest.raises(ValueError, match=r"were not seen in fit: .* must be among"):
        targets.codes(y)


@pytest.mark.parametrize(
    "model", [_net(), _net(NeuralNetBinaryClassifier), MLPClassifier()]
)
def test_targets_that_are_no_labels_are_refused(model):
    with pytest.raises(ValueError, match=r"several labels or probabilities per record"):
        reader(model).targets(np.eye(3), frozen=False)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        reader(model).targets(X[:, 0], frozen=False)


@pytest.mark.parametrize("kind", [_net(NeuralNetRegressor), MLPRegressor()])
def test_targets_of_a_regression_come_with_or_without_their_axis(kind):
    y = X[:, 0].astype(np.float64)
    targets = reader(kind).targets(y, frozen=False)
    assert_array_equal(targets.codes(y), y[:, None])
    assert_array_equal(targets.codes(y[:, None]), y[:, None])
    assert targets.codes(y).dtype == np.float64
    with pytest.raises(ValueError, match=r"shape \(150, 2\).*fitted on 1 targets"):
        targets.codes(X[:, :2])
    two = reader(kind).targets(X[:, :2], frozen=False)
    assert two.codes(X[:, :2]).shape == (N, 2)


def test_targets_are_fitted_in_two_dimensions_by_nets_only():
    y = X[:, 0].astype(np.float64)
    fitted = reader(_net(NeuralNetRegressor)).targets(y, frozen=False).for_fit(y)
    assert fitted.shape == (N, 1)
    assert fitted.dtype == np.float32
    assert reader(MLPRegressor()).targets(y, frozen=False).for_fit(y) is y


def _fitted(model, y):
    targets = reader(model).targets(y, frozen=False)
    model = model.fit(reader(model).rows(X), targets.for_fit(y))
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
    network = reader(model).network(N)
    inputs, codes = network.inputs(X), network.tensor(targets.codes(y))
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
    network = reader(model).network(N)
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
    network = reader(model).network(N)
    assert {p.dtype for p in network.module.parameters()} == {torch.float64}
    assert not any(p.requires_grad for p in network.module.parameters())
    assert not any(part.training for part in network.module.modules())
    network.module(network.inputs(X))
    assert model.module_.training
    assert all(p.requires_grad for p in model.module_.parameters())
    after = model.module_.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_inputs_are_in_double_precision_and_integers_stay():
    network = reader(_net().fit(X, SPECIES)).network(N)
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
    network = reader(model.fit(X, SPECIES)).network(N)
    assert set(network.weight_decay.values()) == {expected}
    assert list(network.weight_decay) == [
        n for n, _ in model.module_.named_parameters()
    ]


def test_weight_decay_is_that_of_the_parameters_own_group():
    groups = [("0.*", {"weight_decay": 0.5}), ("*.bias", {"weight_decay": 0.0})]
    model = _net(optimizer__param_groups=groups, optimizer__weight_decay=0.25)
    weight_decay = reader(model.fit(X, SPECIES)).network(N).weight_decay
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
    weight_decay = reader(model.fit(X, SPECIES)).network(N).weight_decay
    assert_allclose(list(weight_decay.values()), expected, rtol=1e-14)


def test_weight_decay_survives_pickling():
    model = _net(optimizer__weight_decay=0.125).fit(X, SPECIES)
    network = reader(pickle.loads(pickle.dumps(model))).network(N)
    assert set(network.weight_decay.values()) == {0.125}


def test_frozen_parameters_are_not_trainable():
    model = _net(optimizer__weight_decay=0.25)
    model.module[0].requires_grad_(False)
    network = reader(model.fit(X, SPECIES)).network(N)
    assert network.trainable == {"2.weight", "2.bias"}
    assert len(network.weight_decay) == 4


def _gradient(network, targets, y, sample_weight=None):
    """Gradient of the sum of losses and penalties in the parameters, by name."""
    module = copy.deepcopy(network.module).requires_grad_()
    parameters = dict(module.named_parameters())
    codes = network.tensor(targets.codes(y))
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
    network = reader(model).network(N)
    before = {name: p.detach().clone() for name, p in model.module_.named_parameters()}
    model.partial_fit(X, targets.for_fit(y))
    gradients = _gradient(network, targets, y)
    codes = network.tensor(targets.codes(y))
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
    network = reader(model).network(N, sample_weight=sample_weight)
    targets = reader(model).targets(y, frozen=True)
    gradients = _gradient(network, targets, y, sample_weight)
    divisor = N if sample_weight is None else sample_weight.sum()
    before = dict(network.module.named_parameters())
    with pytest.warns(ConvergenceWarning):
        model.fit(rows, y, sample_weight)
    after = dict(reader(model).network(N).module.named_parameters())
    for name, gradient in gradients.items():
        step = (before[name] - after[name]) / 1e-3
        torch.testing.assert_close(step, gradient / divisor, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    ("parameters", "expected", "expected_of_half"),
    [
        ({"solver": "lbfgs"}, 1 / N, 2 / N),
        ({"solver": "lbfgs", "early_stopping": True}, 1 / N, 2 / N),
        ({"solver": "adam"}, 1 / N, 2 / N),
        ({"solver": "sgd", "batch_size": 25}, 1 / 25, 1 / 25),
        ({"solver": "sgd", "batch_size": 50}, 1 / 50, (1 / 50 + 1 / 25) / 2),
        ({"solver": "sgd", "batch_size": 100}, (1 / 100 + 1 / 50) / 2, 2 / N),
        ({"early_stopping": True, "validation_fraction": 0.2}, 1 / 120, 1 / 60),
    ],
)
def test_alpha_is_divided_by_the_batch_and_is_of_weights_only(
    parameters, expected, expected_of_half
):
    model = _fit_mlp(MLPClassifier, SPECIES, alpha=0.5, **parameters)
    network = reader(model).network(N)
    assert network.trainable == set(network.weight_decay)
    for name, decay in network.weight_decay.items():
        assert decay == pytest.approx(0.5 * expected * name.endswith("weight"))
    doubled = reader(model).network(N, sample_weight=np.full(N, 2.0))
    assert doubled.weight_decay["0.weight"] == pytest.approx(0.25 * expected)
    half = reader(model).network(N // 2).weight_decay["0.weight"]
    assert half == pytest.approx(0.5 * expected_of_half)
    assert network.half_sample_damping == pytest.approx(expected_of_half / expected)


@pytest.mark.parametrize(
    ("kind", "y", "loss"),
    [
        (MLPClassifier, SPECIES, SoftmaxLoss),
        (MLPClassifier, SPECIES == 0, LogisticLoss),
        (MLPRegressor, X[:, 0], SquaredLoss),
    ],
)
def test_a_perceptron_divides_by_the_weights_of_records(kind, y, loss):
    network = reader(_fit_mlp(kind, y)).network(N)
    assert isinstance(network.loss, loss)
    weights = torch.tensor([0.5, 2.0])
    assert network.loss.total(torch.zeros(2, dtype=torch.int64), weights) == 2.5


def test_a_perceptron_of_several_labels_is_refused():
    labels = np.stack([SPECIES == 0, X[:, 0] > 5.5], axis=1)
    with pytest.raises(ValueError, match="MLPClassifier with 2 labels per record"):
        reader(_fit_mlp(MLPClassifier, labels)).network(N)


@pytest.mark.parametrize("model", [_net(), MLPClassifier()])
def test_the_device_is_that_of_the_parameters_unless_given(model):
    model = (
        model.fit(X, SPECIES)
        if isinstance(model, NeuralNet)
        else _fit_mlp(MLPClassifier, SPECIES)
    )
    for device in "auto", "cpu":
        network = reader(model).network(N, device)
        assert network.device == network.inputs(X).device == torch.device("cpu")
        assert network.tensor(SPECIES).device.type == "cpu"
    missing = "nowhere" if torch.cuda.is_available() else "cuda"
    with pytest.raises(ValueError, match=f"device='{missing}' is not available: "):
        reader(model).network(N, missing)
