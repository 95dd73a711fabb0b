"""How often an epoch of skorch's training draws each record."""

from typing import NamedTuple

import numpy as np
from skorch.dataset import Dataset
from torch.utils.data import (
    DataLoader,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

_UNIFORM = (RandomSampler, SequentialSampler)
_BY_POSITION = (SubsetRandomSampler, WeightedRandomSampler)


class Epoch(NamedTuple):
    """What training draws in one epoch.

    Attributes
    ----------
    draws : ndarray of shape (n_records,)
        Expected number of times that each record is drawn.
    n_batches : int
        Number of batches.
    """

    draws: np.ndarray
    n_batches: int

    @property
    def weights(self):
        """Weights of the records in the loss, with mean 1 among those that are drawn.

        A record that is not in the training set counts as an average one of these.
        """
        drawn = self.draws > 0
        return self.draws / self.draws[drawn].mean()


def check_draws(net):
    """Raise unless it is known which records a net's training draws, and unchanged.

    Parameters
    ----------
    net : skorch.NeuralNet

    Raises
    ------
    TypeError
        If the iterator, its sampler, or the dataset is not supported.
    ValueError
        If one of their parameters is not.
    """
    name = f"estimator ends in a {type(net).__name__} with"
    if net.iterator_train is not DataLoader:
        raise TypeError(
            f"{name} iterator_train={_name(net.iterator_train)}, which may change the "
            "records or choose among them; only torch's DataLoader is supported."
        )
    if net.dataset is not Dataset:
        raise TypeError(
            f"{name} dataset={_name(net.dataset)}, which may change the records; only "
            "skorch's Dataset is supported."
        )
    loading = net.get_params_for("iterator_train")
    for parameter in "batch_sampler", "collate_fn":
        if loading.get(parameter) is not None:
            raise TypeError(
                f"{name} iterator_train__{parameter}, which may change the records or "
                "choose among them; it is not supported."
            )
    if net.get_params_for("dataset").get("length") is not None:
        raise ValueError(
            f"{name} dataset__length, which leaves out records; it must be None."
        )
    sampler = loading.get("sampler")
    if sampler is None:
        return
    if type(sampler) not in _UNIFORM + _BY_POSITION:
        supported = ", ".join(kind.__name__ for kind in _UNIFORM + _BY_POSITION)
        raise TypeError(
            f"{name} the sampler {_name(sampler)}, of which it is not known how often "
            f"it draws each record; supported samplers are {supported}."
        )
    if isinstance(sampler, WeightedRandomSampler) and not sampler.replacement:
        raise ValueError(
            f"{name} a WeightedRandomSampler that draws without replacement, so that "
            "its draws are not proportional to its weights; it must have "
            "replacement=True."
        )


def draws_by_position(net):
    """Tell whether a net's sampler was made for records at certain positions."""
    return net.get_params_for("iterator_train").get("sampler") is not None


def epoch_of(net, n_records):
    """Return what the training of a net draws in one epoch.

    Parameters
    ----------
    net : skorch.NeuralNet
        One that passes `check_draws`.
    n_records : int
        Number of records that it was trained on.

    Returns
    -------
    epoch : Epoch

    Raises
    ------
    ValueError
        If the sampler was not made for this number of records, or nothing is drawn.
    """
    loading = net.get_params_for("iterator_train")
    sampler = loading.get("sampler")
    draws = np.ones(n_records)
    n_draws, in_order = n_records, not loading.get("shuffle")
    if sampler is not None:
        draws, n_draws = _draws_of(sampler, n_records), len(sampler)
        in_order = isinstance(sampler, SequentialSampler)
    size = loading.get("batch_size", net.batch_size)
    size = n_records if size == -1 else size
    n_batches = -(-n_draws // size)
    if loading.get("drop_last") and n_draws % size:
        n_batches = n_draws // size
        if in_order:
            draws[n_batches * size :] = 0
        else:
            draws = draws * (n_batches * size / n_draws)
    if not draws.any():
        raise ValueError(
            f"estimator ends in a {type(net).__name__} whose training draws none of "
            f"the {n_records} records."
        )
    return Epoch(draws, n_batches)


def _draws_of(sampler, n_records):
    """Return the expected number of times that a sampler draws each record."""
    if isinstance(sampler, SubsetRandomSampler):
        positions = np.array([int(i) for i in sampler.indices], dtype=np.int64)
        if ((positions < -n_records) | (positions >= n_records)).any():
            raise _not_made_for(sampler, n_records, "indices of other records")
        return np.bincount(positions % n_records, minlength=n_records).astype(float)
    weights = np.ones(n_records)
    if isinstance(sampler, WeightedRandomSampler):
        weights = sampler.weights.numpy().astype(np.float64)
        n_made_for = len(weights)
    else:
        n_made_for = len(sampler.data_source)
    if n_made_for != n_records:
        raise _not_made_for(sampler, n_records, f"{n_made_for} records")
    return weights * (len(sampler) / weights.sum())


def _not_made_for(sampler, n_records, made_for):
    return ValueError(
        f"estimator's {_name(sampler)} was made for {made_for}, but the network is "
        f"trained on {n_records} records."
    )


def _name(instance):
    kind = instance if callable(instance) else type(instance)
    return getattr(kind, "__name__", type(kind).__name__)
