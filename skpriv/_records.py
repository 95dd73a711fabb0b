"""Row identity: which training record a row is."""

import numpy as np
import scipy.sparse as sp

from skpriv.utils._batches import row_batches
from skpriv.utils._labels import check_same_kind_of_label

_UNITS_IN_LAST_PLACE = 64
_CLOSER_BY_ROUNDING = 4


class RecordIndex:
    """Find the training record that a row is.

    Rows coincide when they agree, feature by feature, up to the rounding that a
    transformer leaves between ``fit_transform`` and ``transform``, or between a
    whole matrix and some of its rows. Among several such records the closest one
    counts, and among equally close ones the first.

    Rows that coincide have nearly the same projection on any direction, so one
    sort of the projections replaces comparing all pairs.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_records, n_features)
        The training rows.
    y : ndarray of shape (n_records,) or (n_records, n_outputs)
        Their labels.
    """

    def __init__(self, X, y):
        self.X = X
        self.y = y
        self._sorted = None

    def find(self, X, y=None):
        """Return the record that each row is, -1 where it is none.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_rows, n_features)
        y : ndarray of shape (n_rows,) or (n_rows, n_outputs), default=None
            Labels, which must be the record's too. None: any label will do.

        Returns
        -------
        records : ndarray of shape (n_rows,), dtype intp
        """
        same_shape = X.shape == self.X.shape
        if same_shape and same_rows(X, self.X):
            records = np.arange(X.shape[0])
            if y is None or np.array_equal(y, self.y):
                return records
        eps = max(np.finfo(rows.dtype).eps for rows in (X, self.X))
        if self._sorted is None or self._sorted.eps != eps:
            self._sorted = _SortedRows(self.X, eps)
        records, gaps = self._sorted.closest(X, *self._label_codes(y))
        if same_shape:
            own = self._sorted.gaps(X, slice(None), slice(None))
            if (own <= 1).all():
                # Rounding may bring a row a little closer to another record.
                here = own <= _CLOSER_BY_ROUNDING * gaps
                if y is not None:
                    here &= _rows_equal(y, self.y)
                records[here], gaps[here] = np.flatnonzero(here), own[here]
        inexact = np.flatnonzero((records >= 0) & (gaps > 0))
        if inexact.size:
            same = self._sorted.differ_by_rounding(X, inexact, records[inexact])
            records[inexact[~same]] = -1
        return records

    def _label_codes(self, y):
        if y is None:
            return None, None
        check_same_kind_of_label(y, self.y)
        both = np.concatenate([self.y, y])
        axis = None if both.ndim == 1 else 0
        codes = np.unique(both, axis=axis, return_inverse=True)[1].reshape(-1)
        return codes[: len(self.y)], codes[len(self.y) :]


class _SortedRows:
    """Training rows, grouped where identical and sorted by a projection.

    The tolerance of a feature is 64 units in the last place of its column's largest
    value, plus 64 of the matrix's largest value: a transformer such as PCA makes each
    column a sum of others, which have their rounding. The second term is left out for
    a column of integers, and for all columns if it would merge training rows.
    """

    def __init__(self, X, eps):
        self.eps = eps
        largest = _column_maxima(X)
        rounding = _UNITS_IN_LAST_PLACE * eps
        of_sums = np.where(_hold_integers(X), 0.0, largest.max(initial=0))
        tolerance = rounding * (largest + of_sums)
        # Columns whose own rounding shows that of the sums that made them.
        self._large = np.flatnonzero(_UNITS_IN_LAST_PLACE * largest >= of_sums)
        self._column_tolerance = _nonzero(rounding * largest, eps)
        # Further from any record than the tolerance.
        self._beyond = 2 * (largest + tolerance + (largest == 0))
        self.X = self._fill(X)
        self._sort(tolerance)
        if not self._tells_rows_apart:
            self._sort(self._column_tolerance)

    def _sort(self, tolerance):
        self.tolerance = _nonzero(tolerance, self.eps)
        direction = np.random.RandomState(0).uniform(-1, 1, tolerance.size)
        self._direction = direction / self.tolerance
        self._band = np.abs(direction).sum() + 1

        keys = self.X @ self._direction
        order = np.argsort(keys, kind="stable")
        steps = self.gaps(self.X, order[1:], order[:-1])
        self._tells_rows_apart = not ((steps > 0) & (steps <= 1)).any()
        starts = np.concatenate([[True], steps > 0])
        self._keys = keys[order[starts]]
        self._examples = order[starts]
        self._group = np.empty(order.size, dtype=np.intp)
        self._group[order] = np.cumsum(starts) - 1

    def _fill(self, X):
        """Replace NaN, inf and -inf, each by a number that no record contains."""
        if sp.issparse(X):
            data = _fill(X.data, self._beyond[X.indices])
            return type(X)((data, X.indices, X.indptr), shape=X.shape)
        return _fill(X, self._beyond)

    def differ_by_rounding(self, X, rows, records):
        """Whether pairs of rows within the tolerance differ by rounding alone.

        Where sums are computed again, the columns of large values change in their last
        places too. If none of them does, the rows were not computed again, and a
        difference that is large for a column of small values is one of the data.
        """
        within_column = self.gaps(X, rows, records, self._column_tolerance) <= 1
        if within_column.all() or self._large_columns_differ(X, rows, records):
            return np.ones(rows.size, dtype=bool)
        return within_column

    def _large_columns_differ(self, X, rows, records):
        return any(
            abs(
                self._fill(X[rows[batch]])[:, self._large]
                - self.X[records[batch]][:, self._large]
            ).max()
            > 0
            for batch in row_batches(rows.size)
        )

    def gaps(self, X, rows, records, tolerance=None):
        """Largest difference of each pair of rows, in units of the tolerance."""
        tolerance = self.tolerance if tolerance is None else tolerance
        rows, records = (
            np.arange(M.shape[0])[which] for M, which in ((X, rows), (self.X, records))
        )
        gaps = np.empty(rows.size)
        for batch in row_batches(rows.size):
            difference = abs(self._fill(X[rows[batch]]) - self.X[records[batch]])
            if sp.issparse(difference):
                scaled = difference.multiply(1 / tolerance).tocsr()
                gaps[batch] = scaled.max(axis=1).toarray().ravel()
            else:
                gaps[batch] = (difference / tolerance).max(axis=1)
        return gaps

    def closest(self, X, codes=None, row_codes=None):
        """Return the closest coinciding record of each row, and how far it is."""
        first = _FirstOfGroup(self._group, codes)
        keys = self._fill(X) @ self._direction
        low = np.searchsorted(self._keys, keys - self._band)
        high = np.searchsorted(self._keys, keys + self._band, side="right")
        records = np.full(X.shape[0], -1)
        gaps = np.full(X.shape[0], np.inf)
        rows = np.flatnonzero(low < high)
        while rows.size:
            groups = low[rows]
            found = first(groups, None if row_codes is None else row_codes[rows])
            gap = self.gaps(X, rows, self._examples[groups])
            better = (found >= 0) & (gap <= 1)
            better &= (gap < gaps[rows]) | (
                (gap == gaps[rows]) & (found < records[rows])
            )
            records[rows[better]] = found[better]
            gaps[rows[better]] = gap[better]
            low[rows] += 1
            rows = rows[low[rows] < high[rows]]
        return records, gaps


class _FirstOfGroup:
    """The first record of a group of identical rows, or of one label in it."""

    def __init__(self, group, codes):
        self._n_codes = 1 if codes is None else int(codes.max()) + 1
        keys = group if codes is None else group * self._n_codes + codes
        self._keys, self._first = np.unique(keys, return_index=True)

    def __call__(self, groups, codes):
        if codes is None:
            return self._first[groups]
        keys = groups * self._n_codes + codes
        place = np.minimum(np.searchsorted(self._keys, keys), self._keys.size - 1)
        found = (codes < self._n_codes) & (self._keys[place] == keys)
        return np.where(found, self._first[place], -1)


def _nonzero(tolerance, eps):
    """Give a column of zeros the smallest tolerance of all columns, instead of 0."""
    smallest = tolerance.min(where=tolerance > 0, initial=eps)
    return np.where(tolerance > 0, tolerance, smallest)


def _fill(values, beyond):
    if (np.abs(values) <= beyond).all():
        return values
    # Larger numbers, which no record contains either, must not equal the replacements.
    return np.select(
        [np.isnan(values), values == np.inf, values == -np.inf],
        [2 * beyond, 3 * beyond, -3 * beyond],
        np.clip(values, -beyond, beyond),
    )


def _column_maxima(X):
    """Largest finite value of each column, by its size."""
    if sp.issparse(X):
        sizes = abs(X)
        sizes.data[~np.isfinite(sizes.data)] = 0.0
        return sizes.max(axis=0).toarray().ravel()
    return np.abs(np.where(np.isfinite(X), X, 0.0)).max(axis=0)


def _hold_integers(X):
    """Whether all finite values of each column are integers."""
    if not sp.issparse(X):
        return (~np.isfinite(X) | (np.rint(X) == X)).all(axis=0)
    broken = np.isfinite(X.data) & (X.data != np.rint(X.data))
    return np.bincount(X.indices[broken], minlength=X.shape[1]) == 0


def same_rows(A, B):
    """Tell whether two matrices hold the same rows, in the same order, bit by bit.

    Parameters
    ----------
    A, B : {ndarray, sparse matrix}
        Of one shape.

    Returns
    -------
    same : bool
    """
    if A is B:
        return True
    if sp.issparse(A):
        return (A != B).nnz == 0
    return np.array_equal(A, B, equal_nan=True)


def _rows_equal(a, b):
    equal = a == b
    return equal if equal.ndim == 1 else equal.all(axis=1)
