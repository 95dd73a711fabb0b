"""Losses of one logit, and the derivatives that sensitivity to a label needs.

Each family has, elementwise on arrays of targets ``y`` and logits ``f``,

- ``gradient(y, f)`` and ``curvature(y, f)``: first and second derivative in f;
- ``response(y, f)``: minus the derivative of the gradient in the label, which is how
  hard a label pulls its own logit;
- ``slope(f)``: derivative of the prediction in f;
- ``step_size(f, step, spread)``: the size of a step of the logits, in units where 1
  changes the curvature, or the fit, by about its own size; ``spread`` is the standard
  deviation of the targets.

Members of the exponential family also have ``mean(f)``, ``variance(mean)`` up to the
dispersion, and that ``dispersion``, None where it is to be estimated.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit


@dataclass(frozen=True)
class SquaredError:
    """ℓ = (f - y)² / 2."""

    dispersion: ClassVar = None

    def mean(self, f):
        return f

    def variance(self, mean):
        return np.ones_like(mean)

    def gradient(self, y, f):
        return f - y

    def curvature(self, y, f):
        return np.ones_like(f)

    def response(self, y, f):
        return np.ones_like(f)

    def slope(self, f):
        return np.ones_like(f)

    def step_size(self, f, step, spread):
        return np.abs(step) / spread


class LogLoss:
    """ℓ = log(1 + exp(f)) - y f, with y in {0, 1}."""

    dispersion = 1.0

    def mean(self, f):
        return expit(f)

    def variance(self, mean):
        return mean * (1 - mean)

    def gradient(self, y, f):
        # 1 - expit(f) would lose every digit of a confident prediction.
        return np.where(y > 0.5, -expit(-f), expit(f))

    def curvature(self, y, f):
        return expit(f) * expit(-f)

    def response(self, y, f):
        return np.ones_like(f)

    def slope(self, f):
        return expit(f) * expit(-f)

    def step_size(self, f, step, spread):
        return np.abs(step)


@dataclass(frozen=True)
class Tweedie:
    """Half the Tweedie deviance, with mean exp(f) (log link) or f (identity)."""

    power: float
    log_link: bool

    @property
    def dispersion(self):
        return 1.0 if self.power == 1 else None

    def mean(self, f):
        return np.exp(f) if self.log_link else f

    def variance(self, mean):
        return mean**self.power

    def gradient(self, y, f):
        p = self.power
        if self.log_link:
            return np.exp((2 - p) * f) - y * np.exp((1 - p) * f)
        return f ** (1 - p) - y * f ** (-p)

    def curvature(self, y, f):
        p = self.power
        if self.log_link:
            return (2 - p) * np.exp((2 - p) * f) - (1 - p) * y * np.exp((1 - p) * f)
        return (1 - p) * f ** (-p) + p * y * f ** (-p - 1)

    def response(self, y, f):
        p = self.power
        return np.exp((1 - p) * f) if self.log_link else f ** (-p)

    def slope(self, f):
        return np.exp(f) if self.log_link else np.ones_like(f)

    def step_size(self, f, step, spread):
        if self.log_link:
            return np.abs(step)
        if self.power == 0:
            return np.abs(step) / spread
        return np.abs(step) / np.abs(f)


@dataclass(frozen=True)
class Huber:
    """Squared error up to `epsilon`, linear beyond."""

    epsilon: float

    def gradient(self, y, f):
        return np.clip(f - y, -self.epsilon, self.epsilon)

    def curvature(self, y, f):
        return (np.abs(f - y) <= self.epsilon).astype(np.float64)

    def response(self, y, f):
        return self.curvature(y, f)

    def slope(self, f):
        return np.ones_like(f)

    def step_size(self, f, step, spread):
        return np.abs(step) / spread


class ModifiedHuber:
    """ℓ = max(0, 1 - z)², linear below z = -1, with z = (2 y - 1) f, y in {0, 1}.

    A label between 0 and 1 stands for a mixture of the losses of both.
    """

    def gradient(self, y, f):
        sign = np.where(y > 0.5, 1.0, -1.0)
        return -2 * sign * np.clip(1 - sign * f, 0, 2)

    def curvature(self, y, f):
        margin = np.where(y > 0.5, f, -f)
        return np.where((margin >= -1) & (margin < 1), 2.0, 0.0)

    def response(self, y, f):
        return 2 * np.clip(1 - f, 0, 2) + 2 * np.clip(1 + f, 0, 2)

    def slope(self, f):
        return np.where(np.abs(f) < 1, 0.5, 0.0)

    def step_size(self, f, step, spread):
        return np.abs(step)


def spread(y):
    """Return the standard deviation of each output's targets, never zero."""
    deviation = np.std(y, axis=0) + 1e-8 * np.max(np.abs(y), axis=0)
    return np.where(deviation > 0, deviation, 1.0)
