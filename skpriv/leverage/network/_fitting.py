"""Train skorch nets with sample weights, and on rows of any dtype."""

from contextlib import contextmanager

from torch.nn import CrossEntropyLoss, MSELoss, NLLLoss

_ROWS, _WEIGHTS = "X", "sample_weight"
_BY_CLASS = CrossEntropyLoss | NLLLoss


@contextmanager
def weighted_training(net, convert_rows, sample_weight):
    """Let a net be fitted with weights, and on rows of any dtype, within the context.

    With weights, a mean over records becomes one over weights.

    Parameters
    ----------
    net : skorch.NeuralNet
    convert_rows : callable
        Converts rows to the dtype of the net. Transformers before the net in a
        Pipeline may return another one.
    sample_weight : ndarray of shape (n_records,) or None
        Weights of the records that the net is fitted on within the context.
    """
    # skorch has no parameter or callback that sees which records are in a batch, so
    # the methods have to be overridden. A Pipeline fits the net object that it holds:
    # an instance of a subclass would have to be put into a copy of the Pipeline, and
    # its fitted state moved back. Another class for the duration of the fit leaves
    # the net of the user's class, and with its state.
    kind = type(net)
    attributes = {"convert_rows": staticmethod(convert_rows), "weights": sample_weight}
    net.__class__ = type(kind.__name__, (_Weighted, kind), attributes)
    try:
        yield
    finally:
        net.__class__ = kind


class _Weighted:
    """Mixin for a net whose training rows are converted and carry their weights."""

    def get_dataset(self, X, y=None):
        # Without labels skorch predicts, on rows that are converted already.
        if y is not None:
            X = self.convert_rows(X)
            if self.weights is not None:
                X = {_ROWS: X, _WEIGHTS: self.weights}
        return super().get_dataset(X, y)

    def infer(self, x, **fit_params):
        x = x[_ROWS] if isinstance(x, dict) else x
        return super().infer(x, **fit_params)

    def get_loss(self, y_pred, y_true, X=None, *args, **kwargs):
        if isinstance(self.criterion_, MSELoss) and y_true.numel() == y_pred.numel():
            # Otherwise (n, 1) and (n,) would be broadcast to (n, n).
            y_true = y_true.reshape(y_pred.shape)
        try:
            return self._weighted_loss(y_pred, y_true, X, *args, **kwargs)
        except IndexError as error:
            if not isinstance(self.criterion_, _BY_CLASS):
                raise
            raise ValueError(
                f"y has a label with the number {int(y_true.max())}, but the outputs "
                f"of estimator's network, of shape {tuple(y_pred.shape)}, have the "
                f"numbers 0 to {y_pred.shape[1] - 1}."
            ) from error

    def _weighted_loss(self, y_pred, y_true, X, *args, **kwargs):
        if self.weights is None:
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
