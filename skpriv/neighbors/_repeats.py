"""Search among rows that repeat: the distinct ones are searched, then their copies."""

import numpy as np
import scipy.sparse as sp

from skpriv.neighbors import _copies
from skpriv.neighbors._search import choose_search, make_search
from skpriv.utils._batches import row_batches

# Approximate search takes rows for copies that differ by less than this, in units of
# the spread of each column: a transformer may round copies differently.
_SAME = 1e-9


def search_distinct_rows(X, n_ranks, *, search, **options):
    """Build the search for training rows; repeated ones are searched for once.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_records, n_features)
    n_ranks, search, **options
        See `make_search`.

    Returns
    -------
    search : object with a method ``rank``
    """
    first, places = distinct_rows(X)
    search = choose_search((first.size, X.shape[1]), sp.issparse(X), n_ranks, search)
    if search == "approximate":
        if not sp.issparse(X):
            first, places = distinct_rows(_rounded(X))
        repeated = first.size < X.shape[0]
    else:
        # Else the exact search, which finds ties itself, costs no more.
        repeated = 2 * first.size <= X.shape[0]
    if not repeated:
        return make_search(X, n_ranks, search=search, **options)
    distinct = make_search(X[first], n_ranks, search=search, **options)
    return DistinctSearch(distinct, places)


class DistinctSearch:
    """Search the distinct rows, and put all copies of each in its place.

    Parameters
    ----------
    search : object with a method ``rank``
        Of the distinct rows.
    places : ndarray of shape (n_records,)
        Which of the distinct rows each record is.

    Attributes
    ----------
    places : ndarray of shape (n_records,)
    """

    def __init__(self, search, places):
        self.name = search.name
        self.places = places
        self._search = search
        members = np.argsort(places, kind="stable")
        starts = np.append(0, np.cumsum(np.bincount(places)))
        self._copies = starts, members

    @property
    def first_cut(self):
        return getattr(self._search, "first_cut", self.places.size)

    def rank(self, X, exclude, n_ranks):
        """Yield the rankings of all queries; see `MetricSearch.rank`.

        Queries that are copies of each other are searched for once.
        """
        n = exclude.size
        excluded = np.where(exclude >= 0, self.places[exclude], -1)
        keys = np.where(excluded >= 0, excluded, self.places.size + np.arange(n))
        _, asked, answers = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(answers, kind="stable")
        starts = np.searchsorted(answers[order], np.arange(asked.size + 1))
        # The query's own row is ranked too, for the sake of its other copies.
        options = {"known": excluded[asked]} if self.name == "approximate" else {}
        nobody = np.full(asked.size, -1)
        rankings = self._search.rank(X[asked], nobody, n_ranks + 1, **options)
        for questions, ranking in rankings:
            counts = starts[questions + 1] - starts[questions]
            rows = np.repeat(np.arange(questions.size), counts)
            within = np.arange(rows.size) - np.repeat(
                np.cumsum(counts) - counts, counts
            )
            queries = order[np.repeat(starts[questions], counts) + within]
            yield from self._expand(
                ranking, rows, queries, exclude[queries], excluded[queries], n_ranks
            )

    def _expand(self, ranking, rows, queries, exclude, excluded, n_ranks):
        lengths = _copies.expanded_lengths(
            ranking, rows, excluded, self._copies[0], n_ranks
        )
        width = 16 * max(int(lengths.max()), 1)
        for batch in row_batches(rows.size, bytes_per_row=width, most_rows=None):
            yield (
                queries[batch],
                _copies.expand(
                    ranking,
                    rows[batch],
                    excluded[batch],
                    self._copies,
                    exclude[batch],
                    lengths[batch],
                ),
            )


def distinct_rows(X):
    """Find the rows of a matrix that differ from all rows before them.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_rows, n_features)

    Returns
    -------
    first : ndarray of shape (n_distinct,)
        The first of each kind, in order.
    places : ndarray of shape (n_rows,)
        Which of these each row is.
    """
    hashes = np.fromiter((hash(row) for row in _bytes_of_rows(X)), np.int64, X.shape[0])
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    first = first[group]  # of the rows with the same hash
    if first.size == 0 or (first == np.arange(first.size)).all():
        return np.arange(first.size), np.arange(first.size)
    first = np.where(_same(X, first), first, np.arange(first.size))
    return np.unique(first, return_inverse=True)


def _bytes_of_rows(X):
    if sp.issparse(X):
        for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            indices = X.indices[start:stop].tobytes()
            yield indices + (X.data[start:stop] + 0.0).tobytes()
        return
    for batch in row_batches(X.shape[0]):
        for row in X[batch] + 0.0:  # 0.0 and -0.0 are one number
            yield row.tobytes()


def _same(X, others):
    """Tell which rows are the same as given other ones: hashes may collide."""
    same = np.ones(others.size, dtype=bool)
    rows = np.flatnonzero(others != np.arange(others.size))
    for batch in row_batches(rows.size):
        here = rows[batch]
        differ = X[here] != X[others[here]]
        if sp.issparse(X):
            same[here] = np.diff(differ.tocsr().indptr) == 0
        else:
            same[here] = ~differ.any(axis=1)
    return same


def _rounded(X):
    """Round the columns that have a spread to a billionth of it."""
    spread = np.median(np.abs(X - np.median(X, axis=0)), axis=0)
    unit = np.where((spread > 0) & np.isfinite(spread), spread * _SAME, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(unit > 0, np.rint(X / unit), X)
