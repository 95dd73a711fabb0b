"""Newton steps from the weights of a fitted model to the optimum of its objective."""

import numpy as np

from skpriv.leverage._inverse import NegativeCurvatureError

_MOST_STEPS = 10
_CONVERGED = 1e-6


def polish(sensitivities, X, y, sample_weight, *, attack_power=False):
    """Take Newton steps until no record's logit moves any more.

    Parameters
    ----------
    sensitivities : LinearSensitivities
        At the weights of the fitted model, which is not changed.
    X, y, sample_weight, attack_power
        As of ``sensitivities.solve``.

    Returns
    -------
    polished : LinearSensitivities or None
        At the optimum. None if it was not reached: there may be none.
    """
    for n_steps in range(1, _MOST_STEPS + 1):
        objective = sensitivities.stepped()
        if objective is None:
            return None
        sensitivities = type(sensitivities)(objective)
        try:
            sensitivities.solve(X, y, sample_weight, attack_power=attack_power)
        except NegativeCurvatureError:
            return None
        step = sensitivities.terms(X, y, sample_weight).newton_step
        if np.max(step) <= _CONVERGED:
            sensitivities.n_polish_steps = n_steps
            return sensitivities
    return None
