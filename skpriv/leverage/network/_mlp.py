"""Read scikit-learn's multi-layer perceptrons: their module, loss and penalty."""

import numpy as np
import torch
from sklearn.base import is_classifier
from sklearn.utils import check_array, gen_batches
from sklearn.utils.multiclass import check_classification_targets

from skpriv.leverage.network._losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from skpriv.leverage.network._read import Network, choose_device, copy_for_evaluation
from skpriv.leverage.network._targets import (
    OutputNumbers,
    TargetColumns,
    check_one_label_per_record,
)
from skpriv.utils._pipelines import fit_params_of_last_step

_ACTIVATIONS = {
    "identity": torch.nn.Identity,
    "logistic": torch.nn.Sigmoid,
    "relu": torch.nn.ReLU,
    "tanh": torch.nn.Tanh,
}
# scikit-learn's batch_size="auto" is this, or the number of records if that is less.
_LARGEST_AUTOMATIC_BATCH = 200


class PerceptronReader:
    """Read a multi-layer perceptron.

    Parameters
    ----------
    mlp : MLPClassifier or MLPRegressor
        Fitted or not.
    """

    def __init__(self, mlp):
        self.mlp = mlp

    def check(self):
        """Raise a TypeError unless the loss of the perceptron is supported."""
        if not is_classifier(self.mlp) and self.mlp.loss != "squared_error":
            raise TypeError(
                f"estimator is an MLPRegressor with loss={self.mlp.loss!r}; it must be "
                "'squared_error'."
            )

    def held_out_remedy(self):
        """Return the parameter that makes it train on all rows; None if it does."""
        holds_out = self.mlp.early_stopping and self.mlp.solver != "lbfgs"
        return "early_stopping=False" if holds_out else None

    def rows(self, X):
        """Return rows in the form that ``fit`` takes: an array, dense or sparse."""
        return check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])

    def targets(self, y, *, frozen):
        """Learn the outputs of labels, which the perceptron numbers itself.

        Parameters
        ----------
        y : ndarray of shape (n,) or (n, n_outputs)
        frozen : bool
            Whether the perceptron is fitted already, and is not fitted again.

        Returns
        -------
        targets : TargetColumns or OutputNumbers

        Raises
        ------
        ValueError
            If there are several labels per record for a classifier.
        """
        if not is_classifier(self.mlp):
            return TargetColumns.of(y)
        check_one_label_per_record(y)
        check_classification_targets(y)
        return OutputNumbers(self.mlp.classes_ if frozen else np.unique(y))

    def fitted_targets(self, targets):
        """Return the targets of the fitted perceptron, which may lack some labels."""
        if not is_classifier(self.mlp):
            return targets
        return OutputNumbers(self.mlp.classes_)

    def network(self, n_records, device="auto", *, sample_weight=None):
        """Read the fitted perceptron.

        Parameters
        ----------
        n_records : int
            Number of records that it was fitted on.
        device : str, default="auto"
            Where to compute; "auto" is the CPU.
        sample_weight : ndarray of shape (n_records,), default=None
            The weights that it was fitted with; None means 1 each.

        Returns
        -------
        network : Network

        Raises
        ------
        TypeError, ValueError
            As in `check`, and a ValueError if it was fitted on several labels per
            record, or the device is not available.
        """
        self.check()
        module = module_of(self.mlp)
        device = choose_device(device, module)
        decay = _alpha_of_mean_loss(self.mlp, n_records, sample_weight)
        names = [name for name, _ in module.named_parameters()]
        return Network(
            module=copy_for_evaluation(module, device),
            loss=_read_loss(self.mlp),
            weight_decay={name: decay * name.endswith("weight") for name in names},
            trainable=frozenset(names),
            device=device,
            half_sample_damping=2.0 if self.mlp.solver == "lbfgs" else 1.0,
        )

    @staticmethod
    def fit(estimator, X, y, sample_weight):
        """Fit an estimator that ends in a perceptron.

        Parameters
        ----------
        estimator : estimator
            A perceptron, or a Pipeline that ends in one. Changed in place.
        X, y : array-like
        sample_weight : ndarray of shape (n_records,) or None

        Returns
        -------
        estimator : estimator
        """
        params = fit_params_of_last_step(estimator, sample_weight=sample_weight)
        return estimator.fit(X, y, **params)


def module_of(mlp):
    """Return a module whose outputs are the logits, or predictions, of a perceptron.

    Parameters
    ----------
    mlp : MLPClassifier or MLPRegressor
        Fitted.

    Returns
    -------
    module : torch.nn.Sequential
        Linear layers, with an activation between any two, in double precision.
    """
    layers = []
    for coef, intercept in zip(mlp.coefs_, mlp.intercepts_, strict=True):
        # Random initial weights would advance torch's random state.
        linear = torch.nn.utils.skip_init(torch.nn.Linear, *coef.shape).double()
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(coef.T.copy()))
            linear.bias.copy_(torch.from_numpy(intercept.copy()))
        layers += [linear, _ACTIVATIONS[mlp.activation]()]
    return torch.nn.Sequential(*layers[:-1])


def _read_loss(mlp):
    if not is_classifier(mlp):
        # The loss that is reported is the mean over outputs, but the gradient that is
        # followed is that of the sum.
        return SquaredLoss(0.5, over_outputs="sum", weighted_mean=True)
    if mlp.out_activation_ == "softmax":
        return SoftmaxLoss()
    if mlp.n_outputs_ > 1:
        raise ValueError(
            f"estimator is an MLPClassifier with {mlp.n_outputs_} labels per record; "
            "each label of a multilabel problem must be scored separately."
        )
    return LogisticLoss(weighted_mean=True)


def _alpha_of_mean_loss(mlp, n_records, sample_weight):
    """Return the penalty on the mean loss, for which alpha is divided per batch.

    scikit-learn divides alpha by the weight of a batch instead of that of all records.
    Every batch, the smaller last one too, has the same share in an epoch.
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
