"""Audit a kind of model on a table."""

import hashlib

import numpy as np

from skpriv.report._audit import audit_subject
from skpriv.report._subject import Subject, make_groups


def audit_table(kind, table, settings, *, groups=(), source="", file=None, **shown):
    """Fit a kind of model on a table, and audit it.

    Parameters
    ----------
    kind : Kind
        For the task of the table.
    table : EncodedTable
    settings : Settings
    groups : sequence of str, default=()
        Columns of the table whose groups are compared.
    source : str, default=""
        Where the table is from, for people.
    file : path-like, default=None
        The file that it was read from.
    **shown
        Passed to `summarise`.

    Returns
    -------
    audit : Audit
    """
    subject = subject_of_table(table, groups=groups, source=source, file=file)
    # A linear model has as many weights for a quantity as for two classes.
    n_classes = len(table.classes or ())
    n_weights = (table.X.shape[1] + 1) * (n_classes if n_classes > 2 else 1)
    model = kind.build(n_neighbors=settings.n_neighbors, n_weights=n_weights)
    return audit_subject(model, subject, settings, title=kind.title, **shown)


def subject_of_table(table, *, groups=(), source="", file=None):
    """Describe the records of a table.

    Parameters
    ----------
    table : EncodedTable
    groups, source, file
        As in `audit_table`.

    Returns
    -------
    subject : Subject
        Records are numbered from 1.
    """
    y, labels = table.y, table.y
    frame = None if table.frame is None else table.frame.reset_index(drop=True)
    if table.classes is None:
        y = standardize(y)
    else:
        labels = np.array(table.classes, dtype=object)[y]
    return Subject(
        X=table.X,
        y=y,
        labels=labels,
        index=np.arange(1, len(y) + 1),
        frame=frame,
        columns=table.columns,
        features=table.X,
        ids=table.ids,
        groups=make_groups(list(groups), frame, len(y)) if groups else {},
        label=table.label,
        source=source,
        notes=table.notes,
        data_hash=None if file is None else hash_of_file(file),
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


def standardize(quantity):
    """Return a quantity with zero mean and unit variance.

    Parameters
    ----------
    quantity : ndarray of shape (n_records,)
        At least two different values.

    Returns
    -------
    standardized : ndarray of shape (n_records,)
    """
    # Divided twice, so that no square overflows or vanishes.
    deviations = quantity - quantity.mean()
    deviations /= np.abs(deviations).max()
    return deviations / deviations.std()
