"""The scheduler of ChaCha's default: rounds, branches, paired tests, and a guarded mixture."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from algorithms.benches.stream import next_log_point
from algorithms.chacha.oracle import ConfigOracle
from algorithms.chacha.safe.candidates import Candidates
from algorithms.chacha.safe.mixture import guarded_forecast, mix
from algorithms.chacha.safe.windows import CommonWindows, Slots
from algorithms.chacha.tallies import Tallies
from algorithms.events import (
    BoundsUpdated,
    ChampionChanged,
    Eliminated,
    Event,
    LeaseGranted,
    Paused,
)
from algorithms.online.configuration import Configuration, Interaction
from algorithms.online.live import LiveModels
from algorithms.online.schema import Schema

EMPTY = -1
"""What `SafeRace.holders` says of a slot without a model."""

BASE = 0
"""The slot and the number of the initial configuration, c_init, which is always live."""


class SafeRace:
    """One run of ChaCha's default over a stream of examples; see `SafeChaCha`.

    Parameters
    ----------
    schema : Schema
    models : LiveModels
        With `b` slots.
    oracle : ConfigOracle
    random : numpy.random.RandomState
        Handed on to the oracle.
    initial : Configuration, optional
        c_init.
    b, rho, delta, round_length, memory, max_terms
        See `SafeChaCha`.
    classes : bool
        The labels are -1 and 1.

    Attributes
    ----------
    at : int
        Examples learned.
    champion : int
        The number of the champion.
    holders : ndarray of int64, shape (b,)
        The number of the configuration in each slot, or `EMPTY`.
    """

    def __init__(
        self,
        schema: Schema,
        models: LiveModels,
        oracle: ConfigOracle,
        random: np.random.RandomState,
        *,
        b: int,
        rho: float,
        delta: float,
        round_length: int,
        memory: float,
        max_terms: int,
        classes: bool = False,
        initial: Configuration | None = None,
    ) -> None:
        self.schema, self.models, self.oracle, self.random = schema, models, oracle, random
        self.rho, self.round_length = rho, round_length
        self.gamma = 1.0 - 1.0 / memory
        self.classes = classes
        self.n_min = 5 * schema.n_features
        self.at = 0
        self.candidates = Candidates()
        self.windows = CommonWindows(b, round_length, delta)
        self.holders = np.full(b, EMPTY)
        self.terms = np.zeros(b, dtype=np.int64)
        self.fresh_at = np.zeros(b, dtype=np.int64)
        self.lease_of = np.zeros(b, dtype=np.int64)
        self.losses = np.zeros(b)
        self.totals = np.zeros(2)
        self.scores = np.zeros(b)
        self.tallies = Tallies()
        self._predictions = np.zeros((round_length, b), dtype=np.float32)
        self._ones = np.ones(round_length, dtype=np.float32)
        self._initial = initial or Configuration()
        self._live: Slots | None = None
        self._log_point = 1
        self._reported_at = np.zeros(b, dtype=np.int64)
        self._terms: dict[tuple[Interaction, ...], int] = {}
        self.max_terms = max(max_terms, 4 * self._terms_of(self._initial))
        self.champion = self.champion_slot = BASE

    @property
    def configurations(self) -> list[Configuration]:
        """All that were admitted, by number."""
        return self.candidates.configurations

    @property
    def live(self) -> Slots:
        """The occupied slots."""
        if self._live is None:
            self._live = np.flatnonzero(self.holders != EMPTY)
        return self._live

    # -- the stream ---------------------------------------------------------------------------

    def start(self) -> Iterator[Event]:
        """Admit the initial configuration as champion, and its challengers."""
        yield from self.candidates.admit(self._initial, None, at=0)
        yield from self._lease(BASE, BASE, None)
        yield ChampionChanged(at=0, configuration=BASE, previous=None)
        yield from self._consult_oracle()
        yield from self._fill()

    def predict(self, example: NDArray[np.float32]) -> np.float32:
        """The forecast for one example of shape (n_features,); nothing is learned."""
        row = self._predictions[0]
        self.models.predict(example, self.live, row)
        forecast: np.float32 = guarded_forecast(
            row.astype(np.float64),
            self.live,
            BASE,
            self.losses,
            self.totals,
            self.rho,
            self.classes,
        )
        return forecast

    def until_decision(self) -> int:
        """How many examples may be learned before the race decides again."""
        return self.round_length - self.at % self.round_length

    def grow(self, schema: Schema) -> bool:
        """Go on with a schema of more columns; say whether it has more namespaces too."""
        self.models.grow(schema)
        new_namespaces = schema.namespaces != self.schema.namespaces
        self.schema = schema
        self._terms.clear()
        self.n_min = 5 * schema.n_features
        self.max_terms = max(self.max_terms, 4 * self._terms_of(self._initial))
        for slot in self.live.tolist():
            self.terms[slot] = self._terms_of(self.configurations[self.holders[slot]])
        return new_namespaces

    def widen(self) -> Iterator[Event]:
        """S grows by what new namespaces make possible."""
        yield from self._consult_oracle()
        yield from self._fill()

    def learn(
        self,
        examples: NDArray[np.float32],
        labels: NDArray[np.float32],
        importances: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]:
        """Learn at most `until_decision` examples; return their progressive forecasts.

        Importances weigh what the models learn; losses are compared example by example.
        """
        n = len(labels)
        assert n <= self.until_decision(), "a block must not pass the end of a round"
        predictions = self._predictions[:n]
        forecasts = np.empty(n, dtype=np.float32)
        if importances is None:
            importances = self._ones[:n]
        self.models.learn(examples, labels, importances, self.live, predictions)
        mix(
            predictions,
            labels,
            self.live,
            BASE,
            self.champion_slot,
            self.gamma,
            self.rho,
            self.classes,
            self.losses,
            self.totals,
            self.windows.sums,
            self.scores,
            forecasts,
        )
        self.at += n
        return forecasts

    # -- decisions at the end of a round -------------------------------------------------------

    def decide(self) -> Iterator[Event]:
        """Better, else Worse and the leases; then free slots are filled."""
        if self.at % self.round_length:
            return
        if self.at >= self._log_point:
            yield from self._report(self.live)
            while self._log_point <= self.at:
                self._log_point = next_log_point(self._log_point)
        proven = self.windows.better(self._challengers(), self.at, self._n_candidates())
        if len(proven):
            best = self.windows.advantages(proven, self.at).argmax()
            yield from self._promote(int(proven[best]))
        else:
            yield from self._eliminate()
            yield from self._end_leases()
        yield from self._fill()

    def conclude(self) -> Iterator[Event]:
        """The last losses and bounds, and what everyone achieved; nothing may follow."""
        yield from self._report(self.live)
        for slot in self.live.tolist():
            self._bank(slot)
        yield from self.tallies.scored(self.at)

    def _challengers(self) -> Slots:
        """The slots of all live challengers."""
        return np.asarray(self.live[self.live != self.champion_slot])

    def _removable(self) -> Slots:
        """Challengers that may lose their slot: all but the initial configuration."""
        slots = self._challengers()
        return np.asarray(slots[slots != BASE])

    def _n_candidates(self) -> int:
        """|S|; 1 where nobody is compared."""
        return max(1, len(self.live) - 1 + len(self.candidates.pending))

    def _promote(self, slot: int) -> Iterator[Event]:
        """Make `slot` the champion; make room for its frontier; let all windows begin anew."""
        yield from self._report(self.live)
        previous, self.champion = self.champion, int(self.holders[slot])
        self.champion_slot = slot
        yield ChampionChanged(at=self.at, configuration=self.champion, previous=previous)
        removable = self._removable()
        ranked = removable[np.argsort(self.losses[removable], kind="stable")]
        for other in ranked[len(ranked) // 2 :].tolist():
            yield from self._stop(other, "made room for the new champion's challengers")
        self.candidates.forget_frontier()
        self.windows.begin(slice(None), self.at)
        for other in self.live.tolist():
            yield from self._extend(other, self.n_min)
        yield from self._consult_oracle()

    def _eliminate(self) -> Iterator[Event]:
        """Drop for good what is proved worse than the champion, while others wait for a slot."""
        failed = self.windows.worse(self._removable(), self.at, self._n_candidates())
        failed = failed[: len(self.candidates.pending)]
        if not len(failed):
            return
        yield from self._report(np.append(failed, self.champion_slot))
        for slot in failed.tolist():
            number = int(self.holders[slot])
            self.candidates.eliminated.add(number)
            self._empty(slot)
            yield Eliminated(at=self.at, configuration=number, reason="worse")

    def _end_leases(self) -> Iterator[Event]:
        """Double the leases that have ended; below the median, give the slot to who waits."""
        slots = self.live
        ended = slots[self.windows.seen(slots, self.at) >= self.lease_of[slots]]
        if not len(ended):
            return
        yield from self._report(ended)
        below = self._below_median()
        for slot in ended.tolist():
            lease = 2 * int(self.lease_of[slot])
            if self.candidates.pending and slot in below:
                number = int(self.holders[slot])
                yield from self._stop(slot, "lease ended below the median")
                self.candidates.pause(number, lease)
            else:
                yield from self._extend(slot, lease)

    def _below_median(self) -> set[int]:
        """The removable slots whose models gained less on the champion than most."""
        slots = self._removable()
        if not len(slots):
            return set()
        advantages = self.windows.advantages(slots, self.at)
        return set(slots[advantages < np.median(advantages)].tolist())

    # -- candidates and slots -------------------------------------------------------------------

    def _terms_of(self, configuration: Configuration) -> int:
        interactions = configuration.interactions
        if interactions not in self._terms:
            self._terms[interactions] = self.schema.dimension(interactions) + 1
        return self._terms[interactions]

    def _consult_oracle(self) -> Iterator[Event]:
        """S grows by the champion's frontier, as far as terms allow."""
        if len(self.holders) == 1:
            return
        champion = self.configurations[self.champion]
        proposals = self.oracle(champion, self.schema.namespaces, self.random)
        most = self._terms_left_at_most()
        # An oracle's most promising candidate comes last.
        affordable = [one for one in reversed(proposals) if self._terms_of(one) <= most]
        live = set(self.holders.tolist())
        yield from self.candidates.join(affordable, live, self.champion, self.at)

    def _terms_left_at_most(self) -> int:
        """Terms that a challenger can have if all other challengers go."""
        keep = {BASE, self.champion_slot}
        return self.max_terms - int(sum(self.terms[slot] for slot in keep))

    def _fill(self) -> Iterator[Event]:
        """Give free slots to who waits, as far as terms go."""
        free = np.flatnonzero(self.holders == EMPTY).tolist()
        left = self.max_terms - int(self.terms.sum())
        for number in self.candidates.waiting():
            if not free:
                return
            terms = self._terms_of(self.configurations[number])
            if terms <= left:
                self.candidates.pending.remove(number)
                left -= terms
                yield from self._lease(free.pop(0), number, self.champion_slot)

    def _lease(self, slot: int, number: int, parent: int | None) -> Iterator[Event]:
        """Start the model of `number` in `slot`, as a branch of the one in slot `parent`."""
        configuration = self.configurations[number]
        branches = bool(self.at) and parent is not None and self._can_branch(configuration)
        self.models.start(slot, configuration, parent if branches else None)
        self.holders[slot] = number
        self.terms[slot] = self._terms_of(configuration)
        self.fresh_at[slot] = self.at
        self.windows.begin(slot, self.at)
        # A branch shares the champion's past; a fresh model must first catch up with it.
        self.losses[slot] = 0.0 if parent is None else self.losses[parent]
        self._live = None
        self.lease_of[slot] = self.candidates.leases.get(number, self.n_min)
        yield LeaseGranted(
            at=self.at,
            configuration=number,
            amount=int(self.lease_of[slot]),
            slot=slot,
            source=self.champion if branches else None,
        )

    def _can_branch(self, configuration: Configuration) -> bool:
        champion = self.configurations[self.champion]
        return set(champion.interactions) <= set(configuration.interactions)

    def _extend(self, slot: int, lease: int) -> Iterator[Event]:
        self.lease_of[slot] = lease
        yield LeaseGranted(
            at=self.at,
            configuration=int(self.holders[slot]),
            amount=int(self.windows.starts[slot] - self.fresh_at[slot]) + lease,
            slot=slot,
            fresh=False,
        )

    def _stop(self, slot: int, reason: str) -> Iterator[Event]:
        number = int(self.holders[slot])
        units = self.at - int(self.fresh_at[slot])
        self._empty(slot)
        yield Paused(at=self.at, configuration=number, units=units, reason=reason)

    def _empty(self, slot: int) -> None:
        self._bank(slot)
        self.models.stop(slot)
        self.holders[slot] = EMPTY
        self.terms[slot] = 0
        self._live = None

    def _bank(self, slot: int) -> None:
        """Put what the model in `slot` achieved to its configuration's account."""
        units = self.at - int(self.fresh_at[slot])
        self.tallies.add(int(self.holders[slot]), units, float(self.scores[slot]))
        self.scores[slot] = 0.0

    def _report(self, slots: Slots) -> Iterator[Event]:
        """Mean losses with their bounds, each model's once at most after an example."""
        told = (self._reported_at[slots] == self.at) | (self.windows.starts[slots] == self.at)
        slots = slots[~told]
        self._reported_at[slots] = self.at
        bounds = self.windows.bounds(slots, self.at, self._n_candidates(), self.champion_slot)
        for slot, loss, lower, upper in bounds:
            yield BoundsUpdated(
                at=self.at,
                configuration=int(self.holders[slot]),
                value=loss,
                lower=lower,
                upper=upper,
                units=self.at - int(self.fresh_at[slot]),
            )
