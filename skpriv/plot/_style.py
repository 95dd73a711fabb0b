"""What the Displays share: axes, colours, labels, and the line of guessing."""

from sklearn.utils import check_array, column_or_1d

from skpriv.utils._optional import import_optional
from skpriv.utils._text import printable

# The colours of Okabe and Ito, which colour-blind people can tell apart. Lines differ
# in their dashes and markers as well, for print without colours.
STYLES = (
    {"color": "#0072B2", "linestyle": "-", "marker": "o"},
    {"color": "#D55E00", "linestyle": "--", "marker": "s"},
    {"color": "#009E73", "linestyle": "-.", "marker": "^"},
    {"color": "#CC79A7", "linestyle": ":", "marker": "D"},
    {"color": "#000000", "linestyle": (0, (6, 1, 1, 1, 1, 1)), "marker": "v"},
)
ALERT = "#D55E00"
GUESSING = "Guessing"
_DASHES = {"color": "0.35", "linestyle": (0, (1, 1.5)), "linewidth": 1.2}
_LONGEST_LABEL = 32
_OURS = "skpriv"


def start(ax, figsize=None):
    """Return the axes to draw on and their figure, which are made if `ax` is None.

    Parameters
    ----------
    ax : matplotlib Axes or None
    figsize : (float, float), default=None
        Width and height of a new figure, in inches.

    Returns
    -------
    ax : matplotlib Axes
    figure : matplotlib Figure

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    import_optional("matplotlib", extra="plot")
    if ax is None:
        (ax,) = new_axes(1, figsize)
    return ax, ax.figure


def new_axes(n_axes, figsize=None):
    """Return axes side by side in a new figure.

    Parameters
    ----------
    n_axes : int
    figsize : (float, float), default=None
        Width and height of the figure, in inches.

    Returns
    -------
    axes : list of matplotlib Axes
    """
    pyplot = import_optional("matplotlib.pyplot", extra="plot")
    figure, axes = pyplot.subplots(
        1, n_axes, figsize=figsize, layout="constrained", squeeze=False
    )
    figure.set_gid(_OURS)
    return list(axes[0])


def lines_of_displays(ax):
    """Return the lines on `ax` that Displays have drawn for their data."""
    return [line for line in ax.lines if line.get_gid() == _OURS]


def next_style(ax):
    """Return the style of the next line, which the others on `ax` do not have.

    Lines are counted by `mark_line`.

    Parameters
    ----------
    ax : matplotlib Axes

    Returns
    -------
    style : dict
        Keywords of ``Axes.plot``.
    """
    return STYLES[len(lines_of_displays(ax)) % len(STYLES)].copy()


def mark_line(line):
    """Count a line as that of the data of a Display, and return it."""
    line.set_gid(_OURS)
    return line


def with_defaults(defaults, kwargs):
    """Let the keywords of a user, aliases among them, override those of a Display.

    Parameters
    ----------
    defaults, kwargs : dict
        Keywords of ``Axes.plot``.

    Returns
    -------
    keywords : dict
    """
    cbook = import_optional("matplotlib.cbook", extra="plot")
    lines = import_optional("matplotlib.lines", extra="plot")
    return {**defaults, **cbook.normalize_kwargs(kwargs, lines.Line2D)}


def draw_guessing(ax, kind, *place):
    """Draw the line of an attack that guesses, once.

    Parameters
    ----------
    ax : matplotlib Axes
    kind : {"axhline", "axvline", "axline"}
        The method of `ax` that draws it.
    *place
        Its arguments.

    Returns
    -------
    line : matplotlib Line2D
    """
    for line in ax.lines:
        if line.get_gid() == "guessing":
            return line
    return getattr(ax, kind)(
        *place, label=GUESSING, gid="guessing", zorder=1.5, **_DASHES
    )


def add_legend(ax, *, inside, outside=None):
    """Explain what is drawn, with guessing last.

    Parameters
    ----------
    ax : matplotlib Axes
    inside : str
        Place within the axes.
    outside : str, default=None
        Place beside the axes, where the legend covers no data. It is used in figures
        that `start` has made, the layout of which makes room for it.
    """
    entries = sorted(
        zip(*ax.get_legend_handles_labels(), strict=True),
        key=lambda entry: entry[1] == GUESSING,
    )
    handles, labels = zip(*entries, strict=True)
    if outside is None or ax.figure.get_gid() != _OURS:
        ax.legend(handles, labels, loc=inside)
        return
    # That of a Display which was drawn on the same axes before.
    for legend in list(ax.figure.legends):
        legend.remove()
    ax.figure.legend(handles, labels, loc=f"outside {outside}")


def label_of(text):
    """Return a text that matplotlib shows as it is, in one line.

    Parameters
    ----------
    text : object
        A name that a user has given, or the value of a cell.

    Returns
    -------
    label : str
        Shortened if it is long. Dollar signs do not begin a formula, and a legend does
        not leave it out for an underscore in front.
    """
    label = printable(str(text))
    if len(label) > _LONGEST_LABEL:
        label = label[: _LONGEST_LABEL - 1] + "…"
    return (" " if label.startswith("_") else "") + label.replace("$", r"\$")


def percent(share):
    """Return a share as in "95%" and "99.9%".

    Parameters
    ----------
    share : float
        Between 0 and 1.

    Returns
    -------
    text : str
    """
    return f"{100 * share:.4g}%"


def interval_label(confidence_level):
    """Name an interval by its level, if that is known."""
    return f"{percent(confidence_level)} interval" if confidence_level else "Interval"


def one_per_record(values, name, n_records=None):
    """Check that there is one number per record.

    Parameters
    ----------
    values : array-like of shape (n_records,)
    name : str
        Name of the parameter.
    n_records : int, default=None
        None: any number.

    Returns
    -------
    values : ndarray of shape (n_records,), dtype float64

    Raises
    ------
    ValueError
        If they are not numbers, not finite, or not as many.
    """
    values = check_array(values, ensure_2d=False, dtype=float, input_name=name)
    values = column_or_1d(values)
    if n_records is not None and values.size != n_records:
        raise ValueError(
            f"{name} must have shape ({n_records},), one number per record; got "
            f"{values.shape}."
        )
    return values
