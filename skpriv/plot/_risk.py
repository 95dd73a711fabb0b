"""The risk of each record."""

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from skpriv.evaluation import records_at_risk
from skpriv.plot._style import (
    ALERT,
    add_legend,
    draw_guessing,
    interval_label,
    label_of,
    mark_line,
    next_style,
    one_per_record,
    percent,
    start,
    with_defaults,
)
from skpriv.utils._optional import import_optional
from skpriv.utils._pipelines import last_step

# Above this many records, single markers would hide one another.
_MOST_RECORDS_WITH_MARKERS = 60


class RiskDisplay:
    """Risk of each record, from the lowest to the highest.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`. All parameters are
    stored as attributes.

    Parameters
    ----------
    risk : ndarray of shape (n_records,)
        Success of an attack on each record, 0.5 for guessing.
    interval : ndarray of shape (n_records, 2), default=None
        The ends of its interval.
    at_risk : ndarray of shape (n_records,), dtype bool, default=None
        The records to mark.
    confidence_level : float, default=None
        Level of the intervals, for the legend.
    fdr : float, default=None
        False discovery rate of the records at risk, for the legend.
    name : str, default=None
        Name of the line, for the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The risk by the rank of the record.
    intervals_ : matplotlib Collection or None
    at_risk_ : matplotlib Line2D or None
        The marks of the records at risk.
    chance_level_ : matplotlib Line2D
        The success of guessing.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from skpriv.plot import RiskDisplay
    >>> risk = [0.52, 0.91, 0.50]
    >>> interval = [[0.5, 0.55], [0.85, 0.95], [0.5, 0.52]]
    >>> display = RiskDisplay.from_predictions(
    ...     risk, interval=interval, at_risk=[False, True, False]
    ... )
    >>> display.line_.get_ydata()
    array([0.5 , 0.52, 0.91])
    """

    def __init__(
        self,
        *,
        risk,
        interval=None,
        at_risk=None,
        confidence_level=None,
        fdr=None,
        name=None,
    ):
        self.risk = risk
        self.interval = interval
        self.at_risk = at_risk
        self.confidence_level = confidence_level
        self.fdr = fdr
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator, *, fdr=0.05, threshold=0.55, name=None, ax=None, **kwargs
    ):
        """Plot the risk that an estimator has found.

        Parameters
        ----------
        estimator : RiskEstimator, or a Pipeline that ends in one
            Fitted.
        fdr : float, default=0.05
            Largest expected share of false discoveries among the records marked as at
            risk; see :func:`~skpriv.evaluation.records_at_risk`.
        threshold : float, default=0.55
            Attack success above which a record is at risk.
        name : str, default=None
        ax : matplotlib Axes, default=None
            None: a new figure is made.
        **kwargs
            Passed to ``Axes.plot``.

        Returns
        -------
        display : RiskDisplay

        Raises
        ------
        TypeError
            If `estimator` is no RiskEstimator.
        """
        estimator = last_step(estimator)
        if not hasattr(estimator, "probability_at_most"):
            raise TypeError(f"estimator must be a RiskEstimator; got {estimator!r}.")
        check_is_fitted(estimator)
        listed = records_at_risk(estimator, fdr=fdr, threshold=threshold).records
        at_risk = np.zeros(estimator.scores_.size, dtype=bool)
        at_risk[listed] = True
        return cls.from_predictions(
            estimator.scores_,
            interval=estimator.interval_,
            at_risk=at_risk,
            confidence_level=estimator.confidence_level,
            fdr=fdr,
            name=name,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        risk,
        *,
        interval=None,
        at_risk=None,
        confidence_level=None,
        fdr=None,
        name=None,
        ax=None,
        **kwargs,
    ):
        """Plot risks that were estimated or measured before.

        Parameters
        ----------
        risk : array-like of shape (n_records,)
        interval : array-like of shape (n_records, 2), default=None
            The ends may be NaN where there is no interval.
        at_risk : array-like of shape (n_records,), default=None
            True for the records to mark.
        confidence_level : float, default=None
        fdr : float, default=None
        name : str, default=None
        ax : matplotlib Axes, default=None
            None: a new figure is made.
        **kwargs
            Passed to ``Axes.plot``.

        Returns
        -------
        display : RiskDisplay
        """
        risk = one_per_record(risk, "risk")
        if interval is not None:
            interval = check_array(
                interval, dtype=float, ensure_all_finite=False, input_name="interval"
            )
            if interval.shape != (risk.size, 2):
                raise ValueError(
                    f"interval must have shape ({risk.size}, 2), one interval per "
                    f"record; got {interval.shape}."
                )
        if at_risk is not None:
            at_risk = one_per_record(at_risk, "at_risk", risk.size).astype(bool)
        display = cls(
            risk=risk,
            interval=interval,
            at_risk=at_risk,
            confidence_level=confidence_level,
            fdr=fdr,
            name=name,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, name=None, **kwargs):
        """Draw the risks.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: a new figure is made.
        name : str, default=None
            None: the `name` of the Display.
        **kwargs
            Passed to ``Axes.plot``.

        Returns
        -------
        display : RiskDisplay
        """
        self.ax_, self.figure_ = start(ax)
        order = np.argsort(self.risk, kind="stable")
        rank = np.arange(1, order.size + 1)
        style = next_style(self.ax_)
        if order.size > _MOST_RECORDS_WITH_MARKERS:
            del style["marker"]
        name = self.name if name is None else name
        label = "Risk of a record" if name is None else label_of(name)
        style = with_defaults({**style, "label": label}, kwargs)
        self.line_ = mark_line(*self.ax_.plot(rank, self.risk[order], **style))
        self._draw_intervals(rank, order)
        self._mark(rank, order)
        self.chance_level_ = draw_guessing(self.ax_, "axhline", 0.5)
        ticker = import_optional("matplotlib.ticker", extra="plot")
        self.ax_.xaxis.set_major_locator(
            ticker.MaxNLocator(steps=[1, 2, 5, 10], integer=True)
        )
        self.ax_.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))
        self.ax_.set(
            xlabel="Records, from lowest to highest risk",
            ylabel="Success of an attack on the record",
            ylim=(min(0.47, self.ax_.dataLim.ymin - 0.03), 1.02),
        )
        add_legend(self.ax_, inside="upper left")
        return self

    def _draw_intervals(self, rank, order):
        self.intervals_ = None
        if self.interval is None:
            return
        low, high = self.interval[order].T
        style = {
            "color": self.line_.get_color(),
            "alpha": 0.25,
            "label": interval_label(self.confidence_level),
        }
        if rank.size > _MOST_RECORDS_WITH_MARKERS:
            self.intervals_ = self.ax_.fill_between(
                rank, low, high, step="mid", linewidth=0, **style
            )
        else:
            known = ~np.isnan(low)
            self.intervals_ = self.ax_.vlines(
                rank[known], low[known], high[known], linewidth=4, **style
            )

    def _mark(self, rank, order):
        self.at_risk_ = None
        if self.at_risk is None or not self.at_risk.any():
            return
        marked = self.at_risk[order]
        label = f"At risk: {marked.sum():,} of {marked.size:,}"
        if self.fdr is not None:
            label += f" (false discovery rate {percent(self.fdr)})"
        (self.at_risk_,) = self.ax_.plot(
            rank[marked],
            self.risk[order][marked],
            linestyle="none",
            marker="^",
            color=ALERT,
            markeredgewidth=0,
            markersize=5 if rank.size > _MOST_RECORDS_WITH_MARKERS else 9,
            zorder=3,
            label=label,
        )
