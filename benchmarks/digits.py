"""Handwritten digits, networks for them, and measuring in a process of its own."""

import multiprocessing
import time
from pathlib import Path

import numpy as np
import torch
from skorch import NeuralNetClassifier
from skorch.callbacks import LRScheduler
from torch import nn


def load_digits(folder, n_rows, wrong=0.0, seed=0):
    """Rows of MNIST as pixels in [0, 1], their labels, a share of them wrong."""
    data = np.load(Path(folder) / "mnist10k.npz")
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(data["labels"]))[:n_rows]
    X = data["images"][rows].reshape(len(rows), -1).astype(np.float32) / 255
    y = data["labels"][rows].astype(np.int64)
    changed = rng.permutation(len(rows))[: round(wrong * len(rows))]
    y[changed] = (y[changed] + rng.integers(1, 10, size=len(changed))) % 10
    return X, y


def convolutional():
    """A network of 20,522 parameters."""
    return nn.Sequential(
        nn.Unflatten(1, (1, 28, 28)),
        nn.Conv2d(1, 8, 5, stride=2),
        nn.ReLU(),
        nn.Conv2d(8, 16, 5, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(256, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def fully_connected():
    """A network of 101,770 parameters."""
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def classifier(module=convolutional, epochs=80):
    """A classifier that comes to fit nearly all labels, the wrong ones too."""
    return NeuralNetClassifier(
        module,
        criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.SGD,
        optimizer__momentum=0.9,
        optimizer__weight_decay=5e-4,
        lr=0.1,
        batch_size=64,
        max_epochs=epochs,
        iterator_train__shuffle=True,
        train_split=None,
        callbacks=[("rate", LRScheduler("CosineAnnealingLR", T_max=epochs))],
        verbose=0,
    )


def trained(X, y, seed=0, **parameters):
    torch.manual_seed(seed)
    return classifier(**parameters).fit(X, y)


def in_process(setup, run, *args, threads=None):
    """Call ``run(*setup(*args))`` in a new process.

    Returns what it returns, the seconds that it took and the MiB that it needed above
    what was there before it (both for `run` alone).
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_measure, args=(setup, run, args, threads, theirs))
    process.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        raise RuntimeError(f"{run.__name__}{args} ended without a result") from None
    finally:
        process.join()


def _measure(setup, run, args, threads, pipe):
    if threads:
        torch.set_num_threads(threads)
    state = setup(*args)
    before = peak_memory()
    start = time.perf_counter()
    result = run(*state)
    seconds = time.perf_counter() - start
    pipe.send((result, seconds, (peak_memory() - before) / 2**20))


def peak_memory():
    """Bytes, of this process only; Linux tells them by name."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return 1024 * int(line.split()[1])
    raise RuntimeError("/proc/self/status has no VmHWM")
