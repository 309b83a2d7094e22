from types import SimpleNamespace

import numpy as np
import pytest
from pydantic import ValidationError

from leaseboard.algorithms.bandits import (
    Average,
    EpsilonGreedy,
    MaxUcb,
    RandomArm,
    Softmax,
    ThompsonSampling,
    UpperConfidenceBound,
    max_ucb_index,
    softmax,
    ucb_index,
)
from leaseboard.algorithms.policy import Problem
from tests.simulation import SEVEN_GAUSSIANS, simulate


def test_ucb_index():
    index = ucb_index(np.array([0.5, 0.5]), np.array([1, 4]), 10)

    assert index == pytest.approx([0.5 + np.sqrt(2 * np.log(10)), 0.5 + np.sqrt(np.log(10) / 2)])


def test_max_ucb_index():
    assert max_ucb_index(np.array(0.9), np.array(2), 20, 0.5) == pytest.approx(
        0.9 + (0.5 * np.log(20) / 2) ** 2
    )


def test_softmax_probabilities():
    p = softmax(np.array([0.0, 0.1]), 0.1)

    assert p == pytest.approx([1 / (1 + np.e), np.e / (1 + np.e)])
    assert softmax(np.array([0.0, 0.05]), 0.1)[1] == pytest.approx(1 / (1 + np.exp(-0.5)))


@pytest.mark.parametrize(
    ("policy", "setting"),
    [(UpperConfidenceBound, "gamma"), (EpsilonGreedy, "epsilon"), (Softmax, "temperature"),
     (MaxUcb, "alpha")],
)  # fmt: skip
def test_settings_are_not_negative_and_explore_at_first_as_published(policy, setting):
    published = {"gamma": 1.0, "epsilon": 0.1, "temperature": 0.1, "alpha": 0.5}
    assert getattr(policy(), setting) == published[setting]
    with pytest.raises(ValidationError, match=setting):
        policy(**{setting: -0.01})


@pytest.mark.parametrize(
    ("policy", "best", "share"),
    [
        # Both readings of the baselines' rows in ER-UCB's Table 1: as the text has it, and what
        # comes near the printed 0.94/0.01, 0.98/0.31 and 1.01/0.18.
        (UpperConfidenceBound(), 1.02, 0.12),
        (UpperConfidenceBound(gamma=20), 0.957, 0.011),
        (EpsilonGreedy(), 0.967, 0.016),
        (EpsilonGreedy(value="best"), 1.03, 0.51),
        (Softmax(), 1.018, 0.113),
        (RandomArm(), 1.024, 0.143),
    ],
    ids=["c-ucb", "c-ucb x20", "greedy", "greedy on the best", "softmax", "random"],
)
def test_baselines_of_table_1(policy, best, share):
    table = simulate(policy, SEVEN_GAUSSIANS, budget=1000, runs=40, seed=1)

    assert table.best.mean() == pytest.approx(best, abs=0.01)
    assert table.exploitation[:, 0].mean() == pytest.approx(share, abs=0.06)


def started(algorithm, n_arms=3, budget=20, **given):
    return algorithm.start(Problem(n_arms, budget, **given), 0)


def pulled(policy, pulls, reward=lambda _: 0.5, cost=1.0):
    """Return the arms of some pulls."""
    arms = []
    for _ in range(pulls):
        arms.append(policy.select())
        policy.update(arms[-1], reward(arms[-1]), cost)
    return arms


def test_average_gives_equal_shares_and_shares_out_again_what_an_arm_leaves():
    policy = started(Average(), budget=10)
    found = pulled(policy, 10)
    a, b, c = dict.fromkeys(found)
    assert found == [a] * 3 + [b] * 3 + [c] * 4
    orders = (pulled(Average().start(Problem(3, 9), s), 9) for s in range(20))
    assert len({tuple(dict.fromkeys(each)) for each in orders}) == 6

    policy = started(Average(), budget=10)
    assert pulled(policy, 1) == [a]
    policy.retire(a, "dear")
    assert pulled(policy, 5) == [b] * 4 + [c]
    policy.retire(c, "dear")  # after the last all others come again
    assert pulled(policy, 4) == [b] * 4

    policy = started(Average(retire_after=2), budget=10)
    for _ in range(2):
        policy.update(a, 0.0, 1.0, "boom")
    assert pulled(policy, 8) == [b] * 4 + [c] * 4
    policy = started(Average(), 2, 3.0, unit="cpu_seconds")
    found = pulled(policy, 5, cost=0.75)
    first, second = dict.fromkeys(found)
    assert found == [first] * 2 + [second] * 3


def test_constant_arms_are_pulled_once_where_ucb_freezes_them_and_others_are_left():
    def favours(arm):
        return float(arm == 1)

    mixed = (True, False, True)
    frozen = UpperConfidenceBound(freeze_constant_arms=True)
    policy = started(frozen, tunable=mixed)
    assert pulled(policy, 20, favours).count(1) == 1
    for arm in (0, 2):
        policy.retire(arm, "dear")
    assert policy.select() == 1
    for algorithm, tunable in (
        (frozen, (True,) * 3), (frozen, (False,) * 3), (UpperConfidenceBound(), mixed)
    ):  # fmt: skip
        assert pulled(started(algorithm, tunable=tunable), 20, favours).count(1) > 8
    policy = started(UpperConfidenceBound(gamma=20))
    pulled(policy, 3, favours)
    bonus = np.sqrt(2 * np.log(4))
    assert policy.standing()["index"] == pytest.approx([bonus, 20 + bonus, bonus])


def test_max_ucb_rescales_what_was_seen():
    for rewards, expected in (((0.2, 0.8, 0.5), (0.01, 0.99, 0.5)), ((0.4,) * 3, (0.01,) * 3)):
        policy = started(MaxUcb(alpha=0.5))
        pulled(policy, 3, rewards.__getitem__)
        found = policy.standing()["index"]
        assert found == pytest.approx(np.array(expected) + (0.5 * np.log(4)) ** 2)


@pytest.mark.parametrize("make", [EpsilonGreedy, Softmax])
def test_the_largest_mean_or_maximum_is_followed(make):
    surely = {
        EpsilonGreedy: [({"epsilon": 0.0}, 1), ({"epsilon": 0.0, "value": "best"}, 0)],
        Softmax: [({"temperature": 1e-3}, 1)],
    }
    for given, best in surely[make]:
        policy = started(make(**given))
        for arm, reward in ((0, 0.9), (1, 0.6), (2, 0.1), (0, 0.1), (1, 0.6), (2, 0.1)):
            policy.update(arm, reward)
        assert {policy.select() for _ in range(20)} == {best}
        policy.retire(best, "dear")
        assert {policy.select() for _ in range(20)} == {1 - best}
    loosely = {EpsilonGreedy: {"epsilon": 1.0}, Softmax: {"temperature": 1e3}}[make]
    policy = started(make(**loosely))
    assert np.bincount(pulled(policy, 303, float)[3:]) == pytest.approx([100] * 3, abs=25)
    policy.retire(1, "dear")
    assert {policy.select() for _ in range(30)} == {0, 2}


def test_thompson_sampling_counts_a_feedback_as_a_success_by_its_size():
    policy = started(ThompsonSampling(), 2, 200)
    arms = pulled(policy, 200, float)  # the first arm never, the second always
    assert policy._successes.tolist() == [0, arms.count(1)]
    assert 180 < arms.count(1) < 200
    posterior = []
    policy.rng = SimpleNamespace(beta=lambda *given: posterior.extend(given) or given[0])
    assert policy.select() == 1
    assert posterior[0].tolist() == [1, 1 + arms.count(1)]
    assert posterior[1].tolist() == [1 + arms.count(0), 1]
    policy = started(ThompsonSampling(), 1, 2000)
    pulled(policy, 2000, lambda _: 0.3)
    assert policy._successes[0] == pytest.approx(600, abs=60)
