"""Read scikit-learn's multi-layer perceptrons: their module, loss and penalty."""

import numpy as np
import torch
from sklearn.base import is_classifier
from sklearn.utils import check_array, gen_batches

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


class PerceptronReader(Reader):
    """Read multi-layer perceptrons of scikit-learn."""

    def check(self):
        """Raise a TypeError unless the loss of the perceptron is supported."""
        if not is_classifier(self.model) and self.model.loss != "squared_error":
            raise TypeError(
                f"estimator is an MLPRegressor with loss={self.model.loss!r}; it must "
                "be 'squared_error'."
            )

    def held_out_remedy(self):
        """Return the parameter with which all rows are trained on; None if they are."""
        holds_out = self.model.early_stopping and self.model.solver != "lbfgs"
        return "early_stopping=False" if holds_out else None

    def rows(self, X):
        """Return rows as an array or a sparse matrix, in single or double precision."""
        return check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])

    def targets(self, y, *, frozen):
        """Learn which outputs labels belong to: classes are numbered in order."""
        if not is_classifier(self.model):
            return TargetColumns.of(y)
        check_labels_of_classifier(y)
        return OutputNumbers(self.model.classes_ if frozen else np.unique(y))

    def fitted_targets(self, targets):
        """Return the targets of the perceptron, which knows the classes of its rows."""
        if not is_classifier(self.model):
            return targets
        return OutputNumbers(self.model.classes_)

    def network(self, n_records, device="auto", *, sample_weight=None):
        """Read the fitted perceptron."""
        self.check()
        module = module_of(self.model)
        device = choose_device(device, module)
        decay = _alpha_of_mean_loss(self.model, n_records, sample_weight)
        names = [name for name, _ in module.named_parameters()]
        return Network(
            module=copy_for_evaluation(module, device),
            loss=_read_loss(self.model),
            weight_decay={name: decay * name.endswith("weight") for name in names},
            trainable=frozenset(names),
            device=device,
            half_sample_damping=_half_sample_damping(self.model, n_records),
        )

    @staticmethod
    def fit(estimator, X, y, sample_weight):
        """Fit an estimator that ends in a perceptron."""
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
    """
    weight = 1.0 if sample_weight is None else float(np.mean(sample_weight))
    return mlp.alpha * _mean_inverse_batch(mlp, n_records) / weight


def _half_sample_damping(mlp, n_records):
    """Return how much larger the penalty is if half of the records are trained on.

    It is 2 where one batch holds all records, and about 1 where there are many batches,
    which are of the same size for half of the records.
    """
    half = _mean_inverse_batch(mlp, max(n_records // 2, 2))
    return half / _mean_inverse_batch(mlp, n_records)


def _mean_inverse_batch(mlp, n_records):
    """Return the mean of 1 / n over batches of n records.

    Every batch, the smaller last one too, has the same share in an epoch.
    """
    if mlp.solver == "lbfgs":
        return 1 / n_records
    if mlp.early_stopping:
        n_records -= int(np.ceil(mlp.validation_fraction * n_records))
    size = mlp.batch_size
    if size == "auto":
        size = _LARGEST_AUTOMATIC_BATCH
    sizes = [b.stop - b.start for b in gen_batches(n_records, size)]
    return float(np.mean(1 / np.array(sizes)))
