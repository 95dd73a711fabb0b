"""The audit of a model: from records to a summary, and to what is made of it."""

import copy
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.base import is_classifier, is_regressor

from skpriv.report import _words
from skpriv.report._conduct import Settings, conduct
from skpriv.report._measures import MOST_SECONDS, measure_options
from skpriv.report._progress import Silent, progress_on
from skpriv.report._subject import make_subject
from skpriv.report._summarise import summarise
from skpriv.report._writing import to_json
from skpriv.utils._files import replace_whole
from skpriv.utils._optional import import_optional

_N_SHOWN = 5


def audit(
    model,
    X,
    y,
    *,
    X_test=None,
    y_test=None,
    groups=None,
    ids=None,
    n_shadows=16,
    fdr=0.05,
    cv=None,
    rank_by="risk",
    n_top=10,
    measures="auto",
    cache_dir=None,
    n_jobs=None,
    random_state=0,
    verbose=False,
):
    """Audit a model: which of its training records does it expose, how much, and why.

    Parameters
    ----------
    model : classifier or regressor
        Any model, or a Pipeline that ends in one. If it is fitted, it must have been
        fitted on `X` and `y`; else a copy is. In either case, further copies are
        fitted on halves of the records (the shadow models) and on parts of them.
    X : {array-like, sparse matrix, DataFrame} of shape (n_records, ...)
        The training records, in any form that the model takes.
    y : array-like of shape (n_records,)
        Classes, or a quantity.
    X_test, y_test : default=None
        Records that the model was not fitted on, and their labels, to measure how good
        the model is. None: records of `X` are left out.
    groups : str, list of str, dict, DataFrame or array-like, default=None
        Groups whose risks are compared, besides the classes: names of columns of `X`,
        or columns of one group per record. Numbers of many values are cut into five
        bands.
    ids : str or array-like of shape (n_records,), default=None
        What identifies the records: the name of a column of `X`, or values. They are
        shown.
    n_shadows : int, default=16
        Number of shadow models: an even number that is at least 8.
    fdr : float, default=0.05
        Records are listed as at risk at this false discovery rate.
    cv : int, splitter or None, default=None
        How records are left out to measure how good the model is. None: a fifth at a
        time or, for k-nearest neighbours, one by one.
    rank_by : str, default="risk"
        What the records are ranked by: "risk", or one of the scores that the risk is
        estimated from.
    n_top : int, default=10
        How many of the most exposed records the summary lists.
    measures : "auto" or bool, default="auto"
        Whether to try what would help, such as a stronger penalty or fewer records, and
        to measure the performance and the risk again each time. "auto": if all else
        took at most 10 seconds, since each measure takes about as long.
    cache_dir : str or path-like, default=None
        Folder for the results of finished shadow models, from which an interrupted
        audit resumes.
    n_jobs : int, default=None
        Number of shadow models to train at a time.
    random_state : int, default=0
        The same number gives the same audit again.
    verbose : bool, default=False
        Show the progress, if standard error is a terminal.

    Returns
    -------
    audit : Audit

    Raises
    ------
    TypeError, ValueError
        If a parameter cannot be used; the message names it. There is no error if
        there are too few records, or if they have the same label: then the summary
        says that nothing can be said.

    See Also
    --------
    RiskEstimator : The estimate of the risk.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skpriv import audit
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> result = audit(RandomForestClassifier(10), X, y, n_shadows=8)
    >>> result.records.shape[0]
    569
    >>> result.summary["risk"]["n_shadows"]
    8
    """
    settings = Settings(
        n_shadows=n_shadows,
        fdr=fdr,
        cv=cv,
        cache_dir=cache_dir,
        n_jobs=n_jobs,
        random_state=random_state,
        rank_by=rank_by,
        measures=measures,
        X_test=X_test,
        y_test=y_test,
        progress=progress_on() if verbose else Silent(),
    )
    _check(model, settings, n_top)
    try:
        subject = make_subject(X, y, groups=groups, ids=ids)
        return audit_subject(model, subject, settings, n_top=n_top)
    finally:
        settings.progress.close()


def audit_subject(model, subject, settings, **presentation):
    """Audit a model on records that are described already.

    Parameters
    ----------
    model : classifier or regressor
    subject : Subject
    settings : Settings
    **presentation
        Passed to `summarise`.

    Returns
    -------
    audit : Audit
    """
    measured = conduct(model, subject, settings)
    measures = None
    if settings.measures is True or (
        settings.measures == "auto" and measured.seconds <= MOST_SECONDS
    ):
        start = time.monotonic()
        measures = measure_options(measured)
        seconds = measured.seconds + time.monotonic() - start
        measured = replace(measured, seconds=seconds)
    presentation.setdefault("options", _options(settings, presentation))
    return Audit(measured, summarise(measured, measures=measures, **presentation))


def _options(settings, presentation):
    shown = ("n_shadows", "fdr", "rank_by", "measures", "n_jobs", "random_state")
    return {
        **{name: getattr(settings, name) for name in shown},
        "cv": None if settings.cv is None else str(settings.cv),
        "cache_dir": None if settings.cache_dir is None else str(settings.cache_dir),
        "test_data": settings.X_test is not None,
        "n_top": presentation.get("n_top"),
    }


def _check(model, settings, n_top):
    if not hasattr(model, "fit") or isinstance(model, type):
        raise TypeError(
            "model must be a classifier or regressor of scikit-learn's interface; got "
            f"{model!r}."
        )
    if not (is_classifier(model) or is_regressor(model)):
        raise TypeError(
            "model must be a classifier or a regressor, or a Pipeline that ends in "
            f"one; got {model!r}."
        )
    _check_whole("n_shadows", settings.n_shadows, 8)
    if settings.n_shadows % 2:
        raise ValueError(f"n_shadows must be even; got {settings.n_shadows}.")
    _check_whole("n_top", n_top, 0)
    if not isinstance(settings.fdr, int | float) or not 0 < settings.fdr < 1:
        raise ValueError(f"fdr must be between 0 and 1; got {settings.fdr!r}.")
    if settings.measures != "auto" and not isinstance(settings.measures, bool):
        raise ValueError(
            f"measures must be 'auto', True or False; got {settings.measures!r}."
        )
    state = settings.random_state
    if state is not None and not isinstance(state, int | np.integer):
        raise ValueError(f"random_state must be a whole number; got {state!r}.")
    if (settings.X_test is None) != (settings.y_test is None):
        missing = "X_test" if settings.X_test is None else "y_test"
        raise ValueError(f"{missing} must be given, too: X_test goes with y_test.")


def _check_whole(name, value, least):
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ValueError(f"{name} must be a whole number; got {value!r}.")
    if value < least:
        raise ValueError(f"{name} must be at least {least}; got {value}.")


class Audit:
    """What an audit found.

    Attributes
    ----------
    summary : dict
        All figures and words of the report, as plain data; its form is that of
        ``schema.json``.
    records : DataFrame of shape (n_records, n_columns)
        One row per record, with the index of `X`: its id and label; its ``risk`` (how
        often an attack is right about it, from 0.5 to 1), and the ends of the
        interval, ``low`` and ``high``; whether it is ``at_risk``; the ``reasons``; its
        groups; and the scores that the risk was estimated from.
    model : classifier or regressor
        The audited model, fitted.
    risk : RiskEstimator or None
        Fitted; None if nothing can be said.
    """

    def __init__(self, measured, summary):
        self._measured = measured
        self.summary = summary
        self.model = measured.model
        self.risk = measured.risk

    @property
    def records(self):
        """The records, in their own order, as a DataFrame."""
        pandas = import_optional("pandas", extra="report")
        columns = dict(self.summary["records"])
        del columns["record"]
        frame = pandas.DataFrame(columns, index=self._measured.subject.index)
        return frame.rename(columns={"risk_low": "low", "risk_high": "high"}).astype(
            {"risk": float, "low": float, "high": float}
        )

    def with_values(self):
        """Return the summary with the values that make the listed records exposed.

        Returns
        -------
        summary : dict
            The reasons about a column have the key "value".
        """
        summary = copy.deepcopy(self.summary)
        subject, order = self._measured.subject, self._measured.order
        for record, row in zip(summary["most_exposed"], order, strict=False):
            for reason in record["reasons"]:
                column = reason["column"]
                if column in subject.groups:
                    reason["value"] = str(subject.groups[column][row])
                elif column is not None:
                    reason["value"] = str(subject.frame[column].iloc[row])
        return summary

    def _shown(self, show_values):
        return self.with_values() if show_values else self.summary

    def to_json(self, path=None):
        """Return the summary as JSON, or write it to a file.

        Parameters
        ----------
        path : str or path-like, default=None
            The file, which only its owner can read.

        Returns
        -------
        text : str or None
            None if `path` is given.
        """
        return _write(path, to_json(self.summary))

    def to_html(self, path=None, *, show_values=False):
        """Return the report as one page that needs no other file, or write it.

        Parameters
        ----------
        path : str or path-like, default=None
            The file, which only its owner can read.
        show_values : bool, default=False
            Show the values that make the listed records exposed, which are personal
            data.

        Returns
        -------
        text : str or None
            None if `path` is given.
        """
        from skpriv.report._page import render_page

        summary = self._shown(show_values)
        return _write(path, render_page(summary, show_values=show_values))

    def to_markdown(self, path=None, *, show_values=False):
        """Return the report as Markdown, or write it to a file.

        Parameters
        ----------
        path : str or path-like, default=None
            The file, which only its owner can read.
        show_values : bool, default=False
            As in `to_html`.

        Returns
        -------
        text : str or None
            None if `path` is given.
        """
        from skpriv.report._markdown import render_markdown

        summary = self._shown(show_values)
        return _write(path, render_markdown(summary, show_values=show_values))

    def _repr_html_(self):
        from skpriv.report._page import render_notebook

        return render_notebook(self.summary)

    def __repr__(self):
        model, data = self.summary["model"], self.summary["data"]
        lines = [f"Audit of {model['name']} on {data['records']:,} records"]
        lines += self.summary["verdict"]
        top = self.summary["most_exposed"][:_N_SHOWN]
        if self.risk is not None and top:
            lines.append("Most exposed:")
            lines += [f"  {_words.describe_exposed(record)}" for record in top]
        return "\n".join(lines)


def _write(path, text):
    if path is None:
        return text
    replace_whole(Path(path), text.encode("utf-8"), private=True)
    return None
