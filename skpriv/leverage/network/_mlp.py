"""scikit-learn's multi-layer perceptrons as torch modules."""

import torch

_ACTIVATIONS = {
    "identity": torch.nn.Identity,
    "logistic": torch.nn.Sigmoid,
    "relu": torch.nn.ReLU,
    "tanh": torch.nn.Tanh,
}


def module_of(mlp):
    """Return the module whose outputs are the logits, or predictions, of a perceptron.

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
        # Weights that are overwritten are not drawn: that would move torch's seed.
        linear = torch.nn.utils.skip_init(torch.nn.Linear, *coef.shape).double()
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(coef.T.copy()))
            linear.bias.copy_(torch.from_numpy(intercept.copy()))
        layers += [linear, _ACTIVATIONS[mlp.activation]()]
    return torch.nn.Sequential(*layers[:-1])
