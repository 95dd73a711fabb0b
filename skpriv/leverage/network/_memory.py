"""How many records or columns are processed at once, by the free memory."""

import os

import torch
from sklearn import get_config
from sklearn.utils import gen_batches

_LARGEST_CHUNK = 2**28


def free_bytes(device):
    """Return the free memory of a device, or scikit-learn's working memory.

    Parameters
    ----------
    device : torch.device

    Returns
    -------
    n_bytes : int
    """
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not available on every system
        return get_config()["working_memory"] * 2**20


def items_in_chunk(bytes_per_item, device):
    """Return the number of items in a chunk of bounded memory, at least one.

    Parameters
    ----------
    bytes_per_item : int
    device : torch.device

    Returns
    -------
    n_items : int
    """
    chunk = min(_LARGEST_CHUNK, free_bytes(device) // 8)
    return max(1, int(chunk // max(bytes_per_item, 1)))


def column_batches(n_columns, bytes_per_column, device):
    """Return slices of the columns of a matrix, such that each fits into a chunk.

    Parameters
    ----------
    n_columns : int
    bytes_per_column : int
        Memory that the processing of one column takes.
    device : torch.device

    Returns
    -------
    batches : list of slice
    """
    width = max(8, items_in_chunk(bytes_per_column, device))
    return list(gen_batches(n_columns, width))
