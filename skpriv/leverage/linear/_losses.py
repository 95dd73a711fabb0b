"""Losses of one logit, and the derivatives that sensitivity to a label needs.

All methods work elementwise on arrays of targets ``y`` and logits ``f``.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit


class Loss(ABC):
    """A loss ℓ(y, f) of one logit.

    Attributes
    ----------
    quadratic : bool
        Whether the curvature is the same for all records and at any logits.
    exponential_family : bool
        Whether the loss is that of an `ExponentialFamily`.
    for_regression : bool
        Whether targets are any numbers. Classes are then coded as -1 and 1.
    """

    quadratic = False
    exponential_family = False
    for_regression = False

    @abstractmethod
    def gradient(self, y, f):
        """Return ∂ℓ/∂f."""

    @abstractmethod
    def curvature(self, y, f):
        """Return ∂²ℓ/∂f²."""

    @abstractmethod
    def mixed_derivative(self, y, f):
        """Return -∂²ℓ/∂f∂y: how strongly a label acts on its own logit."""

    @abstractmethod
    def inverse_link_derivative(self, f):
        """Return the derivative of the prediction in the logit."""

    def step_size(self, f, step, deviation):
        """Return the size of a step of the logits.

        It is in units in which a step of size 1 changes the curvature, or the fit, by
        about its own size: here in standard deviations of the targets.

        Parameters
        ----------
        f, step : ndarray of shape (n_rows, n_outputs)
        deviation : ndarray of shape (n_outputs,)
            Standard deviation of the targets.

        Returns
        -------
        size : ndarray of shape (n_rows, n_outputs)
        """
        return np.abs(step) / deviation


class ExponentialFamily(Loss):
    """Half the deviance of an exponential family, which its mean and variance define.

    Attributes
    ----------
    dispersion : float or None
        None if it must be estimated.
    exact_deletion : bool
        Whether a fit without one record is known exactly from the fit with all.
    """

    exponential_family = True
    dispersion: ClassVar = None
    exact_deletion = False

    @abstractmethod
    def mean(self, f):
        """Return the prediction, the inverse link of the logit."""

    @abstractmethod
    def variance(self, mean):
        """Return the variance of a target in units of the dispersion."""

    def gradient(self, y, f):
        return (self.mean(f) - y) * self.mixed_derivative(y, f)

    def mixed_derivative(self, y, f):
        return self.inverse_link_derivative(f) / self.variance(self.mean(f))


class SquaredError(ExponentialFamily):
    """ℓ = (f - y)² / 2."""

    quadratic = True
    for_regression = True
    exact_deletion = True

    def mean(self, f):
        return f

    def variance(self, mean):
        return np.ones_like(mean)

    def inverse_link_derivative(self, f):
        return np.ones_like(f)

    def curvature(self, y, f):
        return np.ones_like(f)


class LogLoss(ExponentialFamily):
    """ℓ = log(1 + exp(f)) - y f, with y in {0, 1}."""

    dispersion = 1.0

    def mean(self, f):
        return expit(f)

    def variance(self, mean):
        return mean * (1 - mean)

    def inverse_link_derivative(self, f):
        return expit(f) * expit(-f)

    def curvature(self, y, f):
        return expit(f) * expit(-f)

    # 1 - expit(f) would lose all digits of a confident prediction, so these two do not
    # come from the mean and the variance.

    def gradient(self, y, f):
        return np.where(y > 0.5, -expit(-f), expit(f))

    def mixed_derivative(self, y, f):
        return np.ones_like(f)

    def step_size(self, f, step, deviation):
        return np.abs(step)


@dataclass(frozen=True)
class Tweedie(ExponentialFamily):
    """Half the Tweedie deviance, with mean exp(f) (log link) or f (identity)."""

    power: float
    log_link: bool

    @property
    def quadratic(self):
        return self.power == 0 and not self.log_link

    @property
    def dispersion(self):
        return 1.0 if self.power == 1 else None

    def mean(self, f):
        return np.exp(f) if self.log_link else f

    def variance(self, mean):
        return mean**self.power

    def inverse_link_derivative(self, f):
        return np.exp(f) if self.log_link else np.ones_like(f)

    def curvature(self, y, f):
        p = self.power
        if self.log_link:
            return (2 - p) * np.exp((2 - p) * f) - (1 - p) * y * np.exp((1 - p) * f)
        return (1 - p) * f ** (-p) + p * y * f ** (-p - 1)

    def step_size(self, f, step, deviation):
        if self.log_link:
            return np.abs(step)
        if self.quadratic:
            return super().step_size(f, step, deviation)
        return np.abs(step) / np.abs(f)


@dataclass(frozen=True)
class Huber(Loss):
    """Squared error up to `epsilon`, linear beyond."""

    for_regression: ClassVar = True
    epsilon: float

    def gradient(self, y, f):
        return np.clip(f - y, -self.epsilon, self.epsilon)

    def curvature(self, y, f):
        return (np.abs(f - y) <= self.epsilon).astype(np.float64)

    def mixed_derivative(self, y, f):
        return self.curvature(y, f)

    def inverse_link_derivative(self, f):
        return np.ones_like(f)


class ModifiedHuber(Loss):
    """ℓ = max(0, 1 - z)², linear below z = -1, with z = (2 y - 1) f, y in {0, 1}.

    A label between 0 and 1 stands for a mixture of the losses of both.
    """

    def gradient(self, y, f):
        sign = np.where(y > 0.5, 1.0, -1.0)
        return -2 * sign * np.clip(1 - sign * f, 0, 2)

    def curvature(self, y, f):
        margin = np.where(y > 0.5, f, -f)
        return np.where((margin >= -1) & (margin < 1), 2.0, 0.0)

    def mixed_derivative(self, y, f):
        return 2 * np.clip(1 - f, 0, 2) + 2 * np.clip(1 + f, 0, 2)

    def inverse_link_derivative(self, f):
        return np.where(np.abs(f) < 1, 0.5, 0.0)

    def step_size(self, f, step, deviation):
        return np.abs(step)
