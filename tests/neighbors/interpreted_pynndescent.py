"""A program that searches for neighbours by pynndescent itself.

Its arguments are a file of rows and queries, and the file to write what it found to.
Run it with ``NUMBA_DISABLE_JIT=1``: to compile the kernels of pynndescent takes
minutes, and to interpret them for a few records takes seconds.
"""

import sys

import numpy as np
import pynndescent
import scipy.sparse as sp
from pynndescent import sparse_nndescent  # noqa: F401

from skpriv.neighbors._approximate import ApproximateSearch

# pynndescent writes these in LLVM's language, which Python cannot interpret.
IN_PYTHON = {
    "int32_bits_as_float32": lambda value: np.int32(value).view(np.float32),
    "float32_bits_as_int32": lambda value: np.float32(value).view(np.int32),
}


def replace_compiled_functions():
    for module in list(sys.modules.values()):
        if module.__name__.startswith("pynndescent"):
            for name in IN_PYTHON.keys() & vars(module).keys():
                setattr(module, name, IN_PYTHON[name])


def search(X, Q):
    """Return the 10 nearest other records of each record, and of each query."""
    index = ApproximateSearch(X, 10, "euclidean", None, 1, 0)
    [(_, of_records)] = index.rank(X, np.arange(X.shape[0]), 10)
    # By default, a function is used that exists in compiled form alone.
    index._index.prepare(compile_search=True)
    [(_, of_queries)] = index.rank(Q, np.full(Q.shape[0], -1), 10)
    return of_records.records[:, :10], of_queries.records[:, :10]


def graph(X):
    transformer = pynndescent.PyNNDescentTransformer(n_neighbors=40, random_state=0)
    found = sp.csr_array(transformer.fit_transform(X))
    return {"data": found.data, "indices": found.indices, "indptr": found.indptr}


def refused(X):
    try:
        ApproximateSearch(X, 10, "nan_euclidean", None, 1, 0)
    except ValueError as error:
        return str(error)


if __name__ == "__main__":
    replace_compiled_functions()
    given = np.load(sys.argv[1])
    X, Q = given["X"], given["Q"]
    dense, sparse = search(X, Q), search(sp.csr_array(X), sp.csr_array(Q))
    np.savez(
        sys.argv[2],
        **{"dense records": dense[0], "dense queries": dense[1]},
        **{"sparse records": sparse[0], "sparse queries": sparse[1]},
        **graph(sp.csr_array(X)),
        refused=refused(X),
    )
