"""The ROC curve of an attack, on logarithmic axes."""

from sklearn.utils.validation import check_is_fitted

from skpriv.metrics import attack_roc
from skpriv.plot._style import (
    add_legend,
    draw_guessing,
    label_of,
    lines_of_displays,
    mark_line,
    next_style,
    percent,
    start,
    with_defaults,
)
from skpriv.utils._pipelines import last_step


class AttackRocDisplay:
    """ROC curve of a membership inference attack, on logarithmic axes.

    An attack that finds a few members with hardly an error matters more than one that
    is slightly better than guessing on average. On logarithmic axes, the low false
    positive rates that tell the two apart take up most of the picture.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`. All parameters are
    stored as attributes.

    Parameters
    ----------
    fpr, tpr : ndarray of shape (n_points,)
        False and true positive rates.
    low, high : ndarray of shape (n_points,), default=None
        The ends of the band of the true positive rate. None: no band.
    auc : float, default=None
        Area under the curve, for the legend.
    n_targets : int, default=1
        Number of models. If there are several, the curve is the mean of theirs, and the
        band contains a share `confidence_level` of them; otherwise it is a pointwise
        confidence band.
    confidence_level : float, default=0.95
        Level of the band.
    name : str, default=None
        Name of the attack, for the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    band_ : matplotlib PolyCollection or None
        The band.
    chance_level_ : matplotlib Line2D
        The curve of an attack that guesses.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    skpriv.metrics.attack_roc : The curve and its band, without drawing.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skpriv import LiRAAttack
    >>> from skpriv.plot import AttackRocDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(min_samples_leaf=5)
    >>> attack = LiRAAttack(tree, n_shadows=16, random_state=0).fit(X, y)
    >>> display = AttackRocDisplay.from_estimator(attack)
    >>> display.ax_.get_xscale()
    'log'
    """

    def __init__(
        self,
        *,
        fpr,
        tpr,
        low=None,
        high=None,
        auc=None,
        n_targets=1,
        confidence_level=0.95,
        name=None,
    ):
        self.fpr = fpr
        self.tpr = tpr
        self.low = low
        self.high = high
        self.auc = auc
        self.n_targets = n_targets
        self.confidence_level = confidence_level
        self.name = name

    @classmethod
    def from_estimator(
        cls, attack, *, confidence_level=0.95, name=None, ax=None, **kwargs
    ):
        """Plot the ROC of a fitted attack, with each of its shadows as the target.

        Parameters
        ----------
        attack : LiRAAttack, or a Pipeline that ends in one
            Fitted. Each shadow is attacked by the others. The curve is the mean over
            the shadows, and the band holds `confidence_level` of them. For the attack
            of a RiskEstimator, pass its ``attack_``; for other attacks, play
            :func:`~skpriv.evaluation.membership_game` and use :meth:`from_predictions`.
        confidence_level : float, default=0.95
        name : str, default=None
            None: the name of the class.
        ax : matplotlib Axes, default=None
            None: a new figure is made.
        **kwargs
            Passed to ``Axes.plot``.

        Returns
        -------
        display : AttackRocDisplay

        Raises
        ------
        TypeError
            If the attack cannot score its shadows.
        """
        attack = last_step(attack)
        if not hasattr(attack, "shadow_scores"):
            raise TypeError(
                "attack must be a LiRAAttack, whose shadows serve as targets; got "
                f"{attack!r}. Of other attacks, use from_predictions with the results "
                "of skpriv.evaluation.membership_game."
            )
        check_is_fitted(attack)
        return cls.from_predictions(
            attack.membership_,
            attack.shadow_scores(),
            confidence_level=confidence_level,
            name=type(attack).__name__ if name is None else name,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls, y_true, y_score, *, confidence_level=0.95, name=None, ax=None, **kwargs
    ):
        """Plot the ROC of scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or (n_targets, n_samples)
            True (or 1) for a member, False (or 0) for a non-member.
        y_score : array-like of the same shape
            Score of each record; higher: more likely a member. For the results of
            :func:`~skpriv.evaluation.membership_game`, pass its ``membership`` and
            ``scores``.
        confidence_level : float, default=0.95
            Level of the band, which :func:`~skpriv.metrics.attack_roc` describes.
        name : str, default=None
        ax : matplotlib Axes, default=None
            None: a new figure is made.
        **kwargs
            Passed to ``Axes.plot``.

        Returns
        -------
        display : AttackRocDisplay
        """
        roc = attack_roc(y_true, y_score, confidence_level=confidence_level)
        return cls(**roc, name=name).plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, name=None, **kwargs):
        """Draw the curve.

        A curve that is drawn on axes with another has its own colour and dashes.

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
        display : AttackRocDisplay
        """
        self.ax_, self.figure_ = start(ax, figsize=(5.2, 5.0))
        style = next_style(self.ax_)
        del style["marker"]
        label = self._label(self.name if name is None else name)
        style = with_defaults({**style, "label": label}, kwargs)
        self.line_ = mark_line(*self.ax_.plot(self.fpr, self.tpr, **style))
        self.band_ = None
        if self.low is not None:
            self.band_ = self.ax_.fill_between(
                self.fpr,
                self.low,
                self.high,
                color=self.line_.get_color(),
                alpha=0.2,
                linewidth=0,
                label=self._band_label(),
            )
        self.chance_level_ = draw_guessing(self.ax_, "axline", (0.1, 0.1), (1, 1))
        lowest = min(line.get_xdata()[0] for line in lines_of_displays(self.ax_))
        # The same on both axes, so that guessing is the diagonal.
        lowest = min(lowest, 0.1)
        self.ax_.set(
            xlabel="False positive rate",
            ylabel="True positive rate",
            xscale="log",
            yscale="log",
            xlim=(lowest, 1),
            ylim=(lowest, 1),
        )
        add_legend(self.ax_, inside="best")
        return self

    def _label(self, name):
        if self.auc is None:
            return None if name is None else label_of(name)
        auc = f"AUC = {self.auc:.2f}"
        return auc if name is None else f"{label_of(name)} ({auc})"

    def _band_label(self):
        level = percent(self.confidence_level)
        if self.n_targets > 1:
            return f"{level} of {self.n_targets} models"
        return f"{level} confidence, pointwise"
