"""Make untrusted text safe to print, and write counts with their nouns."""


def printable(text):
    """Return text in one line, without control characters for the terminal.

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


def count(number, noun):
    """Return a number of things, as in "1 record" and "1,200 records".

    Parameters
    ----------
    number : int
    noun : str
        In the singular; its plural ends in "s".

    Returns
    -------
    text : str
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
