"""Which estimators are neural networks, told without importing torch."""

import sys

_NETWORKS = {
    "skorch.net": ("NeuralNet",),
    "sklearn.neural_network": ("MLPClassifier", "MLPRegressor"),
}


def is_network(model):
    """Tell whether an estimator is a skorch net or a multi-layer perceptron.

    The class of an object has been imported by whoever made the object, so that what
    is not imported yet need not be.

    Parameters
    ----------
    model : object

    Returns
    -------
    network : bool
    """
    return any(
        isinstance(model, getattr(sys.modules.get(module), name, ()))
        for module, names in _NETWORKS.items()
        for name in names
    )
