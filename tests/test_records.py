"""A row is a training record when it coincides with one, label included."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from skpriv._records import RecordIndex


def naive_find(X_fit, y_fit, X, y=None):
    found = []
    for i, row in enumerate(X):
        same = (X_fit == row).all(axis=1)
        if y is not None:
            same &= y_fit == y[i]
        found.append(np.flatnonzero(same)[0] if same.any() else -1)
    return np.array(found)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_finds_the_first_such_record_among_duplicates(seed, sparse):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (60, 4)).astype(float), rng.integers(0, 3, 60)
    rows, labels = rng.integers(0, 3, (40, 4)).astype(float), rng.integers(0, 4, 40)
    wrap = sp.csr_array if sparse else np.asarray
    index = RecordIndex(wrap(X), y)
    np.testing.assert_array_equal(index.find(wrap(rows)), naive_find(X, y, rows))
    np.testing.assert_array_equal(
        index.find(wrap(rows), labels), naive_find(X, y, rows, labels)
    )


def test_the_training_matrix_is_taken_by_position():
    X, y = np.zeros((5, 2)), np.array([0, 1, 0, 1, 1])
    index = RecordIndex(X, y)
    np.testing.assert_array_equal(index.find(X.copy()), np.arange(5))
    np.testing.assert_array_equal(index.find(X.copy(), y), np.arange(5))
    # With another label in one row, that row is the first record which has it.
    np.testing.assert_array_equal(
        index.find(X.copy(), np.array([1, 1, 0, 1, 7])), [1, 1, 2, 3, -1]
    )


@pytest.mark.parametrize(
    "transformer", [StandardScaler(), PCA(), PCA(n_components=3, whiten=True)], ids=str
)
def test_tolerates_the_rounding_of_transformers(transformer):
    rng = np.random.default_rng(0)
    # Of rank 6 in 15 columns: PCA leaves columns that are rounding alone.
    X = rng.normal(size=(300, 6)) @ rng.normal(size=(6, 15))
    fitted = transformer.fit_transform(X)
    index = RecordIndex(fitted, np.zeros(300))
    np.testing.assert_array_equal(index.find(transformer.transform(X)), range(300))
    some = rng.permutation(300)[:50]
    np.testing.assert_array_equal(index.find(transformer.transform(X[some])), some)


def test_records_that_differ_in_a_tiny_feature_only_are_told_apart():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(100, 1e8), rng.normal(size=100) * 1e-8])
    order = rng.permutation(100)
    index = RecordIndex(X, np.zeros(100))
    np.testing.assert_array_equal(index.find(X[order]), order)


def test_new_rows_are_no_records_however_large_a_column_is():
    # Times in nanoseconds; half a millisecond apart.
    rng = np.random.default_rng(0)
    times = 1.7e18 + np.arange(300) * 1e6
    X = np.column_stack([times, rng.normal(size=(300, 2))])
    new = np.column_stack([times + 5e5, rng.normal(size=(300, 2))])
    index = RecordIndex(X, np.zeros(300))
    assert (index.find(new) == -1).all()
    assert (index.find(new, np.zeros(300)) == -1).all()
    np.testing.assert_array_equal(index.find(X[::2]), np.arange(0, 300, 2))
    # One time for all: what is left to tell rows apart is small beside it.
    X[:, 0] = new[:, 0] = 1.7e18
    index = RecordIndex(X, np.zeros(300))
    assert (index.find(new) == -1).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_flags_and_ages_tell_rows_apart_next_to_a_large_column(sparse):
    # Of ten thousands, float32 knows no fraction that is smaller than a flag.
    X = np.array([[150000, 30, 0], [150000, 31, 0], [42000, 50, 0]], dtype=np.float32)
    kind = sp.csr_array if sparse else np.asarray
    index = RecordIndex(kind(X), np.zeros(3))
    assert (index.find(kind(X + np.float32([0, 0, 1]))) == -1).all()
    assert (index.find(kind(X + np.float32([0, 2, 0]))) == -1).all()
    np.testing.assert_array_equal(index.find(kind(X[[2, 1]])), [2, 1])
    index = RecordIndex(kind(np.zeros((2, 2))), np.zeros(2))
    np.testing.assert_array_equal(index.find(kind([[0, 0.5], [0, 0]])), [-1, 0])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("large", "small"), [(1e12, 1e-4), (1e9, 1e-7), (1e8, 1e-9)])
def test_new_rows_that_differ_in_a_small_column_only_are_no_records(
    large, small, sparse
):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(100) * large, rng.random(100) * small])
    kind = sp.csr_array if sparse else np.asarray
    new = X.copy()
    new[:, 1] = np.roll(new[:, 1], 1)
    index = RecordIndex(kind(X), np.zeros(100))
    assert (index.find(kind(new)) == -1).all()
    assert (index.find(kind(new[:1])) == -1).all()
    assert (index.find(kind(new), np.zeros(100)) == -1).all()
    new[::2] = X[::2]
    expected = np.where(np.arange(100) % 2 == 0, np.arange(100), -1)
    np.testing.assert_array_equal(index.find(kind(new)), expected)


def test_float32_records_tolerate_float32_rounding():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5)).astype(np.float32)
    moved = X[::2] * np.float32(1 + 1e-7)
    np.testing.assert_array_equal(
        RecordIndex(X, np.zeros(100)).find(moved), np.arange(0, 100, 2)
    )


def test_missing_values_coincide():
    X = np.array([[1.0, np.nan], [np.nan, 2.0], [1.0, 2.0]])
    index = RecordIndex(X, np.arange(3))
    np.testing.assert_array_equal(index.find(X[[2, 0]]), [2, 0])
    np.testing.assert_array_equal(index.find(np.array([[np.nan, 3.0]])), [-1])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_infinite_and_missing_values_coincide_with_their_like_alone(scale, sparse):
    kinds = np.array([np.nan, np.inf, -np.inf, 0, scale, -scale, 1])
    X = np.column_stack([a.ravel() for a in np.meshgrid(kinds, kinds)])
    X = np.vstack([X, X])
    X[:49, 0] += 3 * scale
    wrap = sp.csr_array if sparse else np.asarray
    index = RecordIndex(wrap(X), np.zeros(98))
    expected = [
        next(i for i in range(98) if np.array_equal(X[i], row, equal_nan=True))
        for row in X
    ]
    np.testing.assert_array_equal(index.find(wrap(X[::-1])), expected[::-1])
    some = np.random.default_rng(0).permutation(98)[:20]
    np.testing.assert_array_equal(index.find(wrap(X[some])), np.array(expected)[some])
    # Numbers no record has, as large as any that might stand for infinity.
    strange = scale * np.arange(4.5, 20, 0.5)
    for other in (strange, -strange, 1e10 * strange):
        new = np.column_stack([other, np.full(other.size, np.nan)])
        assert (index.find(wrap(new)) == -1).all()
    assert (RecordIndex(wrap(X[3:5]), np.zeros(2)).find(wrap(X[:3])) == -1).all()


def test_several_outputs_are_one_label():
    X, y = np.zeros((3, 1)), np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0]])
    np.testing.assert_array_equal(RecordIndex(X, y).find(X[:2], y[[2, 1]]), [2, 1])


def test_many_duplicates_take_no_quadratic_work():
    # 200,000 rows of 4 kinds: comparing all pairs would take hours.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200_000, 2)).astype(float)
    y = rng.integers(0, 50, 200_000)
    found = RecordIndex(X, y).find(X[::-1], y[::-1])
    np.testing.assert_array_equal(X[found], X[::-1])
    np.testing.assert_array_equal(y[found], y[::-1])
