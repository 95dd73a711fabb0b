"""Neural networks, as `GLSScorer` deals with them."""

import warnings
from typing import ClassVar

import numpy as np

from skpriv.leverage._adapters import Adapter
from skpriv.leverage.network._mlp import PerceptronReader
from skpriv.leverage.network._sensitivities import NetworkSensitivities
from skpriv.leverage.network._skorch import SkorchReader


class NetworkAdapter(Adapter):
    """A network of one of several libraries, which `reader` knows."""

    reader: ClassVar[type]

    def __init__(self, estimator, parts, options):
        super().__init__(estimator, parts, options)
        self.takes_any_input = True
        self.takes_columns = not self.is_classifier
        self._reader = self.reader(parts.model)

    def check(self, y):
        """Raise unless the network is supported, and learn its labels."""
        self._reader.check()
        self._warn_of_held_out()
        self._targets = self._reader.targets(y, frozen=self.frozen)

    def _warn_of_held_out(self):
        remedy = self._reader.held_out_remedy()
        if remedy is not None:
            warnings.warn(
                f"estimator's {type(self.model).__name__} holds a part of the records "
                "out of training, so their scores are meaningless; train on all "
                f"records, with {remedy}.",
                stacklevel=3,
            )

    def needs_all_records(self):
        """Tell whether a sampler knows the records by their positions."""
        return self._reader.needs_all_records()

    def training_weights(self, fitted, y, sample_weight):
        """Return the weights of records, times those that training gives them."""
        reader = self.reader(fitted.model)
        return sample_weight * reader.training_weights(len(sample_weight))

    def rows_for_fit(self, X):
        """Return rows in the dtype of the network, unless a transformer gets them."""
        return X if self.has_transformers else self._reader.rows(X)

    def _fit_copy(self, copy, X, y, sample_weight):
        return self.reader.fit(copy, X, self._targets.for_fit(y), sample_weight)

    def array(self, fitted, X):
        """Return rows as an array in the dtype of the fitted network."""
        return self.reader(fitted.model).rows(X)

    def check_labels(self, fitted, y):
        """Raise a ValueError if a label was not seen in fit."""
        self._targets.codes(y)

    def sensitivities(
        self, fitted, rows, y, sample_weight, random_state, *, attack_power
    ):
        """Compute the curvature of the fitted network."""
        reader = self.reader(fitted.model)
        network = reader.network(
            rows.shape[0], self.options.device, sample_weight=sample_weight
        )
        if attack_power and not network.loss.has_confidence:
            raise ValueError(
                "variant='attack_power' needs a classifier, but estimator ends in "
                f"{fitted.model!r}."
            )
        return NetworkSensitivities(
            network,
            reader.fitted_targets(self._targets),
            rows,
            y,
            self.training_weights(fitted, y, sample_weight),
            self.options,
            random_state,
            attack_power=attack_power,
        )

    def score(self, fitted, X, y):
        """Return the network's own score, with labels as it was fitted on them."""
        y = self._targets.for_fit(np.asarray(y))
        return fitted.model.score(self.rows(fitted, X), y)


class SkorchAdapter(NetworkAdapter):
    """A net of skorch."""

    reader = SkorchReader


class PerceptronAdapter(NetworkAdapter):
    """A multi-layer perceptron of scikit-learn."""

    reader = PerceptronReader
