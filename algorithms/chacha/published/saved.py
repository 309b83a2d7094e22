"""The state of a race by the published rules as plain values, and one that goes on from it."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from algorithms.chacha import memory
from algorithms.chacha.published.candidate import Candidate, Status
from algorithms.chacha.published.scheduler import Scheduler
from algorithms.chacha.published.state import CONFIGURATION
from algorithms.plain import fill, values_of

_SCHEDULER = ("slots", "control", "frontier", "joined", "champion")


def state_of(scheduler: Scheduler) -> memory.State:
    """Everything that a fresh scheduler needs to go on as `scheduler` does."""
    live = np.flatnonzero(scheduler.slots[:, CONFIGURATION] >= 0).tolist()
    return {
        "scheduler": values_of(scheduler, _SCHEDULER),
        "candidates": [_candidate_state(one) for one in scheduler.candidates],
        "models": memory.models_state(scheduler.engine, live),
        "tallies": scheduler.tallies.sums,
        "random": memory.random_state(scheduler.random),
        "oracle": memory.oracle_state(scheduler.oracle),
    }


def fill_scheduler(scheduler: Scheduler, state: Any) -> None:
    """Let a scheduler that has seen nothing go on from `state`; ValueError if none can."""
    for number, one in enumerate(state["candidates"]):
        _admit(scheduler, number, one)
    fill(scheduler, state["scheduler"], _SCHEDULER)
    n = len(scheduler.candidates)
    memory.require_numbers([scheduler.champion, *scheduler.frontier, *scheduler.joined], n)
    holders = scheduler.slots[:, CONFIGURATION]
    live = np.flatnonzero(holders >= 0).tolist()
    numbers = [int(holders[slot]) for slot in live]
    if sorted(numbers) != [i for i, c in enumerate(scheduler.candidates) if c.status == "live"]:
        raise ValueError("the slots hold others than the live candidates")
    scheduler.slot_of.update(zip(numbers, live, strict=True))
    configurations = [scheduler.candidates[number].configuration for number in numbers]
    memory.fill_models(scheduler.engine, state["models"], live, configurations)
    scheduler.tallies = memory.tallies_of(state["tallies"])
    memory.fill_random(scheduler.random, state["random"])
    memory.fill_oracle(scheduler.oracle, state["oracle"])


def _candidate_state(candidate: Candidate) -> list[Any]:
    return [
        *memory.configuration_state(candidate.configuration),
        *(candidate.lease, candidate.status, float(candidate.low), float(candidate.high)),
    ]


def _admit(scheduler: Scheduler, number: int, state: Any) -> None:
    *configuration, lease, status, low, high = state
    known, _ = scheduler.admit(memory.configuration_of(configuration), None)
    if known != number or status not in get_args(Status):
        raise ValueError(f"candidate {number} with status {status!r}")
    candidate = scheduler.candidates[number]
    candidate.lease, candidate.status = float(lease), status
    candidate.low, candidate.high = float(low), float(high)
