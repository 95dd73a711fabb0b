"""Parallel numba kernels that leave the threads of everything else alone."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache, wraps

import numba
from numba import prange

__all__ = ["njit", "prange", "start_numba_threads"]


def njit(**options):
    """Compile a kernel as `numba.njit` does, without changing the caller's threads.

    Use this instead of `numba.njit`. A kernel that is not parallel is exactly what
    numba makes of it. A parallel kernel starts numba's threads by
    `start_numba_threads` when it is first called; it can be called from Python only,
    not from another kernel.

    Parameters
    ----------
    **options
        The options of `numba.njit`.

    Returns
    -------
    decorator : callable
        Turns a function into a kernel.
    """
    compiled = numba.njit(**options)
    return _starting_threads(compiled) if options.get("parallel") else compiled


def _starting_threads(compiled):
    def decorate(function):
        kernel = compiled(function)

        @wraps(function)
        def launch(*args):
            start_numba_threads()
            return kernel(*args)

        return launch

    return decorate


@cache
def start_numba_threads():
    """Start numba's threads, unless they run already.

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
