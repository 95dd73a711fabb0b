"""From a prediction and a noisy measurement of each record to an estimate.

The residual of the prediction is taken to grow with the prediction m, and with the
spread s of all predictions: its variance is α |m| (s + 2 |m|) / 3, with one α for all
records. α is what products of the residuals of two halves of the shadows estimate
without bias. A few shadows say little about it, so it has a log-normal prior.

A record may also be exposed for a reason of its own that no other record shares. One
record in all is expected to be such an outlier, whose separation may be anywhere; the
posterior is a mixture of both cases.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtr, softmax


class Prior(NamedTuple):
    """What is known of the residuals before any shadow is seen.

    Attributes
    ----------
    median : float
        Of α.
    log_sd : float
        Standard deviation of the logarithm of α.
    inflation : float
        By which variances are multiplied, because residuals do not grow with the
        prediction in the same way for all models.
    """

    median: float
    log_sd: float
    inflation: float


# Measured with many shadows: on forests, boosting, networks and support vector
# machines, and on linear models whose theory predicts the separation. See
# benchmarks/risk_from_few_fits.md.
PRIOR, PRIOR_WITH_THEORY = Prior(0.04, 1.0, 1.25), Prior(0.008, 0.5, 1.0)
_LARGEST_DEVIATION = 4  # of the logarithm of α, in standard deviations
_FINEST = 1e-6  # to which part α is ever known
# A window has this share of the records, and at least this many of them.
_WINDOW_SHARE, _SMALLEST_WINDOW = 0.05, 30
# Variance of an outlier's separation about the prediction.
_OUTLIER_VARIANCE = 4.0


def prior_of(weight_of_theory):
    """What is known of the residuals before any shadow is seen.

    Parameters
    ----------
    weight_of_theory : float
        How much of the prediction a theory of the model makes.

    Returns
    -------
    prior : Prior
    """
    share = min(weight_of_theory, 1.0)
    return Prior(
        *(
            (1 - share) * without + share * with_
            for without, with_ in zip(PRIOR, PRIOR_WITH_THEORY, strict=True)
        )
    )


class Half(NamedTuple):
    """One half of the shadows.

    Attributes
    ----------
    gaps : ndarray of shape (n_pairs, n_records)
        Standardised differences of the signals at each pair; NaN where there are none.
    prediction : ndarray of shape (n_records,)
        Prediction of their mean.
    without : ndarray of shape (2, n_records)
        The same prediction without what the even pairs of the other half, and its odd
        pairs, say about the record.
    """

    gaps: np.ndarray
    prediction: np.ndarray
    without: np.ndarray


class Part(NamedTuple):
    """One of the cases that the separation of a record is a mixture of.

    Attributes
    ----------
    weight : ndarray of shape (n_records,)
        Its probability.
    mean : ndarray of shape (n_records,)
    variance : ndarray of shape (n_records,)
        But for what is due to the unknown unit of the separation.
    unit_variance : ndarray of shape (n_records,)
        Variance of that unit, which is a factor of the separation.
    """

    weight: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    unit_variance: np.ndarray

    def total_variance(self):
        """Variance of the separation."""
        return self.variance + self.mean**2 * self.unit_variance

    def probability_at_most(self, limit):
        """Probability that the separation is at most `limit`."""
        # A factor of the separation moves it at the limit by a part of the limit.
        variance = self.variance + limit**2 * self.unit_variance
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = (limit - self.mean) / np.sqrt(variance)
        return np.where(variance == 0, limit >= self.mean, ndtr(ratio))

    def of(self, records):
        """Return the same for some of the records."""
        return Part(*(column[records] for column in self))


class Separation(NamedTuple):
    """Estimated separation of the signals with and without each record.

    Attributes
    ----------
    mean, variance : ndarray of shape (n_records,)
    parts : list of Part
    """

    mean: np.ndarray
    variance: np.ndarray
    parts: list

    @classmethod
    def mixture_of(cls, parts):
        """Make it of its parts."""
        mean = sum(part.weight * part.mean for part in parts)
        variance = sum(
            part.weight * (part.total_variance() + (part.mean - mean) ** 2)
            for part in parts
        )
        return cls(mean, variance, parts)

    def probability_at_most(self, limit):
        """Probability that the separation of each record is at most `limit`."""
        return sum(part.weight * part.probability_at_most(limit) for part in self.parts)

    def of(self, records):
        """Return the same for some of the records."""
        parts = [part.of(records) for part in self.parts]
        return Separation(self.mean[records], self.variance[records], parts)


class Shrinkage(NamedTuple):
    """What the measurement of each record is weighed against.

    Attributes
    ----------
    predicted : ndarray of shape (n_records,)
        Predicted separation.
    residual, prediction_error : ndarray of shape (n_records,)
        Variance of the residuals of the prediction, and of the prediction itself.
    noise, own_noise : ndarray of shape (n_records,)
        Variance of the measurement: as it is for records of like predictions, and as
        it seems to be for the record itself. NaN where nothing is measured.
    unknown_scale : float
        See `combine`.
    inflation : float
        See `Prior`.
    n_records : int
        Of which one is expected to be an outlier.
    """

    predicted: np.ndarray
    residual: np.ndarray
    prediction_error: np.ndarray
    noise: np.ndarray
    own_noise: np.ndarray
    unknown_scale: float
    inflation: float
    n_records: int

    def posterior(self, measured):
        """Estimate the separation of each record from its measurement.

        Parameters
        ----------
        measured : ndarray of shape (n_records,)

        Returns
        -------
        separation : Separation
        """
        noise, residual = self.noise, self.residual
        surprise = np.where(np.isfinite(noise), measured - self.predicted, np.nan)
        usual = self._weigh(surprise, residual, noise)
        # A record that is noisier than others like it is no outlier for that.
        noise = np.fmax(noise, self.own_noise)
        outlier = self._weigh(surprise, residual + _OUTLIER_VARIANCE, noise)
        p = _probability_of_outlier(
            surprise, residual + self.prediction_error + noise, self.n_records
        )
        return Separation.mixture_of([Part(1 - p, *usual), Part(p, *outlier)])

    def _weigh(self, surprise, residual, noise):
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(np.isfinite(surprise), residual / (residual + noise), 0.0)
        share = np.nan_to_num(share)
        mean = self.predicted + share * np.nan_to_num(surprise)
        variance = (1 - share) * residual + (1 - share) ** 2 * self.prediction_error
        unit_variance = share * self.unknown_scale / 4
        return mean, self.inflation * variance, self.inflation * unit_variance

    def of(self, records):
        """Return the same for some of the records."""
        columns = (self.predicted, self.residual, self.prediction_error)
        columns += (self.noise, self.own_noise)
        rest = self.unknown_scale, self.inflation, self.n_records
        return Shrinkage(*(column[records] for column in columns), *rest)


def combine(halves, unknown_scale=0.0, prior=PRIOR):
    """Shrink measurements towards predictions.

    Parameters
    ----------
    halves : tuple of two Half
    unknown_scale : float, default=0.0
        Variance of what is unknown of the logarithm of the variance by which gaps were
        divided. Predictions average over it.
    prior : Prior, default=PRIOR

    Returns
    -------
    separation : Separation
    shrinkage : Shrinkage
        How the measurement of each record was weighed.
    """
    predicted = (halves[0].prediction + halves[1].prediction) / 2
    measured, own_noise = _measure(np.concatenate([half.gaps for half in halves]))
    order = np.argsort(predicted, kind="stable")
    noise = window_means(own_noise, order)
    shape = residual_shape(predicted)
    shrinkage = Shrinkage(
        predicted,
        residual_scale(halves, shape, noise, prior) * shape,
        _prediction_error(halves, order),
        noise,
        own_noise,
        unknown_scale,
        prior.inflation,
        len(predicted),
    )
    return shrinkage.posterior(measured), shrinkage


def _probability_of_outlier(surprise, variance, n_records):
    """Probability that a record is the one that is unlike all others.

    Parameters
    ----------
    surprise : ndarray of shape (n_records,)
        Measurement less prediction; NaN where there is no measurement.
    variance : ndarray of shape (n_records,)
        Its variance for a record that is no outlier.
    n_records : int
        Of which one is expected to be an outlier.

    Returns
    -------
    probability : ndarray of shape (n_records,)
    """
    wide = variance + _OUTLIER_VARIANCE
    with np.errstate(invalid="ignore", divide="ignore"):
        log_ratio = np.log(variance / wide) + surprise**2 * (1 / variance - 1 / wide)
    odds = log_ratio / 2 - np.log(max(n_records - 1, 1))
    return np.nan_to_num(expit(odds))


def residual_shape(predicted):
    """How the variance of residuals depends on the prediction, but for a factor."""
    size = np.abs(predicted)
    return size * (np.sqrt(np.mean(size**2)) + 2 * size) / 3


def _measure(gaps):
    """Mean of the gaps of each record, and the variance of that mean."""
    known = np.isfinite(gaps)
    n_known = np.count_nonzero(known, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, gaps, 0.0).sum(axis=0) / n_known
        squares = np.where(known, (gaps - mean) ** 2, 0.0).sum(axis=0)
        return mean, squares / (n_known - 1) / n_known


def _window_size(n_records, share):
    return min(n_records, max(_SMALLEST_WINDOW, int(share * n_records)))


def window_means(values, order, share=_WINDOW_SHARE):
    """Mean of the known values of the records next to each one in an order."""
    known = np.isfinite(values[order])
    total = np.cumsum(np.concatenate([[0.0], np.where(known, values[order], 0.0)]))
    number = np.cumsum(np.concatenate([[0], known]))
    size = _window_size(len(values), share)
    start = np.clip(np.arange(len(values)) - size // 2, 0, len(values) - size)
    means = np.empty(len(values))
    with np.errstate(invalid="ignore", divide="ignore"):
        means[order] = (total[start + size] - total[start]) / (
            number[start + size] - number[start]
        )
    return means


def residual_scale(halves, shape, noise, prior=PRIOR):
    """Estimate α from products of residuals at pairs of different halves.

    Parameters
    ----------
    halves : tuple of two Half
    shape, noise : ndarray of shape (n_records,)
        α times `shape` is the variance of a residual; `noise` is that of a
        measurement.
    prior : Prior, default=PRIOR

    Returns
    -------
    scale : float
        The mean of its posterior.
    """
    guess = prior.median
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = shape / (guess * shape + noise) ** 2
    weights = np.where(np.isfinite(weights), weights, 0.0)
    total = weights @ shape
    if not total > 0:
        return guess
    products = np.concatenate(
        [_products(*halves, weights), _products(*halves[::-1], weights)]
    )
    products /= total
    variance = products.var() / max(products.size - 1, 1)
    # Few products may agree by chance: their variance is at least that of independent
    # records.
    least = weights**2 @ np.nan_to_num(noise) ** 2 / total**2
    variance = max(variance, least, (_FINEST * guess) ** 2)
    deviations = np.linspace(-_LARGEST_DEVIATION, _LARGEST_DEVIATION, 81)
    scales = guess * np.exp(prior.log_sd * deviations)
    misfit = (products.mean() - scales) ** 2 / variance
    log_posterior = -(deviations**2) / 2 - misfit / 2
    return float(softmax(log_posterior) @ scales)


def _products(half, other, weights):
    """Weighted sums over the records of products of residuals, for all pairs of pairs.

    One residual is from each half, so that their noise is independent. Both are those
    of the prediction for `half`, without what the pair of `other` says.
    """
    products = []
    for parity in (0, 1):
        prediction = half.without[parity]
        own = np.nan_to_num(half.gaps - prediction) * weights
        products.append(own @ np.nan_to_num(other.gaps[parity::2] - prediction).T)
    return np.concatenate([block.ravel() for block in products])


def _prediction_error(halves, order):
    """Variance of the mean of the two predictions, for records of like predictions."""
    first, second = (half.prediction for half in halves)
    return window_means((first - second) ** 2 / 4, order)
