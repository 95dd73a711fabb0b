"""Kernels on several threads, which leave the threads of everything else alone."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numba

from skpriv.utils._sklearn import effective_n_threads

# Parts of the rows for each thread: rows differ in how long they take.
_PARTS_PER_THREAD = 4


def for_rows(kernel, n_rows, *args):
    """Call a kernel for all rows, on as many threads as scikit-learn would use.

    Python's threads take the place of those that ``numba.njit(parallel=True)`` starts:
    a kernel then compiles in a fraction of the time, no number of threads changes for
    any other library, and the process can still be forked.

    Parameters
    ----------
    kernel : callable
        ``kernel(start, stop, *args)`` computes the rows from `start` to `stop` and
        writes them to arrays among `args`. It must be compiled with ``nogil=True``, and
        what it writes for a row must not depend on the other rows.
    n_rows : int
    *args
    """
    n_threads = min(effective_n_threads(), n_rows)
    if n_threads <= 1:
        kernel(0, n_rows, *args)
        return
    n_parts = min(n_threads * _PARTS_PER_THREAD, n_rows)
    bounds = [part * n_rows // n_parts for part in range(n_parts + 1)]
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in pool.map(lambda a, b: kernel(a, b, *args), bounds[:-1], bounds[1:]):
            pass


@cache
def start_numba_threads():
    """Start numba's threads, which pynndescent uses, unless they run already.

    Where numba's threads are OpenMP's, numba sets OpenMP to all cores as it starts
    them, by default in the thread that loads the first parallel kernel. PyTorch often
    shares that OpenMP, so it would then use all cores whatever it was told before,
    and small operations would take several times as long. OpenMP keeps this number
    for each thread of the program, so numba is started in a thread that ends at once.

    Nothing starts when skpriv is imported, because a process in which OpenMP's threads
    run can no longer be forked safely.
    """
    with ThreadPoolExecutor(1) as executor:
        executor.submit(numba.get_num_threads).result()
