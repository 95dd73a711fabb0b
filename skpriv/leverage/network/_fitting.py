"""Help skorch nets to what scikit-learn's estimators take."""

from contextlib import contextmanager

from torch.nn import CrossEntropyLoss, MSELoss, NLLLoss

from skpriv.leverage.network._read import rows_for

_ROWS, _WEIGHTS = "X", "sample_weight"
_BY_CLASS = CrossEntropyLoss | NLLLoss


@contextmanager
def helped(net, sample_weight):
    """Let a net be fitted on rows of any type, with weights, while the context lasts.

    With weights, a mean over records becomes one over weights.

    Parameters
    ----------
    net : skorch.NeuralNet
    sample_weight : ndarray of shape (n_records,) or None
        Of the records that it is fitted on in the context.
    """
    kind, own = type(net), {"weight_of_records": sample_weight}
    net.__class__ = type(kind.__name__, (_Helped, kind), own)
    try:
        yield
    finally:
        net.__class__ = kind


class _Helped:
    """A net whose training rows are converted, and bring their weights along."""

    def get_dataset(self, X, y=None):
        # Without labels it is asked to predict, on what became of training rows.
        if y is not None:
            # A transformer before the net may give another type than it computes in.
            X = rows_for(self, X)
            if self.weight_of_records is not None:
                X = {_ROWS: X, _WEIGHTS: self.weight_of_records}
        return super().get_dataset(X, y)

    def infer(self, x, **fit_params):
        x = x[_ROWS] if isinstance(x, dict) else x
        return super().infer(x, **fit_params)

    def get_loss(self, y_pred, y_true, X=None, *args, **kwargs):
        if isinstance(self.criterion_, MSELoss) and y_true.numel() == y_pred.numel():
            # Else a column next to a row would be compared with all of it.
            y_true = y_true.reshape(y_pred.shape)
        try:
            return self._loss_of(y_pred, y_true, X, *args, **kwargs)
        except IndexError as error:
            if not isinstance(self.criterion_, _BY_CLASS):
                raise
            raise ValueError(
                f"y has a label whose number is {int(y_true.max())}, but the outputs "
                f"of estimator's network, of shape {tuple(y_pred.shape)}, have numbers "
                f"from 0 to {y_pred.shape[1] - 1}."
            ) from error

    def _loss_of(self, y_pred, y_true, X, *args, **kwargs):
        if self.weight_of_records is None:
            return super().get_loss(y_pred, y_true, X, *args, **kwargs)
        criterion, reduction = self.criterion_, self.criterion_.reduction
        criterion.reduction = "none"
        try:
            losses = super().get_loss(y_pred, y_true, X, *args, **kwargs)
        finally:
            criterion.reduction = reduction
        weights = X[_WEIGHTS].to(losses)
        losses = losses.reshape(len(weights), -1)
        if reduction == "sum":
            return (weights * losses.sum(dim=1)).sum()
        total = weights
        if isinstance(criterion, _BY_CLASS) and criterion.weight is not None:
            total = weights * criterion.weight[y_true.to(criterion.weight.device)]
        return (weights * losses.mean(dim=1)).sum() / total.sum()
