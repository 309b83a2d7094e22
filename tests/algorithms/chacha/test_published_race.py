"""Algorithms 1 to 3, step by step, on an engine that trains nothing."""

from __future__ import annotations

import numpy as np

from leaseboard.algorithms.chacha.presets import Flaml, Paper
from leaseboard.algorithms.chacha.published_race import PublishedRace
from leaseboard.algorithms.events import (
    ChampionChanged,
    ConfigurationAdmitted,
    Eliminated,
    LeaseGranted,
    Paused,
)
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.schema import Schema

SCHEMA = Schema(tuple("abcd"), ((0,), (1,), (2,), (3,)), tuple("0123"))
N_MIN = 5 * 4


PAPER, FLAML = Paper().rules(), Flaml().rules()


class NoEngine:
    pool, loss = None, 0

    def start(self, slot, configuration, parent):
        pass

    def stop(self, slot):
        pass


def rates(*values):
    """Return an oracle that proposes learning rates, once."""
    proposals = [VWConfiguration((), value) for value in values]

    def oracle(champion, namespaces, random):
        return proposals if champion == VWConfiguration() else []

    return oracle


def opened(b, oracle, rules=PAPER, seed=0):
    race = PublishedRace(SCHEMA, NoEngine(), oracle, np.random.RandomState(seed), b, rules)
    return race, list(race.open())


def numbers(race):
    """Return who is live, by slot."""
    return race.holders[race.live].tolist()


def decide(race, at):
    race.at = at
    return list(race.decide())


def set_losses(race, losses, n, epsilon=0.01):
    """Pretend that the live models have learned `n` examples."""
    for number, loss in losses.items():
        row = race.slots[race.slot_of(number)]
        row["n"], row["loss"], row["epsilon"] = n, loss, epsilon
        row["lower"], row["upper"] = loss - epsilon, loss + epsilon


def test_a_challenger_above_the_median_loses_its_slot_at_the_end_of_its_lease():
    race, _ = opened(4, rates(*range(1, 9)))
    _, one, two, three = numbers(race)
    set_losses(race, {0: 1.0, one: 1.0, two: 1.1, three: 1.2}, N_MIN, epsilon=0.2)
    events = decide(race, N_MIN)

    assert [e.configuration for e in events if isinstance(e, Paused)] == [three]
    # the others' leases double; the free slot goes to a configuration that never had one
    extended = [e for e in events if isinstance(e, LeaseGranted) and not e.fresh]
    assert {(e.configuration, e.amount) for e in extended} == {
        (0, 2 * N_MIN), (one, 2 * N_MIN), (two, 2 * N_MIN)
    }  # fmt: skip
    (fresh,) = [e for e in events if isinstance(e, LeaseGranted) and e.fresh]
    assert fresh.configuration not in (0, one, two, three)


def test_a_proven_challenger_becomes_champion_and_brings_its_frontier():
    asked = []

    def oracle(champion, namespaces, random):
        asked.append(champion.learning_rate)
        return [VWConfiguration((), champion.learning_rate * 2)]

    race, _ = opened(2, oracle)
    set_losses(race, {0: 1.0, 1: 0.5}, n=10, epsilon=0.1)
    events = decide(race, 10)

    assert asked == [0.5, 1.0]
    assert [e for e in events if isinstance(e, ChampionChanged)] == [
        ChampionChanged(at=10, configuration=1, previous=0)
    ]
    # literally, the old champion is neither C nor in S: it makes room
    assert [e.configuration for e in events if isinstance(e, Eliminated)] == [0]
    (admitted,) = [e for e in events if isinstance(e, ConfigurationAdmitted)]
    assert (admitted.parameters["learning_rate"], admitted.parent) == (2.0, 1)
    assert numbers(race) == [2, 1]
