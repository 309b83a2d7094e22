"""ChaCha's decisions: Algorithm 1 after line 10, and Algorithms 2 and 3."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from algorithms.chacha.oracle import ConfigOracle
from algorithms.chacha.published import state
from algorithms.chacha.published.candidate import Candidate
from algorithms.chacha.published.engines import Engine
from algorithms.chacha.published.rules import KEEPERS, Rules
from algorithms.chacha.published.state import (
    CHAMPION,
    CONFIGURATION,
    HIGH,
    LEASE,
    LOW,
    MAY_ELIMINATE,
    N_CANDIDATES,
    OUT,
    UPPER,
    N,
)
from algorithms.chacha.tallies import Tallies
from algorithms.events import (
    BoundsUpdated,
    ChampionChanged,
    ConfigurationAdmitted,
    Eliminated,
    Event,
    LeaseGranted,
    Paused,
)
from algorithms.online.configuration import Configuration
from algorithms.online.layout import fits
from algorithms.online.learner import Learner
from algorithms.online.schema import Schema


class Scheduler:
    """Who is champion, who is a challenger, and who of them is live.

    Parameters
    ----------
    schema : Schema
    engine : Engine
        Trains the live models.
    rules : Rules
    oracle : ConfigOracle
    b : int
        Slots for live models.
    seed : int
    horizon : float
        Length of the stream where it is known: no lease says more.
    classes : bool
        The labels are -1 and 1.
    """

    def __init__(
        self,
        schema: Schema,
        engine: Engine,
        rules: Rules,
        oracle: ConfigOracle,
        b: int,
        seed: int,
        horizon: float = math.inf,
        *,
        classes: bool = False,
    ) -> None:
        self.schema = schema
        self.engine = engine
        self.rules = rules
        self.oracle = oracle
        self.b = b
        self.horizon = horizon
        self.random = np.random.RandomState(seed)
        self.slots = state.empty_slots(b)
        self.control = rules.controls()
        self.control[state.CLASSES] = classes
        self.tallies = Tallies()
        self.candidates: list[Candidate] = []
        self.frontier: list[int] = []
        self.joined: list[int] = []
        self.champion = 0
        self._known: dict[Configuration, int] = {}
        self.slot_of: dict[int, int] = {}

    def open(self, initial: Configuration) -> Iterator[Event]:
        """Algorithm 1, line 2: the champion is `initial`, S its frontier; fill the slots."""
        champion, admitted = self.admit(initial, None)
        yield from admitted
        self._join(champion)
        yield from self._crown(champion, at=0, previous=None)
        yield from self._grant(champion, self._free_slots()[0], at=0)
        yield from self._fill(at=0)
        self._set_controls()

    def decide(self, at: int) -> Iterator[Event]:
        """What follows from the losses after example `at`: lines 10 to 17, then Schedule."""
        if self.rules.schedule_first:
            leaving, granted = self._judge_leases(at)
            yield from granted
            yield from self._test(at)
        else:
            yield from self._test(at)
            leaving, granted = self._judge_leases(at)
            yield from granted
        for candidate in leaving:
            if self.candidates[candidate].status == "live" and not self._is_safe(candidate):
                yield from self._pause(candidate, at)
        yield from self._fill(at)
        self._set_controls()

    def grow(self, schema: Schema) -> bool:
        """Go on with a schema of more columns; say whether it has more namespaces too."""
        self.engine.grow(schema)
        new_namespaces = schema.namespaces != self.schema.namespaces
        self.schema = schema
        for candidate in self.candidates:
            candidate.dimension = schema.dimension(candidate.configuration.interactions)
        for number, slot in self.slot_of.items():
            self.slots[slot, state.DIMENSION] = self.candidates[number].dimension
        return new_namespaces

    def widen(self, at: int) -> Iterator[Event]:
        """``S ← S + ConfigOracle(C)`` again: new namespaces make more configurations."""
        yield from self._consult_oracle(at)
        yield from self._fill(at)
        self._set_controls()

    def conclude(self, at: int) -> Iterator[Event]:
        """The last example's tests, bounds and scores: there is nothing more to schedule."""
        yield from self._test(at)
        yield from self.bounds(at)
        for number in self.live():
            self._bank(number)
        yield from self.tallies.scored(at)

    def champion_learner(self) -> Learner | None:
        """The champion's model; None where an ablation has paused it."""
        slot = self.slot_of.get(self.champion)
        return None if slot is None else self.engine.learner(slot)

    def bounds(self, at: int, candidates: list[int] | None = None) -> Iterator[BoundsUpdated]:
        """The bounds of `candidates`, by default of everyone live."""
        for row in self.slots:
            candidate = int(row[CONFIGURATION])
            if candidate >= 0 and row[N] > 0 and (candidates is None or candidate in candidates):
                yield BoundsUpdated(
                    at=at,
                    configuration=candidate,
                    value=float(row[state.LOSS]),
                    lower=float(row[state.LOWER]),
                    upper=float(row[UPPER]),
                    units=float(row[N]),
                )

    def live(self) -> list[int]:
        """The live configurations by slot."""
        return sorted(self.slot_of, key=self.slot_of.__getitem__)

    def challengers(self) -> list[int]:
        """S: everyone under consideration but the champion."""
        return [
            number
            for number in self.joined
            if number != self.champion
            and self.candidates[number].status != "eliminated"
            and not self._is_out(number)
        ]

    # Algorithm 1, lines 11 to 17

    def _test(self, at: int) -> Iterator[Event]:
        champion = self.slot_of.get(self.champion)
        if not self.rules.testing or champion is None or self.slots[champion, N] == 0:
            return
        promoted = state.challenger_to_promote(self.slots, self.control, champion)
        if promoted >= 0:
            yield from self._promote(int(self.slots[promoted, CONFIGURATION]), at)
            champion = promoted
        yield from self._eliminate_worse(champion, at)

    def _promote(self, challenger: int, at: int) -> Iterator[Event]:
        old = self.champion
        yield from self.bounds(at, [old, challenger])
        yield from self._crown(challenger, at, previous=old)
        if self.rules.old_champion == "leaves":
            yield from self._eliminate(old, at, "replaced as champion")

    def _crown(self, candidate: int, at: int, previous: int | None) -> Iterator[Event]:
        self.champion = candidate
        self.control[CHAMPION] = candidate
        yield ChampionChanged(at=at, configuration=candidate, previous=previous)
        yield from self._consult_oracle(at)

    def _consult_oracle(self, at: int) -> Iterator[Event]:
        """``S ← S + ConfigOracle(C)``; interactions that explode are left out."""
        champion = self.candidates[self.champion].configuration
        for proposal in self.oracle(champion, self.schema.namespaces, self.random):
            if not fits(self.schema, proposal):
                continue
            number, admitted = self.admit(proposal, self.champion, at)
            yield from admitted
            if self.rules.pool == "lazy":
                self.frontier.append(number)
            else:
                self._join(number)

    def _eliminate_worse(self, champion: int, at: int) -> Iterator[Event]:
        failed = [
            candidate
            for candidate in self.joined
            if (slot := self.slot_of.get(candidate)) is not None
            and state.is_worse(self.slots, self.control, champion, slot)
        ]
        if self.rules.keep_b_candidates:
            failed = failed[: max(len(self.challengers()) + 1 - self.b, 0)]
        if failed:
            yield from self.bounds(at, [self.champion, *failed])
        for candidate in failed:
            self.row(candidate)[OUT] = 1
        for candidate in failed:
            if self.rules.swap_when_all_fit or self._crowded():
                yield from self._eliminate(candidate, at, "worse than the champion")

    def _eliminate(self, candidate: int, at: int, reason: str) -> Iterator[Event]:
        self._vacate(candidate)
        self.candidates[candidate].status = "eliminated"
        yield Eliminated(at=at, configuration=candidate, reason=reason)

    # Algorithm 2

    def _judge_leases(self, at: int) -> tuple[list[int], list[Event]]:
        """Lines 2 to 9: who leaves, and the leases that are doubled on the spot."""
        events: list[Event] = []
        leaving: list[int] = []
        live = self.live()
        rows = {candidate: self.row(candidate) for candidate in live}
        uppers = np.array([row[UPPER] for row in rows.values() if row[N] > 0])
        challengers = np.array(
            [row[UPPER] for c, row in rows.items() if row[N] > 0 and c != self.champion]
        )
        keeps = KEEPERS[self.rules.keep]
        for candidate, row in rows.items():
            if row[N] < row[LEASE]:
                continue
            events.extend(self.bounds(at, [candidate]))
            lease = 2 * float(row[LEASE])
            row[LEASE] = self.candidates[candidate].lease = lease
            if (
                self._is_safe(candidate)
                or not (self.rules.swap_when_all_fit or self._crowded())
                or keeps(row[UPPER], challengers, uppers)
            ):
                slot = self.slot_of[candidate]
                amount = min(lease, self.horizon)
                events.append(
                    LeaseGranted(
                        at=at, configuration=candidate, amount=amount, slot=slot, fresh=False
                    )
                )
            else:
                leaving.append(candidate)
        return leaving, events

    def _pause(self, candidate: int, at: int) -> Iterator[Event]:
        units = float(self.row(candidate)[N])
        self._vacate(candidate)
        self.candidates[candidate].status = "paused"
        yield Paused(at=at, configuration=candidate, units=units, reason="lease ended")

    def _fill(self, at: int) -> Iterator[Event]:
        """Lines 2 to 4 and 10 to 13: whoever is out makes room, and free slots are given away."""
        if self._crowded():
            for candidate in self.live():
                if self._is_out(candidate):
                    yield from self._eliminate(candidate, at, "worse than the champion")
        free = self._free_slots()
        for _ in free:
            if self.frontier:
                self._join(self.frontier.pop())
        for slot in free:
            chosen = self._choose()
            if chosen is None:
                return
            yield from self._grant(chosen, slot, at)

    # Algorithm 3

    def _choose(self) -> int | None:
        """A pending configuration if there is one, else the paused one of least lease."""
        pending = [n for n in self.joined if self.candidates[n].status == "pending"]
        if pending:
            if self.rules.pool == "lazy":
                return pending[0]
            return pending[self.random.randint(len(pending))]
        paused = [n for n in self.joined if self.candidates[n].status == "paused"]
        return min(paused, key=lambda number: self.candidates[number].lease, default=None)

    # Bookkeeping

    def admit(
        self, configuration: Configuration, parent: int | None, at: int = 0
    ) -> tuple[int, list[Event]]:
        """The number of `configuration`; an event too if it was not known."""
        if configuration in self._known:
            return self._known[configuration], []
        number = len(self.candidates)
        self._known[configuration] = number
        dimension = self.schema.dimension(configuration.interactions)
        lease = self.rules.minimum_lease(self.schema.n_features, dimension)
        self.candidates.append(Candidate(configuration, dimension, lease))
        admitted = ConfigurationAdmitted(
            at=at,
            configuration=number,
            parameters=configuration.parameters(),
            parent=parent,
            origin="initial" if parent is None else "oracle",
        )
        return number, [admitted]

    def _join(self, number: int) -> None:
        """``S ← S + c``, unless it is or was there already."""
        if self.candidates[number].status == "waiting":
            self.candidates[number].status = "pending"
            self.joined.append(number)

    def _grant(self, number: int, slot: int, at: int) -> Iterator[Event]:
        """Start a fresh model: nothing is kept of an earlier one (section 2)."""
        candidate = self.candidates[number]
        candidate.status = "live"
        self.engine.start(slot, candidate.configuration)
        self.slot_of[number] = slot
        row = self.slots[slot]
        row[:] = 0
        row[CONFIGURATION] = number
        row[LEASE] = candidate.lease
        row[state.DIMENSION] = candidate.dimension
        row[[LOW, HIGH]] = candidate.low, candidate.high
        amount = min(candidate.lease, self.horizon)
        yield LeaseGranted(at=at, configuration=number, amount=amount, slot=slot)

    def _vacate(self, number: int) -> None:
        slot = self.slot_of.get(number)
        if slot is not None:
            self._bank(number)
            del self.slot_of[number]
            row, candidate = self.slots[slot], self.candidates[number]
            candidate.low, candidate.high = row[LOW], row[HIGH]
            row[CONFIGURATION] = -1
            self.engine.stop(slot)

    def _bank(self, number: int) -> None:
        """Put what a live model achieved to its configuration's account."""
        row = self.row(number)
        self.tallies.add(number, float(row[N]), float(row[state.SCORE]))
        row[state.SCORE] = 0

    def row(self, candidate: int) -> NDArray[np.float64]:
        """The state of a live configuration's slot, see `algorithms.chacha.published.state`."""
        row: NDArray[np.float64] = self.slots[self.slot_of[candidate]]
        return row

    def _is_safe(self, candidate: int) -> bool:
        return candidate == self.champion and self.rules.keep_champion

    def _is_out(self, candidate: int) -> bool:
        slot = self.slot_of.get(candidate)
        return slot is not None and bool(self.slots[slot, OUT])

    def _free_slots(self) -> list[int]:
        return [slot for slot in range(self.b) if self.slots[slot, CONFIGURATION] < 0]

    def _crowded(self) -> bool:
        """``|S| > b`` (algorithm 2, lines 3 and 8).

        Literally b, though challengers share b - 1 slots: with ``|S| = b`` nobody makes room
        for the one that waits.
        """
        return len(self.challengers()) > self.b

    def _set_controls(self) -> None:
        n_candidates = len(self.challengers())
        self.control[N_CANDIDATES] = max(n_candidates, 1)
        self.control[MAY_ELIMINATE] = not self.rules.keep_b_candidates or n_candidates + 1 > self.b
