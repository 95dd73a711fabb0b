"""How much memory may be used, and how many records that is."""

import os

import torch
from sklearn import get_config

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
    except (AttributeError, OSError, ValueError):  # not on every system
        return get_config()["working_memory"] * 2**20


def items_in_chunk(bytes_per_item, device):
    """Return how many items a chunk of bounded memory holds, at least one.

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
