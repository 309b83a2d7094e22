"""Generators: their published formulas, their streams, and the real datasets that they replace."""

import numpy as np
import pytest

from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.fetch.synthetic import BLOCK, GENERATORS, friedman_value, mv_value


def planes_value(x: np.ndarray) -> np.ndarray:
    """Return the mean of 2dplanes, written again from the published text."""
    upper = 3 + x[:, 1:4] @ [3, 2, 1]
    lower = -3 + x[:, 4:7] @ [3, 2, 1]
    return np.where(x[:, 0] > 0, upper, lower)


def inputs(data) -> np.ndarray:
    return data.features.to_numpy(dtype=np.float64)


def mv_residuals(data) -> np.ndarray:
    columns = {name: data.features[name] for name in data.features}
    x1, x4, x6 = (columns[name].to_numpy(dtype=np.float64) for name in ("x1", "x4", "x6"))
    yes, normal = (columns["x7"] == "yes").to_numpy(), (columns["x8"] == "normal").to_numpy()
    return data.target.to_numpy() - mv_value(x1, x4, x6, yes=yes, normal=normal)


def test_hand_computed_values():
    x = np.array([[0.5, 1.0, 0.5, 0.1, 0.2, 0, 0, 0, 0, 0]])
    assert friedman_value(x) == pytest.approx([10 + 0 + 1 + 1])
    one = {"yes": np.array([True]), "normal": np.array([True])}
    assert mv_value(np.array([2.0]), np.array([1.0]), np.array([-4.0]), **one) == [-2.0]
    assert mv_value(np.array([4.0]), np.array([0.8]), np.array([9.0]), **one) == [-2.0]


@pytest.mark.parametrize("name", GENERATORS)
def test_a_shorter_set_begins_a_longer_one(name):
    short, long = load(f"synthetic:{name}?rows=50"), load(f"synthetic:{name}?rows={BLOCK + 10}")

    assert short.features.equals(long.features.iloc[:50])


@pytest.mark.parametrize("name", sorted(set(GENERATORS) - {"rising-arms"}))  # has no noise
def test_the_seed_makes_the_set(name):
    first, again, other = (load(f"synthetic:{name}?rows=50&seed={seed}") for seed in (1, 1, 2))

    assert first.digest == again.digest != other.digest


def test_the_noise_can_be_set():
    data = load("synthetic:fried?rows=1000&noise=0")
    assert np.abs(data.target - friedman_value(inputs(data))).max() < 1e-3

    data = load("synthetic:2dplanes?rows=1000&noise=0")
    assert np.array_equal(data.target, planes_value(inputs(data)))


def test_a_drift_changes_the_roles_of_the_inputs_every_period():
    data = load("synthetic:fried-drift?rows=70000&noise=0&period=30000")
    wrong = np.abs(data.target - friedman_value(inputs(data))) > 1e-3

    assert wrong[:30_000].sum() == 0
    assert wrong[30_000:60_000].mean() > 0.9
    assert wrong[60_000:].mean() > 0.9


@pytest.mark.mirror
def test_the_real_sets_follow_the_formulas(mirror):
    planes, fried, mv = (load(f"openml:{n}", mirrors=(mirror,)) for n in (215, 564, 344))

    assert np.var(planes.target - planes_value(inputs(planes))) == pytest.approx(0.994, abs=5e-4)
    assert np.var(fried.target - friedman_value(inputs(fried))) == pytest.approx(0.995, abs=5e-4)
    assert np.abs(mv_residuals(mv)).max() < 1.01e-4  # it has four decimals
