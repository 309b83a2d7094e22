"""The race of ChaCha's default: rounds, branches, paired tests, and a mixture."""

from __future__ import annotations

import bisect
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from leaseboard.algorithms.chacha.oracle import ConfigOracle
from leaseboard.algorithms.chacha.race import EMPTY, Race, State, require_numbers
from leaseboard.algorithms.chacha.safe.ensemble import Ensemble
from leaseboard.algorithms.chacha.safe.front import NARROW, Front
from leaseboard.algorithms.chacha.safe.mixture import MASS
from leaseboard.algorithms.chacha.safe.naming import Words, words_of
from leaseboard.algorithms.chacha.safe.representations import Representations, represent
from leaseboard.algorithms.chacha.safe.windows import CommonWindows
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.events import ChampionChanged, Event, LeaseGranted
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel import Doubles, Floats, Slots
from leaseboard.algorithms.online.learner import KernelLearner, Learner
from leaseboard.algorithms.online.live import KernelModels, LiveModels, SingleCalls
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.plain import fill, values_of


class Candidates:
    """S of the paper, with the leases that its members have reached.

    Attributes
    ----------
    frontier : set of int
        What the oracle proposed for the present champion.
    pending : list of int
        Members of the frontier that are not live, in the order in which they get free slots
        (Choose, algorithm 3): first who never had a lease, then by the least lease; among equals
        who came first.
    eliminated : set of int
        Who has left for good.
    leases : dict of int to int
        The lease that a paused configuration will get, in examples.
    """

    kept: ClassVar[tuple[str, ...]] = ("frontier", "pending", "eliminated", "leases")

    def __init__(self) -> None:
        self.frontier: set[int] = set()
        self.pending: list[int] = []
        self.eliminated: set[int] = set()
        self.leases: dict[int, int] = {}

    def forget_frontier(self) -> None:
        """A new champion brings its own."""
        self.frontier = set()
        self.pending = []
        self.leases = {}

    def join(self, number: int, *, live: bool) -> None:
        """Add a configuration to the frontier; it waits if it is neither live nor eliminated."""
        self.frontier.add(number)
        if not live and number not in self.eliminated and number not in self.pending:
            self._wait(number)

    def pause(self, number: int, lease: int) -> None:
        """Let `number` wait for its next lease, if the champion's frontier has it."""
        self.leases[number] = lease
        if number in self.frontier:
            self._wait(number)

    def _wait(self, number: int) -> None:
        bisect.insort(self.pending, number, key=lambda other: self.leases.get(other, 0))


def alone(
    learner: Learner,
    schema: Schema,
    representations: Representations,
    center: float,
    spread: float,
) -> KernelLearner:
    """Return the model of `schema` that forecasts ``center + spread * p`` where `learner` says p.

    Parameters
    ----------
    learner : Learner
        Of the kernel, over the schema of `representations`; it is used up.
    schema : Schema
        Of examples as they come.
    representations : Representations
    center, spread : float

    Raises
    ------
    UsageError
        If it sees what only the race can compute: features standardised or in pieces, or earlier
        labels.
    """
    computed = {*(learner.configuration.namespaces or ())} - {*representations.raw}
    if computed:
        seen = Words(schema, representations).features(computed)
        raise UsageError(
            f"the champion sees features that the race computes and no model alone can ({seen}):"
            ' build with tune="interactions+learning-rate" to have one that sees features as they'
            " are, or keep the race by `save`"
        )
    assert isinstance(learner, KernelLearner)
    learner.rescale(spread, center)
    return learner.over(schema, replace(learner.configuration, namespaces=None))


BASE = 0
"""The slot and the number of the initial configuration, c_init, which is always live."""


class SafeRace(Race):
    """One run of ChaCha's default over a stream of examples; see
    `leaseboard.algorithms.chacha.chacha`.

    Parameters
    ----------
    schema, models, oracle, random, b
        See `Race`.
    delta, round_length, memory, max_terms
        See `leaseboard.algorithms.chacha.chacha.ChaCha`.
    represents : bool
        Whether configurations choose representations
        (`leaseboard.algorithms.chacha.safe.representations`).
    classes : bool
        The labels are -1 and 1.
    levels : sequence of float
        Of the prediction intervals of a regression.
    """

    kept = (*Race.kept, "terms", "fresh_at", "lease_of", "_reported_at", "_terms")

    def __init__(
        self,
        schema: Schema,
        models: LiveModels,
        oracle: ConfigOracle,
        random: np.random.RandomState,
        b: int,
        *,
        delta: float,
        round_length: int,
        memory: float,
        max_terms: float,
        represents: bool = True,
        classes: bool = False,
        levels: Sequence[float] = (),
    ) -> None:
        super().__init__(schema, models, oracle, random, b)
        self.round_length, self.represents = round_length, represents
        self.ensemble = Ensemble(
            models, schema.n_features, b, gamma=1.0 - 1.0 / memory, represents=represents,
            classes=classes, levels=levels,
        )  # fmt: skip
        self.losses = self.ensemble.known.losses
        self.champion_slot = BASE
        self.candidates = Candidates()
        self.windows = CommonWindows(self.ensemble.known.sums, round_length, delta)
        self.terms = np.zeros(b, dtype=np.int64)
        self.fresh_at, self.lease_of, self._reported_at = np.zeros((3, b), dtype=np.int64)
        self._terms: dict[int, float] = {}
        self.max_terms = max_terms
        self._measure()

    def share(self, shares: int) -> None:
        """See `Race.share`."""
        self.ensemble.front = Front(self.schema.n_features, self.ensemble.classes, shares)

    def open(self) -> Iterator[Event]:
        """Admit the initial configuration as champion, and its challengers."""
        yield from self.admit(self._named(VWConfiguration()), None)
        yield from self.words.tell(BASE)
        yield from self._lease(BASE, BASE, None)
        yield ChampionChanged(at=0, configuration=BASE, previous=None)
        yield from self._consult_oracle()
        yield from self._fill()

    def predict(self, example: Floats) -> float:
        """Return the mixture's forecast, for classes log odds; nothing is learned."""
        return self.ensemble.predict(example, self.live, self.champion_slot)

    def parts(self, example: Floats) -> Doubles:
        """See `Ensemble.parts`."""
        return self.ensemble.parts(example, self.live, self.champion_slot)

    def learn(
        self, examples: Floats, labels: Floats, importances: Floats, forecasts: Floats
    ) -> int:
        """Learn until the round ends; importances weigh what is learned, and all losses."""
        n = self.ensemble.until(labels[: self.round_length - self.at % self.round_length], self.at)
        block = examples[:n], labels[:n], importances[:n]
        self.ensemble.learn(*block, self.live, self.champion_slot, forecasts[:n])
        self.at += n
        self.ensemble.move(self.at, self.live)
        return n

    def notes(self) -> dict[str, float]:
        """See `Ensemble.notes`, and the ``season``: how many labels ago."""
        return self.ensemble.notes() | {"season": self.ensemble.front.period}

    def single_calls(self, row: Floats) -> SingleCalls:
        """See `Race.single_calls`."""
        examples = row[None]
        labels, importances, forecasts = np.zeros((3, 1), dtype=np.float32)

        def learn(label: float, importance: float) -> bool:
            labels[0], importances[0] = label, importance
            self.learn(examples, labels, importances, forecasts)
            return self.is_due()

        return partial(self.predict, row), learn

    def is_due(self) -> bool:
        """Return whether a round has ended."""
        return self.at % self.round_length == 0

    def model(self) -> Learner | Race | None:
        """The race itself where its models see representations: none of them stands alone."""
        return self if self.represents else super().model()

    def champion_learner(self) -> Learner | None:
        """See `Race.champion_learner`; UsageError if it cannot stand alone."""
        learner = super().champion_learner()
        if not self.represents or learner is None:
            return learner
        return alone(learner, self.schema, self.representations, *self.ensemble.unit)

    def decide(self) -> Iterator[Event]:
        """Better, else Worse and the leases; then free slots are filled."""
        if not self.is_due():
            return
        if self._passes_log_point():
            yield from self._report(self.live)
        if self.terms.sum() > self.max_terms:  # there were fewer columns when they came
            terms = {slot: float(self.terms[slot]) for slot in self.live.tolist()}
            yield from self._make_room(terms, self.max_terms)
        elif len(
            better := self.windows.better(self._challengers(), self.at, self._n_candidates())
        ):
            yield from self._promote(
                int(better[self.windows.advantages(better, self.at).argmax()])
            )
        else:
            yield from self._eliminate_worse()
            yield from self._end_leases()
        yield from self._fill()

    def conclude(self) -> Iterator[Event]:
        """Yield the last losses and bounds, and what everyone achieved; nothing may follow."""
        yield from self._report(self.live)
        yield from super().conclude()

    def _challengers(self) -> Slots:
        """Return the slots of all live challengers."""
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
            yield from self._pause(other, "made room for the new champion's challengers")
        self.candidates.forget_frontier()
        self.windows.begin(slice(None), self.at)
        for other in self.live.tolist():
            yield from self._extend(other, self._n_min)
        yield from self._consult_oracle()

    def _eliminate_worse(self) -> Iterator[Event]:
        """Drop for good what is proved worse than the champion, while others wait for a slot."""
        failed = self.windows.worse(self._removable(), self.at, self._n_candidates())
        failed = failed[: len(self.candidates.pending)]
        if not len(failed):
            return
        yield from self._report(np.append(failed, self.champion_slot))
        for slot in failed.tolist():
            self.candidates.eliminated.add(int(self.holders[slot]))
            yield from self._eliminate(slot, "worse")

    def _end_leases(self) -> Iterator[Event]:
        """Double the leases that have ended; below the median, give the slot to who waits."""
        slots = self.live
        ended = slots[self.windows.seen(slots, self.at) >= self.lease_of[slots]]
        if not len(ended):
            return
        yield from self._report(ended)
        below = self.windows.below_median(self._removable(), self.at)
        for slot in ended.tolist():
            lease = 2 * int(self.lease_of[slot])
            if self.candidates.pending and slot in below:
                number = int(self.holders[slot])
                yield from self._pause(slot, "lease ended below the median")
                self.candidates.pause(number, lease)
            else:
                yield from self._extend(slot, lease)

    @property
    def _n_min(self) -> int:
        # A first row without any value has no features yet.
        return 5 * max(1, min(self.schema.n_features, NARROW))

    def _terms_of(self, number: int) -> float:
        known = self._terms.get(number)
        if known is None:
            known = self.representations.terms(self.configurations[number])
            self._terms[number] = known
        return known

    def _consult_oracle(self) -> Iterator[Event]:
        """S grows by the champion's frontier, as far as terms allow."""
        if self.b == 1:
            return
        # What a challenger can have if all other challengers go.
        most = self.max_terms - sum(self.terms[slot] for slot in {BASE, self.champion_slot})
        # An oracle's most promising candidate comes last.
        for proposal in reversed(self._proposals()):
            if self.representations.terms(proposal) <= most:
                number = yield from self.admit(self._named(proposal), self.champion)
                self.candidates.join(number, live=number in self.holders)

    def _proposals(self) -> list[VWConfiguration]:
        """What the oracle proposes for the champion's namespaces, then other representations."""
        champion = self.configurations[self.champion]
        found = self.oracle(champion, champion.namespaces or self.schema.namespaces, self.random)
        return [*found, *self.representations.variants(champion)] if self.represents else found

    def _named(self, configuration: VWConfiguration) -> VWConfiguration:
        """The configuration with its namespaces; if it names none, the features as they are."""
        if self.represents and configuration.namespaces is None:
            return replace(configuration, namespaces=self.representations.raw)
        return configuration

    def _fill(self) -> Iterator[Event]:
        """Give free slots to who waits, as far as terms go."""
        free = np.flatnonzero(self.holders == EMPTY).tolist()
        left, known = self.max_terms - int(self.terms.sum()), self._terms.get
        for number in [*self.candidates.pending] if free else ():
            terms = known(number) or self._terms_of(number)
            if terms <= left:
                self.candidates.pending.remove(number)
                left -= terms
                yield from self._lease(free.pop(0), number, self.champion_slot)
            if not free:
                return

    def _lease(self, slot: int, number: int, parent: int | None) -> Iterator[Event]:
        """Start the model of `number` in `slot`, as a branch of the one in slot `parent`."""
        configuration = self.configurations[number]
        champion = self.configurations[self.champion]
        branches = bool(self.at) and parent is not None and configuration.extends(champion)
        self._start(slot, number, parent if branches else None)
        self.terms[slot] = self._terms_of(number)
        self.fresh_at[slot] = self.at
        self.windows.begin(slot, self.at)
        # A branch shares the champion's past; a fresh model must first catch up with it.
        self.ensemble.begin(slot, parent)
        self.lease_of[slot] = self.candidates.leases.get(number, self._n_min)
        yield LeaseGranted(
            at=self.at,
            configuration=number,
            amount=int(self.lease_of[slot]),
            slot=slot,
            source=self.champion if branches else None,
        )

    def _extend(self, slot: int, lease: int) -> Iterator[Event]:
        self.lease_of[slot] = lease
        yield LeaseGranted(
            at=self.at,
            configuration=int(self.holders[slot]),
            amount=int(self.windows.starts[slot] - self.fresh_at[slot]) + lease,
            slot=slot,
            fresh=False,
        )

    def _vacate(self, slot: int) -> None:
        super()._vacate(slot)
        self.terms[slot] = 0

    def _achieved(self, slot: int) -> tuple[int, float]:
        return self.at - int(self.fresh_at[slot]), self.ensemble.achieved(slot)

    def require_fit(self, schema: Schema) -> None:
        """See `Race.require_fit`; models that would have too many terms make room."""
        self.models.require_same_naming(represent(schema).schema if self.represents else schema)

    def grow(self, schema: Schema) -> list[Event]:
        """See `Race.grow`; who has features of a kind has those of new namespaces too."""
        wider = represent(schema)
        terms = {
            slot: wider.terms(wider.whole(self.configurations[self.holders[slot]]))
            for slot in self.live.tolist()
        }
        # What cannot be laid out goes at once; the rest keeps the forecast until the round ends.
        events = list(self._make_room(terms, sys.float_info.max))
        self.models.grow(wider.schema if self.represents else schema)
        widened = schema.namespaces != self.schema.namespaces
        self.schema = schema
        self._measure()
        self.ensemble.grow(schema.n_features)
        if widened and self.represents:
            self._make_whole()
        # Slots are filled at the end of the round.
        return [*events, *self._consult_oracle()] if widened else events

    def _make_whole(self) -> None:
        """Let configurations with features of a kind have those of all namespaces."""
        self.configurations = list(map(self.representations.whole, self.configurations))
        self._numbers = {known: number for number, known in enumerate(self.configurations)}
        assert isinstance(self.models, KernelModels)  # others have no representations
        for slot in self.live.tolist():
            self.models.extend(slot, self.configurations[self.holders[slot]])
        self._measure()

    def _make_room(self, terms: dict[int, float], most: float) -> Iterator[Event]:
        """Pause the largest of the live models until all have at most so many terms.

        A champion that is too large beside c_init hands over to the best of those that are not.
        """
        left = [slot for slot in terms if slot == BASE or terms[slot] <= most - terms[BASE]]
        if self.champion_slot not in left:
            yield from self._promote(min(left, key=self.losses.__getitem__))
        for slot in sorted(self._removable().tolist(), key=terms.__getitem__, reverse=True):
            if sum(terms[other] for other in self.live.tolist()) > most:
                yield from self._pause(slot, "made room for more features")

    def _measure(self) -> None:
        self._terms.clear()
        self.representations = represent(self.schema)
        self.words = words_of(self.schema, self.representations if self.represents else None)
        self.max_terms = max(self.max_terms, self.representations.least_terms)
        for slot in self.live.tolist():
            self.terms[slot] = self._terms_of(int(self.holders[slot]))

    def _report(self, slots: Slots) -> Iterator[Event]:
        """Mean losses with their bounds, each model's once at most after an example."""
        told = (self._reported_at[slots] == self.at) | (self.windows.starts[slots] == self.at)
        slots = slots[~told]
        self._reported_at[slots] = self.at
        challenge = self._n_candidates(), self.champion_slot
        yield from self.windows.bounds(slots, self.at, *challenge, self.holders, self.fresh_at)

    def _standing(self, slot: int) -> dict[str, float]:
        return {
            "examples": self.at - int(self.fresh_at[slot]),
            "lease": float(self.lease_of[slot]),
            "loss": float(self.losses[slot] / max(self.ensemble.known.totals[MASS], 1.0)),
        }

    def state(self) -> State:
        """See `Race.state`."""
        return super().state() | {
            "windows": values_of(self.windows, self.windows.kept),
            "ensemble": self.ensemble.state(),
            "candidates": values_of(self.candidates, self.candidates.kept),
        }

    def fill(self, state: Any) -> None:
        """See `Race.fill`."""
        super().fill(state)
        fill(self.windows, state["windows"], self.windows.kept)
        fill(self.candidates, state["candidates"], self.candidates.kept)
        self.ensemble.fill(state["ensemble"])
        for numbers in values_of(self.candidates, self.candidates.kept).values():
            require_numbers(numbers, len(self.configurations))
        self.champion_slot = self.slot_of(self.champion)
        if EMPTY in (self.champion_slot, self.holders[BASE]):
            raise ValueError(f"{self.champion} or the initial configuration is not live")
