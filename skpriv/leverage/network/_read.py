"""Read a network: its module, its loss, and the penalty of its parameters."""

import copy
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.utils import check_array, gen_batches
from skorch.dataset import ValidSplit

from skpriv.leverage.network import _skorch
from skpriv.leverage.network._losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from skpriv.leverage.network._mlp import module_of

_LARGEST_AUTOMATIC_BATCH = 200


@dataclass(frozen=True, eq=False)
class Network:
    """A fitted network, as the computation of its curvature sees it.

    Attributes
    ----------
    module : torch.nn.Module
        A copy in double precision, in evaluation mode, that asks for no gradients.
    loss : SoftmaxLoss, LogisticLoss or SquaredLoss
    weight_decay : dict of str to float
        λ of the penalty λ ‖θ‖²/2 next to the mean loss, of each parameter by name.
    trainable : frozenset of str
        Names of the parameters that were trained.
    device : torch.device
    decay_of_half : float, default=1
        How many times larger λ is, next to the mean loss, when half of the records are
        trained on: 2 where it does not depend on their number next to the sum.
    """

    module: torch.nn.Module
    loss: SoftmaxLoss | LogisticLoss | SquaredLoss
    weight_decay: dict
    trainable: frozenset
    device: torch.device
    decay_of_half: float = 1.0

    def inputs(self, X):
        """Return rows as the module takes them.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n, ...)

        Returns
        -------
        inputs : tensor of shape (n, ...)
            On the device: integers as int64, all else as float64.
        """
        X = X.toarray() if sp.issparse(X) else np.asarray(X)
        dtype = torch.int64 if X.dtype.kind in "biu" else torch.float64
        return self._tensor(X, dtype)

    def codes(self, codes):
        """Return the codes of labels, or targets, as a tensor on the device.

        Parameters
        ----------
        codes : ndarray of shape (n,), dtype int64, or (n, m), dtype float64

        Returns
        -------
        codes : tensor of the same shape and dtype
        """
        return self._tensor(codes, torch.from_numpy(codes[:0]).dtype)

    def _tensor(self, values, dtype):
        return torch.tensor(values, dtype=dtype, device=self.device)

    def check(self, inputs, codes):
        """Raise a ValueError unless the module's outputs and the labels fit.

        Parameters
        ----------
        inputs : tensor
            Of a few records.
        codes : tensor
            Of these or more records.
        """
        with torch.no_grad():
            # Copies, lest a module writes on them.
            outputs = self.module(inputs.clone())
            if not isinstance(outputs, torch.Tensor):
                raise TypeError(
                    f"estimator's network returns a {type(outputs).__name__}; it wants "
                    "one tensor."
                )
            alone = self._outputs_alone(inputs)
        self.loss.check(outputs, codes)
        if outputs.isnan().any() or self._has_nan():
            raise ValueError(
                "estimator's network has parameters or outputs that are NaN: its "
                "training has diverged."
            )
        if alone is None or not torch.allclose(alone, outputs, rtol=1e-6, atol=1e-9):
            raise ValueError(
                "estimator's network gives a record other outputs in another batch; "
                "every record wants outputs of its own (batch norms want "
                "track_running_stats=True)."
            )

    def _outputs_alone(self, inputs):
        """Return the outputs of records in batches of one; None if there are none."""
        try:
            return torch.cat([self.module(x[None].clone()) for x in inputs])
        except (RuntimeError, ValueError):
            return None

    def _has_nan(self):
        return any(p.isnan().any() for p in self.module.parameters())


def check_network(model):
    """Raise unless what a network minimises is understood.

    Parameters
    ----------
    model : skorch.NeuralNet, MLPClassifier or MLPRegressor

    Raises
    ------
    TypeError
        If the network, or its loss, is none of those supported.
    ValueError
        If the loss has parameters that are not supported.
    """
    if not is_perceptron(model):
        _skorch.check_net(model)
    elif isinstance(model, MLPRegressor) and model.loss != "squared_error":
        raise TypeError(
            f"estimator is an MLPRegressor with loss={model.loss!r}; supported is "
            "'squared_error'."
        )


def warn_of_held_out(model):
    """Warn if a network's training leaves out some of the records it is given.

    Parameters
    ----------
    model : skorch.NeuralNet, MLPClassifier or MLPRegressor
    """
    if is_perceptron(model):
        held_out = model.early_stopping and model.solver != "lbfgs"
        mend = "early_stopping=False"
    else:
        held_out = isinstance(model.train_split, ValidSplit)
        mend = "train_split=None"
    if held_out:
        warnings.warn(
            f"estimator's {type(model).__name__} holds a part of the records out of "
            f"training, whose scores mean nothing; it wants {mend}.",
            stacklevel=3,
        )


def rows_for(model, X):
    """Return rows as a network's ``fit`` takes them.

    A skorch net with an embedding is given integers as int64; all other numbers are
    converted to the type that the net computes in.

    Parameters
    ----------
    model : skorch.NeuralNet, MLPClassifier or MLPRegressor
    X : {array-like, sparse matrix, DataFrame} of shape (n, ...)
        Sparse for scikit-learn's perceptrons only.

    Returns
    -------
    X : {ndarray, sparse matrix} of shape (n, ...)

    Raises
    ------
    TypeError
        If the rows are sparse, or several inputs by name, for a skorch net.
    """
    if is_perceptron(model):
        return check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    if isinstance(X, Mapping) and not sp.issparse(X):
        raise TypeError(
            f"X is a {type(X).__name__} of several inputs; a network wants one array."
        )
    X = check_array(X, dtype=None, allow_nd=True, input_name="X")
    # torch warns of arrays that may not be written to, such as those of a frame.
    X = X if X.flags.writeable else X.copy()
    if X.dtype.kind in "biu" and _skorch.embeds(model):
        return X.astype(np.int64)
    return check_array(X, dtype=_skorch.net_dtype(model), allow_nd=True, input_name="X")


def read_network(model, n_records, device="auto", *, sample_weight=None):
    """Read a fitted network.

    Parameters
    ----------
    model : skorch.NeuralNet, MLPClassifier or MLPRegressor
        Fitted.
    n_records : int
        Number of records that it was fitted on.
    device : str, default="auto"
        Where to compute; "auto": where the parameters of the network are.
    sample_weight : ndarray of shape (n_records,), default=None
        Weights that it was fitted with; None: all 1.

    Returns
    -------
    network : Network

    Raises
    ------
    TypeError, ValueError
        As of `check_network`; and if the device is not there.
    """
    check_network(model)
    if is_perceptron(model):
        return _read_perceptron(model, n_records, device, sample_weight)
    module = _skorch.read_module(model)
    device = _device(device, module)
    weight_decay = _skorch.read_weight_decay(model, n_records, sample_weight)
    trained = {name for name, p in module.named_parameters() if p.requires_grad}
    if getattr(model, "optimizer_", None) is not None:
        trained &= weight_decay.keys()
    return Network(
        module=_copy(module, device),
        loss=_skorch.read_loss(model, device),
        weight_decay={
            name: weight_decay.get(name, 0.0) for name, _ in module.named_parameters()
        },
        trainable=frozenset(trained),
        device=device,
    )


def _read_perceptron(mlp, n_records, device, sample_weight):
    module = module_of(mlp)
    device = _device(device, module)
    decay = _alpha_next_to_the_mean(mlp, n_records, sample_weight)
    names = [name for name, _ in module.named_parameters()]
    return Network(
        module=_copy(module, device),
        loss=_perceptron_loss(mlp),
        weight_decay={name: decay * name.endswith("weight") for name in names},
        trainable=frozenset(names),
        device=device,
        decay_of_half=2.0 if mlp.solver == "lbfgs" else 1.0,
    )


def _perceptron_loss(mlp):
    if isinstance(mlp, MLPRegressor):
        # The loss that is reported is the mean over outputs, but the gradient that is
        # descended is that of the sum.
        return SquaredLoss(0.5, over_outputs="sum", weighted_mean=True)
    if mlp.out_activation_ == "softmax":
        return SoftmaxLoss()
    if mlp.n_outputs_ > 1:
        raise ValueError(
            f"estimator is an MLPClassifier of {mlp.n_outputs_} labels a record; score "
            "each label of a multilabel problem by itself."
        )
    return LogisticLoss(weighted_mean=True)


def _alpha_next_to_the_mean(mlp, n_records, sample_weight):
    """Return λ where scikit-learn divides alpha by the weight of a batch, not of all.

    In an epoch each batch has the same part, the last and smallest too.
    """
    if mlp.solver == "lbfgs":
        sizes = [n_records]
    else:
        if mlp.early_stopping:
            n_records -= int(np.ceil(mlp.validation_fraction * n_records))
        size = mlp.batch_size
        if size == "auto":
            size = _LARGEST_AUTOMATIC_BATCH
        sizes = [b.stop - b.start for b in gen_batches(n_records, size)]
    weight = 1.0 if sample_weight is None else float(np.mean(sample_weight))
    return mlp.alpha * float(np.mean(1 / np.array(sizes))) / weight


def _device(device, module):
    own = next((p.device for p in module.parameters()), torch.device("cpu"))
    if device == "auto":
        return own
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"device={device!r} is not there: {str(error).splitlines()[0]}"
        ) from None
    return chosen


def _copy(module, device):
    module = copy.deepcopy(module).to(device=device, dtype=torch.float64)
    return module.eval().requires_grad_(False)


def is_perceptron(model):
    """Tell whether a network is scikit-learn's."""
    return isinstance(model, MLPClassifier | MLPRegressor)
