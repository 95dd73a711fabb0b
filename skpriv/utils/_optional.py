"""Optional packages: imported where they are used, or a one-line error."""

from importlib import import_module


def import_optional(module, *, extra):
    """Import an optional package, or name the extra that brings it.

    Parameters
    ----------
    module : str
        The dotted name of the module.
    extra : str
        The extra of skpriv that installs it.

    Returns
    -------
    module : module

    Raises
    ------
    ImportError
        If the package is not installed; the message is one line.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise
        raise ImportError(
            f"{package} is needed for this: pip install 'skpriv[{extra}]'"
        ) from None
