"""What a skorch net minimises: its criterion, and its optimiser's weight decay."""

import math

import numpy as np
import torch
from skorch import NeuralNetBinaryClassifier, NeuralNetClassifier, NeuralNetRegressor
from torch.nn import BCEWithLogitsLoss, CrossEntropyLoss, MSELoss, NLLLoss

from skpriv.leverage.network._losses import LogisticLoss, SoftmaxLoss, SquaredLoss

_CRITERIA = {
    NeuralNetClassifier: (CrossEntropyLoss, NLLLoss, BCEWithLogitsLoss),
    NeuralNetBinaryClassifier: (BCEWithLogitsLoss,),
    NeuralNetRegressor: (MSELoss,),
}
# These add the decay to the gradient, so that they minimise loss and penalty together.
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
_EMBEDDINGS = (torch.nn.Embedding, torch.nn.EmbeddingBag)


def criterion_of(net):
    """Return the criterion of a net, or the one that it will be fitted with."""
    if net.initialized_:
        return _uncompiled(net.criterion_)
    return net.initialized_instance(net.criterion, net.get_params_for("criterion"))


def net_dtype(net):
    """Return the numpy dtype that a net computes in, or will once it is built."""
    module = getattr(net, "module_", net.module)
    parameters = module.parameters() if isinstance(module, torch.nn.Module) else ()
    own = (p.dtype for p in parameters if p.is_floating_point())
    dtype = next(own, torch.get_default_dtype())
    try:
        return torch.empty(0, dtype=dtype).numpy().dtype
    except TypeError:
        raise TypeError(
            f"estimator's network computes in {dtype}, which numpy has not; it wants "
            "torch.float32 or torch.float64."
        ) from None


def embeds(net):
    """Tell whether a net has an embedding, which takes integers."""
    if net.initialized_:
        module = net.module_
    else:
        with torch.random.fork_rng(devices=[]):
            module = net.initialized_instance(net.module, net.get_params_for("module"))
    return any(isinstance(part, _EMBEDDINGS) for part in module.modules())


def check_net(net):
    """Raise unless what a net minimises is understood.

    Parameters
    ----------
    net : skorch.NeuralNet

    Raises
    ------
    TypeError
        If the net, or its criterion, is none of those supported.
    ValueError
        If the criterion has parameters that are not supported.
    """
    kinds = [kind for kind in _CRITERIA if isinstance(net, kind)]
    if not kinds:
        raise TypeError(
            f"estimator ends in a {type(net).__name__}; supported skorch nets are "
            f"{_names(_CRITERIA)}, and subclasses of them."
        )
    for method in ("get_loss", "infer"):
        if not getattr(type(net), method).__module__.startswith("skorch."):
            raise TypeError(
                f"estimator ends in a {type(net).__name__}, whose own {method} may "
                "change what it minimises; only skorch's is supported."
            )
    criterion = criterion_of(net)
    if criterion is None:
        raise ValueError(
            "estimator ends in a net that was trimmed for prediction, whose criterion "
            "and weight decay are not known any more."
        )
    supported = _CRITERIA[kinds[0]]
    if type(criterion) not in supported:
        raise TypeError(
            f"estimator ends in a {type(net).__name__} with criterion "
            f"{type(criterion).__name__}; supported are {_names(supported)}."
        )
    _check_parameters(criterion)


def _check_parameters(criterion):
    name = type(criterion).__name__
    if criterion.reduction not in ("mean", "sum"):
        raise ValueError(
            f"estimator's {name} has reduction={criterion.reduction!r}; it wants "
            "'mean' or 'sum'."
        )
    ignored = getattr(criterion, "ignore_index", -1)
    if ignored >= 0:
        raise ValueError(
            f"estimator's {name} has ignore_index={ignored}, but a record whose label "
            "is ignored has no leverage; it wants a negative number."
        )
    weight = getattr(criterion, "weight", None)
    if weight is not None and getattr(criterion, "label_smoothing", 0) > 0:
        raise ValueError(
            f"estimator's {name} has both weight and label_smoothing; only one of "
            "them is supported."
        )
    if weight is not None and isinstance(criterion, BCEWithLogitsLoss):
        raise ValueError(
            f"estimator's {name} has weight, which belongs to the records of one "
            "batch; pos_weight is supported."
        )
    pos_weight = getattr(criterion, "pos_weight", None)
    if pos_weight is not None and pos_weight.numel() != 1:
        raise ValueError(
            f"estimator's {name} has a pos_weight for each of {pos_weight.numel()} "
            "outputs; one is supported."
        )


def read_loss(net, device):
    """Return the loss that a fitted net minimises, one of `_criteria`."""
    criterion = criterion_of(net)
    mean = criterion.reduction == "mean"
    if isinstance(criterion, MSELoss):
        return SquaredLoss(over_outputs=criterion.reduction)
    if isinstance(criterion, BCEWithLogitsLoss):
        pos_weight = criterion.pos_weight
        return LogisticLoss(1.0 if pos_weight is None else float(pos_weight))
    weight = criterion.weight
    if weight is not None:
        weight = weight.detach().to(device, torch.float64)
    if isinstance(criterion, CrossEntropyLoss):
        smoothing = criterion.label_smoothing
        return SoftmaxLoss(weight, label_smoothing=smoothing, weighted_mean=mean)
    # skorch adds this before it takes the logarithm.
    eps = float(np.finfo(net_dtype(net)).eps)
    return SoftmaxLoss(weight, log_eps=eps, weighted_mean=mean)


def read_module(net):
    """Return a net's own module, what `torch.compile` made of it aside."""
    return _uncompiled(net.module_)


def read_weight_decay(net, n_records, sample_weight=None):
    """Return the penalty of each parameter that a net's optimiser updates.

    Parameters
    ----------
    net : skorch.NeuralNet
        Fitted.
    n_records : int
        Number of records that it was trained on.
    sample_weight : ndarray of shape (n_records,), default=None
        Their weights; None: all 1.

    Returns
    -------
    weight_decay : dict of str to float
        λ of a penalty λ ‖θ‖²/2 next to the mean loss, by the names of the parameters;
        0 where the decay is no penalty, as in AdamW.
    """
    names = {id(p): name for name, p in read_module(net).named_parameters()}
    optimizer = getattr(net, "optimizer_", None)
    if optimizer is None:
        return dict.fromkeys(names.values(), 0.0)
    scale = 1.0
    if criterion_of(net).reduction == "sum":
        total = n_records if sample_weight is None else sample_weight.sum()
        scale = _batches_an_epoch(net, n_records) / float(total)
    penalising = isinstance(optimizer, _PENALISING)
    return {
        names[id(p)]: scale * float(group.get("weight_decay", 0)) * _couples(group)
        if penalising
        else 0.0
        for group in optimizer.param_groups
        for p in group["params"]
        if id(p) in names
    }


def _couples(group):
    return not group.get("decoupled_weight_decay", False)


def _batches_an_epoch(net, n_records):
    parameters = net.get_params_for("iterator_train")
    size = parameters.get("batch_size", net.batch_size)
    if size == -1:
        return 1
    if parameters.get("drop_last", False):
        return n_records / size
    return math.ceil(n_records / size)


def _uncompiled(module):
    return getattr(module, "_orig_mod", module)


def _names(kinds):
    return ", ".join(kind.__name__ for kind in kinds)
