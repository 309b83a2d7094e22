import numpy as np
import pytest

from leaseboard.tasks.score.regret import regret_of, regrets

QUICK, SLOW = np.array([0.5, 0.9, 0.9, 0.9]), np.array([0.5, 0.5, 0.5, 0.8])


def both(quick=QUICK, slow=SLOW):
    return {"slow": slow, "quick": quick}


def test_the_regret_is_against_the_best_of_the_repetition_and_its_mean_over_trials():
    found = regrets({("d", 0): both(), ("d", 1): both(slow=SLOW + 0.2)})

    assert list(found.index) == ["quick", "slow"]
    # .9 is the best of the first repetition, 1 of the second.
    quick, slow = found.loc["quick"], found.loc["slow"]
    assert quick["regret"].value == pytest.approx((0.4 / 4 + (0.5 + 3 * 0.1) / 4) / 2)
    assert slow["regret"].value == pytest.approx((1.3 / 4 + 0.9 / 4) / 2)
    assert slow["times"] == pytest.approx(slow["regret"].value / quick["regret"].value)
    assert slow["after 1.0"] == pytest.approx((0.1 + 0.0) / 2)
    assert (quick["rank"].value, slow["rank"].value, slow["behind"].value) == (1, 2, 1)


def test_a_policy_that_stopped_keeps_its_best():
    assert regret_of(np.array([0.5]), 1.0, 4).tolist() == [0.5] * 4


def test_only_repetitions_that_all_finished_count():
    found = regrets({("d", 0): both(), ("d", 1): {"quick": np.ones(4)}})

    assert found["runs"].tolist() == [1, 1]
    assert regrets({("d", 1): {"quick": QUICK}, ("d", 2): {"slow": SLOW}}).empty
    assert regrets({("d", 1): {"quick": QUICK}}).empty
    assert regrets({}).empty


def test_a_lead_has_an_interval_that_excludes_zero_and_ties_share_a_rank():
    rng = np.random.default_rng(0)
    runs = {
        (name, repetition): both(
            quick=SLOW + (-0.01 if name < "d" and repetition == 0 else 0.01) * (1 + rng.random())
        )
        for name in "abcdefgh"
        for repetition in range(3)
    }
    found = regrets(runs)
    assert found.loc["slow", "behind"].lower > 0

    tied = regrets({where: both(quick=SLOW) for where in runs})
    assert tied["rank"].map(lambda rank: rank.value).tolist() == [1.5, 1.5]
    assert tied["times"].tolist() == [1, 1]
