"""The quality of a model that is trained on fewer and fewer records."""

from collections.abc import Mapping

import numpy as np

from skpriv.evaluation import minimization_curve
from skpriv.plot._style import (
    add_legend,
    label_of,
    mark_line,
    new_axes,
    next_style,
    start,
    with_defaults,
)

_MEASURES = {
    "macro_f1": "Macro F1 on the test rows",
    "class_balance": "Class balance (1: equal shares)",
}


class MinimizationDisplay:
    """Quality of a model, and balance of its classes, by the number of records.

    Records are removed or added in the order of a score. If the model is about as good
    without the most exposed records as without as many at random, they can be left out
    at little cost.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`. All parameters are
    stored as attributes.

    Parameters
    ----------
    curves : dict of str to Bunch
        Results of :func:`~skpriv.evaluation.minimization_curve`, by the names that the
        legend shows.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The lines of the first measure, in the order of `curves`, then those of the
        second.
    axes_ : list of matplotlib Axes
        For the macro-averaged F1 and, if there is a second one, for the class balance:
        the entropy of the labels relative to that of equal shares, which has 1.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure

    See Also
    --------
    skpriv.evaluation.minimization_curve : The curve, without drawing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skpriv import WaKAScorer
    >>> from skpriv.plot import MinimizationDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> train, test = (X[::2], y[::2]), (X[1::2], y[1::2])
    >>> scores = WaKAScorer().fit(*train).scores_
    >>> display = MinimizationDisplay.from_estimator(
    ...     GaussianNB(), *train, scores, *test, fractions=[0, 0.2, 0.4]
    ... )
    >>> list(display.curves)
    ['Highest scores removed', 'Lowest scores removed', 'Random records removed']
    """

    def __init__(self, *, curves):
        self.curves = curves

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y,
        scores,
        X_test,
        y_test,
        *,
        fractions=None,
        action="remove",
        n_jobs=None,
        random_state=None,
        ax=None,
        **kwargs,
    ):
        """Train models on the records in three orders, and plot how good they are.

        Parameters
        ----------
        estimator : classifier
            It is not changed.
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        scores : array-like of shape (n_samples,)
            Exposure or value of each record.
        X_test : {array-like, sparse matrix, DataFrame} of shape (n_test, n_features)
        y_test : array-like of shape (n_test,)
        fractions : array-like of shape (n_steps,), default=None
            Fractions of the records that are removed, or added; see
            :func:`~skpriv.evaluation.minimization_curve`.
        action : {"remove", "add"}, default="remove"
        n_jobs : int, default=None
            Number of models to train at a time.
        random_state : int, RandomState instance or None, default=None
        ax : matplotlib Axes or pair of them, default=None
            None: a new figure is made. A single one shows the macro-averaged F1 only.
        **kwargs
            Passed to ``Axes.plot``, for all lines.

        Returns
        -------
        display : MinimizationDisplay
        """
        done = "added" if action == "add" else "removed"
        names = {
            "highest": f"Highest scores {done}",
            "lowest": f"Lowest scores {done}",
            "random": f"Random records {done}",
        }
        curves = {
            name: minimization_curve(
                estimator,
                X,
                y,
                scores,
                X_test,
                y_test,
                fractions=fractions,
                action=action,
                order=order,
                n_jobs=n_jobs,
                random_state=random_state,
            )
            for order, name in names.items()
        }
        return cls.from_predictions(curves, ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, curves, *, ax=None, **kwargs):
        """Plot results of ``minimization_curve``.

        Parameters
        ----------
        curves : dict of str to Bunch
            As :func:`~skpriv.evaluation.minimization_curve` returns them, by the names
            that the legend shows.
        ax : matplotlib Axes or pair of them, default=None
            None: a new figure is made. A single one shows the macro-averaged F1 only.
        **kwargs
            Passed to ``Axes.plot``, for all lines.

        Returns
        -------
        display : MinimizationDisplay
        """
        if not isinstance(curves, Mapping) or not curves or "macro_f1" in curves:
            raise ValueError(
                "curves must be a dict of names and results of minimization_curve; got "
                f"{type(curves).__name__}."
            )
        return cls(curves=dict(curves)).plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, name=None, **kwargs):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes or pair of them, default=None
            None: a new figure is made. A single one shows the macro-averaged F1 only.
        name : str, default=None
            Put in front of the name of each curve.
        **kwargs
            Passed to ``Axes.plot``, for all lines.

        Returns
        -------
        display : MinimizationDisplay
        """
        self.axes_ = _axes(ax)
        self.ax_, self.figure_ = start(self.axes_[0])
        self.lines_ = []
        for (measure, title), ax in zip(_MEASURES.items(), self.axes_, strict=False):
            for label, curve in self.curves.items():
                full = label if name is None else f"{name}: {label}"
                order = np.argsort(curve["n_records"], kind="stable")
                style = {**next_style(ax), "label": label_of(full), "markersize": 4}
                lines = ax.plot(
                    curve["n_records"][order],
                    curve[measure][order],
                    **with_defaults(style, kwargs),
                )
                self.lines_.append(mark_line(*lines))
            ax.set(xlabel="Records trained on", ylabel=title)
        add_legend(self.ax_, inside="best", outside="lower center")
        return self


def _axes(ax):
    if ax is None:
        return new_axes(len(_MEASURES), figsize=(9.6, 4.6))
    axes = list(np.ravel(ax))
    if len(axes) > len(_MEASURES):
        raise ValueError(
            f"ax must be one matplotlib Axes, or two, for F1 and class balance; got "
            f"{len(axes)}."
        )
    return axes
