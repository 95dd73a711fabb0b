import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
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


def test_ceiling_is_the_correlation_of_the_truth_with_its_noisy_measure():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=20_000)
    halves = truth + rng.normal(scale=1.5, size=(2, truth.size))
    reference = halves.mean(axis=0)
    agreement = score_agreement(reference, truth, halves=halves)
    # Ranks of normals correlate a little less than the normals; 20,000 records.
    assert_allclose(agreement.spearman, agreement.ceiling, atol=0.02)


def test_ceiling_is_unknown_without_halves_or_with_unrelated_ones():
    assert np.isnan(score_agreement([1.0, 2, 3], [1.0, 2, 3]).ceiling)
    halves = [[1.0, 2, 3], [3.0, 2, 1]]
    assert np.isnan(score_agreement([1.0, 2, 3], [1.0, 2, 3], halves=halves).ceiling)


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


def test_reference_of_another_length_is_refused():
    with pytest.raises(
        ValueError, match=r"reference must have shape \(3,\), .* it has shape \(2,\)"
    ):
        score_agreement([1.0, 2], [1.0, 2, 3])
