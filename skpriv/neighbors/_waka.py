"""WaKA: how far a record shifts the distribution of a k-NN's loss."""

import warnings
from numbers import Integral, Real

import numpy as np
from scipy import stats
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from skpriv.neighbors._base import KNNScorer
from skpriv.neighbors._loss_levels import LevelValue, SubsetLoss, levels_above
from skpriv.neighbors._values import LinearValue, RankWeights
from skpriv.utils._sklearn import Interval, StrOptions
from skpriv.utils._text import count


def waka_weights(n_ranks, n_neighbors, subset_probability):
    """Return the weights of the ranks in WaKA without a threshold.

    A given nearer record displaces the one at rank j from a random subset's k nearest
    with the negative binomial probability that the latter is the k-th of the others.

    Parameters
    ----------
    n_ranks : int
    n_neighbors : int
    subset_probability : float

    Returns
    -------
    weights : RankWeights
    """
    k, q = n_neighbors, subset_probability
    weights = q / k * stats.nbinom.pmf(np.arange(n_ranks) - k, k, q)
    return RankWeights(weights, lambda n: q / k * stats.binom.cdf(k - 1, n - 1, q))


def smallest_neighborhood(n_neighbors, subset_probability, tol, n_records):
    """Return how many of the nearest records determine all but `tol` of the subsets.

    Records beyond rank J matter only for subsets with fewer than k of the J nearest,
    which have probability P(Bin(J, q) < k).

    Parameters
    ----------
    n_neighbors : int
    subset_probability : float
    tol : float
    n_records : int
        Upper limit of the result.

    Returns
    -------
    n_ranks : int
    """

    def remainder(n_ranks):
        return stats.binom.cdf(n_neighbors - 1, n_ranks, subset_probability)

    low, high = 0, n_neighbors
    while remainder(high) > tol and high < n_records:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if remainder(middle) > tol else (low, middle)
    return min(high, n_records)


def level_weights(variant, threshold, n_neighbors, subset_probability):
    """Return the weights of the levels of the loss for a variant with a threshold.

    Parameters
    ----------
    variant : {"removal", "addition"}
    threshold : float
    n_neighbors : int
    subset_probability : float

    Returns
    -------
    weights : ndarray of shape (2, n_neighbors)
        See `LevelValue`.
    """
    above = levels_above(threshold, n_neighbors)
    whole = np.ones(n_neighbors)
    signed = [above, -whole] if variant == "removal" else [whole, above - 1]
    return subset_probability / n_neighbors * np.stack(signed)


class AdditionValue(LevelValue):
    """Value of ``variant="addition"``.

    A record always matches itself, and matches count at all levels: its own value is
    that without a threshold.

    Parameters
    ----------
    labels, n_neighbors, subset_probability, weights
        As for `LevelValue`.
    plain : LinearValue
        The value without a threshold.
    """

    def __init__(self, labels, n_neighbors, subset_probability, weights, plain):
        super().__init__(labels, n_neighbors, subset_probability, weights)
        self._plain = plain

    def self_values(self, rankings, y, records):
        return self._plain.self_values(rankings, y, records)

    def influence(self, rankings, y):
        return self._plain.influence(rankings, y)


class WaKAScorer(KNNScorer):
    """Wasserstein k-NN attribution: how far a record shifts the loss of k-NNs.

    Each random subset of the training records makes a k-NN, so that the loss at a row
    has a distribution. A record's score is the 1-Wasserstein distance by which its
    presence shifts the distribution of the loss at itself, computed exactly, without
    training or sampling. The same distance at other rows is the record's contribution
    there.

    The loss of a k-NN at a row is the share of its k votes that do not go to the row's
    label; votes that are missing because the subset has fewer than k records count as
    loss. Records at equal distance are exchangeable: each value is the mean over the
    orders of the tie group.

    Parameters
    ----------
    n_neighbors : int, default=5
        The k of the k-NNs. It may exceed the number of records.
    variant : {"waka", "removal", "addition"}, default="waka"
        "waka" is the distance. The others are signed: positive for rows that have the
        record's label, negative for other rows. With "removal", only losses above
        `threshold` count for the positive values; with "addition", only losses below
        it count for the negative ones.
    threshold : float in [0, 1], default=0.5
        The loss above which a k-NN is wrong; used by "removal" and "addition".
    subset_probability : float in (0, 1], default=0.5
        Probability that a subset holds a record.
    neighborhood : "auto", int or None, default="auto"
        How many of the nearest records are used, at least `n_neighbors`. "auto": as
        many as are needed for scores within `tol` of the exact ones. None: all.
    tol : float, default=1e-12
        Largest error of a score with ``neighborhood="auto"``.
    search : {"auto", "exact", "approximate"}, default="auto"
        How neighbours are found: by scikit-learn ("exact") or by pynndescent
        ("approximate"). "auto" is exact unless brute force would take minutes;
        `search_` tells which one was used. If nearly all records are ranked, the
        search is always exact.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's neighbours, or "precomputed".
    metric_params : dict, default=None
        Further arguments of the metric.
    n_jobs : int, default=None
        Jobs for the search of neighbours.
    random_state : int, RandomState instance or None, default=None
        Seed of the approximate search.

    Attributes
    ----------
    scores_ : ndarray of shape (n_samples,)
        Scores of the training records, computed on first access; higher means more
        exposed.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    neighborhood_ : int
        Number of nearest records that are used.
    truncation_bound_ : float
        Bound on the error of any score or probability, given the neighbours found. 0
        if all records are used.
    search_ : {"exact", "approximate", "precomputed"}
        How neighbours are found.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `X` has them.

    See Also
    --------
    KNNShapleyScorer : The mean effect of a record over subsets of all sizes.
    KNNLeaveOneOutScorer : The effect of removing a record from all records.

    Notes
    -----
    A record shifts the loss in one direction only: down if it matches the label, else
    up. So the distance is the shift of the mean, which is `subset_probability` times
    the record's Banzhaf value (at 0.5), and needs no distribution [1]_.

    References
    ----------
    .. [1] P. Mesana, C. Bénesse, H. Lautraite, G. Caporossi and S. Gambs, "WaKA: Data
       attribution using k-nearest neighbors and membership privacy principles", 2024.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skpriv import WaKAScorer
    >>> X, y = load_iris(return_X_y=True)
    >>> scorer = WaKAScorer(n_neighbors=5).fit(X, y)
    >>> scorer.scores_.argmax()
    np.int64(83)
    >>> scorer.attack_success(X)[83].round(3)
    np.float64(0.705)
    """

    _parameter_constraints = {
        **KNNScorer._parameter_constraints,
        "variant": [StrOptions({"waka", "removal", "addition"})],
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "subset_probability": [Interval(Real, 0, 1, closed="right")],
        "neighborhood": [
            StrOptions({"auto"}),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
        "tol": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        n_neighbors=5,
        *,
        variant="waka",
        threshold=0.5,
        subset_probability=0.5,
        neighborhood="auto",
        tol=1e-12,
        search="auto",
        metric="euclidean",
        metric_params=None,
        n_jobs=None,
        random_state=None,
    ):
        self.n_neighbors = n_neighbors
        self.variant = variant
        self.threshold = threshold
        self.subset_probability = subset_probability
        self.neighborhood = neighborhood
        self.tol = tol
        self.search = search
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _n_ranks(self, n_records):
        if self._fitted.neighborhood is None:
            return n_records
        if self._fitted.neighborhood == "auto":
            return smallest_neighborhood(
                self._fitted.n_neighbors,
                self._fitted.subset_probability,
                self._fitted.tol,
                n_records,
            )
        return max(self._fitted.neighborhood, self._fitted.n_neighbors)

    def _bound(self, n_ranks):
        bound = self._bound_of_rest(n_ranks)
        if self._fitted.neighborhood == "auto" and bound > self._fitted.tol:
            needed = self._n_ranks(self.n_samples_fit_) + self._ranks_beyond
            warnings.warn(
                f"The graph lists too few neighbours: with {n_ranks} of them scores "
                f"are within {bound:.2g} of exact, not within "
                f"tol={self._fitted.tol}; that requires a graph with {needed} "
                "neighbours in each row.",
                UserWarning,
                stacklevel=2,
            )
        return bound

    def _bound_of_rest(self, n_ranks):
        k, q = self._subset_parameters()
        return float(stats.binom.cdf(k - 1, n_ranks, q))

    def _subset_parameters(self):
        return self._fitted.n_neighbors, self._fitted.subset_probability

    def _make_value(self):
        model = self._subset_parameters()
        weights = waka_weights(self.n_samples_fit_ + 1, *model)
        plain = LinearValue(self._labels, weights, mismatch_sign=1.0)
        variant = self._fitted.variant
        if variant == "waka":
            return plain
        weights = level_weights(variant, self._fitted.threshold, *model)
        if variant == "removal":
            return LevelValue(self._labels, *model, weights)
        return AdditionValue(self._labels, *model, weights, plain)

    def _self_events(self, X, labels, records, n_ranks=None):
        """Events of `_subsets` for rows, over subsets of the other records."""
        loss = SubsetLoss(self._labels, *self._subset_parameters())
        return loss.events(self._rank(X, records, n_ranks), labels, records)

    def loss_distribution(self, X, y=None):
        """Compute the distribution of the loss at rows, with and without their record.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            Their labels; see `score_samples`.

        Returns
        -------
        with_record, without_record : ndarray of shape (n_samples, n_neighbors + 1)
            Probability that the loss is ``l / n_neighbors``, l = 0, ..., n_neighbors,
            over random subsets of the other training records, with the row's record
            added, or not.
        """
        return self._loss_pmfs(*self._rows(X, y))

    def _loss_pmfs(self, X, labels, records, n_ranks=None):
        """Loss distributions with and without the record, by l = 0, ..., k."""
        some, where = self._one_of_each(labels, records)
        X, labels, records = X[some], labels[some], records[some]
        match, mismatch, unfilled = self._self_events(X, labels, records, n_ranks)
        with_record = np.zeros((labels.size, self._fitted.n_neighbors + 1))
        without = np.zeros_like(with_record)
        # In order of the votes for the label, from 0 to k.
        with_record[:, 1:] = match + mismatch + unfilled
        without[:, 1:] = match
        without[:, :-1] += mismatch + unfilled
        return with_record[where, ::-1].copy(), without[where, ::-1].copy()

    def _rows(self, X, y):
        check_is_fitted(self)
        X = self._validate_rows(X)
        y, records = self._identify_rows(X, y)
        return X, self._encode(y), records

    def _validate_loss(self, loss, n_rows):
        loss = column_or_1d(loss, dtype=np.float64)
        if len(loss) != n_rows:
            raise ValueError(
                f"loss must have one value per row of X, {n_rows}; got {len(loss)}."
            )
        if not ((loss >= 0) & (loss <= 1)).all():
            raise ValueError("loss must be between 0 and 1 in every row.")
        return loss

    def _validate_level(self, loss, n_rows):
        """Return the number of votes that the loss counts."""
        k = self._fitted.n_neighbors
        votes = self._validate_loss(loss, n_rows) * k
        level = np.rint(votes).astype(int)
        if not np.allclose(level, votes, rtol=0, atol=1e-6):
            raise ValueError(
                f"loss must be a multiple of 1/n_neighbors = 1/{k} in every row: the "
                "share of the audited k-NN's votes that are not for the label."
            )
        return level

    def attack_score(self, X, y, loss):
        """Score rows by how likely an audited k-NN was trained on them (t-WaKA).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or None
            Their labels; see `score_samples`.
        loss : array-like of shape (n_samples,)
            The audited k-NN's loss at each row, between 0 and 1.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Shift of the loss's distribution above the audited loss, minus the shift
            below it; higher means more likely a member.
        """
        X, labels, records = self._rows(X, y)
        loss = self._validate_loss(loss, labels.size)
        _, mismatch, unfilled = self._self_events(X, labels, records)
        sides = 2 * levels_above(loss, self._fitted.n_neighbors) - 1
        scores = ((mismatch + unfilled) * sides).sum(axis=1)
        return self._fitted.subset_probability / self._fitted.n_neighbors * scores

    def likelihood_ratio(self, X, y, loss):
        """Compute the exact log likelihood ratio of membership in an audited k-NN.

        It is the quantity that shadow models estimate: the audited k-NN is assumed to
        be one of a random subset of the training records.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or None
            Their labels; see `score_samples`.
        loss : array-like of shape (n_samples,)
            The audited k-NN's loss at each row, a multiple of ``1 / n_neighbors``.

        Returns
        -------
        ratio : ndarray of shape (n_samples,)
            Higher means more likely a member. Infinite if the loss is possible only
            with, or only without, the record. NaN, with a warning, if it is impossible
            either way, or so improbable that the neighbours in an approximate index or
            a graph do not determine it.
        """
        X, labels, records = self._rows(X, y)
        level = self._validate_level(loss, labels.size)
        inside, outside = self._probabilities(X, labels, records, level)
        # A ratio needs its smaller side to many digits: if the records that were left
        # out may matter, none is left out.
        least = np.minimum(inside, outside)
        faint = np.flatnonzero(least < 1e9 * self.truncation_bound_)
        unknown = np.maximum(inside, outside) == 0
        if faint.size and self.search_ == "exact":
            inside[faint], outside[faint] = self._probabilities(
                X[faint],
                labels[faint],
                records[faint],
                level[faint],
                self.n_samples_fit_,
            )
            unknown = np.maximum(inside, outside) == 0
        else:
            unknown[faint] |= least[faint] <= self.truncation_bound_
        if unknown.any():
            warnings.warn(
                f"In {count(unknown.sum(), 'row')} the loss is practically impossible, "
                "and the likelihood ratio is NaN.",
                RuntimeWarning,
                stacklevel=2,
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(inside) - np.log(outside)
        ratio[unknown] = np.nan
        return ratio

    def _probabilities(self, X, labels, records, level, n_ranks=None):
        """Probability of each row's loss, with and without its record."""
        rows = np.arange(labels.size)
        pmfs = self._loss_pmfs(X, labels, records, n_ranks)
        return [pmf[rows, level] for pmf in pmfs]

    def attack_success(self, X, y=None):
        """Compute the success of the best membership attack on each row's record.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            Their labels; see `score_samples`.

        Returns
        -------
        success : ndarray of shape (n_samples,)
            Probability, from 0.5 to 1, that the best test of the loss decides
            correctly whether the record was in the subset, at even odds; higher means
            more exposed.
        """
        with_record, without = self.loss_distribution(X, y)
        return 0.5 + np.abs(with_record - without).sum(axis=1) / 4
