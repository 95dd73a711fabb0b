"""The one exception of this package, and the words it shares."""

from difflib import get_close_matches


class TableError(ValueError):
    """A table cannot be used; the message is one line that names the fault."""


def check_column(name, columns):
    """Raise a `TableError` that suggests close names if a column is missing.

    Parameters
    ----------
    name : str
        The column wanted.
    columns : sequence of str
        The columns there are.
    """
    if name in columns:
        return
    by_folded = {column.casefold(): column for column in columns}
    close = get_close_matches(name.casefold(), by_folded, n=3, cutoff=0.6)
    if close:
        hint = "did you mean " + " or ".join(repr(by_folded[c]) for c in close) + "?"
    else:
        shown = ", ".join(repr(column) for column in columns[:8])
        hint = f"the columns are {shown}" + (", ..." if len(columns) > 8 else "")
    raise TableError(f"no column {name!r}; {hint}")
