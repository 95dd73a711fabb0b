"""The exposure of records before and after the most exposed ones were removed."""

import numpy as np

from skpriv.evaluation import onion_effect
from skpriv.plot._style import (
    add_legend,
    label_of,
    mark_line,
    next_style,
    start,
    with_defaults,
)


class OnionEffectDisplay:
    """Exposure of the records that are kept, before and after the others are removed.

    The lines show percentiles: 90 percent of the records are no more exposed than the
    line shows at 90. Where the second line is above the first, more records are exposed
    than before.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`. All parameters are
    stored as attributes.

    Parameters
    ----------
    before, after : ndarray of shape (n_kept,)
        Exposure of each record that was kept.
    mean_change : float
        Its mean change.
    mean_change_error : float
        The standard error of the mean change.
    n_removed : int
        Number of records that were removed.
    name : str, default=None
        Name of the attack or score, for the legend.

    Attributes
    ----------
    lines_ : list of two matplotlib Line2D
        Before and after.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    skpriv.evaluation.onion_effect : The effect, without drawing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skpriv import WaKAScorer
    >>> from skpriv.plot import OnionEffectDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = OnionEffectDisplay.from_estimator(WaKAScorer(), X, y, fraction=0.2)
    >>> display.n_removed
    30
    """

    def __init__(
        self, *, before, after, mean_change, mean_change_error, n_removed, name=None
    ):
        self.before = before
        self.after = after
        self.mean_change = mean_change
        self.mean_change_error = mean_change_error
        self.n_removed = n_removed
        self.name = name

    @classmethod
    def from_estimator(
        cls, attack, X, y, *, fraction=0.1, name=None, ax=None, **kwargs
    ):
        """Measure the effect and plot it.

        Parameters
        ----------
        attack : estimator
            An attack or a scorer, or a Pipeline that ends in one; see
            :func:`~skpriv.evaluation.onion_effect`. It is not changed.
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        fraction : float, default=0.1
            Fraction of the records to remove.
        name : str, default=None
        ax : matplotlib Axes, default=None
            None: a new figure is made.
        **kwargs
            Passed to ``Axes.plot``.

        Returns
        -------
        display : OnionEffectDisplay
        """
        effect = onion_effect(attack, X, y, fraction=fraction)
        return cls.from_predictions(effect, name=name, ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, effect, *, name=None, ax=None, **kwargs):
        """Plot the result of ``onion_effect``.

        Parameters
        ----------
        effect : Bunch
            As :func:`~skpriv.evaluation.onion_effect` returns it.
        name : str, default=None
        ax : matplotlib Axes, default=None
            None: a new figure is made.
        **kwargs
            Passed to ``Axes.plot``.

        Returns
        -------
        display : OnionEffectDisplay
        """
        names = ("before", "after", "mean_change", "mean_change_error")
        display = cls(
            **{key: effect[key] for key in names},
            n_removed=len(effect["removed"]),
            name=name,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, name=None, **kwargs):
        """Draw both distributions.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: a new figure is made.
        name : str, default=None
            None: the `name` of the Display.
        **kwargs
            Passed to ``Axes.plot``, for both lines.

        Returns
        -------
        display : OnionEffectDisplay
        """
        self.ax_, self.figure_ = start(ax)
        name = self.name if name is None else name
        prefix = "" if name is None else f"{label_of(name)}, "
        change = f"{self.mean_change:+.2g} ± {self.mean_change_error:.1g}"
        labels = (
            f"{prefix}before: with all records in training",
            f"{prefix}after: without the {self.n_removed:,} most exposed\n"
            f"(mean change and its standard error: {change})",
        )
        self.lines_ = []
        for exposure, label in zip((self.before, self.after), labels, strict=True):
            label = label[0].upper() + label[1:]
            style = next_style(self.ax_)
            del style["marker"]
            style = with_defaults({**style, "label": label}, kwargs)
            share = (np.arange(exposure.size) + 0.5) / exposure.size
            lines = self.ax_.plot(100 * share, np.sort(exposure), **style)
            self.lines_.append(mark_line(*lines))
        self.ax_.set(
            xlabel="Percentile of the records that are kept",
            ylabel="Exposure",
            xlim=(-1, 101),
        )
        add_legend(self.ax_, inside="upper left")
        return self
