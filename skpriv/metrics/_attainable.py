"""The rank correlation that a perfect score attains with a noisy reference.

The reference is a success rate of each record, counted in some trials. If the true
rates were known, so would be the correlation. Their distribution is estimated from the
counts (a mixture of binomials): a smooth density, which is a pilot estimate times the
exponential of a polynomial, and a part of the records at exactly 1/2. Records that are
not exposed are tied, and ties limit what a perfect score attains.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, xlogy
from scipy.stats import binom

# Success rates are resolved to 0.001 near 1/2, and better near 1.
_N_STEPS = 400
_DEGREE = 6
_SHRINKAGE = 1.0
_MOST_TRIALS = 5000


class Counts(NamedTuple):
    """How many records have each number of hits, in how many trials.

    Attributes
    ----------
    n_trials : int
    hits : ndarray of shape (n_counts,)
        Not always integers: the number of trials is an effective one.
    n_records : ndarray of shape (n_counts,)
    """

    n_trials: int
    hits: np.ndarray
    n_records: np.ndarray


def attainable_correlation(halves):
    """Expected rank correlation of the true success with the mean of its two measures.

    Parameters
    ----------
    halves : ndarray of shape (2, n_records)
        Two independent measurements of each record's success, between 0 and 1.

    Returns
    -------
    correlation : float
    """
    counts = count_hits(halves)
    if counts.n_trials == _MOST_TRIALS:
        return 1.0
    # A success below 1/2 is that of an attack which is worse than guessing: the data
    # must show that there is one.
    start, n_steps = np.pi / 4, _N_STEPS
    if is_below_half(*halves) or is_below_half(*halves[::-1]):
        start, n_steps = 0.0, 2 * _N_STEPS
    rates = np.sin(np.linspace(start, np.pi / 2, n_steps + 1)) ** 2
    weights = _fit_mixture(counts, rates)
    n_hits = np.arange(counts.n_trials + 1)
    measured = binom.pmf(n_hits, counts.n_trials, rates[:, np.newaxis])
    return joint_rank_correlation(weights[:, np.newaxis] * measured)


def is_below_half(first, second):
    """Tell whether records of low success in one measure are below 1/2 in the other.

    Parameters
    ----------
    first, second : ndarray of shape (n_records,)

    Returns
    -------
    below : bool
        Whether the mean is below 1/2 by three standard errors.
    """
    found = second[first < 0.5 - first.std()]
    if found.size < 2:
        return False
    return found.mean() + 3 * found.std(ddof=1) / np.sqrt(found.size) < 0.5


def count_hits(halves):
    """Express two measures of success as the hits in an effective number of trials.

    Binomial shares with n trials in both halves together differ between the halves
    with the variance 4 p (1 - p) / n.

    Parameters
    ----------
    halves : ndarray of shape (2, n_records)

    Returns
    -------
    counts : Counts
        With 5000 trials if the halves agree that well, or better.
    """
    first, second = halves
    binomial = (first * (1 - second) + second * (1 - first)).mean() / 2
    between = ((first - second) ** 2).mean()
    enough = 4 * binomial >= _MOST_TRIALS * between
    n_trials = _MOST_TRIALS if enough else max(2, round(4 * binomial / between))
    # Quarters are exact enough, and bound the number of different counts.
    parts = 4 if n_trials <= 512 else 1
    hits = np.round(halves.mean(axis=0) * n_trials * parts) / parts
    return Counts(n_trials, *np.unique(hits, return_counts=True))


def _fit_mixture(counts, rates):
    """Return weights of rates: a smooth density, with an atom if that fits better."""
    likelihood = _likelihood(counts, rates)
    half = np.argmin(np.abs(rates - 0.5))
    flat = np.full(rates.size, 1 / rates.size)
    pilot = _improve(flat, likelihood, counts.n_records, n_steps=30)
    fits = [_tilt(pilot, 0.0, half, likelihood, counts.n_records)]

    spiked = flat / 2
    spiked[half] += 0.5
    pilot = _improve(spiked, likelihood, counts.n_records, n_steps=100)
    # What is within the noise of 1/2 cannot be told from the atom; it starts there.
    from_half = (rates - 0.5) ** 2
    pilot *= from_half / (from_half + 0.25 / counts.n_trials)
    fits.append(_tilt(pilot, 1 - pilot.sum(), half, likelihood, counts.n_records))
    return min(fits, key=lambda fit: fit[1])[0]


def _likelihood(counts, rates):
    """Probability of each count at each rate, in units of the best rate for it."""
    n, hits = counts.n_trials, counts.hits[:, np.newaxis]
    rates = np.clip(rates, 1e-7, 1 - 1e-7)
    logs = xlogy(hits, rates) + xlogy(n - hits, 1 - rates)
    best = xlogy(hits, hits / n) + xlogy(n - hits, 1 - hits / n)
    return np.exp(logs - best)


def _improve(weights, likelihood, n_records, n_steps):
    """Take steps of expectation maximisation, few enough to remain smooth."""
    share = n_records / n_records.sum()
    for _ in range(n_steps):
        weights = weights * (share / (likelihood @ weights) @ likelihood)
    return weights


def _tilt(pilot, atom, half, likelihood, n_records):
    """Multiply a pilot by the exponential of a polynomial, and mix it with an atom.

    The polynomial is in the ranks of the pilot, so that it can bend where records are.
    Its coefficients are penalised by their norm (Efron, "Empirical Bayes deconvolution
    estimates", Biometrika 103, 2016).
    """
    pilot = np.maximum(pilot, 1e-12)
    pilot = pilot / pilot.sum()
    basis = _orthonormal_polynomials(pilot)
    at_half = likelihood[:, half]

    def density(coefficients):
        logs = basis @ coefficients + np.log(pilot)
        tilted = np.exp(logs - logs.max())
        return tilted / tilted.sum()

    def misfit(parameters):
        coefficients, share = parameters[:-1], atom and expit(parameters[-1])
        smooth = density(coefficients)
        of_smooth = likelihood @ smooth
        mixed = (1 - share) * of_smooth + share * at_half
        pull = n_records / mixed
        by_log = (1 - share) * smooth * (pull @ likelihood - pull @ of_smooth)
        by_share = share * (1 - share) * (pull @ (at_half - of_smooth))
        norm = np.sqrt(coefficients @ coefficients + 1e-8)
        gradient = np.append(
            _SHRINKAGE * coefficients / norm - by_log @ basis, -by_share
        )
        return _SHRINKAGE * norm - n_records @ np.log(mixed), gradient

    start = np.append(np.zeros(_DEGREE), np.clip(logit(atom), -8, 8) if atom else 0.0)
    bounds = [(None, None)] * _DEGREE + [(-12, 12)]
    found = minimize(misfit, start, jac=True, method="L-BFGS-B", bounds=bounds)
    share = atom and expit(found.x[-1])
    weights = (1 - share) * density(found.x[:-1])
    weights[half] += share
    return weights, found.fun


def _orthonormal_polynomials(weights):
    """Polynomials in the ranks of a distribution, uncorrelated and of variance 1."""
    ranks = 2 * np.cumsum(weights) - weights - 1
    basis = np.polynomial.legendre.legvander(ranks, _DEGREE)[:, 1:]
    basis = basis - weights @ basis
    gram = basis.T @ (weights[:, np.newaxis] * basis)
    return np.linalg.solve(np.linalg.cholesky(gram), basis.T).T


def joint_rank_correlation(joint):
    """Rank correlation of two variables, the rows and columns of a distribution.

    Parameters
    ----------
    joint : ndarray of shape (n_rows, n_columns)
        Probabilities.

    Returns
    -------
    correlation : float
        NaN if either is constant.
    """
    ranks = [np.cumsum(p) - p / 2 - 0.5 for p in (joint.sum(axis=1), joint.sum(axis=0))]
    variances = [
        p @ rank**2
        for p, rank in zip((joint.sum(axis=1), joint.sum(axis=0)), ranks, strict=True)
    ]
    norm = np.sqrt(np.prod(variances))
    return float(ranks[0] @ joint @ ranks[1] / norm) if norm > 0 else np.nan
