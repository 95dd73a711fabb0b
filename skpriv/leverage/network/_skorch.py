"""Read skorch nets: their rows, labels, criterion and weight decay."""

import math
from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.base import is_classifier
from sklearn.utils import check_array
from skorch import NeuralNetBinaryClassifier, NeuralNetClassifier, NeuralNetRegressor
from skorch.dataset import ValidSplit
from torch.nn import BCEWithLogitsLoss, CrossEntropyLoss, MSELoss, NLLLoss

from skpriv.leverage.network._draws import check_draws, draws_by_position, epoch_of
from skpriv.leverage.network._fitting import weighted_training
from skpriv.leverage.network._losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from skpriv.leverage.network._read import (
    Network,
    Reader,
    choose_device,
    copy_for_evaluation,
)
from skpriv.leverage.network._targets import (
    OutputNumbers,
    TargetColumns,
    check_labels_of_classifier,
    number_outputs,
)
from skpriv.utils._pipelines import parts_of

# The criteria of each kind of net; `_LOSSES` says how they are read.
_CRITERIA = {
    NeuralNetClassifier: (CrossEntropyLoss, NLLLoss, BCEWithLogitsLoss),
    NeuralNetBinaryClassifier: (BCEWithLogitsLoss,),
    NeuralNetRegressor: (MSELoss,),
}
# These optimisers add the decay to the gradient, so that they minimise the loss and
# the penalty together.
_PENALISING = (
    torch.optim.SGD,
    torch.optim.Adam,
    torch.optim.Adagrad,
    torch.optim.Adadelta,
    torch.optim.Adamax,
    torch.optim.ASGD,
    torch.optim.NAdam,
    torch.optim.RAdam,
    torch.optim.RMSprop,
)
# The methods of a net that take part in training. Overridden, they may minimise another
# loss, or train on other records.
_TRAINING_METHODS = (
    "fit",
    "partial_fit",
    "fit_loop",
    "get_dataset",
    "get_split_datasets",
    "get_iterator",
    "run_single_epoch",
    "train_step",
    "train_step_single",
    "get_train_step_accumulator",
    "_step_optimizer",
    "_zero_grad_optimizer",
    "_set_training",
    "infer",
    "_merge_x_and_fit_params",
    "get_loss",
    "check_data",
    "notify",
    "on_train_begin",
    "on_train_end",
    "on_epoch_begin",
    "on_epoch_end",
    "on_batch_begin",
    "on_batch_end",
    "on_grad_computed",
)
_EMBEDDINGS = (torch.nn.Embedding, torch.nn.EmbeddingBag)


class SkorchReader(Reader):
    """Read nets of skorch."""

    def check(self):
        """Raise unless the net and its criterion are supported."""
        check_net(self.model)

    def held_out_remedy(self):
        """Return the parameter with which all rows are trained on; None if they are."""
        holds_out = isinstance(self.model.train_split, ValidSplit)
        return "train_split=None" if holds_out else None

    def needs_all_records(self):
        """Tell whether a sampler knows the records by their positions."""
        return draws_by_position(self.model)

    def training_weights(self, n_records):
        """Return the weights that a sampler gives to the records."""
        return epoch_of(self.model, n_records).weights

    def rows(self, X):
        """Return rows in the dtype of the net, or as int64 if it has an embedding."""
        if isinstance(X, Mapping) and not sp.issparse(X):
            raise TypeError(
                f"X is a {type(X).__name__} of several inputs; for a network it must "
                "be one array."
            )
        X = check_array(X, dtype=None, allow_nd=True, input_name="X")
        # torch warns about arrays that are not writable, such as those of a frame.
        X = X if X.flags.writeable else X.copy()
        if X.dtype.kind in "biu" and embeds(self.model):
            return X.astype(np.int64)
        dtype = net_dtype(self.model)
        return check_array(X, dtype=dtype, allow_nd=True, input_name="X")

    def targets(self, y, *, frozen):
        """Learn which outputs labels belong to; see `number_outputs`."""
        net = self.model
        if not is_classifier(net):
            return TargetColumns.of(y, net_dtype(net))
        check_labels_of_classifier(y)
        binary = isinstance(criterion_of(net), BCEWithLogitsLoss)
        dtype = net_dtype(net) if binary else np.dtype(np.int64)
        classes, numbers = number_outputs(
            np.unique(y),
            given=getattr(net, "classes", None),
            fitted=getattr(net, "classes_", []) if frozen else None,
            binary=binary,
        )
        return OutputNumbers(classes, numbers, dtype)

    def fitted_targets(self, targets):
        """Return the targets as learned: the net was fitted on the numbers of all."""
        return targets

    def network(self, n_records, device="auto", *, sample_weight=None):
        """Read the fitted net."""
        self.check()
        module = read_module(self.model)
        device = choose_device(device, module)
        decay = read_weight_decay(self.model, n_records, sample_weight)
        trained = {name for name, p in module.named_parameters() if p.requires_grad}
        if getattr(self.model, "optimizer_", None) is not None:
            trained &= decay.keys()
        return Network(
            module=copy_for_evaluation(module, device),
            loss=read_loss(self.model, device),
            weight_decay={
                name: decay.get(name, 0.0) for name, _ in module.named_parameters()
            },
            trainable=frozenset(trained),
            device=device,
            half_sample_damping=_half_sample_damping(self.model, n_records),
        )

    @staticmethod
    def fit(estimator, X, y, sample_weight):
        """Fit an estimator that ends in a net, with weights, which skorch lacks."""
        net = parts_of(estimator).model
        with weighted_training(net, SkorchReader(net).rows, sample_weight):
            return estimator.fit(X, y)


def criterion_of(net):
    """Return the criterion of a net, or the one that it would be fitted with."""
    if net.initialized_:
        return _uncompiled(net.criterion_)
    return net.initialized_instance(net.criterion, net.get_params_for("criterion"))


def net_dtype(net):
    """Return the numpy dtype that a net computes in, or would after initialization."""
    own = (p.dtype for p in _module_of(net).parameters() if p.is_floating_point())
    dtype = next(own, torch.get_default_dtype())
    try:
        return torch.empty(0, dtype=dtype).numpy().dtype
    except TypeError:
        raise TypeError(
            f"estimator's network computes in {dtype}, which numpy does not have; its "
            "parameters must be torch.float32 or torch.float64."
        ) from None


def embeds(net):
    """Tell whether a net has an embedding, whose inputs are integers."""
    return any(isinstance(part, _EMBEDDINGS) for part in _module_of(net).modules())


def _module_of(net):
    """Return the module of a net, or one that it would be fitted with."""
    if net.initialized_:
        return net.module_
    with torch.random.fork_rng(devices=[]):
        return net.initialized_instance(net.module, net.get_params_for("module"))


def check_net(net):
    """Raise unless a net and its criterion are supported.

    Parameters
    ----------
    net : skorch.NeuralNet

    Raises
    ------
    TypeError
        If the net or its criterion is not supported.
    ValueError
        If a parameter of the criterion is not supported.
    """
    kinds = [kind for kind in _CRITERIA if isinstance(net, kind)]
    if not kinds:
        raise TypeError(
            f"estimator ends in a {type(net).__name__}; supported skorch nets are "
            f"{_names(_CRITERIA)}, and subclasses of them."
        )
    criterion = criterion_of(net)
    if criterion is None:
        raise ValueError(
            "estimator ends in a net that was trimmed for prediction, which removed "
            "its criterion and its optimizer; it must not be trimmed."
        )
    _check_training(net)
    check_draws(net)
    supported = _CRITERIA[kinds[0]]
    if type(criterion) not in supported:
        raise TypeError(
            f"estimator ends in a {type(net).__name__} with criterion "
            f"{type(criterion).__name__}; supported are {_names(supported)}."
        )
    _check_parameters(criterion)


def _check_training(net):
    """Raise a TypeError if a net overrides a method that takes part in training."""
    for method in _TRAINING_METHODS:
        own = getattr(type(net), method, None)
        if own is None:  # in another version of skorch
            continue
        if method in vars(net) or not own.__module__.startswith("skorch."):
            raise TypeError(
                f"estimator ends in a {type(net).__name__} that overrides {method}, "
                "which may change the loss or the records that it is trained on; only "
                "skorch's own is supported."
            )


def _check_parameters(criterion):
    name = type(criterion).__name__
    if criterion.reduction not in ("mean", "sum"):
        raise ValueError(
            f"estimator's {name} has reduction={criterion.reduction!r}; it must be "
            "'mean' or 'sum'."
        )
    ignored = getattr(criterion, "ignore_index", -1)
    if ignored >= 0:
        raise ValueError(
            f"estimator's {name} has ignore_index={ignored}, but a record whose label "
            "is ignored has no leverage; it must be negative."
        )
    weight = getattr(criterion, "weight", None)
    if weight is not None and getattr(criterion, "label_smoothing", 0) > 0:
        raise ValueError(
            f"estimator's {name} has both weight and label_smoothing; only one of "
            "them may be used."
        )
    if weight is not None and isinstance(criterion, BCEWithLogitsLoss):
        raise ValueError(
            f"estimator's {name} has weight, which applies to the records of one "
            "batch; only pos_weight is supported."
        )
    pos_weight = getattr(criterion, "pos_weight", None)
    if pos_weight is not None and pos_weight.numel() != 1:
        raise ValueError(
            f"estimator's {name} has pos_weight for {pos_weight.numel()} outputs; it "
            "must have one value."
        )


def read_loss(net, device):
    """Return the loss that a fitted net minimises, one of `_losses`."""
    criterion = criterion_of(net)
    return _LOSSES[type(criterion)](criterion, net, device)


def _read_cross_entropy(criterion, net, device):
    return SoftmaxLoss(
        _class_weight(criterion, device),
        label_smoothing=criterion.label_smoothing,
        weighted_mean=criterion.reduction == "mean",
    )


def _read_negative_log_likelihood(criterion, net, device):
    return SoftmaxLoss(
        _class_weight(criterion, device),
        # skorch adds this to the probabilities before it takes the logarithm.
        log_eps=float(np.finfo(net_dtype(net)).eps),
        weighted_mean=criterion.reduction == "mean",
    )


def _class_weight(criterion, device):
    weight = criterion.weight
    return None if weight is None else weight.detach().to(device, torch.float64)


def _read_binary_cross_entropy(criterion, net, device):
    pos_weight = criterion.pos_weight
    return LogisticLoss(1.0 if pos_weight is None else float(pos_weight))


def _read_squared_error(criterion, net, device):
    return SquaredLoss(over_outputs=criterion.reduction)


_LOSSES = {
    CrossEntropyLoss: _read_cross_entropy,
    NLLLoss: _read_negative_log_likelihood,
    BCEWithLogitsLoss: _read_binary_cross_entropy,
    MSELoss: _read_squared_error,
}


def read_module(net):
    """Return the module of a net, without the wrapper of `torch.compile`."""
    return _uncompiled(net.module_)


def read_weight_decay(net, n_records, sample_weight=None):
    """Return the penalty on each parameter that a net's optimizer updates.

    Parameters
    ----------
    net : skorch.NeuralNet
        Fitted.
    n_records : int
        Number of records that it was trained on.
    sample_weight : ndarray of shape (n_records,), default=None
        Their weights; None means 1 each.

    Returns
    -------
    weight_decay : dict of str to float
        For each parameter by name, the λ of the penalty λ ‖θ‖²/2 that is added to the
        mean loss; 0 if the decay is not a penalty, as in AdamW.
    """
    names = {id(p): name for name, p in read_module(net).named_parameters()}
    optimizer = getattr(net, "optimizer_", None)
    if optimizer is None:
        return dict.fromkeys(names.values(), 0.0)
    scale = 1.0
    if criterion_of(net).reduction == "sum":
        draws, n_batches = epoch_of(net, n_records)
        drawn = draws if sample_weight is None else draws * sample_weight
        scale = n_batches / float(drawn.sum())
    penalising = isinstance(optimizer, _PENALISING)
    return {
        names[id(p)]: scale * float(group.get("weight_decay", 0)) * _is_coupled(group)
        if penalising
        else 0.0
        for group in optimizer.param_groups
        for p in group["params"]
        if id(p) in names
    }


def _half_sample_damping(net, n_records):
    """Return how much larger the penalty is if half of the records are trained on.

    It is 1 on the mean loss. Next to a sum over each batch it is 2 where one batch
    holds all records, and about 1 where there are many batches.
    """
    if criterion_of(net).reduction == "mean":
        return 1.0
    _, n_batches = epoch_of(net, n_records)
    return 2 * math.ceil(n_batches / 2) / n_batches


def _is_coupled(group):
    return not group.get("decoupled_weight_decay", False)


def _uncompiled(module):
    return getattr(module, "_orig_mod", module)


def _names(kinds):
    return ", ".join(kind.__name__ for kind in kinds)
