"""How many rows are processed at once."""

from sklearn.utils import gen_batches

from skpriv.utils._sklearn import get_chunk_n_rows

# Enough for the cost of a Python step not to matter, few enough for the processor's
# caches.
_MOST_ROWS = 4096


def row_batches(n_rows, *, bytes_per_row=1, most_rows=_MOST_ROWS):
    """Return slices of rows that fit into the working memory.

    Parameters
    ----------
    n_rows : int
    bytes_per_row : int, default=1
        Memory that the processing of one row takes, which is held against
        ``sklearn.get_config()["working_memory"]``.
    most_rows : int, default=4096
        Largest number of rows in a batch, whatever their memory.

    Returns
    -------
    batches : list of slice
        Empty if there are no rows.
    """
    size = get_chunk_n_rows(bytes_per_row, max_n_rows=most_rows)
    return list(gen_batches(n_rows, size)) if n_rows else []
