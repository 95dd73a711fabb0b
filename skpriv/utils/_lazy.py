"""Packages whose public names are imported on first use."""

import sys
from importlib import import_module


def attach(package, names, *, submodules=()):
    """Make the attributes of a package that imports its public names lazily (PEP 562).

    Parameters
    ----------
    package : str
        Name of the package.
    names : dict
        The public names that each module of the package defines, by the name of the
        module within the package. This is the only list of them.
    submodules : iterable of str, default=()
        Modules of the package that are public themselves.

    Returns
    -------
    getattr_, dir_ : callable
        The package's ``__getattr__`` and ``__dir__``.
    all_ : list of str
        The package's ``__all__``.
    """
    homes = {
        name: f"{package}.{module}" for module, own in names.items() for name in own
    }
    all_ = sorted([*homes, *submodules])

    def getattr_(name):
        if name in homes:
            return getattr(import_module(homes[name]), name)
        if name in submodules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def dir_():
        return sorted({*vars(sys.modules[package]), *all_})

    return getattr_, dir_, all_
