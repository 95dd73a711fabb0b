"""Packages whose public names are imported on first use."""

import sys
from importlib import import_module


def attach(package, homes):
    """Make the module functions that look up public names (PEP 562).

    Parameters
    ----------
    package : str
        Name of the package.
    homes : dict
        Module that each public name is imported from.

    Returns
    -------
    getattr_, dir_ : callable
        The package's ``__getattr__`` and ``__dir__``.
    """

    def getattr_(name):
        if name in homes:
            return getattr(import_module(homes[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def dir_():
        return sorted({*vars(sys.modules[package]), *homes})

    return getattr_, dir_
