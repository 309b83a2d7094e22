"""The race of the default: rounds, branches, paired tests, and a mixture."""

import math
import sys
from bisect import insort
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from leaseboard.algorithms import events
from leaseboard.algorithms.arrays import Floats, Slots
from leaseboard.algorithms.online.schema import Schema, VWConfiguration
from leaseboard.algorithms.online_automl.members.pool import ClassPool
from leaseboard.algorithms.online_automl.oracle import RATES, with_interactions
from leaseboard.algorithms.online_automl.race import EMPTY, Race
from leaseboard.algorithms.online_automl.safe.bayes import logit
from leaseboard.algorithms.online_automl.safe.expansion import NARROW, RIDGE
from leaseboard.algorithms.online_automl.safe.later import Head, without_past
from leaseboard.algorithms.online_automl.safe.mixture import (
    BASE,
    LOSS,
    LOSS_SQUARES,
    MASS,
    SQUARES,
    critical_value,
    judge,
    looks_at,
)
from leaseboard.algorithms.online_automl.safe.predictor import Ensemble, OneExample
from leaseboard.algorithms.online_automl.safe.representations import Words, represent
from leaseboard.algorithms.plain import Saved


class Candidates(Saved):
    """S of the paper, with the leases that its members have reached.

    Attributes
    ----------
    frontier, eliminated : set of int
        Configurations that the oracle proposed for the present champion, and those that have left
        for good.
    pending : list of int
        Members of the frontier that are not live, in the order in which they get free slots
        (Choose, algorithm 3): first those that never had a lease, then by the least lease; among
        equals in the order in which they came.
    leases : dict of int to int
        What each gets after a pause, in examples.
    """

    kept = ("frontier", "pending", "eliminated", "leases")

    def __init__(self) -> None:
        self.eliminated: set[int] = set()
        self.forget_frontier()

    def forget_frontier(self) -> None:
        """Forget all but the eliminated: a new champion brings its own frontier."""
        self.frontier: set[int] = set()
        self.pending: list[int] = []
        self.leases: dict[int, int] = {}

    def join(self, numbers: Iterable[int], live: Iterable[int]) -> None:
        """Add configurations to the frontier; those wait that are neither live nor eliminated."""
        out = {*live, *self.pending, *self.eliminated}
        for number in dict.fromkeys(numbers):
            self.frontier.add(number)
            if number not in out:
                self._wait(number)

    def pause(self, number: int, lease: int) -> None:
        """Let a configuration wait for such a lease, if it is still in the frontier."""
        self.leases[number] = lease
        if number in self.frontier:
            self._wait(number)

    def _wait(self, number: int) -> None:
        insort(self.pending, number, key=lambda each: self.leases.get(each, 0))


class SafeRace(Race):
    """Race of the default, see `leaseboard.algorithms.online_automl.online_automl`.

    Parameters
    ----------
    schema, random
        See `Race`.
    ensemble : Ensemble
        With the models, which choose representations
        (`leaseboard.algorithms.online_automl.safe.representations`).
    delta, round_length, max_terms
        See `leaseboard.algorithms.online_automl.online_automl.OnlineAutoML`.

    Attributes
    ----------
    terms, fresh_at, lease_of, starts : list of int
        Of each slot: how many of its features are not 0 at a time; after which example it went
        live; the example before which its window begins, from when it is the champion's
        challenger; and its lease, in examples from there on.
    sizes : list of float
        Terms of each configuration.
    """

    way = OneExample
    kept = (
        *(*Race.kept, "terms", "fresh_at", "lease_of", "_reported_at", "starts"),
        *("candidates", "ensemble"),
    )

    def __init__(
        self,
        schema: Schema,
        ensemble: Ensemble,
        random: np.random.RandomState,
        *,
        delta: float,
        round_length: int,
        max_terms: float,
    ) -> None:
        self.ensemble, self.losses = ensemble, ensemble.known.losses
        super().__init__(schema, ensemble.models, random, ensemble)
        self.round_length = round_length
        self.bind()
        self.head = Head(ensemble, schema)
        ensemble.champion = BASE
        self.candidates = Candidates()
        self.delta, self.max_terms, self.sizes = delta, max_terms, list[float]()
        self.sums = ensemble.known.sums
        self.terms, self.fresh_at, self.lease_of, self.starts, self._reported_at = (
            [0] * self.b for _ in range(5)
        )
        self._measure()

    def share(self, shares: int) -> None:
        """See `Race.share`."""
        self.ensemble.share(self.schema.n_features, shares)

    def release_pool(self) -> ClassPool | None:
        """See `Race.release_pool`."""
        pool, self.ensemble.pool = self.ensemble.pool, None
        return pool if isinstance(pool, ClassPool) else None

    def open(self) -> Iterator[events.Event]:
        """Admit the initial configuration as champion, and its challengers."""
        yield from self.admit(self._named(VWConfiguration()), None)
        self._measure()
        self.candidates.join([BASE], ())
        yield from self._fill()
        self.candidates.forget_frontier()
        yield events.ChampionChanged(at=0, configuration=BASE, previous=None)
        yield from self._consult_oracle()
        yield from self._fill()
        self.ensemble.follow(self.live)

    def predict(self, example: Floats, *, later: bool = False) -> float:
        """Return the mixture's prediction, for classes log odds; see `Race.predict`."""
        self.calls.write(example)
        return without_past(self) if later else float(self.calls.predict())

    def late_margins(self, example: Floats) -> tuple[float, float, float]:
        """Return what it predicts of a class without past labels, by ridge alone, by the last.

        For classes: log odds, by the last labels that are known as if they came just before.
        """
        later = self.predict(example, later=True)
        ridge = logit(self.calls.row.values[self.b + RIDGE])
        return later, ridge, float(self.calls.predict())

    def notes(self) -> dict[str, float]:
        """See `Ensemble.notes`, and the ``season``: how many labels ago."""
        return self.ensemble.notes() | {"season": self.ensemble.expansion.period}

    def decide(self) -> Iterator[events.Event]:
        """Test Better, else Worse and the leases; then fill free slots."""
        self.head.look(self)
        if self._passes_log_point():
            yield from self._report(self.live.tolist())
        if sum(self.terms) > self.max_terms:  # there were fewer columns when they came
            terms = {slot: float(self.terms[slot]) for slot in self.live.tolist()}
            yield from self._free_terms(terms, self.max_terms)
        else:
            best, worse, ended = judge(
                self.sums, self.starts, self.lease_of, self.live, self.ensemble.champion, self.at,
                self._n_compared, self.round_length, self.delta, len(self.candidates.pending),
            )  # fmt: skip
            if best != EMPTY:
                yield from self._promote(best)
            else:
                yield from self._eliminate_worse(worse)
                yield from self._end_leases(ended)
        yield from self._fill()
        self.ensemble.follow(self.live)

    def _eliminate_worse(self, slots: list[int]) -> Iterator[events.Event]:
        """Let what is proved worse than the champion leave for good, while others wait."""
        if slots:
            yield from self._report([*slots, self.ensemble.champion])
        for slot in slots:
            self.candidates.eliminated.add(int(self.holders[slot]))
            yield self._eliminate(slot, "worse")

    def _end_leases(self, ended: dict[int, bool]) -> Iterator[events.Event]:
        """Double each lease; what `is_below` the median makes room for what waits."""
        yield from self._report(ended)
        waits = bool(self.candidates.pending)
        for slot, is_below in ended.items():
            lease = 2 * self.lease_of[slot]
            if waits and is_below:
                self.candidates.pause(int(self.holders[slot]), lease)
                yield self._pause(slot, "lease ended below the median")
            else:
                yield self._extend(slot, lease)

    @property
    def _n_compared(self) -> int:
        """How many are compared with the champion, |S|; 1 if none is."""
        return max(1, len(self.live) - 1 + len(self.candidates.pending))

    def _start_model(self, slot: int, number: int) -> int | None:
        """Start the model of `number`; return the champion if it is a branch of that."""
        configuration = self.configurations[number]
        parent = None if slot == self.ensemble.champion else self.ensemble.champion
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

    def conclude(self) -> Iterator[events.Event]:
        """Yield the last losses and bounds, then as `Race.conclude`."""
        yield from self._report(self.live.tolist())
        yield from super().conclude()

    def _removable(self) -> Slots:
        """Return the challengers that may lose their slot: all but the initial configuration."""
        slots = self.live
        return np.asarray(slots[(slots != self.ensemble.champion) & (slots != BASE)])

    def _promote(self, slot: int) -> Iterator[events.Event]:
        """Make `slot` the champion and room for its frontier; begin all windows again."""
        yield from self._report(self.live.tolist())
        previous, self.champion = self.champion, int(self.holders[slot])
        self.ensemble.champion = slot
        yield events.ChampionChanged(at=self.at, configuration=self.champion, previous=previous)
        removable = self._removable()
        ranked = removable[np.argsort(self.losses[removable], kind="stable")]
        for other in ranked[len(ranked) // 2 :].tolist():
            yield self._pause(other, "made room for the new champion's challengers")
        self.candidates.forget_frontier()
        self.sums[:], self.starts = 0.0, [self.at] * self.b
        for other in self.live.tolist():
            yield self._extend(other, self._n_min)
        yield from self._consult_oracle()

    @property
    def _n_min(self) -> int:
        # A first row without any value has no features yet.
        return 5 * max(1, min(self.schema.n_features, NARROW))

    def _consult_oracle(self) -> Iterator[events.Event]:
        """Add the champion's frontier to S, as far as terms allow."""
        if self.b == 1:
            return
        # What a challenger can have if all other challengers go.
        most = self.max_terms - sum(self.terms[slot] for slot in {BASE, self.ensemble.champion})
        # The candidate that is expected to be best comes last.
        terms, known, numbers = self.representations.terms, len(self.configurations), []
        for proposal in reversed(self._proposals()):
            if terms(proposal) <= most:
                number = yield from self.admit(self._named(proposal), self.champion)
                numbers.append(number)
        self.sizes += map(terms, self.configurations[known:])
        self.candidates.join(numbers, self.holders.tolist())

    def _proposals(self) -> list[VWConfiguration]:
        """Return candidates, the likely best last; one may be the champion itself.

        The champion with one more pair of namespaces, shuffled, at other rates, then in other
        representations. A rate costs no further terms and is judged after fewer examples than an
        interaction.
        """
        champion = self.configurations[self.champion]
        names = champion.namespaces or self.schema.namespaces
        pairs = with_interactions(champion, names, self.random, max_order=2)
        rates = (replace(champion, learning_rate=rate) for rate in reversed(RATES))
        return [*pairs, *rates, *self.representations.variants(champion)]

    def _named(self, configuration: VWConfiguration) -> VWConfiguration:
        """Return the configuration with its namespaces; if it names none, the raw features."""
        if configuration.namespaces is None:
            return replace(configuration, namespaces=self.representations.raw)
        return configuration

    def _fill(self) -> Iterator[events.Event]:
        """Give free slots to waiting configurations, as far as terms go."""
        free = np.flatnonzero(self.holders == EMPTY).tolist()
        left, pending = self.max_terms - sum(self.terms), self.candidates.pending
        for number in [*pending] if free else ():
            if self.sizes[number] > left:
                continue
            pending.remove(number)
            slot, left = free.pop(0), left - self.sizes[number]
            # It begins a window and a lease.
            self.terms[slot], self.sums[slot] = int(self.sizes[number]), 0.0
            self.fresh_at[slot] = self.starts[slot] = self.at
            self.lease_of[slot] = lease = self.candidates.leases.get(number, self._n_min)
            self._hold(slot, number)
            yield self._granted(slot, lease, source=self._start_model(slot, number))
            if not free:
                break

    def _extend(self, slot: int, lease: int) -> events.LeaseGranted:
        self.lease_of[slot] = lease
        before = self.starts[slot] - self.fresh_at[slot]
        return self._granted(slot, before + lease, fresh=False)

    def _vacate(self, slot: int) -> float:
        self.terms[slot] = 0
        return super()._vacate(slot)

    def _achieved(self, slot: int) -> tuple[int, float]:
        return self.at - self.fresh_at[slot], float(self.ensemble.achieved[slot])

    def grow(self, schema: Schema) -> list[events.Event]:
        """See `Race.grow`; models with features of a kind get those of new namespaces too."""
        wider = represent(schema)
        terms = {
            slot: wider.terms(wider.whole(self.configurations[self.holders[slot]]))
            for slot in self.live.tolist()
        }
        # What cannot be laid out goes at once; the rest keeps the prediction until the round ends.
        freed = list(self._free_terms(terms, sys.float_info.max))
        self.models.grow(wider.schema)
        widened = schema.namespaces != self.schema.namespaces
        self.schema = schema
        self._measure()
        self.ensemble.grow(schema.origins, schema.n_features)
        self.bind()
        self.head.grow(schema.origins)
        if widened:
            self._make_whole()
        self.ensemble.follow(self.live)  # slots are filled at the end of the round
        return [*freed, *self._consult_oracle()] if widened else freed

    def _make_whole(self) -> None:
        """Let configurations with features of a kind have those of all namespaces."""
        self.configurations = list(map(self.representations.whole, self.configurations))
        self._numbers = {known: number for number, known in enumerate(self.configurations)}
        for slot in self.live.tolist():
            self.models.start(slot, self.configurations[self.holders[slot]], slot)
        self._measure()

    def _free_terms(self, terms: dict[int, float], most: float) -> Iterator[events.Event]:
        """Pause the largest of the live models until all have at most so many terms.

        A champion that is too large for c_init hands over to the best of those that are not.
        """
        left = [slot for slot in terms if slot == BASE or terms[slot] <= most - terms[BASE]]
        if self.ensemble.champion not in left:
            yield from self._promote(min(left, key=self.losses.__getitem__))
        for slot in sorted(self._removable().tolist(), key=terms.__getitem__, reverse=True):
            if sum(terms[other] for other in self.live.tolist()) > most:
                yield self._pause(slot, "made room for more features")

    def _measure(self) -> None:
        self.representations = represent(self.schema)
        self.sizes = list(map(self.representations.terms, self.configurations))
        self.words = Words(self.schema, self.representations)
        self.max_terms = max(self.max_terms, self.representations.least_terms)
        for slot in self.live.tolist():
            self.terms[slot] = int(self.sizes[self.holders[slot]])

    def _report(self, slots: Iterable[int]) -> Iterator[events.Event]:
        """Yield mean losses with their bounds, of each model once at most after an example.

        A challenger's radius is that of its mean difference from the champion: the tests are
        whether its bounds leave out the champion's loss on the same examples. The champion, which
        does not differ from itself, has the radius of its own loss around its mean.
        """
        n_compared = self._n_compared
        for slot in slots:
            seen = self.at - self.starts[slot]
            if self._reported_at[slot] == self.at or not seen:
                continue
            self._reported_at[slot] = self.at
            sums = self.sums[slot].tolist()
            loss, spread = sums[LOSS] / seen, sums[SQUARES]
            if slot == self.ensemble.champion:
                spread = max(sums[LOSS_SQUARES] - seen * (loss * loss), 0.0)
            looks = looks_at(seen, self.round_length)
            width = critical_value(n_compared, looks, self.delta) * math.sqrt(spread) / seen
            yield events.BoundsUpdated(
                at=self.at, configuration=int(self.holders[slot]), value=loss,
                lower=max(loss - width, 0.0), upper=loss + width,
                units=self.at - self.fresh_at[slot],
            )  # fmt: skip

    def _standing(self, slot: int) -> dict[str, float]:
        return {
            "examples": self.at - self.fresh_at[slot],
            "lease": float(self.lease_of[slot]),
            "loss": float(self.losses[slot] / max(self.ensemble.known.totals[MASS], 1.0)),
        }

    def state(self) -> dict[str, Any]:
        """See `Saved.state`."""
        return super().state() | {"head": self.head.state()}

    def fill(self, state: Any) -> None:
        """See `Race.fill`."""
        super().fill(state)
        self._measure()
        self.head.restore(self, state["head"])
        self.ensemble.champion = self.slot_of(self.champion)
        self.ensemble.follow(self.live)
