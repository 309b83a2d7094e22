"""Algorithms 1 to 3, step by step, on losses that are set by hand."""

import numpy as np

from leaseboard.algorithms.chacha.presets import Flaml, Paper
from leaseboard.algorithms.chacha.published_race import PublishedRace
from leaseboard.algorithms.events import ChampionChanged, ConfigurationAdmitted, Eliminated
from leaseboard.algorithms.online.kernel import KernelModels
from leaseboard.algorithms.online.schema import Schema, VWConfiguration

SCHEMA = Schema(tuple("abcd"), ((0,), (1,), (2,), (3,)), tuple("0123"))


PAPER, FLAML = Paper().rules(), Flaml().rules()


def opened(b, oracle, rules=PAPER, seed=0):
    race = PublishedRace(
        SCHEMA, KernelModels(SCHEMA, b), oracle, np.random.RandomState(seed), rules
    )
    return race, list(race.open())


def numbers(race):
    """Return who is live, by slot."""
    return race.holders[race.live].tolist()


def decide(race, at):
    race.steps.at = at
    return list(race.decide())


def set_losses(race, losses, n, epsilon=0.01):
    """Pretend that the live models have learned `n` examples."""
    for number, loss in losses.items():
        row = race.slots[race.slot_of(number)]
        row["n"], row["loss"], row["epsilon"] = n, loss, epsilon
        row["lower"], row["upper"] = loss - epsilon, loss + epsilon


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
