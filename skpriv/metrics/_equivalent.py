"""The worth of a score, as the number of shadow models that rank records as well."""

import numpy as np
from sklearn.utils import Bunch

from skpriv import attacks
from skpriv.metrics._agreement import check_scores, rank_correlation

_FEWEST_SHADOWS = 8


def equivalent_shadows(scores, signals, membership, *, y=None, variance="auto"):
    """Number of shadow models with which LiRA ranks the records as well as a score.

    Half of the shadow models measure the success of the attack on each record, which
    is taken for the truth. The score, and LiRA with the first 8, 16, 32, ... models of
    the other half, are compared with it by rank correlation. Then the halves change
    roles, and both correlations are averaged.

    Parameters
    ----------
    scores : array-like of shape (n_records,)
        A score of each record that was computed without these models; higher: more
        exposed.
    signals : array-like of shape (n_shadows, n_records)
        Signals of the records at each model, such as ``signals_`` of
        :class:`~skpriv.LiRAAttack`. At least 16 models; the more there are, the better
        is the truth.
    membership : array-like of shape (n_shadows, n_records)
        True where the model was trained on the record. The models 2i and 2i + 1 form a
        pair, such as complementary halves.
    y : array-like of shape (n_records,), default=None
        The labels, if the models are regressors and the signals their predictions.
    variance : {"auto", "record", "pooled"}, default="auto"
        See :class:`~skpriv.LiRAAttack`.

    Returns
    -------
    result : :class:`~sklearn.utils.Bunch`
        ``n_shadows``, the number of shadow models, interpolated on a logarithmic
        scale; ``relation``, which is "about", "more than" (LiRA with all models of a
        half is not as good) or "less than" (LiRA with 8 models is better);
        ``spearman``, the rank correlation of the score; ``lira_n_shadows`` and
        ``lira_spearman``, of shape (n_sizes,), the same for LiRA. If the score or the
        truth is constant, ``n_shadows`` and ``spearman`` are NaN.

    See Also
    --------
    score_agreement : The rank correlation itself, and what a perfect score attains.

    Examples
    --------
    >>> import numpy as np
    >>> from skpriv.metrics import equivalent_shadows
    >>> rng = np.random.default_rng(0)
    >>> membership = rng.random((128, 500)) < 0.5
    >>> membership[1::2] = ~membership[::2]
    >>> separation = rng.exponential(size=500)
    >>> signals = rng.normal(size=(128, 500)) + separation * membership
    >>> noisy = separation + rng.normal(scale=0.5, size=500)
    >>> result = equivalent_shadows(noisy, signals, membership)
    >>> print(result.relation, round(result.n_shadows))
    about 32
    """
    attack = attacks.LiRAAttack.from_signals(
        signals, membership, y=y, variance=variance
    )
    signals, membership = attack.signals_, attack.membership_
    if len(signals) < 2 * _FEWEST_SHADOWS:
        raise ValueError(
            f"signals must be those of at least {2 * _FEWEST_SHADOWS} shadow models, "
            f"got {len(signals)}."
        )
    scores = check_scores(scores, "scores")
    if scores.size != signals.shape[1]:
        raise ValueError(
            f"scores must have shape ({signals.shape[1]},), one score per record; got "
            f"{scores.shape}."
        )
    pair = np.arange(len(signals)) // 2
    halves = np.flatnonzero(pair % 2 == 0), np.flatnonzero(pair % 2)
    sizes = _sizes(min(half.size for half in halves))

    def success(shadows):
        return attacks.LiRAAttack.from_signals(
            signals[shadows], membership[shadows], y=y, variance=variance
        ).attack_success_

    found = []
    for truth_half, half in (halves, halves[::-1]):
        truth = success(truth_half)
        ranked = [scores, *(success(half[:size]) for size in sizes)]
        found.append([_correlation(truth, values) for values in ranked])
    spearman, *of_lira = np.mean(found, axis=0)
    n_shadows, relation = _interpolate(spearman, sizes, of_lira)
    return Bunch(
        n_shadows=n_shadows,
        relation=relation,
        spearman=float(spearman),
        lira_n_shadows=sizes,
        lira_spearman=np.array(of_lira),
    )


def _sizes(largest):
    """Powers of 2 from 8 on, and the largest number of shadows."""
    sizes = 2 ** np.arange(3, int(np.log2(largest)) + 1)
    return np.unique(np.append(sizes, largest))


def _correlation(truth, values):
    # A record whose models were nearly all on one side has no success.
    known = ~np.isnan(truth + values)
    return rank_correlation(truth[known], values[known])


def _interpolate(spearman, sizes, of_lira):
    """Find where LiRA first reaches a correlation."""
    if np.isnan(spearman):
        return np.nan, "about"
    # Apart from noise, more shadows never rank the records worse.
    reached = np.maximum.accumulate(of_lira)
    after = np.searchsorted(reached, spearman)
    if after == 0:
        exact = spearman == reached[0]
        return float(sizes[0]), "about" if exact else "less than"
    if after == sizes.size:
        return float(sizes[-1]), "more than"
    low, high = reached[after - 1], reached[after]
    logs = np.log(sizes[after - 1 : after + 1])
    share = (spearman - low) / (high - low)
    return float(np.exp(logs[0] + share * (logs[1] - logs[0]))), "about"
