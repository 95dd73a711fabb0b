"""A network as the computation of its sensitivities sees it: module, loss, penalty."""

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch.overrides import TorchFunctionMode

from skpriv.leverage.network._losses import LogisticLoss, SoftmaxLoss, SquaredLoss

_HALF = (torch.float16, torch.bfloat16)


@dataclass(frozen=True, eq=False)
class Network:
    """A fitted network.

    Attributes
    ----------
    module : torch.nn.Module
        A copy in double precision and in evaluation mode, whose parameters require no
        gradients.
    loss : SoftmaxLoss, LogisticLoss or SquaredLoss
    weight_decay : dict of str to float
        For each parameter by name, the λ of the penalty λ ‖θ‖²/2 that is added to the
        mean loss.
    trainable : frozenset of str
        Names of the parameters that were trained.
    device : torch.device
        The device of the module.
    half_sample_damping : float, default=1
        Factor on λ when only half of the records are trained on: 2 if the penalty is
        added to the sum of the losses, and hence does not depend on their number.
    """

    module: torch.nn.Module
    loss: SoftmaxLoss | LogisticLoss | SquaredLoss
    weight_decay: dict
    trainable: frozenset
    device: torch.device
    half_sample_damping: float = 1.0

    def inputs(self, X):
        """Return rows in the form that the module takes.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n, ...)

        Returns
        -------
        inputs : Tensor of shape (n, ...)
            On the device of the module: integers as int64, all else as float64.
        """
        X = X.toarray() if sp.issparse(X) else np.asarray(X)
        dtype = torch.int64 if X.dtype.kind in "biu" else torch.float64
        return torch.tensor(X, dtype=dtype, device=self.device)

    def tensor(self, values):
        """Return an array as a tensor of the same dtype on the device of the module."""
        return torch.as_tensor(values, device=self.device)

    def logits(self, outputs):
        """Return the outputs of the module as logits, in double precision.

        A module may end with a conversion to single precision.
        """
        return self.loss.logits(outputs.double())

    def check(self, inputs, codes):
        """Raise unless the outputs of the module are valid and match the labels.

        Parameters
        ----------
        inputs : Tensor
            Of a few records.
        codes : Tensor
            Of these or more records.

        Raises
        ------
        TypeError
            If the module returns no single tensor.
        ValueError
            If the module cannot be evaluated in double precision, or its outputs do
            not match the labels, are NaN, or depend on the other records in the batch.
        """
        with torch.no_grad():
            # Copies, in case a module writes to its inputs in place.
            outputs = self._evaluate(inputs.clone())
            if not isinstance(outputs, torch.Tensor):
                raise TypeError(
                    "the module of estimator's network must return a single tensor, "
                    f"but it returns a {type(outputs).__name__}."
                )
            alone = self._outputs_alone(inputs)
        if outputs.dtype not in (torch.float64, torch.float32):
            raise ValueError(
                f"estimator's network returns outputs in {outputs.dtype}, which is not "
                "precise enough for scores; its forward must not convert to it."
            )
        self.loss.check(outputs, codes)
        if outputs.isnan().any() or self._has_nan():
            raise ValueError(
                "estimator's network has parameters or outputs that are NaN: its "
                "training has diverged."
            )
        if alone is None or not torch.allclose(alone, outputs, rtol=1e-6, atol=1e-9):
            raise ValueError(
                "the outputs of estimator's network for a record must not depend on "
                "the other records in the batch (batch norms must have "
                "track_running_stats=True)."
            )

    def _evaluate(self, inputs):
        watch = _HalfPrecision()
        try:
            with watch:
                outputs = self.module(inputs)
        except RuntimeError as error:
            if "dtype" not in str(error) and "type" not in str(error):
                raise
            raise ValueError(
                "estimator's network must be able to compute in double precision, in "
                "which it is scored; its forward must not convert to another dtype "
                f"({str(error).splitlines()[0]})."
            ) from error
        if watch.found and getattr(outputs, "dtype", None) not in _HALF:
            raise ValueError(
                f"estimator's network computes in {watch.found} in its forward, which "
                "is not precise enough for scores; it must not convert to it."
            )
        return outputs

    def _has_nan(self):
        return any(p.isnan().any() for p in self.module.parameters())

    def _outputs_alone(self, inputs):
        """Return the outputs in batches of one record; None if the module fails."""
        try:
            return torch.cat([self.module(x[None].clone()) for x in inputs])
        except (RuntimeError, ValueError):
            return None


class Reader(ABC):
    """Read the networks of one library, and fit them.

    Parameters
    ----------
    model : estimator
        The network, fitted or not.
    """

    def __init__(self, model):
        self.model = model

    @abstractmethod
    def check(self):
        """Raise unless the network and its loss are supported.

        Raises
        ------
        TypeError
            If the network or its loss is not supported.
        ValueError
            If a parameter of the loss is not supported.
        """

    @abstractmethod
    def held_out_remedy(self):
        """Return the parameter with which all rows are trained on; None if they are.

        Returns
        -------
        remedy : str or None
            Such as ``"early_stopping=False"``.
        """

    def needs_all_records(self):
        """Tell whether the network can be trained on all records only.

        Returns
        -------
        needed : bool
            True if what draws records knows them by their positions among all.
        """
        return False

    def training_weights(self, n_records):
        """Return the weights that training gives to records by the way it draws them.

        Parameters
        ----------
        n_records : int
            Number of records that the network was fitted on.

        Returns
        -------
        weights : ndarray of shape (n_records,)
            With mean 1 among those that are drawn at all, and 0 for the others.

        Raises
        ------
        ValueError
            If the network cannot have been trained on this number of records.
        """
        return np.ones(n_records)

    @abstractmethod
    def rows(self, X):
        """Return rows in the form that ``fit`` takes.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n, ...)

        Returns
        -------
        X : {ndarray, sparse matrix} of shape (n, ...)

        Raises
        ------
        TypeError
            If the network does not support such rows.
        """

    @abstractmethod
    def targets(self, y, *, frozen):
        """Learn which outputs labels belong to, from those of the training records.

        Parameters
        ----------
        y : ndarray of shape (n,) or (n, n_outputs)
        frozen : bool
            Whether the network is fitted already, and is not fitted again.

        Returns
        -------
        targets : TargetColumns or OutputNumbers

        Raises
        ------
        ValueError
            If there are several labels per record for a classifier, or labels that
            the network does not support.
        """

    @abstractmethod
    def fitted_targets(self, targets):
        """Return the targets of the fitted network.

        Parameters
        ----------
        targets : TargetColumns or OutputNumbers
            As learned from all records; the network may be fitted on a part of them.

        Returns
        -------
        targets : TargetColumns or OutputNumbers
        """

    @abstractmethod
    def network(self, n_records, device="auto", *, sample_weight=None):
        """Read the fitted network.

        Parameters
        ----------
        n_records : int
            Number of records that it was fitted on.
        device : str, default="auto"
            Where to compute; "auto" is the device of its parameters.
        sample_weight : ndarray of shape (n_records,), default=None
            The weights that were passed to its ``fit``; None means 1 each.

        Returns
        -------
        network : Network

        Raises
        ------
        TypeError, ValueError
            As in `check`, and a ValueError if the device is not available.
        """

    @staticmethod
    @abstractmethod
    def fit(estimator, X, y, sample_weight):
        """Fit an estimator that ends in a network.

        Parameters
        ----------
        estimator : estimator
            A network, or a Pipeline that ends in one. Changed in place.
        X : array-like
        y : ndarray
            In the form of ``targets(y).for_fit(y)``.
        sample_weight : ndarray of shape (n_records,) or None

        Returns
        -------
        estimator : estimator
        """


def choose_device(device, module):
    """Return the device to compute on.

    Parameters
    ----------
    device : str
        "auto" is the device of the module's parameters.
    module : torch.nn.Module

    Returns
    -------
    device : torch.device

    Raises
    ------
    ValueError
        If the device is not available.
    """
    if device == "auto":
        return next((p.device for p in module.parameters()), torch.device("cpu"))
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"device={device!r} is not available: {str(error).splitlines()[0]}"
        ) from None
    return chosen


def copy_for_evaluation(module, device):
    """Copy a module in double precision and evaluation mode, without gradients."""
    module = copy.deepcopy(module).to(device=device, dtype=torch.float64)
    return module.eval().requires_grad_(False)


class _HalfPrecision(TorchFunctionMode):
    """Note whether anything is computed in half precision.

    Attributes
    ----------
    found : torch.dtype or None
    """

    def __init__(self):
        super().__init__()
        self.found = None

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.dtype in _HALF:
            self.found = result.dtype
        return result
