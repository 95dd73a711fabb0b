"""WaKA: how far a record moves the distribution of a k-NN's loss."""

import warnings
from numbers import Integral, Real

import numpy as np
from scipy import stats
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from skpriv.neighbors import _subsets
from skpriv.neighbors._base import KNNScorer, RankWeights, SparseRows
from skpriv.utils._sklearn import Interval, StrOptions


def waka_weights(n_ranks, n_neighbors, subset_probability):
    """What ranks weigh in WaKA without a threshold.

    The record at rank j is pushed out of a random subset's k nearest by a given nearer
    record with the negative binomial probability that it is the k-th of the others.

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
    """Return how many of the nearest records decide all but `tol` of the subsets.

    Beyond rank J nothing counts but for subsets with fewer than k of the J nearest,
    which have probability P(Bin(J, q) < k).

    Parameters
    ----------
    n_neighbors : int
    subset_probability : float
    tol : float
    n_records : int
        The most that can be needed.

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


class WaKAScorer(KNNScorer):
    """Wasserstein k-NN attribution: how far a record moves the loss of k-NNs.

    Over all k-NNs that random subsets of the training records make, the loss at a row
    has a distribution. A record's score is how far its presence moves the distribution
    of the loss at itself: a 1-Wasserstein distance, counted exactly, without training
    or sampling. The same distance at other rows says what a record is worth there.

    The loss of a k-NN at a row is the share of its k votes that do not go to the row's
    label; a vote that is missing, since the subset has fewer than k records, is lost.
    Records at equal distance are exchangeable: each value is the mean over the orders
    of the tie group.

    Parameters
    ----------
    n_neighbors : int, default=5
        The k of the k-NNs. It may exceed the number of records.
    variant : {"waka", "removal", "addition"}, default="waka"
        "waka" is the distance. The others are signed: a record counts for a row whose
        label it has, and against another. "removal" counts, for it, only losses above
        `threshold`; "addition" counts, against it, only losses below.
    threshold : float in [0, 1], default=0.5
        The loss above which a k-NN is wrong; used by "removal" and "addition".
    subset_probability : float in (0, 1], default=0.5
        With which probability a subset holds each record.
    neighborhood : "auto", int or None, default="auto"
        How many of the nearest records are looked at, at least `n_neighbors`. "auto":
        so many that scores are within `tol` of exact. None: all.
    tol : float, default=1e-12
        See `neighborhood`.
    search : {"auto", "exact", "approximate"}, default="auto"
        How neighbours are found: by scikit-learn, or by pynndescent. "auto" is exact
        up to data where brute force would take minutes; `search_` says which it was.
        Where nearly all records are ranked the search is exact in any case.
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
        Scores of the training records, computed when first asked for; higher means
        more exposed.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    neighborhood_ : int
        How many neighbours of a row are looked at.
    truncation_bound_ : float
        How far, at most, any score or probability is from that of all records, given
        the neighbours found. 0 if all records are looked at.
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
    A record only ever moves the loss one way: down where it matches the label, up
    elsewhere. So the distance is the shift of the mean, `subset_probability` times the
    record's Banzhaf value (at 0.5), and needs no distribution [1]_.

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
        bound = stats.binom.cdf(
            self._fitted.n_neighbors - 1, n_ranks, self._fitted.subset_probability
        )
        if self._fitted.neighborhood == "auto" and bound > self._fitted.tol:
            wanted = self._n_ranks(self.n_samples_fit_) + self._ranks_beyond
            warnings.warn(
                f"The graph lists too few neighbours: with {n_ranks} of them scores "
                f"are within {bound:.2g} of exact, not within "
                f"tol={self._fitted.tol}; that takes a graph with {wanted} neighbours "
                "in each row.",
                UserWarning,
                stacklevel=2,
            )
        return float(bound)

    def _rank_weights(self, n_ranks):
        return waka_weights(
            n_ranks, self._fitted.n_neighbors, self._fitted.subset_probability
        )

    @property
    def _mismatch_sign(self):
        return 1.0 if self._fitted.variant == "waka" else -1.0

    def _levels_above(self, loss):
        """Share of each step of the loss that lies above a value, by s.

        With s of the k - 1 nearer votes matching, the k-th decides whether the loss is
        at the lower or the upper end of the step from 1 - (s + 1)/k to 1 - s/k.
        """
        k = self._fitted.n_neighbors
        upper = k - np.arange(k)
        return np.clip(upper - k * np.asarray(loss)[..., None], 0.0, 1.0)

    def _level_weights(self):
        """What each step counts, for a match in front of a mismatch and the reverse."""
        above = self._levels_above(self._fitted.threshold)
        whole = np.ones(self._fitted.n_neighbors)
        if self._fitted.variant == "removal":
            weights = np.stack([above, -whole])
        else:
            weights = np.stack([whole, above - 1])
        return self._fitted.subset_probability / self._fitted.n_neighbors * weights

    def _unfilled(self, n_others, n_matches):
        """Probability of subsets with fewer than k records, s of them matching."""
        s = np.arange(self._fitted.n_neighbors)
        pairs, inverse = np.unique(
            np.stack([n_matches, n_others - n_matches]), axis=1, return_inverse=True
        )
        matches, mismatches = pairs[:, :, None]
        q = self._fitted.subset_probability
        events = stats.binom.pmf(s, matches, q)
        events *= stats.binom.cdf(s[::-1], mismatches, q)
        return events[inverse.reshape(-1)]

    def _tables(self):
        return self._fitted.n_neighbors, *_subsets.binomial_tables(
            self.n_samples_fit_,
            self._fitted.n_neighbors,
            self._fitted.subset_probability,
        )

    def _self_events(self, X, labels, records, n_ranks=None):
        """Events of `_subsets` for rows, over subsets of the other records."""
        n_others, n_matches = self._others(labels, records)
        match, mismatch = np.empty((2, labels.size, self._fitted.n_neighbors))
        tables = self._tables()
        for queries, *ranking in self._rank(X, records, n_ranks):
            match[queries], mismatch[queries] = _subsets.subset_events(
                *ranking, self._labels, labels[queries], n_others[queries],
                n_matches[queries], *tables,
            )  # fmt: skip
        return match, mismatch, self._unfilled(n_others, n_matches)

    def _self_values(self, X, labels, records):
        if self._fitted.variant != "removal":
            # At its own row a record matches, so that "addition" counts all.
            return super()._self_values(X, labels, records)
        _, mismatch, unfilled = self._self_events(X, labels, records)
        return (mismatch + unfilled) @ self._level_weights()[0]

    def _total_values(self, rankings, y):
        if self._fitted.variant == "waka":
            return super()._total_values(rankings, y)
        totals = np.zeros(self.n_samples_fit_)
        for _, (records, _, lengths), values in self._level_values(rankings, y):
            listed = np.arange(records.shape[1]) < lengths[:, None]
            totals += np.bincount(
                records[listed], weights=values[listed], minlength=totals.size
            )
        return totals

    def _value_matrix(self, rankings, y):
        if self._fitted.variant == "waka":
            return super()._value_matrix(rankings, y)
        matrix = SparseRows((len(y), self.n_samples_fit_))
        for queries, ranking, values in self._level_values(rankings, y):
            matrix.add(queries, ranking, values)
        return matrix.tocsr()

    def _level_values(self, rankings, y):
        """Yield rankings with the values that depend on the threshold."""
        labels = self._encode(y)
        n_matches = np.append(self._label_counts, 0)[labels]
        weights = self._level_weights()
        n_others = np.full(labels.size, self.n_samples_fit_ - 1)
        unfilled = self._unfilled(n_others, np.maximum(n_matches - 1, 0)) @ weights[0]
        tables = self._tables()
        for queries, *ranking in rankings:
            values = _subsets.record_level_values(
                *ranking, self._labels, labels[queries], n_matches[queries],
                unfilled[queries], *tables, weights,
            )  # fmt: skip
            yield queries, ranking, values

    def _influence_of_ranked(self, queries, ranking):
        if self._fitted.variant != "removal":
            return super()._influence_of_ranked(queries, ranking)
        labels = self._labels[queries]
        n_others, n_matches = self._others(labels, queries)
        weights = self._level_weights()[0]
        unfilled = self._unfilled(n_others, n_matches) @ weights
        fewer = np.maximum(n_others - 1, 0)
        changes = [
            self._unfilled(fewer, np.clip(n_matches - own, 0, fewer)) @ weights
            for own in range(2)
        ]
        return _subsets.self_level_influence(
            *ranking, self._labels, labels, n_others, n_matches,
            np.stack(changes, axis=1) - unfilled[:, None], *self._tables(), weights,
        )  # fmt: skip

    def loss_distribution(self, X, y=None):
        """Distribution of the loss at rows, with and without the row's own record.

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
        match, mismatch, unfilled = self._self_events(X, labels, records, n_ranks)
        with_record = np.zeros((labels.size, self._fitted.n_neighbors + 1))
        without = np.zeros_like(with_record)
        # In order of the votes for the label, from 0 to k.
        with_record[:, 1:] = match + mismatch + unfilled
        without[:, 1:] = match
        without[:, :-1] += mismatch + unfilled
        return with_record[:, ::-1].copy(), without[:, ::-1].copy()

    def _rows(self, X, y):
        check_is_fitted(self)
        X = self._validate_rows(X)
        y, records = self._identify_rows(X, y)
        return X, self._encode(y), records

    def _validate_loss(self, loss, n_rows):
        loss = column_or_1d(loss, dtype=np.float64)
        if len(loss) != n_rows:
            raise ValueError(
                f"loss must have a value for each of the {n_rows} rows of X; got "
                f"{len(loss)}."
            )
        if not ((loss >= 0) & (loss <= 1)).all():
            raise ValueError("loss must lie between 0 and 1, in every row.")
        return loss

    def attack_score(self, X, y, loss):
        """Score rows by how likely they are members of an audited k-NN (t-WaKA).

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
            Higher means more likely a member: by how much the record moves the loss's
            distribution above the audited loss, less by how much below.
        """
        X, labels, records = self._rows(X, y)
        loss = self._validate_loss(loss, labels.size)
        _, mismatch, unfilled = self._self_events(X, labels, records)
        sides = 2 * self._levels_above(loss) - 1
        scores = ((mismatch + unfilled) * sides).sum(axis=1)
        return self._fitted.subset_probability / self._fitted.n_neighbors * scores

    def likelihood_ratio(self, X, y, loss):
        """Return the exact log likelihood ratio of membership in an audited k-NN.

        It is what shadow models estimate: the audited k-NN is taken for one of a
        random subset of the training records.

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
            Higher means more likely a member; infinite where the loss is possible one
            way only. NaN, with a warning, where it is not possible either way, or so
            improbable that an index or graph of neighbours cannot tell.
        """
        X, labels, records = self._rows(X, y)
        loss = self._validate_loss(loss, labels.size)
        k = self._fitted.n_neighbors
        level = np.rint(loss * k).astype(int)
        if not np.allclose(level, loss * k, rtol=0, atol=1e-6):
            raise ValueError(
                f"loss must be a multiple of 1/n_neighbors = 1/{k} in every row: the "
                "share of the audited k-NN's votes not for the label."
            )
        here = np.arange(labels.size), level
        inside, outside = (pmf[here] for pmf in self._loss_pmfs(X, labels, records))
        # A ratio needs its smaller side to many digits: where what was left out of
        # the count may matter, nothing is left out.
        faint = np.flatnonzero(
            np.minimum(inside, outside) < 1e9 * self.truncation_bound_
        )
        doubtful = np.zeros(labels.size, dtype=bool)
        if faint.size and self.search_ == "exact":
            here = np.arange(faint.size), level[faint]
            inside[faint], outside[faint] = (
                pmf[here]
                for pmf in self._loss_pmfs(
                    X[faint], labels[faint], records[faint], self.n_samples_fit_
                )
            )
        else:
            bound = self.truncation_bound_
            doubtful[faint] = np.minimum(inside, outside)[faint] <= bound
        doubtful |= np.maximum(inside, outside) == 0
        if doubtful.any():
            warnings.warn(
                f"In {doubtful.sum()} rows the loss is as good as impossible, and the "
                "likelihood ratio is NaN.",
                RuntimeWarning,
                stacklevel=2,
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(inside) - np.log(outside)
        ratio[doubtful] = np.nan
        return ratio

    def attack_success(self, X, y=None):
        """Success of the best membership attack on each row's record.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            Their labels; see `score_samples`.

        Returns
        -------
        success : ndarray of shape (n_samples,)
            Probability, from 0.5 to 1, that the best test of the loss tells whether
            the record was in the subset, at even odds: higher means more exposed.
        """
        with_record, without = self.loss_distribution(X, y)
        return 0.5 + np.abs(with_record - without).sum(axis=1) / 4
