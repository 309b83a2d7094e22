"""Of several equal arms, trials or models the first is taken, in every policy and race."""

from types import SimpleNamespace

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.benches.pulls import GaussianArms, PullsBench
from leaseboard.algorithms.chacha.published import state
from leaseboard.algorithms.chacha.published.published_race import PublishedRace
from leaseboard.algorithms.chacha.published.rules import Rules, in_top_half, within_median
from leaseboard.algorithms.events import ChampionChanged, Eliminated
from leaseboard.algorithms.policies.policy import Problem
from tests.algorithms.synthetic_trials import SyntheticTrials

IN_TURN = ("rising-bandits", "rising-bandits-cost", "heidari", "ucb", "er-ucb", "er-ucb-auto",
           "c-ucb", "max-ucb")  # fmt: skip
ONE = ("rising-bandits-strict", "epsilon-greedy")
SETTINGS = {"epsilon-greedy": {"epsilon": 0.0}, "rising-bandits-strict": {"C": 1}}


def pulled(name, rewards, n, settings=None):
    """The arms that a policy pulls if each gives the same reward again and again."""
    algorithm = registry.build(name, SETTINGS.get(name, {}) if settings is None else settings)
    policy = algorithm.start(Problem(len(rewards), 100.0, algorithm.units[0]), 0)
    arms = []
    for _ in range(n):
        arm = policy.select()
        arms.append(int(arm[0]))
        policy.update(arm, np.array([rewards[arms[-1]]]), np.ones(1))
    return arms


@pytest.mark.parametrize("name", IN_TURN)
def test_equal_arms_are_pulled_in_turn_from_the_first(name):
    assert pulled(name, [0.5] * 4, 12) == [0, 1, 2, 3] * 3


def test_equal_arms_that_cost_the_same_seconds_are_pulled_in_turn_from_the_first():
    settings = {"turns": "seconds"}  # the first of the best gets its second trial at once
    arms = pulled("rising-bandits-cost", [0.5] * 4, 12, settings)
    assert arms == [0, 0, 1, 2, 3, 1, 2, 3, 0, 1, 2, 3]


@pytest.mark.parametrize("name", ONE)
def test_of_equal_arms_the_first_is_the_one_that_stays(name):
    assert set(pulled(name, [0.5] * 4, 16)[8:]) == {0}


@pytest.mark.parametrize("name", ["ucb", "c-ucb", "max-ucb", "epsilon-greedy"])
def test_the_first_of_the_best_is_next(name):
    assert pulled(name, [0.2, 0.5, 0.5, 0.1], 5) == [0, 1, 2, 3, 1]


def test_the_first_of_equal_trials_is_the_champion_and_the_first_of_equal_arms_the_leader():
    trials = SyntheticTrials(GaussianArms((0.5, 0.5, 0.4), (0.0, 0.0, 0.0)), 0)
    algorithm = registry.build("rising-bandits", {"C": 2})
    log = list(play("rising-bandits", algorithm, PullsBench(trials, 30), 0))

    (champion,) = [event.configuration for event in log if isinstance(event, ChampionChanged)]
    out = {event.configuration: event.reason for event in log if isinstance(event, Eliminated)}
    assert champion == 3  # the trial after the arms 0, 1 and 2
    assert out.keys() == {1, 2}
    assert all(reason.endswith("of arm 0") for reason in out.values())


def test_of_leaders_that_stay_equal_the_first_is_named():
    trials = SyntheticTrials(GaussianArms((0.5, 0.5, 0.4), (0.0, 0.0, 0.0)), 0)
    algorithm = registry.build("rising-bandits", {"C": 2, "strict": True})
    log = list(play("rising-bandits", algorithm, PullsBench(trials, 30), 0))

    (out,) = [event for event in log if isinstance(event, Eliminated)]
    assert (out.configuration, out.reason[-8:]) == (2, "of arm 0")


def test_the_first_of_those_that_waited_with_the_least_lease_gets_a_slot():
    paused = [SimpleNamespace(status="paused", lease=lease) for lease in (8, 5, 5)]
    race = SimpleNamespace(pending=[], joined=[0, 1, 2], candidates=paused)

    assert PublishedRace._choose(race) == 1


def test_the_first_of_the_least_upper_bounds_predicts():
    slots = state.empty_slots(4)
    slots[:, state.CONFIGURATION] = [7, 8, 9, -1]
    slots[:, state.N] = 5
    slots[:, state.UPPER] = [0.6, 0.4, 0.4, 0.0]

    assert state.select(slots, Rules().controls()) == 1


@pytest.mark.parametrize(
    ("upper", "median", "top"),
    [(0.3, True, False), (0.31, False, False), (0.2, True, True), (0.1, True, True)],
)
def test_a_slot_is_safe_up_to_the_boundary(upper, median, top):
    live = np.array([0.1, 0.2, 0.3, 0.4])

    assert within_median(upper, np.array([0.2, 0.3, 0.4]), live) == median
    assert in_top_half(upper, live[1:], live) == top
