"""Which parameters of a module a choice of layers means."""


def select_parameters(module, layers, trainable=None):
    """Return the parameters that a choice of layers means.

    A layer is a module with parameters of its own that are trained, so that a weight
    and its bias belong together, and its place is that in ``module.named_modules()``.
    Layers that are frozen are passed over: "last" is the last that is trained. A
    parameter that several layers share is one, under the first of its names.

    Parameters
    ----------
    module : torch.nn.Module
    layers : {"last", "all"}, int or list of str
        The last layer, all of them, the last so many, or those parameters whose names
        begin with one of these, component by component: "2" means "2.weight" but not
        "20.weight".
    trainable : collection of str, default=None
        Names of the parameters that were trained; None: all.

    Returns
    -------
    names : tuple of str
        In the order of ``module.named_parameters()``.

    Raises
    ------
    ValueError
        If there are fewer layers, nothing has such a name, or nothing was trained.
    """
    if trainable is None:
        trainable = {name for name, _ in module.named_parameters()}
    names = [name for name, _ in module.named_parameters() if name in trainable]
    if not names:
        raise ValueError("estimator is a network without any parameter to train.")
    if isinstance(layers, str) and layers == "all":
        return tuple(names)
    known_as = _aliases(module, names)
    if isinstance(layers, list | tuple):
        chosen = set().union(*(_with_prefix(known_as, prefix) for prefix in layers))
    else:
        chosen = _last(known_as, 1 if layers == "last" else layers, module)
    if not chosen:
        raise ValueError(f"layers={layers!r} chooses no parameter.")
    return tuple(name for name in names if name in chosen)


def _aliases(module, names):
    """Map each name of a parameter, of which a shared one has several, to its first."""
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
    # The same module in two places is one layer, where it comes last.
    distinct = list({frozenset(found[owner]): owner for owner in owners}.values())
    distinct.sort(key=order.index)
    if not 1 <= n_layers <= len(distinct):
        raise ValueError(
            f"layers={n_layers!r} wants as many layers with trained parameters, but "
            f"the network has {len(distinct)}: {', '.join(map(repr, distinct))}."
        )
    return set().union(*(found[owner] for owner in distinct[-n_layers:]))


def _layer_of(name):
    # torch keeps what a weight is computed from (in weight normalisation, say) in a
    # module of its own, which is no layer.
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
            f"layers has {prefix!r}, which is the beginning of no trained parameter's "
            f"name; there are {', '.join(map(repr, known_as))}."
        )
    return chosen
