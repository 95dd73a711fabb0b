"""Networks keep the estimator's contract: rows, labels, folds, wrappers, errors."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from networks import LazyPerceptron, make_net
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.dataset import Dataset, ValidSplit
from skorch.helper import predefined_split
from torch import nn

from skpriv import GLSScorer, LiRAAttack


def network(kind=NeuralNetClassifier, **parameters):
    """Make a net with dropout and weight decay."""
    return make_net(
        LazyPerceptron,
        kind,
        module__dropout=0.3,
        optimizer__weight_decay=1e-2,
        **parameters,
    )


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=3, return_X_y=True)
    return X[:80] / 16, y[:80]


@pytest.fixture(scope="module")
def fitted(digits):
    X, y = digits
    torch.manual_seed(0)
    return network().fit(X.astype(np.float32), y)


def test_seeds_repeat_training_and_leave_the_random_state_alone(digits):
    X, y = digits
    state = torch.random.get_rng_state()
    first, again, other = (
        GLSScorer(network(), solver="sketch", n_sketches=8, random_state=seed).fit(X, y)
        for seed in (0, 0, 1)
    )
    assert_array_equal(first.scores_, again.scores_)
    assert (first.scores_ != other.scores_).all()
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize(
    "rename",
    [
        lambda y: np.array(["a", "b", "c"])[y],
        lambda y: np.array([-5, 2, 7])[y],
        lambda y: y + 1,
        lambda y: 3.0 * y,
    ],
)
def test_names_of_labels_do_not_matter(digits, rename):
    X, y = digits
    expected = GLSScorer(network(), random_state=0).fit(X, y)
    found = GLSScorer(network(), random_state=0).fit(X, rename(y))
    assert_array_equal(found.scores_, expected.scores_)
    assert_array_equal(found.score_samples(X[:5], rename(y[:5])), found.scores_[:5])
    assert found.score(X, rename(y)) == expected.score(X, y)


def test_rows_may_have_any_type_and_shape(digits):
    X, y = digits
    expected = GLSScorer(network(), random_state=0).fit(X, y)
    images = X.reshape(-1, 1, 8, 8)
    for rows in (X.astype(np.float32), images, X.tolist()):
        scorer = GLSScorer(network(), random_state=0).fit(rows, y)
        assert_allclose(scorer.scores_, expected.scores_, rtol=1e-6)
        assert_array_equal(scorer.score_samples(rows[:9]), scorer.scores_[:9])


def test_dropout_is_off(digits, fitted):
    X, y = digits
    scorer = GLSScorer(FrozenEstimator(fitted))
    assert_array_equal(scorer.fit(X, y).scores_, scorer.fit(X, y).scores_)
    assert not fitted.module_.training or fitted.module_.dropout.training


def test_a_frozen_net_stays_as_it_is(digits, fitted):
    X, y = digits
    before = {name: p.clone() for name, p in fitted.module_.state_dict().items()}
    scorer = GLSScorer(FrozenEstimator(fitted), random_state=0).fit(X, y)
    assert unwrapped(scorer.estimator_) is fitted
    for name, value in fitted.module_.state_dict().items():
        assert torch.equal(value, before[name])
    assert all(p.requires_grad for p in fitted.module_.parameters())


def unwrapped(estimator):
    return getattr(estimator, "estimator", estimator)


def test_a_grid_of_layers_does_not_train_again(digits, fitted):
    X, y = digits
    everywhere = np.arange(len(X))
    search = GridSearchCV(
        GLSScorer(FrozenEstimator(fitted)),
        {"layers": ["last", 2, "all", ["inner"]]},
        scoring=lambda scorer, X, y: scorer.effective_parameters_,
        cv=[(everywhere, everywhere)],
    ).fit(X, y)
    last, two, every, inner = search.cv_results_["mean_test_score"]
    assert last < two
    assert two == pytest.approx(every)
    assert inner < every
    assert unwrapped(search.best_estimator_.estimator_) is fitted


def test_parameters_of_the_net_are_parameters_of_the_scorer(digits):
    X, y = digits
    scorer = GLSScorer(network(), random_state=0)
    scores = scorer.fit(X, y).scores_
    assert scorer.set_params(estimator__lr=0.5).get_params()["estimator__lr"] == 0.5
    assert (scorer.fit(X, y).scores_ != scores).any()
    copy = clone(scorer)
    assert copy.estimator.lr == 0.5
    assert not copy.estimator.initialized_
    search = GridSearchCV(scorer, {"estimator__module__n_hidden": [2, 8]}, cv=2)
    assert search.fit(X, y).best_params_["estimator__module__n_hidden"] in (2, 8)


@pytest.mark.parametrize("solver", ["direct", "cg", "sketch"])
def test_pickles_score_as_before(digits, solver):
    X, y = digits
    scorer = GLSScorer(network(), layers="all", solver=solver, random_state=0)
    scorer.fit(X, y)
    again = pickle.loads(pickle.dumps(scorer))
    assert_array_equal(again.scores_, scorer.scores_)
    rows = X[:4] + 0.01
    assert_allclose(
        again.score_samples(rows, y[:4]), scorer.score_samples(rows, y[:4]), rtol=1e-6
    )


def test_pipelines_stand_inside_and_outside(digits):
    X, y = digits
    inside = GLSScorer(make_pipeline(StandardScaler(), network()), random_state=0)
    outside = make_pipeline(StandardScaler(), GLSScorer(network(), random_state=0))
    inside.fit(X, y)
    outside.fit(X, y)
    assert_allclose(outside[-1].scores_, inside.scores_, rtol=1e-5)
    assert_allclose(outside.score_samples(X), outside[-1].scores_)
    assert_allclose(inside.score_samples(X[3:7]), inside.scores_[3:7])
    assert inside.score(X, y) == pytest.approx(outside.score(X, y))


@pytest.mark.parametrize("variant", ["leverage", "self_influence", "attack_power"])
def test_folds_score_records_at_nets_without_them(digits, variant):
    X, y = digits
    folds = RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)
    scorer = GLSScorer(network(), variant=variant, cv=folds, random_state=0).fit(X, y)
    assert np.isfinite(scorer.scores_).all()
    assert scorer.scores_.shape == (80,)
    whole = GLSScorer(network(), variant=variant, random_state=0).fit(X, y)
    assert (scorer.scores_ != whole.scores_).all()
    assert scorer.effective_parameters_ == whole.effective_parameters_


@pytest.mark.parametrize("kind", [network, lambda: MLPClassifier((4,), max_iter=2000)])
def test_folds_may_lack_a_class(digits, kind):
    X, y = digits
    rare = np.where(y == 2, 1, y)
    rare[:2] = 2
    folds = [(np.arange(40, 80), np.arange(40)), (np.arange(40), np.arange(40, 80))]
    scorer = GLSScorer(kind(), cv=folds, random_state=0)
    if kind is network:
        assert np.isfinite(scorer.fit(X, rare).scores_).all()
    else:
        with pytest.raises(ValueError, match=r"y has labels .*: \[2\]"):
            scorer.fit(X, rare)


def test_targets_of_one_dimension_are_columns_to_a_net(digits):
    X, y = digits
    net = network(NeuralNetRegressor, module__n_outputs=1)
    scorers = [GLSScorer(net, random_state=0).fit(X, t) for t in (y * 1.0, y / 1.0)]
    assert_array_equal(scorers[0].scores_, scorers[1].scores_)
    two = network(NeuralNetRegressor, module__n_outputs=2)
    scorer = GLSScorer(two, random_state=0).fit(X, np.stack([y, -y], axis=1) * 1.0)
    assert scorer.scores_.shape == (80,)
    assert 0 < scorer.effective_parameters_ < 7


class Squeezed(LazyPerceptron):
    def forward(self, x):
        return super().forward(x).squeeze(1)


def test_outputs_of_one_dimension_meet_targets_of_one_dimension(digits):
    X, y = digits
    column, row = (
        make_net(module, NeuralNetRegressor, module__n_outputs=1, lr=0.01)
        for module in (LazyPerceptron, Squeezed)
    )
    expected = GLSScorer(column, random_state=0).fit(X, y * 1.0)
    for targets in (y * 1.0, y[:, np.newaxis] * 1.0):
        scorer = GLSScorer(row, random_state=0).fit(X, targets)
        assert_array_equal(scorer.scores_, expected.scores_)


def test_records_held_out_of_training_are_warned_of(digits):
    X, y = digits
    split = network().set_params(train_split=ValidSplit(5))
    early = MLPClassifier((3,), early_stopping=True, max_iter=300, random_state=0)
    for net in (split, early):
        with pytest.warns(UserWarning, match="holds a part of the records out"):
            GLSScorer(net, random_state=0).fit(X, y)
    valid = Dataset(X[:5].astype(np.float32), y[:5])
    GLSScorer(network().set_params(train_split=predefined_split(valid))).fit(X, y)


def test_faults_are_named(digits, fitted):
    X, y = digits
    frozen = FrozenEstimator(fitted)
    cases = [
        ({"layers": 3}, ValueError, "layers=3 .* has 2"),
        ({"layers": ["lost"]}, ValueError, "layers has 'lost'"),
        (
            {"solver": "sketch", "curvature": "hessian"},
            ValueError,
            "solver='sketch' needs curvature='ggn'",
        ),
        ({"device": "nowhere"}, ValueError, "device='nowhere' is not available"),
        ({"cv": 2}, ValueError, "cv=2 fits the estimator again"),
    ]
    for parameters, kind, message in cases:
        with pytest.raises(kind, match=message):
            GLSScorer(frozen, **parameters).fit(X, y)
    with pytest.raises(ValueError, match=r"y has labels \['a'"):
        GLSScorer(frozen).fit(X, np.array(["a", "b", "c"])[y])
    with pytest.raises(TypeError, match="MultiMarginLoss; supported are CrossEntropy"):
        GLSScorer(network(criterion=nn.MultiMarginLoss)).fit(X, y)
    with pytest.raises(
        ValueError, match="number 7, but the network has only 3 outputs"
    ):
        GLSScorer(frozen).fit(X, np.where(y == 2, 7, y))
    with pytest.raises(ValueError, match=r"number 7, but .* numbers 0 to 2\."):
        GLSScorer(network()).fit(X, np.where(y == 2, 7, y))
    with pytest.raises(TypeError, match="X is a dict of several inputs"):
        GLSScorer(network()).fit({"pixels": X}, y)
    halves = make_net(
        nn.Linear,
        module__in_features=64,
        module__out_features=3,
        module__dtype=torch.bfloat16,
    ).initialize()
    with pytest.raises(TypeError, match=r"computes in torch\.bfloat16"):
        GLSScorer(halves).fit(X, y)
    regressor = network(NeuralNetRegressor, module__n_outputs=1)
    with pytest.raises(ValueError, match="variant='attack_power' needs a classifier"):
        GLSScorer(regressor, variant="attack_power").fit(X, y * 1.0)


def test_folds_do_not_begin_with_weights_that_saw_all_records(digits):
    X, y = digits
    module = nn.Sequential(nn.Linear(64, 3))
    net = make_net(module, max_epochs=1)
    assert np.isfinite(GLSScorer(net, cv=2).fit(X, y).scores_).all()
    net.fit(X.astype(np.float32), y)
    inside = make_pipeline(StandardScaler(), net)
    for trained in (net, inside):
        with pytest.raises(ValueError, match="module is an object that is initialized"):
            GLSScorer(trained, cv=2).fit(X, y)
        with pytest.raises(ValueError, match="module is an object that is initialized"):
            LiRAAttack(trained, n_shadows=6, n_jobs=1).fit(np.float32(X), y)
    assert np.isfinite(GLSScorer(FrozenEstimator(net)).fit(X, y).scores_).all()


def test_rows_that_may_not_be_written_to_are_copied(digits):
    X, y = digits
    frozen = np.float32(X)
    frozen.flags.writeable = False
    scorer = GLSScorer(network(), random_state=0).fit(frozen, y)
    frame = pd.DataFrame(np.float32(X))
    again = GLSScorer(network(), random_state=0).fit(frame, y)
    assert_array_equal(again.scores_, scorer.scores_)


def test_records_that_change_each_other_are_refused(digits):
    X, y = digits
    module = nn.Sequential(
        nn.Linear(64, 4), nn.BatchNorm1d(4, track_running_stats=False), nn.Linear(4, 3)
    )
    net = make_net(module, max_epochs=1)
    with pytest.raises(ValueError, match="batch norms must have"):
        GLSScorer(net).fit(X, y)


@pytest.mark.parametrize(
    "option",
    [
        {"layers": 2},
        {"layers": ["coef"]},
        {"solver": "cg"},
        {"curvature": "hessian"},
        {"damping": 0.1},
        {"device": "cuda"},
    ],
)
def test_options_of_networks_are_refused_for_linear_models(digits, option):
    X, y = digits
    (name,) = option
    with pytest.raises(ValueError, match=f"{name}=.* applies to networks"):
        GLSScorer(LogisticRegression(), **option).fit(X, y)


def test_linear_models_are_one_layer_with_a_direct_solution(digits):
    X, y = digits
    model = LogisticRegression(tol=1e-6, max_iter=1000)
    scorer = GLSScorer(model, layers="all", solver="direct").fit(X, y)
    assert scorer.solver_ == "direct"
    assert_array_equal(scorer.scores_, GLSScorer(model).fit(X, y).scores_)
    assert (scorer.n_iter_ == 1).all()
