import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit, ndtr
from scipy.stats import spearmanr

from skpriv.metrics import score_agreement


def test_rank_correlation_is_scipys_with_ties():
    rng = np.random.default_rng(0)
    reference, score = rng.integers(0, 5, (2, 50))
    agreement = score_agreement(reference, score)
    assert_allclose(agreement.spearman, spearmanr(reference, score)[0], rtol=1e-12)
    assert agreement.spearman_interval[0] < agreement.spearman
    assert agreement.spearman < agreement.spearman_interval[1]


def test_constant_score_has_no_correlation():
    assert np.isnan(score_agreement([1.0, 2.0, 3.0], [1.0, 1.0, 1.0]).spearman)


def test_top_overlap_counts_shared_records():
    reference = np.arange(10.0)
    score = np.array([0, 1, 2, 3, 4, 9, 6, 7, 8, 5.0])
    overlap = score_agreement(reference, score, fractions=[0.1, 0.2, 1.0]).top_overlap
    assert_allclose(overlap, [0.0, 0.5, 1.0])


def test_top_overlap_shares_places_among_ties():
    overlap = score_agreement([3.0, 2, 1, 0], [1.0, 1, 1, 1], fractions=[0.5])
    assert_allclose(overlap.top_overlap, 0.5)


def _few_exposed(normal):
    return np.clip(0.5 + 0.02 * np.exp(normal), 0.5, 1)


TRUTHS = {
    "few exposed, 32 trials": (_few_exposed, 32),
    "few exposed, 128 trials": (_few_exposed, 128),
    "7% exposed, 32 trials": (lambda z: np.where(z > 1.5, 0.9, 0.5), 32),
    "30% exposed, 8 trials": (lambda z: np.where(z > 0.5, 0.7, 0.5), 8),
    "all near 1, 8 trials": (lambda z: 1 - 0.2 * expit(z) * expit(-z) ** 2, 8),
    "spread evenly, 32 trials": (lambda z: ndtr(np.abs(z)), 32),
    "half of them exposed, 32 trials": (lambda z: np.maximum(ndtr(z), 0.5), 32),
    "worse than guessing, 32 trials": (ndtr, 32),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_attainable_is_the_correlation_of_a_perfect_score(name):
    truth_of, n_trials = TRUTHS[name]
    rng = np.random.RandomState(0)
    truth = truth_of(rng.normal(size=30_000))
    halves = rng.binomial(n_trials, truth, (2, truth.size)) / n_trials
    agreement = score_agreement(halves.mean(axis=0), truth, halves=halves)
    assert agreement.attainable == pytest.approx(agreement.spearman, abs=0.02)


def test_perfect_measurement_lets_a_perfect_score_attain_1():
    truth = np.linspace(0, 1, 50)
    assert score_agreement(truth, truth, halves=[truth, truth]).attainable == 1


def test_attainable_is_unknown_without_halves_or_with_unrelated_ones():
    reference = [0.1, 0.2, 0.3]
    assert np.isnan(score_agreement(reference, reference).attainable)
    halves = [reference, reference[::-1]]
    assert np.isnan(score_agreement(reference, reference, halves=halves).attainable)


def test_few_records_have_an_attainable_correlation_too():
    halves = [[0.5, 0.75, 1.0], [0.5, 1.0, 0.75]]
    attainable = score_agreement([1.0, 2, 3], [1.0, 2, 3], halves=halves).attainable
    assert 0 < attainable <= 1


@given(seed=st.integers(0, 2**16))
@settings(deadline=None, max_examples=20)
def test_agreement_does_not_depend_on_the_order_of_the_records(seed):
    rng = np.random.default_rng(seed)
    reference, score = rng.integers(0, 6, (2, 30)).astype(float)
    order = rng.permutation(30)
    before = score_agreement(reference, score)
    after = score_agreement(reference[order], score[order])
    for name in before:
        assert_allclose(before[name], after[name], err_msg=name)


def test_halves_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match=r"halves must have shape \(2, 3\)"):
        score_agreement([1.0, 2, 3], [1.0, 2, 3], halves=[[1.0, 2], [1, 2]])
    with pytest.raises(ValueError, match="halves must be success rates between 0 and"):
        score_agreement([1.0, 2, 3], [1.0, 2, 3], halves=[[1.0, 2, 3], [1, 2, 3]])


def test_reference_of_another_length_is_refused():
    with pytest.raises(
        ValueError, match=r"reference must have shape \(3,\), .* it has shape \(2,\)"
    ):
        score_agreement([1.0, 2], [1.0, 2, 3])
