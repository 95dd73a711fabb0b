"""Mean attack success of groups of records."""

import numpy as np

from skpriv.evaluation import success_by_group
from skpriv.plot._style import (
    add_legend,
    draw_guessing,
    interval_label,
    label_of,
    lines_of_displays,
    mark_line,
    next_style,
    start,
    with_defaults,
)
from skpriv.utils._pipelines import last_step

_SHIFT = 0.2


class GroupRiskDisplay:
    """Mean attack success of groups of records, with intervals.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`. All parameters are
    stored as attributes.

    Parameters
    ----------
    group : array-like of shape (n_groups,)
        Names of the groups.
    n_records : array-like of shape (n_groups,)
        Their numbers of records.
    attack_success : array-like of shape (n_groups,)
        Their mean success.
    low, high : array-like of shape (n_groups,)
        The ends of its interval; NaN where there is none.
    correction : {"bonferroni", "none"}, default="bonferroni"
        Whether the intervals hold for all groups at once.
    confidence_level : float, default=None
        Level of the intervals, for the legend.
    name : str, default=None
        Name of the points, for the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The mean success of each group, from top to bottom.
    errorbar_ : matplotlib ErrorbarContainer
        The same with the intervals.
    without_interval_ : matplotlib Line2D or None
        Hollow marks of the groups without an interval.
    chance_level_ : matplotlib Line2D
        The success of guessing.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    skpriv.evaluation.success_by_group : The success of groups, without drawing.

    Examples
    --------
    >>> from skpriv.plot import GroupRiskDisplay
    >>> display = GroupRiskDisplay(
    ...     group=["benign", "malignant"],
    ...     n_records=[357, 212],
    ...     attack_success=[0.55, 0.62],
    ...     low=[0.54, 0.60],
    ...     high=[0.56, 0.64],
    ... ).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['benign (357)', 'malignant (212)']
    """

    def __init__(
        self,
        *,
        group,
        n_records,
        attack_success,
        low,
        high,
        correction="bonferroni",
        confidence_level=None,
        name=None,
    ):
        self.group = group
        self.n_records = n_records
        self.attack_success = attack_success
        self.low = low
        self.high = high
        self.correction = correction
        self.confidence_level = confidence_level
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        attack,
        groups,
        *,
        confidence_level=0.95,
        correction="bonferroni",
        name=None,
        ax=None,
        **kwargs,
    ):
        """Plot the success of an attack on groups of records.

        Parameters
        ----------
        attack : LiRAAttack or RiskEstimator, or a Pipeline that ends in one
            Fitted.
        groups : array-like of shape (n_samples,)
            The group of each record: its class, or any other column without missing
            values.
        confidence_level : float, default=0.95
        correction : {"bonferroni", "none"}, default="bonferroni"
            ``"bonferroni"``: the intervals hold for all groups at once. ``"none"``:
            each interval holds by itself.
        name : str, default=None
        ax : matplotlib Axes, default=None
            None: a new figure is made.
        **kwargs
            Passed to ``Axes.errorbar``.

        Returns
        -------
        display : GroupRiskDisplay
        """
        result = success_by_group(
            last_step(attack),
            groups,
            confidence_level=confidence_level,
            correction=correction,
        )
        return cls.from_predictions(
            result, confidence_level=confidence_level, name=name, ax=ax, **kwargs
        )

    @classmethod
    def from_predictions(
        cls, result, *, confidence_level=None, name=None, ax=None, **kwargs
    ):
        """Plot the result of ``success_by_group``.

        Parameters
        ----------
        result : Bunch or DataFrame
            As :func:`~skpriv.evaluation.success_by_group` returns it.
        confidence_level : float, default=None
            Level of its intervals, for the legend.
        name : str, default=None
        ax : matplotlib Axes, default=None
            None: a new figure is made.
        **kwargs
            Passed to ``Axes.errorbar``.

        Returns
        -------
        display : GroupRiskDisplay
        """
        columns = ("group", "n_records", "attack_success", "low", "high")
        missing = [
            column for column in (*columns, "correction") if column not in result
        ]
        if missing:
            raise ValueError(
                "result must be a result of success_by_group; it has no "
                f"{', '.join(missing)}."
            )
        display = cls(
            **{column: np.asarray(result[column]) for column in columns},
            correction=str(np.ravel(result["correction"])[0]),
            confidence_level=confidence_level,
            name=name,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, name=None, **kwargs):
        """Draw the success of each group, the first at the top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: a new figure is made, which is higher for more groups.
        name : str, default=None
            None: the `name` of the Display.
        **kwargs
            Passed to ``Axes.errorbar``.

        Returns
        -------
        display : GroupRiskDisplay
        """
        success, low, high = map(np.asarray, (self.attack_success, self.low, self.high))
        self.ax_, self.figure_ = start(ax, figsize=(6.8, 2.1 + 0.3 * success.size))
        name = self.name if name is None else name
        label = self._interval_label()
        if name is not None:
            label = f"{label_of(name)}, {label[0].lower()}{label[1:]}"
        style = with_defaults({**next_style(self.ax_), "label": label}, kwargs)
        # Beside those that are drawn on the same axes already.
        shift = _SHIFT * len(lines_of_displays(self.ax_))
        rows = np.arange(success.size) + shift
        self.errorbar_ = self.ax_.errorbar(
            success,
            rows,
            xerr=[success - low, high - success],
            **{"capsize": 3, **style, "linestyle": "none"},
        )
        self.line_ = mark_line(self.errorbar_.lines[0])
        self._mark_without_interval(success, rows, np.isnan(low))
        self.chance_level_ = draw_guessing(self.ax_, "axvline", 0.5)
        names = zip(self.group, self.n_records, strict=True)
        self.ax_.set_yticks(
            rows - shift, [f"{label_of(group)} ({n:,})" for group, n in names]
        )
        self.ax_.set(
            xlabel="Mean success of an attack on the records",
            ylabel="Group (records)",
            ylim=(success.size - 0.4, -0.6),
        )
        add_legend(self.ax_, inside="best", outside="upper right")
        return self

    def _interval_label(self):
        label = interval_label(self.confidence_level)
        if self.correction == "bonferroni":
            label += ", for all groups at once"
        return label

    def _mark_without_interval(self, success, rows, without):
        self.without_interval_ = None
        if not without.any():
            return
        (self.without_interval_,) = self.ax_.plot(
            success[without],
            rows[without],
            linestyle="none",
            marker="o",
            markersize=8,
            color=self.line_.get_color(),
            markerfacecolor="white",
            zorder=4,
            label="Too few records for an interval",
        )
