"""The race of the default: rounds, branches, paired tests, and a mixture."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from leaseboard.algorithms.array_types import Floats, Slots
from leaseboard.algorithms.events import (
    BoundsUpdated,
    ChampionChanged,
    Eliminated,
    Event,
    LeaseGranted,
    Paused,
)
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.learner import SingleCalls
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online_automl.members.class_pool import ClassPool
from leaseboard.algorithms.online_automl.oracle import ConfigOracle
from leaseboard.algorithms.online_automl.race import Race
from leaseboard.algorithms.online_automl.safe.ensemble import Ensemble
from leaseboard.algorithms.online_automl.safe.expansion import NARROW, RIDGE
from leaseboard.algorithms.online_automl.safe.later import Head, without_past
from leaseboard.algorithms.online_automl.safe.log_odds import logit
from leaseboard.algorithms.online_automl.safe.mixture import MASS
from leaseboard.algorithms.online_automl.safe.naming import words_of
from leaseboard.algorithms.online_automl.safe.passes import OneExample
from leaseboard.algorithms.online_automl.safe.representations import represent
from leaseboard.algorithms.online_automl.safe.rounds import (
    ELIMINATE,
    EXTEND,
    NO_CHANGE,
    REPORT,
    START,
    TOO_LARGE,
    Candidates,
    RoundTable,
)
from leaseboard.algorithms.online_automl.safe.windows import BASE, CommonWindows


class SafeRace(Race):
    """Race of the default, see `leaseboard.algorithms.online_automl.online_automl`.

    Parameters
    ----------
    schema, oracle, random
        See `Race`.
    ensemble : Ensemble
        With the models, which choose representations
        (`leaseboard.algorithms.online_automl.safe.representations`).
    delta, round_length, max_terms
        See `leaseboard.algorithms.online_automl.online_automl.OnlineAutoML`.
    """

    kept = (
        *(*Race.kept, "terms", "fresh_at", "lease_of", "_reported_at"),
        *("windows", "candidates", "ensemble"),
    )

    def __init__(
        self,
        schema: Schema,
        ensemble: Ensemble,
        oracle: ConfigOracle,
        random: np.random.RandomState,
        *,
        delta: float,
        round_length: int,
        max_terms: float,
    ) -> None:
        super().__init__(schema, ensemble.models, oracle, random, b := ensemble.b)
        self.round_length = round_length
        self.ensemble, self.losses = ensemble, ensemble.known.losses
        self.head = Head(ensemble.gamma, schema)
        self.champion_slot = BASE
        self.candidates = Candidates()
        self.delta, self.windows = delta, CommonWindows(ensemble.known.sums)
        self.terms = np.zeros(b, dtype=np.int64)
        self.fresh_at, self.lease_of, self._reported_at = np.zeros((3, b), dtype=np.int64)
        self._decided, self._values = np.zeros((5 * b, 4), dtype=np.int64), np.zeros((5 * b, 3))
        self.max_terms = max_terms
        self._one: tuple[Floats, OneExample] | None = None
        self._measure()

    def share(self, shares: int) -> None:
        """See `Race.share`."""
        self.ensemble.share(self.schema.n_features, shares)

    def release_pool(self) -> ClassPool | None:
        """See `Race.release_pool`."""
        pool, self.ensemble.pool = self.ensemble.pool, None
        return pool if isinstance(pool, ClassPool) else None

    def open(self) -> Iterator[Event]:
        """Admit the initial configuration as champion, and its challengers."""
        yield from self.admit(self._named(VWConfiguration()), None)
        self._measure()
        yield from self.words.group_events(BASE)
        self.candidates.join([BASE], self.holders)
        yield from self._fill()
        self.candidates.forget_frontier()
        yield ChampionChanged(at=0, configuration=BASE, previous=None)
        yield from self._consult_oracle()
        yield from self._fill()

    def predict(self, example: Floats, *, later: bool = False) -> float:
        """Return the mixture's prediction, for classes log odds; see `Race.predict`."""
        if self._one is None or self._one[0] is not example:  # the next one is in the same row
            self._one = example, OneExample(self.ensemble, example)
        one = self._one[1]
        return without_past(one, self) if later else one.predict(self.live, self.champion_slot)

    def late_margins(self, example: Floats) -> tuple[float, float, float]:
        """Return what it predicts of a class without past labels, by ridge alone, by the last.

        For classes: log odds, by the last labels that are known as if they came just before.
        """
        later, (_, one) = self.predict(example, later=True), self._one  # type: ignore[misc]
        ridge = logit(one.block.values[0, self.b + RIDGE])
        return later, ridge, one.predict(self.live, self.champion_slot)

    def learn(
        self, examples: Floats, labels: Floats, importances: Floats, predictions: Floats
    ) -> int:
        """Learn until the round ends; importances weigh what is learned, and all losses."""
        n = self.ensemble.until(labels[: self.round_length - self.at % self.round_length], self.at)
        block = examples[:n], labels[:n], importances[:n]
        self.ensemble.learn(*block, self.live, self.champion_slot, predictions[:n])
        self.at += n
        self.ensemble.move(self.at, self.live)
        self.head.learn(self, *block)
        return n

    def single_calls(self, row: Floats) -> SingleCalls:
        """See `Race.single_calls`."""
        one, round_length, steady_until = OneExample(self.ensemble, row), self.round_length, 0
        block = row[None], *np.zeros((2, 1), dtype=np.float32)

        def learn(label: float, importance: float) -> bool:
            nonlocal steady_until
            at, live = self.at, self.live
            left = round_length - at % round_length
            if at >= steady_until:
                steady_until = at + min(left, self.ensemble.steady(at))
            one.learn(label, importance, live, self.champion_slot)
            self.at = at + 1
            if self.head.entities or left == 1:
                block[1][0], block[2][0] = label, importance
                self.head.learn(self, *block)
            if at + 1 < steady_until:
                return False
            self.ensemble.move(at + 1, live)
            return left == 1

        return lambda: one.predict(self.live, self.champion_slot), learn

    def notes(self) -> dict[str, float]:
        """See `Ensemble.notes`, and the ``season``: how many labels ago."""
        return self.ensemble.notes() | {"season": self.ensemble.expansion.period}

    def is_due(self) -> bool:
        """Return whether a round has ended."""
        return self.at % self.round_length == 0

    def model(self) -> Race:
        """See `Race.model`; the race itself, as its models see what it computes."""
        return self

    def decide(self) -> Iterator[Event]:
        """Test Better, else Worse and the leases; then fill free slots."""
        if not self.is_due():
            return
        n, best = self.table.end_round(
            self.champion_slot, self.at, self._n_min, self.max_terms, self.ensemble.achieved,
            self._passes_log_point(),
        )  # fmt: skip
        yield from self._events(n)
        if best == TOO_LARGE:
            terms = {slot: float(self.terms[slot]) for slot in self.live.tolist()}
            yield from self._free_terms(terms, self.max_terms)
        elif best != NO_CHANGE:
            yield from self._promote(best)
        if best != NO_CHANGE:
            yield from self._fill()

    @property
    def table(self) -> RoundTable:
        """The arrays of slots and candidates, as compiled code takes them."""
        own = self.candidates
        return RoundTable(
            self.holders, self.terms, self.fresh_at, self.lease_of, self._reported_at,
            self.windows.starts, self.windows.sums, own.table, own.sizes, own.queue,
            self._decided, self._values, self.round_length, self.delta,
        )  # fmt: skip

    def _events(self, n: int) -> Iterator[Event]:
        """Yield the events of the first n decisions that were written; start and stop models."""
        self._live = None
        at, rows = self.at, zip(self._decided[:n].tolist(), self._values[:n].tolist(), strict=True)
        for (kind, slot, number, amount), (value, lower, upper) in rows:
            if kind == REPORT:
                yield BoundsUpdated(
                    at=at, configuration=number, value=value, lower=lower, upper=upper,
                    units=amount,
                )  # fmt: skip
            elif kind == START:
                yield LeaseGranted(
                    at=at, configuration=number, amount=amount, slot=slot,
                    source=self._start_model(slot, number),
                )  # fmt: skip
            elif kind == EXTEND:
                yield LeaseGranted(
                    at=at, configuration=number, amount=amount, slot=slot, fresh=False
                )
            else:
                self._credit(number, amount, value)
                self.models.stop(slot)
                yield (
                    Eliminated(at=at, configuration=number, reason="worse")
                    if kind == ELIMINATE
                    else Paused(
                        at=at, configuration=number, units=amount,
                        reason="lease ended below the median",
                    )
                )  # fmt: skip

    def _start_model(self, slot: int, number: int) -> int | None:
        """Start the model of `number`; return the champion if it is a branch of that."""
        configuration = self.configurations[number]
        parent = None if slot == self.champion_slot else self.champion_slot
        branches = (
            parent is not None
            and self.at > 0
            and configuration.extends(self.configurations[self.champion])
        )
        self.models.start(slot, configuration, parent if branches else None)
        # A branch shares the champion's past; a fresh model must first catch up with it.
        untrained = parent is not None and not branches
        self.ensemble.begin(slot, parent, untrained=untrained)
        return self.champion if branches else None

    def conclude(self) -> Iterator[Event]:
        """Yield the last losses and bounds, then as `Race.conclude`."""
        yield from self._report()
        yield from super().conclude()

    def _removable(self) -> Slots:
        """Return the challengers that may lose their slot: all but the initial configuration."""
        slots = self.live
        return np.asarray(slots[(slots != self.champion_slot) & (slots != BASE)])

    def _promote(self, slot: int) -> Iterator[Event]:
        """Make `slot` the champion and room for its frontier; begin all windows again."""
        yield from self._report()
        previous, self.champion = self.champion, int(self.holders[slot])
        self.champion_slot = slot
        yield ChampionChanged(at=self.at, configuration=self.champion, previous=previous)
        removable = self._removable()
        ranked = removable[np.argsort(self.losses[removable], kind="stable")]
        for other in ranked[len(ranked) // 2 :].tolist():
            yield self._pause(other, "made room for the new champion's challengers")
        self.candidates.forget_frontier()
        self.windows.begin(self.at)
        for other in self.live.tolist():
            yield self._extend(other, self._n_min)
        yield from self._consult_oracle()

    @property
    def _n_min(self) -> int:
        # A first row without any value has no features yet.
        return 5 * max(1, min(self.schema.n_features, NARROW))

    def _consult_oracle(self) -> Iterator[Event]:
        """Add the champion's frontier to S, as far as terms allow."""
        if self.b == 1:
            return
        # What a challenger can have if all other challengers go.
        most = self.max_terms - sum(self.terms[slot] for slot in {BASE, self.champion_slot})
        # The candidate that an oracle expects to be best comes last.
        terms, known, numbers = self.representations.terms, len(self.configurations), []
        for proposal in reversed(self._proposals()):
            if terms(proposal) <= most:
                number = yield from self.admit(self._named(proposal), self.champion)
                numbers.append(number)
        self.candidates.measure(map(terms, self.configurations[known:]), known)
        self.candidates.join(numbers, self.holders)

    def _proposals(self) -> list[VWConfiguration]:
        """Return the oracle's proposals for the champion, then other representations."""
        champion = self.configurations[self.champion]
        found = self.oracle(champion, champion.namespaces or self.schema.namespaces, self.random)
        return [*found, *self.representations.variants(champion)]

    def _named(self, configuration: VWConfiguration) -> VWConfiguration:
        """Return the configuration with its namespaces; if it names none, the raw features."""
        if configuration.namespaces is None:
            return replace(configuration, namespaces=self.representations.raw)
        return configuration

    def _fill(self) -> Iterator[Event]:
        """Give free slots to waiting configurations, as far as terms go."""
        n = self.table.fill_slots(self.at, self._n_min, self.max_terms)
        yield from self._events(n)

    def _extend(self, slot: int, lease: int) -> LeaseGranted:
        self.lease_of[slot] = lease
        before = int(self.windows.starts[slot] - self.fresh_at[slot])
        return self._granted(slot, before + lease, fresh=False)

    def _vacate(self, slot: int) -> float:
        self.terms[slot] = 0
        return super()._vacate(slot)

    def _achieved(self, slot: int) -> tuple[int, float]:
        return self.at - int(self.fresh_at[slot]), float(self.ensemble.achieved[slot])

    def grow(self, schema: Schema) -> list[Event]:
        """See `Race.grow`; models with features of a kind get those of new namespaces too."""
        wider = represent(schema)
        terms = {
            slot: wider.terms(wider.whole(self.configurations[self.holders[slot]]))
            for slot in self.live.tolist()
        }
        # What cannot be laid out goes at once; the rest keeps the prediction until the round ends.
        events = list(self._free_terms(terms, sys.float_info.max))
        self.models.grow(wider.schema)
        widened = schema.namespaces != self.schema.namespaces
        self.schema = schema
        self._measure()
        self.ensemble.grow(schema.n_features)
        self._one = None
        self.head.grow(schema.origins)
        if widened:
            self._make_whole()
        # Slots are filled at the end of the round.
        return [*events, *self._consult_oracle()] if widened else events

    def _make_whole(self) -> None:
        """Let configurations with features of a kind have those of all namespaces."""
        self.configurations = list(map(self.representations.whole, self.configurations))
        self._numbers = {known: number for number, known in enumerate(self.configurations)}
        for slot in self.live.tolist():
            self.models.extend(slot, self.configurations[self.holders[slot]])
        self._measure()

    def _free_terms(self, terms: dict[int, float], most: float) -> Iterator[Event]:
        """Pause the largest of the live models until all have at most so many terms.

        A champion that is too large for c_init hands over to the best of those that are not.
        """
        left = [slot for slot in terms if slot == BASE or terms[slot] <= most - terms[BASE]]
        if self.champion_slot not in left:
            yield from self._promote(min(left, key=self.losses.__getitem__))
        for slot in sorted(self._removable().tolist(), key=terms.__getitem__, reverse=True):
            if sum(terms[other] for other in self.live.tolist()) > most:
                yield self._pause(slot, "made room for more features")

    def _measure(self) -> None:
        self.representations = represent(self.schema)
        self.candidates.measure(map(self.representations.terms, self.configurations))
        self.words = words_of(self.schema, self.representations)
        self.max_terms = max(self.max_terms, self.representations.least_terms)
        for slot in self.live.tolist():
            self.terms[slot] = self.candidates.sizes[self.holders[slot]]

    def _report(self) -> Iterator[Event]:
        """Yield mean losses with their bounds."""
        n = self.table.report_live(self.champion_slot, self.at)
        yield from self._events(n)

    def _standing(self, slot: int) -> dict[str, float]:
        return {
            "examples": self.at - int(self.fresh_at[slot]),
            "lease": float(self.lease_of[slot]),
            "loss": float(self.losses[slot] / max(self.ensemble.known.totals[MASS], 1.0)),
        }

    def state(self) -> dict[str, Any]:
        """See `Saved.state`."""
        return super().state() | {"head": self.head.state()}

    def fill(self, state: Any) -> None:
        """See `Race.fill`."""
        self.candidates.measure([0.0] * len(state["configurations"]))
        super().fill(state)
        self._measure()
        self.head.restore(self, state["head"])
        self.champion_slot = self.slot_of(self.champion)
