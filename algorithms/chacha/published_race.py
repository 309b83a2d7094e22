"""The published rules as a race: Algorithm 1, and Algorithms 2 and 3 that it calls.

`Rules` say what the paper's text, its authors' two programs and its ablations do differently.
"""

import math
from collections.abc import Collection, Generator, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from leaseboard.algorithms import events
from leaseboard.algorithms.arrays import Doubles
from leaseboard.algorithms.chacha.state import RowSteps, Steps
from leaseboard.algorithms.online.kernel import KernelModels
from leaseboard.algorithms.online.schema import MAX_TERMS, Schema, VWConfiguration, fits
from leaseboard.algorithms.online_automl.oracle import ConfigOracle
from leaseboard.algorithms.online_automl.race import EMPTY, Race
from leaseboard.algorithms.online_automl.safe.representations import Words

Keep = Literal["median", "top-half", "none"]


@dataclass(frozen=True)
class Rules:
    """Choices that make a variant of ChaCha.

    Attributes
    ----------
    literal : bool
        The printed text, or the authors' programs. The text has:

        - the bound ``ln(n |S| / δ)`` of appendix A.2, not ``log10(n / δ)``;
        - the range of all labels, not of those a configuration saw while it was live;
        - new candidates that join S at once, of which a random one is chosen; not one by one as
          slots fall free, the newest frontier first;
        - a replaced champion that leaves, and is no challenger;
        - models that predict and are tested from the first example on, not after 100;
        - any ripe challenger that Better may promote, not that of least upper bound alone;
        - tests before the leases that end at the same example;
        - no end of elimination when b candidates are left;
        - slots that only those lose which others need;
        - candidates that change interactions and learning rate at once, and a step of the
          learning rate that shrinks when it stops helping.
    expanded : bool
        n_min is 5 times the features that the configuration induces, or 5 times the raw ones.
    keep : "median", "top-half" or "none"
        Whose slot is safe at the end of a lease: challengers not above the median upper bound of
        the live challengers; the better half of all live models; no one's.
    keep_champion : bool
        Whether the champion's slot is safe always.
    worse_margin : float
        Further ε_{c,t} that the Worse test asks for.
    fixed : bool
        Whether leases never end and no model is tested.
    """

    literal: bool = False
    expanded: bool = False
    keep: Keep = "median"
    keep_champion: bool = True
    worse_margin: float = 0.0
    fixed: bool = False

    def least_lease(self, raw_dimension: int, dimension: int) -> float:
        """Return n_min of a configuration, in examples."""
        if self.fixed:
            return math.inf
        features = dimension if self.expanded else raw_dimension
        return 5.0 * max(1, features)  # a first row without any value has no features yet

    def keeps(self, upper: float, challengers: Doubles, live: Doubles) -> bool:
        """Return whether a model may stay at the end of its lease.

        By the median of the live challengers (algorithm 2, line 8), or in the better half, rounded
        up, of all live models, as in FLAML.
        """
        if self.keep == "median":
            return bool(upper <= np.median(challengers))
        half = math.ceil(len(live) / 2)
        return self.keep == "top-half" and bool(np.sum(live < upper) < half)


Status = Literal["waiting", "pending", "live", "paused", "eliminated"]


@dataclass(slots=True)
class Candidate:
    """A configuration under consideration.

    `status` is ``waiting`` until the configuration joins S, ``pending`` until it is given its
    first lease. `low` and `high` are the range of labels that it has seen.
    """

    kept: ClassVar[tuple[str, ...]] = ("lease", "status", "low", "high")

    dimension: int
    lease: float
    status: Status = "waiting"
    low: float = math.inf
    high: float = -math.inf


class PublishedRace(Race):
    """Race by Algorithms 1 to 3 of the paper, as a set of rules reads them.

    Parameters
    ----------
    schema, models, random
        See `Race`.
    oracle : ConfigOracle
    rules : Rules
    horizon : float
        Length of the stream where it is known: no lease says more.
    """

    way = RowSteps
    kept = (*Race.kept, "oracle", "steps", "candidates", "frontier", "joined")

    def __init__(
        self,
        schema: Schema,
        models: KernelModels,
        oracle: ConfigOracle,
        random: np.random.RandomState,
        rules: Rules,
        horizon: float = math.inf,
    ) -> None:
        self.rules, self.horizon = rules, horizon
        self.steps = Steps(rules, models)
        self.slots = self.steps.slots
        super().__init__(schema, models, random, self.steps)
        self.oracle = oracle
        self.candidates: list[Candidate] = []
        self.frontier: list[int] = []
        self.joined: list[int] = []
        self.steps.log_point = self._log_point
        self.bind()

    def open(self) -> Iterator[events.Event]:
        """Make c_init the champion and S its frontier (algorithm 1, line 2); fill the slots."""
        champion = yield from self.admit(VWConfiguration(), None)
        self._join(champion)
        yield from self._crown(champion, previous=None)
        yield from self._grant(champion, 0)
        yield from self._fill()

    def decide(self) -> Iterator[events.Event]:
        """Yield what follows from the losses: lines 10 to 17, then Schedule."""
        reports_bounds = self._passes_log_point()
        self.steps.log_point = self._log_point
        if self.rules.literal:
            yield from self._test()
            leaving = yield from self._judge_leases()
        else:
            leaving = yield from self._judge_leases()
            yield from self._test()
        for number in leaving:
            if self.candidates[number].status == "live" and not self._is_safe(number):
                yield self._pause(self.slot_of(number), "lease ended")
                self.candidates[number].status = "paused"
        yield from self._fill()
        if reports_bounds:
            yield from self.bounds()

    def conclude(self) -> Iterator[events.Event]:
        """Yield the last example's tests, bounds and scores: there is nothing more to schedule."""
        yield from self._test()
        yield from self.bounds()
        yield from super().conclude()

    def bounds(self, numbers: Collection[int] | None = None) -> Iterator[events.BoundsUpdated]:
        """Yield the bounds of these configurations, by default of all live ones."""
        slots = self.live.tolist() if numbers is None else sorted(map(self.slot_of, numbers))
        for slot in slots:
            row = self.slots[slot]
            if row["n"] > 0:
                yield events.BoundsUpdated(
                    at=self.at,
                    configuration=int(row["configuration"]),
                    value=float(row["loss"]),
                    lower=float(row["lower"]),
                    upper=float(row["upper"]),
                    units=float(row["n"]),
                )

    def challengers(self) -> list[int]:
        """Return S: all candidates under consideration but the champion."""
        out = {self.champion, *self.holders[self.slots["out"] != 0].tolist()}
        return [number for number in self.joined if number not in out]

    # Algorithm 1, lines 11 to 17

    def _test(self) -> Iterator[events.Event]:
        champion = self.slot_of(self.champion)
        if self.rules.fixed or champion == EMPTY or self.slots["n"][champion] == 0:
            return
        promoted = self.steps.challenger_to_promote(champion)
        if promoted >= 0:
            old, challenger = self.champion, int(self.holders[promoted])
            yield from self.bounds([old, challenger])
            yield from self._crown(challenger, previous=old)
            if self.rules.literal:
                yield self._eliminate(self.slot_of(old), "replaced as champion")
            champion = promoted
        yield from self._eliminate_worse(champion)

    def _crown(self, number: int, previous: int | None) -> Iterator[events.Event]:
        self.champion = self.steps.champion = number
        yield events.ChampionChanged(at=self.at, configuration=number, previous=previous)
        yield from self._consult_oracle()

    def _consult_oracle(self) -> Iterator[events.Event]:
        """Do ``S ← S + ConfigOracle(C)``; leave out interactions that explode."""
        champion = self.configurations[self.champion]
        for proposal in self.oracle(champion, self.schema.namespaces, self.random):
            if not fits(self.schema, proposal):
                continue
            number = yield from self.admit(proposal, self.champion)
            if self.rules.literal:
                self._join(number)
            else:
                self.frontier.append(number)

    def _eliminate_worse(self, champion: int) -> Iterator[events.Event]:
        failed = [slot for slot in self.live.tolist() if self.steps.is_worse(champion, slot)]
        failed.sort(key=lambda slot: self.joined.index(int(self.holders[slot])))
        if not self.rules.literal:
            failed = failed[: max(len(self.challengers()) + 1 - self.b, 0)]
        if failed:
            yield from self.bounds([self.champion, *self.holders[failed].tolist()])
        self.slots["out"][failed] = 1
        for slot in failed:
            if not self.rules.literal or self._crowded():
                yield self._eliminate(slot, "worse than the champion")

    def _eliminate(self, slot: int, reason: str) -> events.Eliminated:
        number = int(self.holders[slot])
        self.candidates[number].status = "eliminated"
        self.joined.remove(number)
        return super()._eliminate(slot, reason)

    # Algorithm 2

    def _judge_leases(self) -> Generator[events.Event, None, list[int]]:
        """Double the leases that ended (lines 2 to 9); return the numbers that have to leave."""
        leaving: list[int] = []
        begun = (self.holders != EMPTY) & (self.slots["n"] > 0)
        uppers = self.slots["upper"][begun]
        challengers = self.slots["upper"][begun & (self.holders != self.champion)]
        for slot in self.live.tolist():
            row, number = self.slots[slot], int(self.holders[slot])
            if row["n"] < row["lease"]:
                continue
            yield from self.bounds([number])
            row["lease"] = self.candidates[number].lease = 2 * float(row["lease"])
            if (
                self._is_safe(number)
                or (self.rules.literal and not self._crowded())
                or self.rules.keeps(row["upper"], challengers, uppers)
            ):
                yield self._leased(slot, fresh=False)
            else:
                leaving.append(number)
        return leaving

    def _fill(self) -> Iterator[events.Event]:
        """Vacate slots of those that are out, and fill free ones (lines 2 to 4 and 10 to 13)."""
        if self._crowded():
            for slot in self.live.tolist():
                if self.slots["out"][slot]:
                    yield self._eliminate(slot, "worse than the champion")
        free = np.flatnonzero(self.holders == EMPTY).tolist()
        for _ in free:
            if self.frontier:
                self._join(self.frontier.pop())
        for slot in free:
            chosen = self._choose()
            if chosen is None:
                break
            yield from self._grant(chosen, slot)
        n_candidates = len(self.challengers())
        self.steps.n_candidates = max(n_candidates, 1)
        self.steps.may_eliminate = self.rules.literal or n_candidates + 1 > self.b

    # Algorithm 3

    def _choose(self) -> int | None:
        """Return a pending configuration if there is one, else the paused one of least lease."""
        pending, paused = (
            [number for number in self.joined if self.candidates[number].status == status]
            for status in ("pending", "paused")
        )
        if pending:
            return pending[self.random.randint(len(pending)) if self.rules.literal else 0]
        return min(paused, key=lambda number: self.candidates[number].lease, default=None)

    # Bookkeeping

    def _number(self, configuration: VWConfiguration) -> int:
        """See `Race._number`; a new one has its least lease."""
        number = super()._number(configuration)
        if number == len(self.candidates):
            dimension = self.schema.dimension(configuration.interactions)
            lease = self.rules.least_lease(self.schema.n_features, dimension)
            self.candidates.append(Candidate(dimension, lease))
        return number

    def _join(self, number: int) -> None:
        """Do ``S ← S + c``, unless it is or was there already."""
        if self.candidates[number].status == "waiting":
            self.candidates[number].status = "pending"
            self.joined.append(number)

    def _grant(self, number: int, slot: int) -> Iterator[events.Event]:
        """Start a fresh model: nothing is kept of an earlier one (section 2)."""
        candidate = self.candidates[number]
        candidate.status = "live"
        self.models.start(slot, self.configurations[number], None)
        self._hold(slot, number)
        row = self.slots[slot]
        self.slots[slot] = 0
        row["configuration"], row["lease"] = number, candidate.lease
        row["dimension"] = candidate.dimension
        row["low"], row["high"] = candidate.low, candidate.high
        yield self._leased(slot)

    def _leased(self, slot: int, *, fresh: bool = True) -> events.LeaseGranted:
        amount = min(float(self.slots["lease"][slot]), self.horizon)
        return self._granted(slot, amount, fresh=fresh)

    def _vacate(self, slot: int) -> float:
        row, candidate = self.slots[slot], self.candidates[self.holders[slot]]
        units = super()._vacate(slot)
        candidate.low, candidate.high = float(row["low"]), float(row["high"])
        row["configuration"] = EMPTY
        return units

    def _achieved(self, slot: int) -> tuple[float, float]:
        return float(self.slots["n"][slot]), float(self.slots["score"][slot])

    def require_fit(self, schema: Schema) -> None:
        """See `Race.require_fit`."""
        if not all(fits(schema, self.configurations[n]) for n in self.holders[self.live]):
            raise ValueError(
                f"{schema.n_features} features give a live model's interactions more than"
                f" {MAX_TERMS} terms: use fewer features a namespace"
            )

    def grow(self, schema: Schema) -> list[events.Event]:
        """See `Race.grow`; bounds widen with the dimensions of configurations."""
        self.models.grow(schema)
        widened = schema.namespaces != self.schema.namespaces
        self.schema, self.words = schema, Words(schema)
        self.bind()
        for candidate, configuration in zip(self.candidates, self.configurations, strict=True):
            candidate.dimension = schema.dimension(configuration.interactions)
        for slot in self.live.tolist():
            self.slots["dimension"][slot] = self.candidates[self.holders[slot]].dimension
        return [*self._consult_oracle(), *self._fill()] if widened else []

    def fill(self, state: Any) -> None:
        """See `Race.fill`."""
        super().fill(state)
        self.steps.log_point = self._log_point

    def _is_safe(self, number: int) -> bool:
        return number == self.champion and self.rules.keep_champion

    def _crowded(self) -> bool:
        """Return ``|S| > b`` (algorithm 2, lines 3 and 8).

        Literally b, though challengers share b - 1 slots: with ``|S| = b`` none makes room
        for the one that waits.
        """
        return len(self.challengers()) > self.b

    def _standing(self, slot: int) -> dict[str, float]:
        row = self.slots[slot]
        names = ("lease", "loss", "lower", "upper")
        return {"examples": int(row["n"]), **{name: float(row[name]) for name in names}}
