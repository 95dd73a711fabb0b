import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtri
from scipy.stats import wilcoxon
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from skpriv import LiRAAttack, LossAttack, RiskEstimator
from skpriv.evaluation import detection_limit, records_at_risk, success_by_group
from skpriv.evaluation._risk import _signed_rank_p_values


def _attack(gaps, n_shadows=32, seed=0, **parameters):
    rng = np.random.default_rng(seed)
    membership = np.empty((n_shadows, gaps.size), dtype=bool)
    membership[::2] = rng.random((n_shadows // 2, gaps.size)) < 0.5
    membership[1::2] = ~membership[::2]
    signals = rng.normal(size=membership.shape) + gaps * membership
    return LiRAAttack.from_signals(signals, membership, **parameters)


@pytest.mark.parametrize("mode", ["online", "offline", "offline-density"])
def test_success_of_a_group_is_the_mean_of_its_records(mode):
    gaps = np.repeat([0.0, 3.0], [30, 50])
    attack = _attack(gaps, mode=mode)
    groups = np.where(gaps > 0, "exposed", "safe")
    result = success_by_group(attack, groups)
    assert_array_equal(result.group, ["exposed", "safe"])
    assert_array_equal(result.n_records, [50, 30])
    expected = [attack.attack_success_[groups == g].mean() for g in result.group]
    assert_allclose(result.attack_success, expected, rtol=1e-12)
    assert result.low[0] > 0.7
    assert result.low[1] < 0.5 < result.high[1]


def test_correction_widens_the_intervals_and_is_named():
    attack, groups = _attack(np.zeros(40)), np.arange(40) % 4
    wide = success_by_group(attack, groups)
    narrow = success_by_group(attack, groups, correction="none")
    assert wide.correction == "bonferroni"
    assert ((wide.high - wide.low) > (narrow.high - narrow.low)).all()
    frame = success_by_group(attack, groups, as_frame=True)
    assert list(frame.columns)[:3] == ["group", "n_records", "attack_success"]


def test_group_intervals_hold_for_all_groups_at_once():
    covered = []
    for seed in range(150):
        attack = _attack(np.zeros(40), n_shadows=16, seed=seed)
        result = success_by_group(attack, np.arange(40) % 4)
        covered.append(((result.low <= 0.5) & (result.high >= 0.5)).all())
    assert np.mean(covered) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 150)


def test_group_of_one_record_has_no_interval():
    result = success_by_group(_attack(np.zeros(5)), [0, 1, 1, 1, 1])
    assert np.isnan(result.low[0])
    assert not np.isnan(result.low[1])


def test_shadows_without_a_partner_do_not_count():
    rng = np.random.default_rng(0)
    membership = np.repeat([[True], [False]], [8, 12], axis=0) & np.ones(30, dtype=bool)
    membership[:, 0] = np.arange(20) % 2
    signals = rng.normal(size=membership.shape) + 2 * membership
    attack = LiRAAttack.from_signals(signals, membership)
    result = success_by_group(attack, np.repeat([0, 1], [10, 20]))
    expected = attack.attack_success_[10:].mean()
    assert result.attack_success[1] == pytest.approx(expected)
    assert result.low[1] < expected < result.high[1]


def test_exposed_records_are_listed_surest_first():
    gaps = np.zeros(200)
    gaps[[3, 50, 120]] = [3, 4, 5]
    attack = _attack(gaps)
    result = records_at_risk(attack)
    assert set(result.records) == {3, 50, 120}
    assert (np.diff(result.p_values[result.records]) >= 0).all()
    side = attack.membership_[::2, 7]
    pairs = attack.signals_[:, 7].reshape(-1, 2).astype(float)
    differences = np.where(side, 1, -1) * (pairs[:, 0] - pairs[:, 1])
    expected = wilcoxon(differences, alternative="greater").pvalue
    assert_allclose(result.p_values[7], expected)


def test_records_of_the_same_p_value_are_listed_by_their_mean_difference():
    """Each pair tells all records, so that all have the smallest p-value."""
    gaps = np.array([20.0, 60.0, 30.0, 50.0, 40.0])
    attack = _attack(gaps)
    result = records_at_risk(attack)
    assert np.unique(result.p_values).size == 1
    assert_array_equal(result.records, np.argsort(-gaps))


def test_share_of_false_discoveries_is_kept():
    shares = {"by": [], "bh": []}
    gaps = np.repeat([0.0, 1.5], [80, 20])
    for seed in range(40):
        attack = _attack(gaps, seed=seed)
        for method, found in shares.items():
            records = records_at_risk(attack, fdr=0.2, method=method).records
            found.append((records < 80).mean() if records.size else 0.0)
    for method, found in shares.items():
        bound = 0.2 + 3 * np.std(found) / np.sqrt(40)
        assert np.mean(found) < bound, method


@pytest.mark.parametrize(("levels", "method"), [(3, "approx"), (10**6, "exact")])
def test_p_values_of_all_records_are_those_of_each(levels, method):
    rng = np.random.default_rng(0)
    differences = rng.integers(-levels, levels + 1, (20, 60)) / levels
    differences[rng.random((20, 60)) < 0.1] = np.nan
    p_values = _signed_rank_p_values(differences)
    for column, values in enumerate(differences.T):
        values = values[np.isfinite(values) & (values != 0)]
        expected = wilcoxon(values, alternative="greater", method=method).pvalue
        assert_allclose(p_values[column], expected, rtol=1e-12)


def test_differences_of_one_size_are_told_by_their_signs():
    signs = np.where(np.arange(12)[:, np.newaxis] < [12, 9, 6, 0], 1.0, -1.0)
    expected = [0.5**12, 299 / 4096, 2510 / 4096, 1]
    assert_allclose(_signed_rank_p_values(signs), expected, rtol=1e-12)


def test_signals_that_do_not_differ_put_nobody_at_risk():
    membership = np.tile([[True], [False]], (8, 3))
    attack = LiRAAttack.from_signals(np.ones((16, 3)), membership)
    result = records_at_risk(attack)
    assert_array_equal(result.p_values, 1.0)
    assert result.records.size == 0


def test_attack_without_shadows_is_refused():
    with pytest.raises(ValueError, match="must be a fitted attack with shadow models"):
        records_at_risk(LossAttack())


def test_intervals_of_groups_do_not_collapse_where_all_answers_are_right():
    rng = np.random.default_rng(0)
    membership = np.tile([[True], [False]], (4, 20))
    covered = []
    for _ in range(100):
        signals = rng.normal(size=(8, 20)) + 5 * membership
        attack = LiRAAttack.from_signals(signals, membership, variance="pooled")
        result = success_by_group(attack, np.zeros(20))
        assert result.high[0] > result.low[0]
        covered.append(result.low[0] <= 0.994 <= result.high[0])
    assert np.mean(covered) > 0.95


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([None] * 4, r"missing values, .* \(NoneType\)"),
        ([np.nan] * 4, r"missing values, .* \(float\)"),
        ([1.0, np.nan, 1.0, 2.0], r"missing values, .* \(float\)"),
        (pd.Series(["a", pd.NA, "b", "a"]), "missing values"),
        (pd.Series(["a", None] * 2, dtype="category"), "missing values"),
        (np.array(["a", 1] * 2, dtype=object), r"of several types \(int, str\)"),
        ([0, 1, 1], r"shape \(4,\), .* got \(3,\)"),
        (np.zeros((2, 4)), r"shape \(4,\), .* got \(2, 4\)"),
    ],
    ids=range(8),
)
def test_groups_that_say_no_group_for_each_record_are_refused(groups, message):
    with pytest.raises(ValueError, match=f"groups must .*{message}"):
        success_by_group(_attack(np.zeros(4)), groups)


def test_groups_of_an_attack_that_is_not_fitted_are_refused():
    with pytest.raises(NotFittedError, match="LiRAAttack instance is not fitted"):
        success_by_group(LiRAAttack(), [0, 1])


@pytest.mark.parametrize(("method", "n_needed"), [("by", 26), ("bh", 20)])
def test_too_few_shadows_to_list_a_record_are_told(method, n_needed):
    # The others look safer than they would by chance.
    gaps = np.full(50, -2.0)
    gaps[7] = 50
    few = _attack(gaps, n_needed - 2)
    with pytest.warns(UserWarning, match=f"50 records .* needs {n_needed} shadows"):
        assert records_at_risk(few, method=method).records.size == 0
    # None is listed here for its signals, not for want of shadows.
    safe = _attack(np.full(50, -2.0), n_needed)
    assert records_at_risk(safe, method=method).records.size == 0
    enough = records_at_risk(_attack(gaps, n_needed), method=method)
    assert_array_equal(enough.records, [7])


def test_few_pairs_with_ties_prove_no_more_than_their_signs():
    p_values = _signed_rank_p_values(np.ones((4, 2)))
    assert_array_equal(p_values, 0.5**4)


def _estimated(separations, seed, n_shadows=16):
    """Return the risk of records whose signals are normal, from few shadows."""
    rng = np.random.default_rng(seed)
    membership = np.empty((n_shadows, separations.size), dtype=bool)
    membership[::2] = rng.random((n_shadows // 2, separations.size)) < 0.5
    membership[1::2] = ~membership[::2]
    signals = rng.normal(size=membership.shape) + separations * membership
    return RiskEstimator.from_signals(signals, membership)


def test_every_other_record_at_the_limit_of_detection_is_listed():
    nobody = np.zeros(60)
    limit = detection_limit(_estimated(nobody, seed=0))
    separation = 2 * ndtri(limit)
    listed = {}
    for factor in (0.5, 1.0, 1.8):
        found = 0
        for seed in range(30):
            one = nobody.copy()
            one[7] = factor * separation
            found += 7 in records_at_risk(_estimated(one, seed)).records
        listed[factor] = found / 30
    assert listed[0.5] <= 0.2
    assert 0.25 <= listed[1.0] <= 0.75
    assert listed[1.8] >= 0.9


def test_more_shadows_and_fewer_records_lower_the_limit_of_detection():
    usual = detection_limit(_estimated(np.zeros(60), seed=0))
    assert detection_limit(_estimated(np.zeros(60), seed=0, n_shadows=32)) < usual
    assert detection_limit(_estimated(np.zeros(600), seed=0)) > usual
    risk = _estimated(np.zeros(60), seed=0)
    assert detection_limit(risk, fdr=0.2) < usual
    assert detection_limit(risk, method="by") > usual
    assert detection_limit(risk, threshold=0.7) > usual


def test_without_shadows_there_is_no_limit_of_detection():
    X = np.random.default_rng(0).normal(size=(40, 2))
    risk = RiskEstimator(LogisticRegression(), n_shadows=0)
    risk.fit(X, (X[:, 0] > 0).astype(int))
    with pytest.raises(ValueError, match="needs shadows"):
        detection_limit(risk)
