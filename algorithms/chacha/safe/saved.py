"""The state of a race of ChaCha's default as plain values, and a race that goes on from it."""

from __future__ import annotations

from typing import Any

from algorithms.chacha import memory
from algorithms.chacha.safe.race import BASE, EMPTY, SafeRace
from algorithms.plain import fill, values_of

_RACE = (
    *("at", "champion", "champion_slot", "_log_point", "holders", "terms", "fresh_at"),
    *("lease_of", "losses", "totals", "scores", "_reported_at"),
)
_WINDOWS = ("sums", "starts")
_CANDIDATES = ("frontier", "pending", "eliminated", "leases")


def state_of(race: SafeRace) -> memory.State:
    """Everything that a fresh race needs to go on as `race` does."""
    configurations = race.configurations
    return {
        "race": values_of(race, _RACE),
        "windows": values_of(race.windows, _WINDOWS),
        "candidates": values_of(race.candidates, _CANDIDATES),
        "configurations": [memory.configuration_state(one) for one in configurations],
        "models": memory.models_state(race.models, race.live.tolist()),
        "tallies": race.tallies.sums,
        "random": memory.random_state(race.random),
        "oracle": memory.oracle_state(race.oracle),
    }


def fill_race(race: SafeRace, state: Any) -> None:
    """Let a race that has seen nothing go on from `state`; ValueError if none can have that."""
    for configuration in map(memory.configuration_of, state["configurations"]):
        list(race.candidates.admit(configuration, None, at=0))
    fill(race, state["race"], _RACE)
    fill(race.windows, state["windows"], _WINDOWS)
    fill(race.candidates, state["candidates"], _CANDIDATES)
    configurations, live = race.configurations, race.live.tolist()
    memory.require_numbers(race.holders[live].tolist(), len(configurations))
    for numbers in values_of(race.candidates, _CANDIDATES).values():
        memory.require_numbers(numbers, len(configurations))
    slot = race.champion_slot
    if not 0 <= slot < len(race.holders) or EMPTY in race.holders[[slot, BASE]]:
        raise ValueError(f"slot {slot} cannot be the champion's")
    if race.holders[slot] != race.champion:
        raise ValueError(f"{race.champion} is not the number of the champion's slot")
    holders = [configurations[race.holders[one]] for one in live]
    memory.fill_models(race.models, state["models"], live, holders)
    race.tallies = memory.tallies_of(state["tallies"])
    memory.fill_random(race.random, state["random"])
    memory.fill_oracle(race.oracle, state["oracle"])
