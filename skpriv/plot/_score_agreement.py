"""Measured attack success by percentile of a score."""

import numpy as np
from scipy.stats import rankdata, t
from sklearn.utils.validation import check_is_fitted

from skpriv.evaluation import success_by_group
from skpriv.metrics import score_agreement
from skpriv.plot._style import (
    add_legend,
    draw_guessing,
    label_of,
    mark_line,
    next_style,
    one_per_record,
    start,
    with_defaults,
)
from skpriv.utils._pipelines import last_step

_PERCENTILES = (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 100)


class ScoreAgreementDisplay:
    """Measured attack success by percentile of a score.

    A score agrees with the measurement if the success rises from left to right. The
    bins are narrow at the right, where the records are that matter.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`. All parameters are
    stored as attributes.

    Parameters
    ----------
    percentiles : ndarray of shape (n_bins + 1,)
        Edges of the bins, from 0 to 100.
    success : ndarray of shape (n_bins,)
        Mean success in each bin; NaN if it is empty.
    low, high : ndarray of shape (n_bins,)
        The ends of its interval; NaN in a bin of a single record.
    spearman : float, default=None
        Rank correlation of score and success, for the legend.
    name : str, default=None
        Name of the score, for the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The mean success, in the middle of each bin.
    errorbar_ : matplotlib ErrorbarContainer
        The same with the intervals and the widths of the bins.
    chance_level_ : matplotlib Line2D
        The success of guessing.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    skpriv.metrics.score_agreement : The agreement in figures.

    Examples
    --------
    >>> import numpy as np
    >>> from skpriv.plot import ScoreAgreementDisplay
    >>> score = np.arange(100.0)
    >>> display = ScoreAgreementDisplay.from_predictions(
    ...     0.5 + score / 200, score, percentiles=(0, 50, 100)
    ... )
    >>> display.success
    array([0.6225, 0.8725])
    """

    def __init__(self, *, percentiles, success, low, high, spearman=None, name=None):
        self.percentiles = percentiles
        self.success = success
        self.low = low
        self.high = high
        self.spearman = spearman
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        attack,
        score,
        *,
        percentiles=_PERCENTILES,
        confidence_level=0.95,
        name=None,
        ax=None,
        **kwargs,
    ):
        """Plot the success that an attack has measured.

        Parameters
        ----------
        attack : LiRAAttack, or a Pipeline that ends in one
            Fitted; for a RiskEstimator, pass its ``attack_``.
        score : array-like of shape (n_records,)
            Score of each record. Records for which it is NaN are left out.
        percentiles : array-like of shape (n_bins + 1,), default=(0, 10, ..., 90, 95, \
99, 100)
            Edges of the bins: increasing, from 0 to 100. Records with the same score
            are in the same bin.
        confidence_level : float, default=0.95
            Level of the intervals of :func:`~skpriv.evaluation.success_by_group`, each
            by itself.
        name : str, default=None
            Name of the score.
        ax : matplotlib Axes, default=None
            None: a new figure is made.
        **kwargs
            Passed to ``Axes.errorbar``.

        Returns
        -------
        display : ScoreAgreementDisplay

        Raises
        ------
        TypeError
            If the attack has not measured the success on each record.
        """
        attack = last_step(attack)
        if not hasattr(attack, "hit_pairs"):
            raise TypeError(
                "attack must be a LiRAAttack, such as attack_ of a RiskEstimator; got "
                f"{attack!r}."
            )
        check_is_fitted(attack)
        score, known = _check_score(score, attack.attack_success_.size)
        edges = _check_percentiles(percentiles)
        bins = np.full(score.size, -1)
        bins[known] = _bins(score[known], edges)
        result = success_by_group(
            attack, bins, confidence_level=confidence_level, correction="none"
        )
        filled = result.group[result.group >= 0]
        columns = np.full((3, edges.size - 1), np.nan)
        found = result.attack_success, result.low, result.high
        columns[:, filled] = np.array(found)[:, result.group >= 0]
        measured = attack.attack_success_[known]
        return cls(
            percentiles=edges,
            **dict(zip(("success", "low", "high"), columns, strict=True)),
            spearman=score_agreement(measured, score[known]).spearman,
            name=name,
        ).plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        success,
        score,
        *,
        percentiles=_PERCENTILES,
        confidence_level=0.95,
        name=None,
        ax=None,
        **kwargs,
    ):
        """Plot a success that was measured before.

        Parameters
        ----------
        success : array-like of shape (n_records,)
            Measured success on each record.
        score : array-like of shape (n_records,)
            Score of each record. Records for which it is NaN are left out.
        percentiles : array-like of shape (n_bins + 1,), default=(0, 10, ..., 90, 95, \
99, 100)
            Edges of the bins: increasing, from 0 to 100. Records with the same score
            are in the same bin.
        confidence_level : float, default=0.95
            Level of the intervals, each by itself. They are Student's, for the mean
            over the records of a bin; errors that the measurements share are not in
            them.
        name : str, default=None
            Name of the score.
        ax : matplotlib Axes, default=None
            None: a new figure is made.
        **kwargs
            Passed to ``Axes.errorbar``.

        Returns
        -------
        display : ScoreAgreementDisplay
        """
        success = one_per_record(success, "success")
        score, known = _check_score(score, success.size)
        edges = _check_percentiles(percentiles)
        success, score = success[known], score[known]
        bins = _bins(score, edges)
        columns = [
            _mean(success[bins == number], confidence_level)
            for number in range(edges.size - 1)
        ]
        mean, low, high = np.array(columns).T
        return cls(
            percentiles=edges,
            success=mean,
            low=low,
            high=high,
            spearman=score_agreement(success, score).spearman,
            name=name,
        ).plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, name=None, **kwargs):
        """Draw the success by percentile.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: a new figure is made.
        name : str, default=None
            None: the `name` of the Display.
        **kwargs
            Passed to ``Axes.errorbar``.

        Returns
        -------
        display : ScoreAgreementDisplay
        """
        self.ax_, self.figure_ = start(ax)
        style = next_style(self.ax_)
        label = self._label(self.name if name is None else name)
        style = with_defaults({**style, "linewidth": 1, "label": label}, kwargs)
        left, right = self.percentiles[:-1], self.percentiles[1:]
        self.errorbar_ = self.ax_.errorbar(
            (left + right) / 2,
            self.success,
            xerr=(right - left) / 2,
            yerr=[self.success - self.low, self.high - self.success],
            **{"capsize": 2, "elinewidth": 1.4, "markersize": 4, **style},
        )
        self.line_ = mark_line(self.errorbar_.lines[0])
        self.chance_level_ = draw_guessing(self.ax_, "axhline", 0.5)
        self.ax_.set(
            xlabel="Percentile of the score",
            ylabel="Mean measured success of the attack",
            xlim=(-1, 101),
        )
        add_legend(self.ax_, inside="upper left")
        return self

    def _label(self, name):
        label = "Score" if name is None else label_of(name)
        if self.spearman is None or np.isnan(self.spearman):
            return label
        return f"{label} (rank correlation {self.spearman:z.2f})"


def _check_score(score, n_records):
    """Return the scores, and which of them are known."""
    score = np.asarray(score, dtype=float)
    known = ~np.isnan(score)
    one_per_record(np.where(known, score, 0.0), "score", n_records)
    if np.count_nonzero(known) < 2:
        raise ValueError("score must be known for at least 2 records.")
    return score, known


def _check_percentiles(percentiles):
    edges = np.asarray(percentiles, dtype=float)
    ends = edges.ndim == 1 and edges.size > 1 and (edges[0], edges[-1]) == (0, 100)
    if not ends or not (np.diff(edges) > 0).all():
        raise ValueError(
            f"percentiles must increase from 0 to 100; got {percentiles!r}."
        )
    return edges


def _bins(score, edges):
    """Return the bin of each record, by the middle of the ranks of its score."""
    percentile = 100 * (rankdata(score) - 0.5) / score.size
    return np.searchsorted(edges, percentile, side="right") - 1


def _mean(values, level):
    """Mean of some records, and the ends of its interval."""
    if values.size < 2:
        return (values[0] if values.size else np.nan), np.nan, np.nan
    reach = t.ppf((1 + level) / 2, values.size - 1)
    reach *= values.std(ddof=1) / np.sqrt(values.size)
    mean = values.mean()
    return mean, max(mean - reach, 0.0), min(mean + reach, 1.0)
