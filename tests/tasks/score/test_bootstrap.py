import numpy as np
import pytest

from leaseboard.tasks.score.inference import interval, paired_mean, resampled_means


def test_paired_mean_of_a_consistent_drop_excludes_zero():
    found = paired_mean(np.array([0.2, 0.3, 0.25]))
    assert found.value == pytest.approx(0.25)
    assert found.lower < found.value < found.upper
    assert found.excludes_zero


def test_paired_mean_of_mixed_signs_includes_zero():
    assert not paired_mean(np.array([-0.2, 0.3, 0.1, -0.1])).excludes_zero


def test_the_interval_is_the_same_each_time():
    values = np.array([0.1, -0.4, 0.5, 0.9])
    assert paired_mean(values) == paired_mean(values)


def test_coverage_of_the_paired_interval_on_a_known_distribution():
    random = np.random.default_rng(0)
    hits = [
        (found := paired_mean(random.normal(1.0, 1.0, n))).lower <= 1 <= found.upper
        for n in (2, 3, 30)
        for _ in range(1000)
    ]
    assert 0.94 <= np.mean(hits) <= 0.96


def test_equal_values_have_an_interval_of_no_width():
    samples = resampled_means(np.full((2, 3, 4), 0.7))
    assert samples == pytest.approx(np.full(samples.shape, 0.7))


def test_draws_are_shared_so_that_a_constant_gap_stays_constant():
    base = np.random.default_rng(1).normal(size=(1, 5, 3))
    samples = resampled_means(np.concatenate([base, base + 2.0]))
    assert samples[:, 1] - samples[:, 0] == pytest.approx(np.full(len(samples), 2.0))


def test_data_sets_weigh_the_same_whatever_their_repetitions():
    values = np.full((1, 2, 4), np.nan)
    values[0, 0, :] = 0.0
    values[0, 1, 0] = 1.0
    assert resampled_means(values).mean() == pytest.approx(0.5, abs=0.03)


def test_spread_of_two_level_means_is_that_of_the_mean_of_data_sets():
    values = np.random.default_rng(2).normal(size=(1, 40, 1))
    spread = resampled_means(values).std()
    assert spread == pytest.approx(values.std() / np.sqrt(40), rel=0.1)


def test_an_algorithm_without_values_has_no_interval():
    values = np.zeros((2, 2, 2))
    values[1] = np.nan
    samples = resampled_means(values)
    assert np.isnan(samples[:, 1]).all()
    found = interval(np.nan, samples[:, 1])
    assert np.isnan([found.value, found.lower, found.upper]).all()
    assert np.isnan(resampled_means(np.full((2, 1, 1), np.nan))).all()


def test_a_single_value_has_no_interval_and_two_have_one():
    values = np.full((3, 2, 2), np.nan)
    values[0, 0, 1] = 0.7  # one repetition of one dataset
    values[1, 0] = 0.6, 0.8
    values[2, :, 0] = 0.6, 0.8
    samples = resampled_means(values)
    assert np.isnan(samples[:, 0]).all()
    assert np.isnan(interval(0.7, samples[:, 0]).lower)
    for column in (1, 2):
        found = interval(0.7, samples[:, column])
        assert found.lower == pytest.approx(0.6)
        assert found.upper == pytest.approx(0.8)


def test_interval_takes_the_percentiles():
    found = interval(50.0, np.arange(101.0), level=0.9)
    assert (found.value, found.lower, found.upper) == pytest.approx((50.0, 5.0, 95.0))
