"""Derivatives of losses of one logit are those of the losses."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skpriv.leverage.linear._losses import (
    ExponentialFamily,
    Huber,
    LogLoss,
    ModifiedHuber,
    SquaredError,
    Tweedie,
)

# Logits away from kinks, and targets within the range of each loss.
NUMBERS = np.array([-1.3, 0.4, 2.0]), np.array([0.9, 0.1, -0.7])
POSITIVE = np.array([0.3, 1.0, 4.0]), np.array([0.9, 1.4, 2.2])
CLASSES = np.array([1.0, 0.0, 1.0]), np.array([0.6, -0.3, -2.5])


def deviance(power, log_link):
    def half(y, f):
        mean = np.exp(f) if log_link else f
        if power == 0:
            return (y - mean) ** 2 / 2
        if power == 1:
            return mean - y * np.log(mean)
        if power == 2:
            return y / mean + np.log(mean)
        return mean ** (2 - power) / (2 - power) - y * mean ** (1 - power) / (1 - power)

    return half


def modified_huber(y, f):
    margin = (2 * y - 1) * f
    return np.where(margin >= -1, np.maximum(0, 1 - margin) ** 2, -4 * margin)


def huber(y, f):
    r = np.abs(y - f)
    return np.where(r <= 1.2, r**2 / 2, 1.2 * r - 1.2**2 / 2)


LOSSES = {
    "squared error": (SquaredError(), lambda y, f: (f - y) ** 2 / 2, NUMBERS),
    "log loss": (LogLoss(), lambda y, f: np.logaddexp(0, f) - y * f, CLASSES),
    "Huber": (Huber(1.2), huber, NUMBERS),
    "modified Huber": (ModifiedHuber(), modified_huber, CLASSES),
    **{
        f"Tweedie {power} {'log' if log_link else 'identity'}": (
            Tweedie(power, log_link),
            deviance(power, log_link),
            POSITIVE,
        )
        for power in (0, 1, 1.5, 2, 3)
        for log_link in (True, False)
    },
}
FAMILIES = {
    name: case
    for name, case in LOSSES.items()
    if isinstance(case[0], ExponentialFamily)
}


def slope(function, at, step=1e-5):
    return (function(at + step) - function(at - step)) / (2 * step)


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_and_curvature_are_derivatives_of_the_loss(name):
    loss, value, (y, f) = LOSSES[name]
    assert_allclose(loss.gradient(y, f), slope(lambda f: value(y, f), f), rtol=1e-7)
    expected = slope(lambda f: loss.gradient(y, f), f)
    assert_allclose(loss.curvature(y, f), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_label_acts_by_the_mixed_derivative(name):
    loss, value, (y, f) = FAMILIES[name]
    expected = -slope(lambda y: slope(lambda f: value(y, f), f, 1e-3), y, 1e-3)
    assert_allclose(loss.mixed_derivative(y, f), expected, rtol=1e-5)
    expected = slope(loss.mean, f)
    assert_allclose(loss.inverse_link_derivative(f), expected, rtol=1e-7)


def test_log_loss_is_an_exponential_family_that_keeps_its_digits():
    y, f = np.array([0.0, 1.0, 1.0]), np.array([0.5, -2.0, 3.0])
    loss = LogLoss()
    for method in (loss.gradient, loss.mixed_derivative):
        naive = getattr(ExponentialFamily, method.__name__)(loss, y, f)
        assert_allclose(method(y, f), naive, rtol=1e-12)
    certain = np.array([50.0])
    assert_allclose(loss.gradient(np.ones(1), certain), -np.exp(-50), rtol=1e-12)
    assert_allclose(loss.mixed_derivative(np.ones(1), certain), 1)


@pytest.mark.parametrize("name", LOSSES)
def test_a_quadratic_loss_has_the_same_curvature_anywhere(name):
    loss, _, (y, f) = LOSSES[name]
    there, here = loss.curvature(y, f), loss.curvature(y, f + 0.01)
    assert loss.quadratic == (np.ptp(there) == 0 and np.array_equal(there, here))
