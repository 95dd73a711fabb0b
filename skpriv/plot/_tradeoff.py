"""Trade-off curves by leverage, with measured points."""

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from skpriv.leverage.gaussian import tradeoff_curve
from skpriv.metrics import attack_roc
from skpriv.plot._style import (
    add_legend,
    draw_guessing,
    label_of,
    mark_line,
    next_style,
    one_per_record,
    percent,
    start,
    with_defaults,
)
from skpriv.utils._checks import check_rates
from skpriv.utils._pipelines import last_step

_QUANTILES = (0.5, 0.9, 0.99, 1.0)
_N_POINTS = 201
_N_MEASURED = 12


class TradeoffDisplay:
    """Error rates of the best attack on records of given leverage.

    In the Gaussian linear model, the leverage of a record alone determines which false
    negative rate the most powerful test has at each false positive rate. The lower the
    curve, the more exposed the record; the diagonal is guessing.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`. All parameters are
    stored as attributes.

    Parameters
    ----------
    leverage : ndarray of shape (n_curves,)
        Leverage of the record of each curve.
    fpr : ndarray of shape (n_points,)
        False positive rates.
    fnr : ndarray of shape (n_curves, n_points)
        False negative rates of the most powerful test.
    measured : list of Bunch, default=None
        For each curve, ``fpr``, ``fnr`` and the ends of the interval of the latter,
        ``low`` and ``high``, as an attack has them.
    confidence_level : float, default=None
        Level of the intervals, for the legend.
    name : str, default=None
        Name of the attack that was measured, for the legend.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The curves.
    errorbars_ : list of matplotlib ErrorbarContainer
        The measured points; empty without them.
    chance_level_ : matplotlib Line2D
        The error rates of guessing.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    skpriv.leverage.gaussian.tradeoff_curve : The curve, without drawing.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skpriv import LeverageAttack
    >>> from skpriv.plot import TradeoffDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> display = TradeoffDisplay.from_estimator(LeverageAttack().fit(X, y))
    >>> display.leverage.round(3)
    array([0.021, 0.039, 0.094, 0.128])
    """

    def __init__(
        self, *, leverage, fpr, fnr, measured=None, confidence_level=None, name=None
    ):
        self.leverage = leverage
        self.fpr = fpr
        self.fnr = fnr
        self.measured = measured
        self.confidence_level = confidence_level
        self.name = name

    @classmethod
    def from_estimator(
        cls, attack, *, quantiles=_QUANTILES, n_outputs=1, ax=None, **kwargs
    ):
        """Plot what the leverages of a fitted attack imply.

        Parameters
        ----------
        attack : LeverageAttack, or a Pipeline that ends in one
            Fitted.
        quantiles : array-like of shape (n_curves,), default=(0.5, 0.9, 0.99, 1.0)
            The records with these quantiles of the leverage are drawn.
        n_outputs : int, default=1
            Number of outputs of the model.
        ax : matplotlib Axes, default=None
            None: a new figure is made.
        **kwargs
            Passed to ``Axes.plot``, for all curves.

        Returns
        -------
        display : TradeoffDisplay

        Raises
        ------
        TypeError
            If `attack` is no LeverageAttack.
        """
        attack = last_step(attack)
        check_is_fitted(attack)
        if not hasattr(attack, "leverage_"):
            raise TypeError(f"attack must be a LeverageAttack; got {attack!r}.")
        return cls.from_predictions(
            attack.leverage_,
            quantiles=quantiles,
            n_outputs=n_outputs,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        leverage,
        y_true=None,
        y_score=None,
        *,
        quantiles=_QUANTILES,
        n_outputs=1,
        confidence_level=0.95,
        name=None,
        ax=None,
        **kwargs,
    ):
        """Plot the curves of some records, and how an attack did on these.

        Parameters
        ----------
        leverage : array-like of shape (n_records,)
            Leverage of each record, between 0 and 1.
        y_true : array-like of shape (n_trials, n_records), default=None
            For each trial, True (or 1) where the record was a member. None: no points
            are drawn.
        y_score : array-like of shape (n_trials, n_records), default=None
            Score of each record in each trial; higher: more likely a member. NaN where
            the record was not scored.
        quantiles : array-like of shape (n_curves,), default=(0.5, 0.9, 0.99, 1.0)
            The records with these quantiles of the leverage are drawn.
        n_outputs : int, default=1
            Number of outputs of the model.
        confidence_level : float, default=0.95
            Level of the interval at each measured point; see
            :func:`~skpriv.metrics.attack_roc`.
        name : str, default=None
            Name of the attack that was measured.
        ax : matplotlib Axes, default=None
            None: a new figure is made.
        **kwargs
            Passed to ``Axes.plot``, for all curves.

        Returns
        -------
        display : TradeoffDisplay
        """
        leverage = one_per_record(leverage, "leverage")
        ranks = check_rates(quantiles, "quantiles") * (leverage.size - 1)
        records = np.argsort(leverage, kind="stable")[np.rint(ranks).astype(int)]
        # Of few records, one may have several of the quantiles.
        records = list(dict.fromkeys(records.tolist()))
        fpr = np.linspace(0, 1, _N_POINTS)
        display = cls(
            leverage=leverage[records],
            fpr=fpr,
            fnr=tradeoff_curve(fpr, leverage[records][:, np.newaxis], n_outputs),
            measured=_measure(
                y_true, y_score, leverage.size, records, confidence_level
            ),
            confidence_level=confidence_level,
            name=name,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, name=None, **kwargs):
        """Draw the curves and the points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: a new figure is made.
        name : str, default=None
            None: the `name` of the Display.
        **kwargs
            Passed to ``Axes.plot``, for all curves.

        Returns
        -------
        display : TradeoffDisplay
        """
        self.ax_, self.figure_ = start(ax, figsize=(7.6, 4.8))
        self.lines_, self.errorbars_ = [], []
        for number, (leverage, fnr) in enumerate(
            zip(self.leverage, self.fnr, strict=True)
        ):
            style = next_style(self.ax_)
            marker = style.pop("marker")
            style = {**style, "label": f"Leverage {leverage:.2g}"}
            style = with_defaults(style, kwargs)
            self.lines_.append(mark_line(*self.ax_.plot(self.fpr, fnr, **style)))
            if self.measured is not None:
                self._draw_points(number, marker)
        self.chance_level_ = draw_guessing(self.ax_, "axline", (0, 1), (1, 0))
        self._explain_points(self.name if name is None else name)
        self.ax_.set(
            xlabel="False positive rate",
            ylabel="False negative rate",
            xlim=(0, 1),
            ylim=(0, 1),
        )
        add_legend(self.ax_, inside="best", outside="right upper")
        return self

    def _draw_points(self, number, marker):
        points = self.measured[number]
        bars = self.ax_.errorbar(
            points.fpr,
            points.fnr,
            yerr=[points.fnr - points.low, points.high - points.fnr],
            linestyle="none",
            marker=marker,
            markersize=5,
            color=self.lines_[number].get_color(),
            capsize=2,
            elinewidth=1,
        )
        self.errorbars_.append(bars)

    def _explain_points(self, name):
        if not self.errorbars_:
            return
        label = "Measured" if name is None else f"Measured: {label_of(name)}"
        if self.confidence_level is not None:
            label += f",\n{percent(self.confidence_level)} interval"
        self.ax_.errorbar(
            [], [], yerr=[], linestyle="none", marker="o", color="0.35", label=label
        )


def _measure(y_true, y_score, n_records, records, confidence_level):
    """Measure the error rates of an attack on some records."""
    if y_true is None and y_score is None:
        return None
    y_true, y_score = np.asarray(y_true), np.asarray(y_score, dtype=float)
    if y_true.shape != y_score.shape or y_true.shape[1:] != (n_records,):
        raise ValueError(
            f"y_true and y_score must have shape (n_trials, {n_records}), like the "
            f"leverages; got {y_true.shape} and {y_score.shape}."
        )
    return [
        _error_rates(y_true[:, record], y_score[:, record], confidence_level)
        for record in records
    ]


def _error_rates(y_true, y_score, confidence_level):
    known = ~np.isnan(y_score)
    roc = attack_roc(y_true[known], y_score[known], confidence_level=confidence_level)
    # Evenly spaced on a linear axis.
    wanted = np.linspace(0, 1, _N_MEASURED + 2)[1:-1]
    points = np.unique(np.abs(roc.fpr[:, np.newaxis] - wanted).argmin(axis=0))
    return Bunch(
        fpr=roc.fpr[points],
        fnr=1 - roc.tpr[points],
        low=1 - roc.high[points],
        high=1 - roc.low[points],
    )
