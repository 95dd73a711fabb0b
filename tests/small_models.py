"""The kinds of model of the command, but of few trees, units and steps."""

from dataclasses import replace

from skpriv.report import choose_kind

_SMALL = {
    "forest": {"n_estimators": 5},
    "boosting": {"max_iter": 5},
    "mlp": {"hidden_layer_sizes": (4,), "max_iter": 5},
}


def choose_small_kind(name, task):
    """Choose a kind as the command does, whose models take little time to fit."""
    kind = choose_kind(name, task)
    if kind is None or kind.name not in _SMALL:
        return kind
    small = _SMALL[kind.name]
    return replace(kind, make=lambda **facts: kind.make(**facts).set_params(**small))
