"""Records count as often as training draws them; unknown ways to draw are refused."""

import numpy as np
import pytest
import torch
from networks import make_net, reader
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator
from skorch import NeuralNetBinaryClassifier, NeuralNetClassifier
from skorch.dataset import Dataset
from torch import nn
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from skpriv import GLSScorer

N = 60
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 3)).astype(np.float32)
Y = (X[:, 0] + RNG.logistic(size=N) > 1).astype(int)
BALANCE = torch.tensor(np.where(Y == 1, 3.0, 1.0))
DECAY = 0.02


def _net(kind=NeuralNetBinaryClassifier, **parameters):
    parameters = {"batch_size": 16, "optimizer__weight_decay": DECAY, **parameters}
    n_outputs = 1 if kind is NeuralNetBinaryClassifier else 2
    return make_net(
        nn.Linear,
        kind,
        module__in_features=3,
        module__out_features=n_outputs,
        **parameters,
    )


def _leverages(net, weights, penalty):
    """Leverages of logistic regression, at the weights of a net."""
    linear = net.module_
    Z = np.c_[X, np.ones(N)].astype(np.float64)
    theta = np.r_[linear.weight.detach().numpy()[0], linear.bias.detach().numpy()]
    p = 1 / (1 + np.exp(-Z @ theta))
    curvature = weights * p * (1 - p)
    H = (Z.T * curvature) @ Z + penalty * np.eye(4)
    return curvature * np.einsum("ij,jk,ik->i", Z, np.linalg.inv(H), Z)


def _drawn(*positions):
    return np.bincount(np.concatenate(positions), minlength=N).astype(float)


WAYS_TO_DRAW = [
    ({}, np.ones(N)),
    ({"shuffle": True}, np.ones(N)),
    ({"sampler": SequentialSampler(range(N))}, np.ones(N)),
    ({"sampler": RandomSampler(range(N), num_samples=30)}, np.ones(N)),
    ({"sampler": WeightedRandomSampler(BALANCE, N)}, BALANCE.numpy()),
    ({"sampler": WeightedRandomSampler(BALANCE, 5 * N)}, BALANCE.numpy()),
    ({"sampler": SubsetRandomSampler(range(40))}, _drawn(range(40))),
    (
        {"sampler": SubsetRandomSampler([*range(40), *range(10), -1])},
        _drawn(range(40), range(10), [N - 1]),
    ),
    # Of 60 records, in order, the last batch of 12 is dropped.
    ({"drop_last": True}, _drawn(range(48))),
    ({"drop_last": True, "sampler": SequentialSampler(range(N))}, _drawn(range(48))),
    # In random order, any record may be in the batch that is dropped.
    ({"drop_last": True, "shuffle": True}, np.ones(N)),
    ({"drop_last": True, "sampler": SubsetRandomSampler(range(40))}, _drawn(range(40))),
]


@pytest.mark.parametrize(("loading", "weights"), WAYS_TO_DRAW)
@pytest.mark.parametrize("weighted", [False, True])
def test_records_have_the_weights_with_which_training_draws_them(
    loading, weights, weighted
):
    net = _net(**{f"iterator_train__{key}": value for key, value in loading.items()})
    own = RNG.uniform(0.5, 2, N) if weighted else np.ones(N)
    scorer = GLSScorer(net, random_state=0).fit(X, Y, own if weighted else None)
    total = weights * own
    expected = _leverages(scorer.estimator_, total, DECAY * total.sum())
    assert_allclose(scorer.scores_, expected, rtol=1e-5, atol=1e-12)
    assert_array_equal(scorer.scores_ == 0, weights == 0)
    assert_allclose(scorer.effective_parameters_, expected.sum(), rtol=1e-5)


def test_a_frozen_net_is_scored_by_its_sampler_too():
    net = _net(iterator_train__sampler=SubsetRandomSampler(range(30))).fit(
        X, Y.astype(np.float32)
    )
    weights = _drawn(range(30))
    scores = GLSScorer(FrozenEstimator(net)).fit(X, Y).scores_
    assert_allclose(scores, _leverages(net, weights, 30 * DECAY), rtol=1e-5)


def test_a_new_record_counts_as_one_that_is_drawn():
    """Each of 40 records is drawn twice, so a new one would be, too."""
    net = _net(iterator_train__sampler=SubsetRandomSampler([*range(40)] * 2))
    scorer = GLSScorer(net, random_state=0).fit(X, Y)
    new = X[40:]
    of_new = scorer.score_samples(new, 1 - Y[40:])
    linear = scorer.estimator_.module_
    Z = np.c_[X, np.ones(N)].astype(np.float64)
    theta = np.r_[linear.weight.detach().numpy()[0], linear.bias.detach().numpy()]
    p = 1 / (1 + np.exp(-Z @ theta))
    L = p * (1 - p)
    H = (Z[:40].T * L[:40]) @ Z[:40] + 40 * DECAY * np.eye(4)
    expected = L[40:] * np.einsum("ij,jk,ik->i", Z[40:], np.linalg.inv(H), Z[40:])
    assert_allclose(of_new, expected, rtol=1e-5)
    assert_array_equal(scorer.scores_[40:], 0)


@pytest.mark.parametrize(("loading", "weights"), WAYS_TO_DRAW)
def test_weight_decay_next_to_a_sum_is_counted_once_a_batch(loading, weights):
    """An epoch minimises the sum over what it draws, and the penalty once a batch."""
    net = _net(
        criterion__reduction="sum",
        lr=1e-9,
        max_epochs=1,
        **{f"iterator_train__{key}": value for key, value in loading.items()},
    ).fit(X, Y.astype(np.float32))
    sizes = [len(batch[1]) for batch in net.get_iterator(Dataset(X, Y), training=True)]
    expected = DECAY * len(sizes) / sum(sizes)
    decay = reader(net).network(N).weight_decay
    assert_allclose(decay["weight"], expected)


class Half(Sampler):
    """A sampler that torch does not have."""

    def __iter__(self):
        return iter(range(N // 2))

    def __len__(self):
        return N // 2


class Loader(DataLoader):
    """An iterator that may do anything with a batch."""


class Augmented(Dataset):
    def transform(self, X, y):
        return super().transform(X + 1, y)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"iterator_train__sampler": Half()}, "the sampler Half, of which"),
        ({"iterator_train__sampler": list(range(9))}, "the sampler list, of which"),
        (
            {
                "iterator_train__batch_sampler": BatchSampler(
                    SequentialSampler(range(N)), 4, drop_last=False
                )
            },
            "iterator_train__batch_sampler",
        ),
        ({"iterator_train__collate_fn": lambda rows: rows}, "collate_fn"),
        ({"iterator_train": Loader}, "iterator_train=Loader"),
        ({"dataset": Augmented}, "dataset=Augmented"),
    ],
)
def test_unknown_ways_to_draw_records_are_refused_by_name(parameters, match):
    with pytest.raises(TypeError, match=match):
        GLSScorer(_net(**parameters)).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        (
            {
                "iterator_train__sampler": WeightedRandomSampler(
                    BALANCE, 30, replacement=False
                )
            },
            "must have replacement=True",
        ),
        ({"dataset__length": 30}, "dataset__length, which leaves out records"),
        (
            {"batch_size": 100, "iterator_train__drop_last": True},
            "draws none of the 60 records",
        ),
        (
            {"iterator_train__sampler": RandomSampler(range(40))},
            "RandomSampler was made for 40 records, but the network is trained on 60",
        ),
    ],
)
def test_records_that_training_leaves_out_at_random_are_refused(parameters, match):
    with pytest.raises(ValueError, match=match):
        GLSScorer(_net(**parameters)).fit(X, Y)


def test_a_sampler_of_all_records_is_refused_for_folds():
    net = _net(iterator_train__sampler=WeightedRandomSampler(BALANCE, N))
    with pytest.raises(ValueError, match="its sampler was made for all of them"):
        GLSScorer(net, cv=3).fit(X, Y)


@pytest.mark.parametrize(
    "method",
    [
        "fit",
        "fit_loop",
        "get_dataset",
        "get_iterator",
        "get_loss",
        "get_split_datasets",
        "infer",
        "on_batch_begin",
        "on_grad_computed",
        "partial_fit",
        "run_single_epoch",
        "train_step",
        "train_step_single",
    ],
)
def test_nets_that_override_a_part_of_training_are_refused_by_name(method):
    def override(self, *args, **kwargs):
        return getattr(super(kind, self), method)(*args, **kwargs)

    kind = type("Custom", (NeuralNetClassifier,), {method: override})
    net = _net(kind, criterion=nn.CrossEntropyLoss)
    with pytest.raises(TypeError, match=f"a Custom that overrides {method}, which"):
        GLSScorer(net).fit(X, Y)


def test_a_method_of_the_object_itself_is_found_too():
    net = _net(NeuralNetClassifier, criterion=nn.CrossEntropyLoss).fit(X, Y)
    net.train_step = lambda batch, **fit_params: None
    with pytest.raises(TypeError, match="overrides train_step, which"):
        GLSScorer(FrozenEstimator(net)).fit(X, Y)


def test_methods_that_do_not_train_may_be_overridden():
    class Named(NeuralNetClassifier):
        def predict(self, X):
            return np.array(["no", "yes"])[super().predict(X)]

        def initialize_module(self):
            return super().initialize_module()

    net = _net(Named, criterion=nn.CrossEntropyLoss)
    assert np.isfinite(GLSScorer(net).fit(X, Y).scores_).all()
