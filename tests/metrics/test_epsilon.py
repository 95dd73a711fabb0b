import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import expit, ndtr
from scipy.stats import binomtest
from sklearn.datasets import load_iris
from sklearn.model_selection import ShuffleSplit
from sklearn.tree import DecisionTreeClassifier

from skpriv import LossAttack
from skpriv.evaluation import cross_val_membership, membership_game
from skpriv.metrics import epsilon_lower_bound


def randomised_response(epsilon, n, rng):
    """Answer truthfully with the probability that makes it private to exactly ε."""
    truth = np.repeat([0, 1], n)
    honest = rng.random(truth.size) < expit(epsilon)
    return truth, np.where(honest, truth, 1 - truth).astype(float)


def gaussian_mechanism(shift, n, rng):
    """Release a mean with noise; `shift` is its sensitivity, in units of the noise."""
    truth = np.repeat([0, 1], n)
    return truth, rng.normal(size=truth.size) + shift * truth


def gaussian_epsilon(shift, delta):
    """Solve the exact relation of ε and δ (Balle and Wang, 2018, theorem 8)."""

    def excess(epsilon):
        first, second = shift / 2 - epsilon / shift, -shift / 2 - epsilon / shift
        return ndtr(first) - np.exp(epsilon) * ndtr(second) - delta

    return brentq(excess, 0, 50)


def failures(mechanism, parameter, truth, n_runs, **parameters):
    rng = np.random.default_rng(0)
    bounds = np.array(
        [
            epsilon_lower_bound(*mechanism(parameter, 150, rng), **parameters)
            for _ in range(n_runs)
        ]
    )
    return (bounds > truth).mean(), bounds


@pytest.mark.parametrize("thresholds", [None, [0.5]])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
def test_bound_exceeds_the_epsilon_of_randomised_response_at_its_level(
    epsilon, thresholds
):
    wrong, bounds = failures(
        randomised_response,
        epsilon,
        epsilon,
        n_runs=200,
        confidence_level=0.8,
        thresholds=thresholds,
    )
    assert wrong <= 0.2 + 3 * np.sqrt(0.2 * 0.8 / 200)
    assert bounds.max() > 0 or epsilon == 0


@pytest.mark.parametrize("delta", [1e-3, 0.05])
@pytest.mark.parametrize("shift", [0.5, 2.0])
def test_bound_exceeds_the_epsilon_of_the_gaussian_mechanism_at_its_level(shift, delta):
    wrong, bounds = failures(
        gaussian_mechanism,
        shift,
        gaussian_epsilon(shift, delta),
        n_runs=200,
        confidence_level=0.5,
        delta=delta,
    )
    assert wrong <= 0.5
    assert bounds.max() > 0


@pytest.mark.parametrize(
    ("thresholds", "part"), [(None, 0.93), ([0.5], 0.98), ([-2.0, 0.5, 7.0], 0.98)]
)
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_bound_comes_close_to_randomised_response(epsilon, thresholds, part):
    rng = np.random.default_rng(0)
    answers = randomised_response(epsilon, 100_000, rng)
    bound = epsilon_lower_bound(*answers, thresholds=thresholds)
    assert part * epsilon < bound < epsilon


@pytest.mark.parametrize(("shift", "delta"), [(1.0, 0.05), (2.0, 0.01)])
def test_bound_comes_close_to_the_gaussian_mechanism(shift, delta):
    answers = gaussian_mechanism(shift, 100_000, np.random.default_rng(0))
    truth = gaussian_epsilon(shift, delta)
    bound = epsilon_lower_bound(*answers, delta=delta)
    assert 0.8 * truth < bound < truth


def test_bound_at_one_threshold_is_that_of_both_rates():
    truth = np.repeat([1, 0], [40, 50])
    guess = np.concatenate([np.arange(40) < 30, np.arange(50) < 2]).astype(float)
    # Two inequalities with two rates each.
    level = 1 - 0.1 / 2
    rates = [
        binomtest(hits, n).proportion_ci(level)
        for hits, n in ((30, 40), (2, 50), (48, 50), (10, 40))
    ]
    expected = max(
        np.log((rates[0].low - 0.01) / rates[1].high),
        np.log((rates[2].low - 0.01) / rates[3].high),
    )
    bound = epsilon_lower_bound(
        truth, guess, thresholds=[0.5], delta=0.01, confidence_level=0.9
    )
    assert_allclose(bound, expected, rtol=1e-9)


def test_default_thresholds_are_scores_of_given_ranks():
    truth, score = gaussian_mechanism(2.0, 300, np.random.default_rng(0))
    members, nonmembers = score[truth == 1], score[truth == 0]
    rates = []
    for rank in (1, 10, 100):
        highest = sorted(nonmembers, reverse=True)[rank - 1]
        lowest = sorted(members)[rank - 1]
        rates.append((sum(members > highest), sum(nonmembers > highest)))
        rates.append((sum(nonmembers < lowest), sum(members < lowest)))
    assert sorted({alarms for _, alarms in rates}) == [0, 9, 99]
    # Six inequalities with two rates each.
    intervals = [
        [binomtest(int(n), 300).proportion_ci(1 - 0.05 / 6) for n in pair]
        for pair in rates
    ]
    expected = max(np.log(hits.low / alarms.high) for hits, alarms in intervals)
    assert_allclose(epsilon_lower_bound(truth, score), expected, rtol=1e-9)


@pytest.mark.parametrize("thresholds", [None, [0.5]])
def test_members_that_are_ruled_out_count_as_those_that_are_found(thresholds):
    truth = np.repeat([0, 1], 500)
    # All that is certain is that half of the non-members are none.
    score = np.where((truth == 0) & (np.arange(truth.size) % 2 == 0), 0.0, 1.0)
    bound = epsilon_lower_bound(truth, score, thresholds=thresholds)
    mirrored = epsilon_lower_bound(1 - truth, 1 - score, thresholds=thresholds)
    assert bound > 3
    assert_allclose(bound, mirrored, rtol=0.1)


def test_bound_does_not_depend_on_the_scale_of_scores_nor_on_infinite_ones():
    truth, score = gaussian_mechanism(2.0, 200, np.random.default_rng(0))
    bound = epsilon_lower_bound(truth, score)
    assert epsilon_lower_bound(truth, np.exp(score)) == bound
    score[score.argmax()] = np.inf
    assert epsilon_lower_bound(truth, score) == bound


def test_two_records_show_nothing():
    assert epsilon_lower_bound([0, 1], [0.0, 1.0]) == 0
    assert epsilon_lower_bound([1, 0], [0.0, 1.0]) == 0


def test_rounds_of_the_game_are_pooled():
    X, y = load_iris(return_X_y=True)
    attack = LossAttack(DecisionTreeClassifier(random_state=0))
    labels = np.random.default_rng(0).permutation(y)
    game = membership_game(attack, X, labels, n_rounds=4, fprs=[0.1], random_state=0)
    bound = epsilon_lower_bound(game.membership, game.scores)
    assert bound > 1
    assert bound == epsilon_lower_bound(game.membership.ravel(), game.scores.ravel())


def test_records_left_out_of_a_round_are_left_out():
    X, y = load_iris(return_X_y=True)
    attack = LossAttack(DecisionTreeClassifier(random_state=0))
    cv = ShuffleSplit(3, test_size=0.3, train_size=0.3, random_state=0)
    game = cross_val_membership(attack, X, y, cv=cv, fprs=[0.1])
    known = ~np.isnan(game.scores)
    assert not known.all()
    bound = epsilon_lower_bound(game.membership, game.scores)
    assert bound == epsilon_lower_bound(game.membership[known], game.scores[known])


@pytest.mark.parametrize(
    ("y_true", "y_score", "message"),
    [
        ([1, 1], [0.0, 1.0], "must be both members and non-members"),
        ([0, 1], [np.nan, 1.0], "y_score contains NaN"),
        ([0, 2], [0.0, 1.0], "values other than 0 and 1"),
        ([0, 1], [[0.0, 1.0]], r"same shape; got \(2,\) and \(1, 2\)"),
    ],
)
def test_scores_that_say_nothing_are_refused(y_true, y_score, message):
    with pytest.raises(ValueError, match=message):
        epsilon_lower_bound(y_true, y_score)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("delta", 1.0), ("delta", -0.1), ("confidence_level", 1.0), ("thresholds", 0.5)],
)
def test_parameters_out_of_range_are_named(parameter, value):
    with pytest.raises(ValueError, match=f"The '{parameter}' parameter"):
        epsilon_lower_bound([0, 1], [0.0, 1.0], **{parameter: value})
