"""Scores of networks equal closed forms, dense matrices and refitting."""

import copy
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
import torch
from modules import NETS, naive_rows, net_and_inputs
from networks import fitted_net, make_net, reader
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetBinaryClassifier, NeuralNetClassifier, NeuralNetRegressor
from torch import nn

from skpriv import GLSScorer
from skpriv.leverage.network._curvature import CodedRecords, GaussNewton
from skpriv.leverage.network._hessian import Hessian
from skpriv.leverage.network._jacobians import Jacobians

VARIANTS = ("leverage", "self_influence", "attack_power")


def linear_module(coef, softmax=False):
    """A linear layer of which the last column of `coef` is the bias."""
    coef = torch.from_numpy(np.atleast_2d(coef).copy())
    layer = nn.Linear(coef.shape[1] - 1, coef.shape[0], dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(coef[:, :-1])
        layer.bias.copy_(coef[:, -1])
    return nn.Sequential(layer, nn.Softmax(dim=1)) if softmax else layer


def converging_net(dtype=torch.float32, **parameters):
    """Make a net of one layer that descends to the optimum."""
    return make_net(
        nn.Linear(4, 3, dtype=dtype),
        optimizer__momentum=0.9,
        batch_size=-1,
        **parameters,
    )


def weighted_net(**parameters):
    return converging_net(
        torch.float64,
        optimizer__weight_decay=0.05,
        lr=0.5,
        max_epochs=600,
        **parameters,
    )


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def with_constant(X):
    return np.hstack([X, np.ones((len(X), 1))])


DECAY = 1e-2


def softmax_pair(X, y, softmax=False):
    C = 1 / (DECAY * len(y))
    linear = LogisticRegression(C=C, fit_intercept=False, tol=1e-12, max_iter=10_000)
    linear.fit(with_constant(X), y)
    criterion = nn.NLLLoss if softmax else nn.CrossEntropyLoss
    module = linear_module(linear.coef_, softmax)
    net = fitted_net(module, criterion=criterion, weight_decay=DECAY)
    return linear, net


def binary_pair(X, y):
    linear, _ = softmax_pair(X, y)
    net = fitted_net(
        linear_module(linear.coef_), NeuralNetBinaryClassifier, weight_decay=DECAY
    )
    return linear, net


def squares_pair(X, y):
    linear = Ridge(alpha=DECAY * y.size / 2, fit_intercept=False)
    linear.fit(with_constant(X), y)
    net = fitted_net(
        linear_module(linear.coef_), NeuralNetRegressor, weight_decay=DECAY
    )
    return linear, net


def one_layer_case(iris, name):
    X, y = iris
    two = y > 0
    X, y, pair = {
        "softmax": (X, y, softmax_pair),
        "probabilities": (X, y, partial(softmax_pair, softmax=True)),
        "two classes": (X[two], y[two] - 1, binary_pair),
        "least squares": (X[:, 1:], X[:, 0], squares_pair),
        "several targets": (X[:, :2], X[:, 2:], squares_pair),
    }[name]
    return X, y, *pair(X, y)


ONE_LAYER = (
    "softmax",
    "probabilities",
    "two classes",
    "least squares",
    "several targets",
)


@pytest.mark.parametrize("variant", VARIANTS[:2])
@pytest.mark.parametrize("name", ONE_LAYER)
def test_one_layer_is_the_linear_model(iris, name, variant):
    X, y, linear, net = one_layer_case(iris, name)
    expected = GLSScorer(FrozenEstimator(linear), variant=variant)
    expected.fit(with_constant(X), y)
    frozen = FrozenEstimator(net)
    # The loss of MSELoss is the mean of (f - y)², that of Ridge the sum of halves.
    squares = isinstance(net, NeuralNetRegressor) and variant == "self_influence"
    unit = 2 / y[0].size if squares else 1
    rtol = 1e-7
    shifted = with_constant(X[::7] + 0.1)
    for solver in ("direct", "cg"):
        found = GLSScorer(frozen, variant=variant, solver=solver, tol=1e-10).fit(X, y)
        assert_allclose(found.scores_, unit * expected.scores_, rtol=rtol)
        assert_allclose(
            found.effective_parameters_, expected.effective_parameters_, rtol=rtol
        )
        assert found.damping_ == DECAY
        assert found.solver_ == solver
        # New rows too.
        assert_allclose(
            found.score_samples(X[::7] + 0.1, y[::7]),
            unit * expected.score_samples(shifted, y[::7]),
            rtol=1e-6,
        )
    sketch = GLSScorer(
        frozen, variant=variant, solver="sketch", n_sketches=4096, random_state=0
    ).fit(X, y)
    error = np.sqrt(2 / 4096)
    assert_allclose(sketch.scores_, unit * expected.scores_, rtol=5 * error)


@pytest.mark.parametrize("space", ["probability", "logit"])
@pytest.mark.parametrize("name", ONE_LAYER)
def test_leverage_on_logits_is_that_of_the_linear_model(iris, name, space):
    X, y, linear, net = one_layer_case(iris, name)
    expected = GLSScorer(FrozenEstimator(linear), space=space).fit(with_constant(X), y)
    found = GLSScorer(FrozenEstimator(net), space=space).fit(X, y)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-6)


def test_training_a_layer_leads_to_the_linear_model(iris):
    X, y = iris
    net = converging_net(optimizer__weight_decay=DECAY, lr=1.0, max_epochs=400)
    linear, _ = softmax_pair(X, y)
    expected = GLSScorer(FrozenEstimator(linear)).fit(with_constant(X), y)
    found = GLSScorer(net, random_state=0).fit(X, y)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-5)


def dense_terms(net, X, y, names, damping, curvature="ggn"):
    """Leverages and self-influences by matrices, from gradients of single records."""
    network = reader(net).network(len(X))
    inputs, codes = network.inputs(X), network.tensor(y)
    jacobians = Jacobians(network.module, names, network.loss.logits, inputs[:3])
    logits = network.loss.logits(network.module(inputs))
    J = naive_rows(network.module, jacobians, inputs)
    curvatures = network.loss.hessian(logits)
    H = torch.einsum("ncp,ncd,ndq->pq", J, curvatures, J)
    if curvature == "hessian":
        weights = torch.ones(len(X), dtype=torch.float64)
        records = CodedRecords(X, codes, weights)
        H = Hessian(GaussNewton(network, jacobians, records, 100)).dense()
    H = H + len(X) * damping * torch.eye(len(H), dtype=torch.float64)
    K = J @ torch.linalg.solve(H, J.mT)
    leverage = (curvatures * K).sum(dim=(1, 2)).numpy()
    r = network.loss.residuals(logits, codes)
    return leverage, torch.einsum("nc,ncd,nd->n", r, K, r).numpy()


def problem(name, n_records=12):
    module, inputs = net_and_inputs(name, n_records)
    n_outputs = module(inputs[:1]).shape[1]
    y = np.arange(n_records) % n_outputs
    net = fitted_net(module.requires_grad_())
    return net, inputs.numpy(), y


@pytest.mark.parametrize(
    ("name", "layers"),
    [(name, layers) for name in NETS for layers in ("last", "all")]
    + [(name, 2) for name in NETS if name != "linear"],
)
def test_solvers_agree_with_dense_matrices(name, layers):
    net, X, y = problem(name)
    scorer = GLSScorer(FrozenEstimator(net), layers=layers, damping=0.1, tol=1e-9)
    direct = scorer.set_params(solver="direct").fit(X, y)
    names = direct._sensitivities.jacobians.names
    if layers == "all":
        assert len(names) == len(list(net.module_.parameters()))
    expected, influence = dense_terms(net, X, y, names, 0.1)
    assert_allclose(direct.scores_, expected, rtol=1e-8)
    iterated = scorer.set_params(solver="cg").fit(X, y)
    assert_allclose(iterated.scores_, expected, rtol=1e-6)
    assert (iterated.residuals_ <= 1e-9).all()
    assert iterated.converged_.all()
    scorer.set_params(variant="self_influence")
    assert_allclose(scorer.fit(X, y).scores_, influence, rtol=1e-6)


def dense_attack_power(net, X, y, names, damping):
    """Success predicted from the first-order change of confidence, by matrices."""
    network = reader(net).network(len(X))
    inputs, codes = network.inputs(X), network.tensor(y)
    jacobians = Jacobians(network.module, names, network.loss.logits, inputs[:3])
    logits = network.loss.logits(network.module(inputs))
    J = naive_rows(network.module, jacobians, inputs)
    own = torch.nn.functional.one_hot(codes, logits.shape[1]) - logits.softmax(dim=1)
    H = torch.einsum("ncp,ncd,ndq->pq", J, network.loss.hessian(logits), J)
    # Half of the records, with the same decay next to their mean loss.
    half_sample = (H + len(X) * damping * torch.eye(len(H), dtype=torch.float64)) / 2
    g = torch.einsum("ncp,nc->np", J, own)
    change = torch.linalg.solve(half_sample, g.T)
    gap = (g * change.T).sum(dim=1)
    # Each other record is in or out: a variance of a quarter.
    squares = (g @ change).square()
    variance = (squares.sum(dim=0) - squares.diagonal()) / 4
    return norm.cdf(gap / variance.sqrt() / 2)


@pytest.mark.parametrize(
    ("name", "n_sketches"), [("linear", 8192), ("convolutions", 2048), ("tied", 8192)]
)
def test_attack_power_is_the_gap_over_the_noise(name, n_sketches):
    net, X, y = problem(name, 20)
    scorer = GLSScorer(
        FrozenEstimator(net),
        variant="attack_power",
        layers="all",
        damping=0.1,
        tol=1e-9,
    )
    direct = scorer.set_params(solver="direct").fit(X, y)
    names = direct._sensitivities.jacobians.names
    expected = dense_attack_power(net, X, y, names, 0.1)
    assert_allclose(direct.scores_, expected, rtol=1e-7)
    assert_allclose(
        scorer.set_params(solver="cg").fit(X, y).scores_, expected, rtol=1e-6
    )
    sketch = scorer.set_params(solver="sketch", n_sketches=n_sketches, random_state=0)
    # The record's own share is taken out of a variance that is a sketch, too.
    error = np.abs(sketch.fit(X, y).scores_ - expected) * np.sqrt(n_sketches)
    assert error.max() < 4.5
    assert np.median(error) < 0.9


@pytest.mark.parametrize("name", ["convolutions", "embeddings", "tied"])
def test_sketch_has_the_error_that_it_states(name):
    net, X, y = problem(name)
    exact = GLSScorer(FrozenEstimator(net), layers="all", damping=0.1).fit(X, y)
    errors = []
    for seed in range(10):
        sketch = GLSScorer(
            FrozenEstimator(net),
            layers="all",
            damping=0.1,
            solver="sketch",
            random_state=seed,
        ).fit(X, y)
        errors.append(sketch.scores_ / exact.scores_ - 1)
    # √(2 / 128), and no bias: 120 errors, those of one sketch alike.
    assert np.sqrt(np.mean(np.square(errors))) < 1.3 * np.sqrt(2 / 128)
    assert abs(np.mean(errors)) < 4 * np.sqrt(2 / 128 / 10)


@pytest.mark.parametrize("name", ["convolutions", "reused", "tied", "recurrent"])
def test_hessian_products_are_those_of_the_hessian(name):
    net, X, y = problem(name, 6)
    network = reader(net).network(len(X))
    names = [n for n, p in network.module.named_parameters()][-3:]
    inputs, codes = network.inputs(X), network.tensor(y)
    jacobians = Jacobians(network.module, names, network.loss.logits, inputs[:3])
    weights = torch.linspace(0.5, 2, len(X), dtype=torch.float64)
    records = CodedRecords(X, codes, weights)
    gauss_newton = GaussNewton(network, jacobians, records, 4)
    parameters = dict(network.module.named_parameters())
    values = jacobians.flatten({n: parameters[n] for n in names})

    def objective(vector):
        outputs = torch.func.functional_call(
            network.module, jacobians.unflatten(vector), (inputs,)
        )
        return weights @ network.loss.loss(network.loss.logits(outputs), codes)

    expected = torch.autograd.functional.hessian(objective, values)
    assert_allclose(Hessian(gauss_newton).dense(), expected, rtol=1e-9, atol=1e-11)


def newton(module, X, y, weights, decay):
    """Minimise the weighted loss and decay to the last digit, from where it is."""
    names = [name for name, _ in module.named_parameters()]
    sizes = [p.numel() for p in module.parameters()]
    shapes = [p.shape for p in module.parameters()]

    def objective(vector):
        parts = [p.reshape(s) for p, s in zip(vector.split(sizes), shapes, strict=True)]
        logits = torch.func.functional_call(
            module, dict(zip(names, parts, strict=True)), (X,)
        )
        losses = nn.functional.cross_entropy(logits, y, reduction="none")
        return weights @ losses + decay * (vector**2).sum() / 2

    vector = nn.utils.parameters_to_vector(module.parameters()).detach()
    gradient_of = torch.func.grad(objective)
    for _ in range(100):
        gradient = gradient_of(vector)
        if torch.linalg.vector_norm(gradient) < 1e-10:
            break
        H = torch.autograd.functional.hessian(objective, vector)
        values, vectors = torch.linalg.eigh(H)
        step = vectors @ ((vectors.T @ gradient) / values.abs().clamp(min=1e-3))
        size = 1.0
        while objective(vector - size * step) > objective(vector) and size > 1e-6:
            size /= 2
        vector = vector - size * step
    else:
        raise AssertionError("the network does not converge")
    nn.utils.vector_to_parameters(vector, module.parameters())


def test_hessian_scores_are_those_of_refitting():
    rng = np.random.default_rng(0)
    n, decay = 40, 0.02
    X = rng.normal(size=(n, 3))
    y = (X @ rng.normal(size=(3, 3)) + rng.gumbel(size=(n, 3))).argmax(axis=1)
    torch.manual_seed(1)
    module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3)).double()
    inputs, labels = torch.from_numpy(X), torch.from_numpy(y)
    weights = torch.ones(n, dtype=torch.float64)
    newton(module, inputs, labels, weights, n * decay)
    net = fitted_net(module, weight_decay=decay)
    scores = {
        solver: GLSScorer(
            FrozenEstimator(net), layers="all", curvature="hessian", solver=solver
        )
        .fit(X, y)
        .scores_
        for solver in ("direct", "cg")
    }
    assert_allclose(scores["cg"], scores["direct"], rtol=1e-5)
    start = {name: value.clone() for name, value in module.state_dict().items()}
    for i in (0, 17):
        total = 0.0
        for c in range(3):
            p = []
            for change in (-1e-4, 1e-4):
                module.load_state_dict(start)
                newton(
                    module,
                    torch.cat([inputs, inputs[[i]]]),
                    torch.cat([labels, torch.tensor([c])]),
                    torch.cat([weights, torch.tensor([change], dtype=torch.float64)]),
                    n * decay,
                )
                p.append(module(inputs[[i]]).softmax(dim=1)[0, c].item())
            total += (p[1] - p[0]) / 2e-4
        assert total == pytest.approx(scores["direct"][i], rel=1e-3)


def saddle():
    """A network that was not trained, whose Hessian is indefinite."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    return fitted_net(module), X, y


@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_negative_curvature_gives_no_score(solver):
    net, X, y = saddle()
    scorer = GLSScorer(
        FrozenEstimator(net),
        layers="all",
        curvature="hessian",
        damping=0.0,
        solver=solver,
    )
    with pytest.warns(ConvergenceWarning, match="30 of 30 records.*negative"):
        scorer.fit(X, y)
    assert np.isnan(scorer.scores_).all()
    assert np.isnan(scorer.effective_parameters_)
    assert not scorer.converged_.any()
    assert scorer.damping_ == 0
    assert scorer.solver_ == solver
    with pytest.warns(ConvergenceWarning, match="1 of 1 record "):
        assert np.isnan(scorer.score_samples(X[:1] + 0.1, y[:1])).all()


@pytest.mark.parametrize("solver", ["cg", "sketch"])
def test_too_few_iterations_give_no_score(solver):
    net, X, y = problem("convolutions", 150)
    X[:, ::2] *= 100
    scorer = GLSScorer(
        FrozenEstimator(net), layers="all", damping=1e-9, solver=solver, max_iter=2
    )
    with pytest.warns(ConvergenceWarning, match="150 of 150 records.*max_iter"):
        scorer.fit(X, y)
    assert np.isnan(scorer.scores_).all()
    assert (scorer.n_iter_ <= 2).all()
    assert (scorer.residuals_ > 1e-6).all()


def test_more_systems_than_parameters_come_back_right():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = X @ rng.normal(size=5) + rng.normal(size=200)
    linear, net = squares_pair(X, y)
    expected = GLSScorer(FrozenEstimator(linear)).fit(with_constant(X), y)
    found = GLSScorer(FrozenEstimator(net), solver="cg").fit(X, y)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-6)
    assert (found.scores_ > 0).all()


def test_without_damping_least_squares_have_their_rank():
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:100]
    X[:, 3] = X[:, 2]
    linear = LinearRegression(fit_intercept=False).fit(with_constant(X), y[:100])
    net = fitted_net(linear_module(linear.coef_), NeuralNetRegressor)
    found = GLSScorer(FrozenEstimator(net), damping=0.0).fit(X, y[:100])
    assert found.effective_parameters_ == pytest.approx(10)
    # A new row in which the two copies differ has directions that no row has.
    beyond = X[:2].copy()
    beyond[0, 3] += 1
    beyond[1, 5] += 1
    with pytest.warns(ConvergenceWarning, match="1 of 2 records has no score"):
        scores = found.score_samples(beyond, y[:2])
    assert_array_equal(np.isnan(scores), [True, False])


@pytest.mark.parametrize("solver", ["direct", "cg", "sketch"])
def test_results_do_not_depend_on_batches(solver):
    net, X, y = problem("embeddings", 8)
    settings = {"layers": "all", "damping": 0.1, "solver": solver, "random_state": 3}
    for variant in VARIANTS:
        scores = [
            GLSScorer(
                FrozenEstimator(net), variant=variant, batch_size=size, **settings
            )
            .fit(X, y)
            .scores_
            for size in ("auto", 1, 3)
        ]
        assert_allclose(scores[1], scores[0], rtol=1e-5)
        assert_allclose(scores[2], scores[0], rtol=1e-5)


def test_curvature_that_does_not_fit_in_memory_is_computed_again(monkeypatch):
    net, X, y = problem("convolutions", 20)
    scorer = GLSScorer(
        FrozenEstimator(net), layers="all", damping=0.1, solver="cg", batch_size=6
    )
    kept = scorer.fit(X, y).scores_
    monkeypatch.setattr(
        "skpriv.leverage.network._curvature.free_bytes", lambda device: 1000
    )
    assert_allclose(scorer.fit(X, y).scores_, kept, rtol=1e-6)


def test_chunks_are_bounded_however_many_records_there_are(monkeypatch):
    net, X, y = problem("convolutions", 40)
    scorer = GLSScorer(FrozenEstimator(net), damping=0.1, batch_size=40).fit(X, y)
    monkeypatch.setattr("skpriv.leverage.network._memory._LARGEST_CHUNK", 200_000)
    seen = []
    original = Jacobians.blocks

    def blocks(self, inputs):
        seen.append(len(inputs))
        return original(self, inputs)

    monkeypatch.setattr(Jacobians, "blocks", blocks)
    again = GLSScorer(FrozenEstimator(net), damping=0.1).fit(X, y)
    assert_allclose(again.scores_, scorer.scores_, rtol=1e-9)
    assert max(seen) < 10


@pytest.mark.parametrize(
    ("n_records", "layers", "expected"),
    [(12, "last", "direct"), (300, "all", "sketch"), (1, "all", "cg")],
)
def test_auto_takes_the_cheapest_solver(monkeypatch, n_records, layers, expected):
    if layers == "all":
        # As if its matrix were too large.
        monkeypatch.setattr(
            "skpriv.leverage.network._choices.free_bytes", lambda device: 1000
        )
    net, X, y = problem("volumes", n_records)
    scorer = GLSScorer(FrozenEstimator(net), layers=layers, damping=1.0, n_sketches=8)
    assert scorer.fit(X, y).solver_ == expected


def test_damping_is_the_weight_decay_or_some_of_the_mean_curvature():
    net, X, y = problem("volumes")
    free = GLSScorer(FrozenEstimator(net), layers="all").fit(X, y)
    network = reader(net).network(len(X))
    names = [name for name, _ in network.module.named_parameters()]
    inputs = network.inputs(X)
    jacobians = Jacobians(network.module, names, network.loss.logits, inputs)
    J = naive_rows(network.module, jacobians, inputs)
    Lambda = network.loss.hessian(network.module(inputs))
    trace = torch.einsum("ncp,ncd,ndp->", J, Lambda, J)
    assert free.damping_ == pytest.approx(1e-3 * float(trace) / len(X) / J.shape[2])
    decayed = fitted_net(net.module_, optimizer=torch.optim.Adam, weight_decay=0.3)
    assert GLSScorer(FrozenEstimator(decayed)).fit(X, y).damping_ == 0.3
    grouped = fitted_net(
        net.module_,
        weight_decay=0.3,
        optimizer__param_groups=[("*.bias", {"weight_decay": 0.0})],
    )
    by_name = GLSScorer(FrozenEstimator(grouped)).fit(X, y).damping_
    assert by_name == {"3.weight": 0.3, "3.bias": 0.0}


def test_class_weights_and_sample_weights_are_those_of_the_linear_model(iris):
    X, y = iris
    weight = torch.tensor([0.5, 1.0, 3.0], dtype=torch.float64)
    sample_weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    both = sample_weight * weight.numpy()[y]
    linear = LogisticRegression(
        C=1 / (0.05 * both.sum()), fit_intercept=False, tol=1e-12, max_iter=10_000
    )
    expected = GLSScorer(linear).fit(with_constant(X), y, sample_weight=both)
    found = GLSScorer(weighted_net(criterion__weight=weight), random_state=0)
    found.fit(X, y, sample_weight=sample_weight)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-4)
    # The same model, fitted already.
    frozen = GLSScorer(FrozenEstimator(found.estimator_))
    frozen.fit(X, y, sample_weight=sample_weight)
    assert_allclose(frozen.scores_, found.scores_, rtol=1e-12)
    assert type(found.estimator_) is NeuralNetClassifier


def test_smoothed_labels_change_predictions_less(iris):
    X, y = iris
    smoothed = weighted_net(criterion__label_smoothing=0.2)
    net = GLSScorer(smoothed, random_state=0).fit(X, y)
    i, total = 10, 0.0
    module = net.estimator_.module_
    labels = torch.nn.functional.one_hot(torch.from_numpy(y)).double()
    start = {name: value.clone() for name, value in module.state_dict().items()}
    inputs = torch.from_numpy(X)
    for c in range(3):
        p = []
        for change in (-0.05, 0.05):
            module.load_state_dict(start)
            soft = labels.clone()
            soft[i, c] += change
            smooth = 0.8 * soft + 0.2 * soft.sum(dim=1, keepdim=True) / 3
            optimizer = torch.optim.LBFGS(
                module.parameters(),
                max_iter=500,
                tolerance_grad=1e-12,
                tolerance_change=1e-16,
                line_search_fn="strong_wolfe",
            )

            def closure(smooth=smooth, optimizer=optimizer):
                optimizer.zero_grad()
                losses = -(smooth * module(inputs).log_softmax(dim=1)).sum()
                penalty = sum((q**2).sum() for q in module.parameters())
                objective = losses / len(y) + 0.05 / 2 * penalty
                objective.backward()
                return objective

            optimizer.step(closure)
            p.append(module(inputs[[i]]).softmax(dim=1)[0, c].item())
        total += (p[1] - p[0]) / 0.1
    # Adding mass to a label adds to its smoothed share of all classes, too, which
    # moves no probability on the whole.
    assert total == pytest.approx(net.scores_[i], rel=2e-2)


@pytest.mark.parametrize("layers", ["last", "all"])
def test_perceptrons_are_scored_as_networks(iris, layers):
    X, y = iris
    mlp = MLPClassifier((5,), activation="tanh", alpha=1.0, solver="lbfgs", tol=1e-8)
    mlp.set_params(max_iter=5000, random_state=0).fit(X, y)
    found = GLSScorer(FrozenEstimator(mlp), layers=layers).fit(X, y)
    assert set(found.damping_.values()) == {1 / len(y), 0.0}
    if layers == "last":
        hidden = np.tanh(X @ mlp.coefs_[0] + mlp.intercepts_[0])
        head = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000)
        expected = GLSScorer(head).fit(hidden, y)
        # The perceptron's own optimiser stops earlier.
        assert_allclose(found.scores_, expected.scores_, rtol=2e-3)
        # Its penalty stands next to the sum of losses, as that of the linear model.
        found.set_params(variant="attack_power").fit(X, y)
        expected.set_params(variant="attack_power").fit(hidden, y)
        assert_allclose(found.scores_, expected.scores_, rtol=2e-3)
    else:
        assert found.effective_parameters_ > 8
    assert np.isfinite(found.scores_).all()


def test_regressing_perceptrons_are_scored():
    X, y = load_diabetes(return_X_y=True)
    X, Y = X[:150, :4] * 20, np.stack([y, -2 * y + 100 * X[:, 2]], axis=1)[:150] / 100
    mlp = MLPRegressor(hidden_layer_sizes=(3,), alpha=0.5, solver="lbfgs")
    mlp.set_params(random_state=0, max_iter=5000)
    mlp.fit(X, Y)
    found = GLSScorer(FrozenEstimator(mlp)).fit(X, Y)
    hidden = np.maximum(X @ mlp.coefs_[0] + mlp.intercepts_[0], 0)
    expected = GLSScorer(Ridge(alpha=0.5)).fit(hidden, Y)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-6)


@pytest.mark.parametrize("solver", ["direct", "cg", "sketch"])
def test_units_that_no_record_activates_make_new_records_not_estimable(solver):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(40, 2)), np.arange(40) % 2
    mlp = MLPClassifier((3,), max_iter=2000, random_state=0, solver="lbfgs").fit(X, y)
    # The first unit is active where the first feature is negative: nowhere.
    mlp.coefs_[0][:, 0], mlp.intercepts_[0][0] = (-1.0, 0.0), 0.0
    scorer = GLSScorer(
        FrozenEstimator(mlp), layers="all", solver=solver, n_sketches=8, random_state=0
    ).fit(X, y)
    assert np.isfinite(scorer.scores_).all()
    new = np.array([[0.3, 0.3], [-0.3, 0.3]])
    with pytest.warns(ConvergenceWarning, match="1 of 2 records has no score"):
        scores = scorer.score_samples(new, y[:2])
    assert_array_equal(np.isnan(scores), [False, True])


def test_nothing_of_the_training_records_jacobians_is_kept():
    net, X, y = problem("convolutions", 30)
    for solver in ("cg", "sketch"):
        scorer = GLSScorer(
            FrozenEstimator(net), layers="all", damping=0.1, solver=solver, n_sketches=8
        ).fit(X, y)
        size = scorer._sensitivities.jacobians.size
        # The net, the rows, and one preconditioner or root.
        assert len(pickle.dumps(scorer._sensitivities)) < 8 * size * (size / 4 + 20)


@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_a_network_that_is_certain_of_everything_gives_no_score(solver):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 5)), np.arange(30) % 3
    layer = nn.Linear(5, 3).double()
    with torch.no_grad():
        layer.weight *= 1e6
    net = fitted_net(layer)
    with pytest.warns(ConvergenceWarning, match="30 of 30 records have no score"):
        scorer = GLSScorer(FrozenEstimator(net), solver=solver).fit(X, y)
    assert np.isnan(scorer.scores_).all()


def test_a_network_that_diverged_is_named():
    net, X, y = problem("volumes")
    with torch.no_grad():
        next(net.module_.parameters()).fill_(torch.nan)
    with pytest.raises(ValueError, match="its training has diverged"):
        GLSScorer(FrozenEstimator(net)).fit(X, y)


class Scaled(nn.Module):
    """Scales records by the largest of them."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 5)
        self.out = nn.Linear(5, 3)

    def forward(self, x):
        x = self.inner(x)
        return self.out(x / x.abs().max())


@pytest.mark.parametrize("n_records", [2, 3, 30])
def test_scaling_by_other_records_is_refused(n_records):
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 5))[:n_records], np.arange(30)[:n_records] % 3
    module = Scaled().double()
    net = fitted_net(module)
    for order in range(3):
        with pytest.raises(ValueError, match="must not depend on the other records"):
            GLSScorer(FrozenEstimator(net)).fit(np.roll(X, order, axis=0), y)


def test_several_outputs_are_refused():
    net, X, y = problem("volumes")
    net.module_.register_forward_hook(lambda module, x, out: (out, out))
    with pytest.raises(TypeError, match="single tensor, but it returns a tuple"):
        GLSScorer(FrozenEstimator(net)).fit(X, y)


def test_a_sketch_without_damping_is_refused():
    net, X, y = problem("volumes")
    with pytest.raises(ValueError, match="solver='sketch' needs damping"):
        GLSScorer(FrozenEstimator(net), damping=0, solver="sketch").fit(X, y)


def test_a_sketch_without_weight_decay_has_a_damping_that_works(monkeypatch):
    """It grows with the eigenvalues that the preconditioner does not resolve."""
    monkeypatch.setattr("skpriv.leverage.network._solvers._RANK", 20)
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(10, 12), nn.Tanh(), nn.Linear(12, 4))
    X = np.random.default_rng(0).normal(size=(60, 10)).astype(np.float32)
    scorer = GLSScorer(
        FrozenEstimator(fitted_net(module)),
        layers="all",
        solver="sketch",
        n_sketches=16,
        random_state=0,
    ).fit(X, np.arange(60) % 4)
    module = copy.deepcopy(module).double()
    H = 0
    for x in torch.from_numpy(X).double():
        logits = module(x)
        rows = [
            torch.autograd.grad(f, list(module.parameters()), retain_graph=True)
            for f in logits
        ]
        J = torch.stack([torch.cat([g.flatten() for g in row]) for row in rows])
        p = logits.detach().softmax(dim=0)
        H = H + J.T @ (torch.diag(p) - p[:, None] * p) @ J / 60
    eigenvalues = torch.linalg.eigvalsh(H).flip(0).numpy()
    assert scorer.damping_ > 1.5e-3 * eigenvalues.mean()
    # The approximate eigenvalues are somewhat below the true ones.
    assert eigenvalues[50] < 10 * scorer.damping_ <= eigenvalues[19] * (1 + 1e-6)
    assert np.isfinite(scorer.scores_).all()


def test_scores_do_not_need_the_optimum():
    net, X, y = problem("convolutions")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scorer = GLSScorer(FrozenEstimator(net), damping=0.1).fit(X, y)
    assert np.isfinite(scorer.scores_).all()
    assert not hasattr(scorer, "newton_step_")
