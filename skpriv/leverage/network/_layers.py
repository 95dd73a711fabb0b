"""Select the parameters of a module by its layers."""


def select_parameters(module, layers, trainable=None):
    """Return the names of the parameters in the chosen layers.

    A layer is a module that has trained parameters of its own, so that a weight and
    its bias belong together. Layers are ordered as in ``module.named_modules()``.
    Frozen layers are skipped: "last" is the last layer that is trained. A parameter
    that several layers share is selected once, under the first of its names.

    Parameters
    ----------
    module : torch.nn.Module
    layers : {"last", "all"}, int or list of str
        The last layer, all layers, the last n layers, or the parameters whose names
        have one of these prefixes, which end at a dot: "2" selects "2.weight" but not
        "20.weight".
    trainable : collection of str, default=None
        Names of the parameters that were trained; None means all.

    Returns
    -------
    names : tuple of str
        In the order of ``module.named_parameters()``.

    Raises
    ------
    ValueError
        If there are fewer layers, no name has a given prefix, or nothing was trained.
    """
    if trainable is None:
        trainable = {name for name, _ in module.named_parameters()}
    names = [name for name, _ in module.named_parameters() if name in trainable]
    if not names:
        raise ValueError("estimator is a network without trained parameters.")
    if isinstance(layers, str) and layers == "all":
        return tuple(names)
    known_as = _aliases(module, names)
    if isinstance(layers, list | tuple):
        chosen = set().union(*(_with_prefix(known_as, prefix) for prefix in layers))
    else:
        chosen = _last(known_as, 1 if layers == "last" else layers, module)
    if not chosen:
        raise ValueError(f"layers={layers!r} selects no parameter.")
    return tuple(name for name in names if name in chosen)


def _aliases(module, names):
    """Map all names of parameters, shared ones have several, to the first of each."""
    first = {}
    known_as = {}
    for alias, parameter in module.named_parameters(remove_duplicate=False):
        name = first.setdefault(id(parameter), alias)
        if name in names:
            known_as[alias] = name
    return known_as


def _last(known_as, n_layers, module):
    order = [name for name, _ in module.named_modules(remove_duplicate=False)]
    found = {}
    for alias, name in known_as.items():
        found.setdefault(_layer_of(alias), set()).add(name)
    owners = [owner for owner in order if owner in found]
    # A module that is used twice is one layer, at its last position.
    distinct = list({frozenset(found[owner]): owner for owner in owners}.values())
    distinct.sort(key=order.index)
    if not 1 <= n_layers <= len(distinct):
        raise ValueError(
            f"layers={n_layers!r} must be at least 1 and at most the number of layers "
            "with trained parameters, but the network has "
            f"{len(distinct)}: {', '.join(map(repr, distinct))}."
        )
    return set().union(*(found[owner] for owner in distinct[-n_layers:]))


def _layer_of(name):
    # torch keeps the tensors that a weight is computed from, such as in weight
    # normalisation, in a module of their own, which is not a layer.
    owner = name.rpartition(".")[0]
    owner = f".{owner}".partition(".parametrizations.")[0]
    return owner.removeprefix(".")


def _with_prefix(known_as, prefix):
    parts = str(prefix).split(".")
    chosen = {
        name
        for alias, name in known_as.items()
        if alias.split(".")[: len(parts)] == parts
    }
    if not chosen:
        raise ValueError(
            f"layers has {prefix!r}, which must be a prefix of the name of a trained "
            f"parameter; these are {', '.join(map(repr, known_as))}."
        )
    return chosen
