"""Audit a model on a table."""

import hashlib
from dataclasses import dataclass, replace

import numpy as np

from skpriv.datasets import EncodedTable, Note
from skpriv.report._audit import audit_subject
from skpriv.report._members import Rest
from skpriv.report._models import features_for, labels_for, naming_failure
from skpriv.report._subject import Subject, make_groups


@dataclass(frozen=True)
class Data:
    """The training records of a table, and what else is known of it.

    Attributes
    ----------
    table : EncodedTable
        The training records.
    no_features : tuple of str, default=()
        Columns beside the label that are no features, as they identify the records or
        are to be left out.
    places : ndarray of shape (n_records,), default=None
        The number of each training record in the table, from 1. None: all are.
    rest : Rest, default=None
        The records that the model was not trained on.
    groups : tuple of str, default=()
        Columns of the table whose groups are compared.
    source : str, default=""
        Where the table is from, for people.
    file : path-like, default=None
        The file that it was read from.
    """

    table: EncodedTable
    no_features: tuple[str, ...] = ()
    places: np.ndarray | None = None
    rest: Rest | None = None
    groups: tuple[str, ...] = ()
    source: str = ""
    file: object = None


def audit_table(kind, data, settings, **shown):
    """Fit a kind of model on a table, and audit it.

    Parameters
    ----------
    kind : Kind
        For the task of the table.
    data : Data
    settings : Settings
    **shown
        Passed to `summarise`.

    Returns
    -------
    audit : Audit
    """
    table = data.table
    subject = subject_of_table(data)
    # A linear model has as many weights for a quantity as for two classes.
    n_classes = len(table.classes or ())
    n_weights = (table.X.shape[1] + 1) * (n_classes if n_classes > 2 else 1)
    model = kind.build(n_neighbors=settings.n_neighbors, n_weights=n_weights)
    if data.rest is not None:
        y_test = data.rest.y
        if table.classes is None:
            y_test = standardize(y_test, table.y)
        settings = replace(settings, X_test=data.rest.X, y_test=y_test)
    return audit_subject(model, subject, settings, title=kind.title, **shown)


def audit_given(given, data, settings, **shown):
    """Audit the model that a user named on a table.

    Parameters
    ----------
    given : GivenModel
    data : Data
    settings : Settings
    **shown
        Passed to `summarise`.

    Returns
    -------
    audit : Audit

    Raises
    ------
    ModelError
        If the model is not for these columns, or this label.
    """
    table, rest = data.table, data.rest

    def encode(frame):
        columns = frame.drop(columns=[table.label, *data.no_features])
        return features_for(
            given, columns, lambda columns: table.encoder.transform(frame)
        )

    subject = subject_of_table(data)
    subject = replace(
        subject,
        X=encode(subject.frame),
        y=labels_for(given, table.y, table.classes),
        encode=encode,
        notes=[*table.notes, *(Note(None, text, "") for text in given.notes)],
    )
    if table.classes is None:
        subject = replace(subject, labels=table.y)
    if rest is not None:
        # A class that no training record has is known to no model.
        known = rest.y >= 0 if table.classes is not None else np.ones(len(rest.y), bool)
        settings = replace(
            settings,
            X_test=encode(rest.frame[known]),
            y_test=labels_for(given, rest.y[known], table.classes),
        )
    with naming_failure(given.source, "the audit of the model failed"):
        return audit_subject(given.estimator, subject, settings, **shown)


def subject_of_table(data):
    """Describe the training records of a table.

    Parameters
    ----------
    data : Data

    Returns
    -------
    subject : Subject
        Records are numbered from 1, as they are in the table.
    """
    table = data.table
    y, labels = table.y, table.y
    frame = None if table.frame is None else table.frame.reset_index(drop=True)
    if table.classes is None:
        y = standardize(y)
    else:
        labels = np.array(table.classes, dtype=object)[y]
    groups = list(data.groups)
    return Subject(
        X=table.X,
        y=y,
        labels=labels,
        index=np.arange(1, len(y) + 1) if data.places is None else data.places,
        frame=frame,
        columns=table.columns,
        features=table.X,
        ids=table.ids,
        groups=make_groups(groups, frame, len(y)) if groups else {},
        label=table.label,
        source=data.source,
        notes=table.notes,
        data_hash=None if data.file is None else hash_of_file(data.file),
        encode=table.encoder.transform,
    )


def hash_of_file(path):
    """Return the SHA-256 of a file, as ``sha256sum`` prints it.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    hash : str
    """
    with open(path, "rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def standardize(quantity, like=None):
    """Return a quantity with zero mean and unit variance.

    Parameters
    ----------
    quantity : ndarray of shape (n_records,)
    like : ndarray, default=None
        The quantity whose mean and variance they are, of at least two different values.
        None: `quantity`.

    Returns
    -------
    standardized : ndarray of shape (n_records,)
    """
    like = quantity if like is None else like
    mean = like.mean()
    # Divided twice, so that no square overflows or vanishes.
    largest = np.abs(like - mean).max()
    spread = ((like - mean) / largest).std()
    return (quantity - mean) / largest / spread
