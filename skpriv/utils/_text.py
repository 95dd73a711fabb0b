"""Text that others wrote, made safe to show."""


def printable(text):
    """Return text in one line, with nothing in it that commands a terminal.

    Parameters
    ----------
    text : str

    Returns
    -------
    text : str
        Characters that do not print (line ends, escape sequences) are escaped.
    """
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )
