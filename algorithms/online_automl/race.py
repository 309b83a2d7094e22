"""Race of configurations for live slots while examples come."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from typing import Any, ClassVar

import numpy as np

from leaseboard.algorithms import events
from leaseboard.algorithms.arrays import Floats, Slots
from leaseboard.algorithms.environments.stream import next_log_point
from leaseboard.algorithms.online.kernel import KernelModels
from leaseboard.algorithms.online.schema import Schema, VWConfiguration
from leaseboard.algorithms.online_automl.members.pool import ClassPool
from leaseboard.algorithms.online_automl.safe.representations import Words
from leaseboard.algorithms.plain import Saved

State = dict[str, Any]


EMPTY = -1
"""What `Race.holders` says of a slot without a model."""


class Race(Saved, ABC):
    """Live models learn until a decision is due; decisions determine which are live from then on.

    ``open``, then `learn` and `decide` in turns until the examples end, then `conclude`.

    Parameters
    ----------
    schema : Schema
    models : KernelModels
    random : numpy.random.RandomState
        All that the race draws from.
    counted : Ensemble or Steps
        Counts the examples that were learned: ``at``.

    Attributes
    ----------
    b : int
        Slots for live models.
    configurations : list of VWConfiguration
        All that were ever admitted, by number.
    champion : int
        The number of the champion.
    holders : ndarray of int64, shape (b,)
        The number of the configuration in each slot, or `EMPTY`.
    words : Words
        Descriptions of the configurations, in the names of columns.
    calls : RowCalls
        What predicts and learns an example in a row, see `bind`.
    tallies : dict of int to (float, float)
        Examples that each configuration learned in slots that it has left, and the sum of its
        losses there, as the environment scores them.
    """

    kept: ClassVar[tuple[str, ...]] = ("champion", "holders", "tallies", "_log_point")
    """The attributes that are part of `state`."""

    way: ClassVar[Any]
    """The type of `calls`."""

    def __init__(
        self, schema: Schema, models: KernelModels, random: np.random.RandomState, counted: Any
    ) -> None:
        self.schema, self.models, self.random = schema, models, random
        self.b, self.counted = models.n_slots, counted
        self.words = Words(schema)
        self.champion = 0
        self.configurations: list[VWConfiguration] = []
        self.holders = np.full(self.b, EMPTY)
        self.tallies: dict[int, tuple[float, float]] = {}
        self._numbers: dict[VWConfiguration, int] = {}
        self._live: Slots | None = None
        self._log_point = 1

    @property
    def at(self) -> int:
        """Examples learned."""
        return int(self.counted.at)

    @property
    def live(self) -> Slots:
        """The occupied slots."""
        if self._live is None:  # a race holds and vacates slots all the time
            self._live = (self.holders != EMPTY).nonzero()[0]
        return self._live

    # -- the stream ---------------------------------------------------------------------------

    @abstractmethod
    def open(self) -> Iterator[events.Event]:
        """Admit the initial configuration as champion, and its challengers."""

    def bind(self, row: Floats | None = None) -> Any:
        """Let examples be written into `row`, or a new one; return `calls`.

        They are for as long as the race has this schema and the row is kept.
        """
        if row is None:
            row = np.zeros(self.schema.n_features, dtype=np.float32)
        self.calls = self.way(self, row)
        return self.calls

    def predict(self, example: Floats, *, later: bool = False) -> float:
        """Return the prediction for one example of shape (n_features,); nothing is learned.

        If it is for `later`, past labels are not known, as others wait for theirs.
        """
        self.calls.write(example)
        return float(self.calls.predict())

    def learn(self, examples: Floats, labels: Floats, importances: Floats) -> Floats:
        """Learn until a decision is due or the examples end.

        Parameters
        ----------
        examples : ndarray of float32, shape (n, n_features)
        labels, importances : ndarray of float32, shape (n,)

        Returns
        -------
        ndarray of float32
            Progressive predictions of what was learned.
        """
        found = np.empty(len(labels), dtype=np.float32)
        block = map(np.ascontiguousarray, (examples, labels, importances))
        return found[: self.calls.learn_many(*block, found)]

    def is_due(self) -> bool:
        """Return whether what was learned calls for a decision."""
        return bool(self.calls.due)

    @abstractmethod
    def decide(self) -> Iterator[events.Event]:
        """Take the decisions that are due."""

    def notes(self) -> dict[str, float]:
        """Return metrics of the race in addition to its score."""
        return {}

    def release_pool(self) -> ClassPool | None:
        """Return the nonlinear members, if there are any; the race goes on without them."""
        return None

    def share(self, shares: int) -> None:
        """Share memory for examples with others, so many in all, before anything is learned."""

    def require_fit(self, schema: Schema) -> None:
        """Raise ValueError if a live model would have too many terms with `schema`'s columns."""

    @abstractmethod
    def grow(self, schema: Schema) -> list[events.Event]:
        """Go on with a schema of more columns, see `require_fit`; return the events.

        S grows by what new namespaces make possible.
        """

    def conclude(self) -> Iterator[events.Event]:
        """Yield what each configuration achieved; nothing may follow."""
        for slot in self.live.tolist():
            self._bank(slot)
        for number, (units, total) in sorted(self.tallies.items()):
            if units:
                yield events.ConfigurationScored(
                    at=self.at, configuration=number, value=total / units, units=units
                )

    # -- configurations and slots --------------------------------------------------------------

    def slot_of(self, number: int) -> int:
        """Return where the configuration is live, or `EMPTY`."""
        return next(iter(np.flatnonzero(self.holders == number).tolist()), EMPTY)

    def parameters(self, configuration: VWConfiguration) -> dict[str, Any]:
        """Return what a configuration chose as plain values, in the names of columns."""
        return self.words.parameters(configuration)

    def standings(self) -> list[dict[str, Any]]:
        """Return the live models by slot: hyperparameters, examples learned, lease, loss."""
        return [
            {
                **self.parameters(self.configurations[self.holders[slot]]),
                "champion": bool(self.holders[slot] == self.champion),
                **self._standing(slot),
            }
            for slot in self.live.tolist()
        ]

    @abstractmethod
    def _standing(self, slot: int) -> dict[str, float]:
        """Return what the race knows of the model in `slot`."""

    @abstractmethod
    def _achieved(self, slot: int) -> tuple[float, float]:
        """Return how much the model in `slot` has learned, and its sum of the scored losses."""

    def admit(
        self, configuration: VWConfiguration, parent: int | None
    ) -> Generator[events.Event, None, int]:
        """Admit a configuration, unless it is known; return its number."""
        known = len(self.configurations)
        number = self._number(configuration)
        if number == known:
            yield events.ConfigurationAdmitted(
                at=self.at,
                configuration=number,
                parameters=self.parameters(self.configurations[number]),
                parent=parent,
                origin="initial" if parent is None else "oracle",
            )
        return number

    def _number(self, configuration: VWConfiguration) -> int:
        """Return the number of a configuration, the next one if it is not known."""
        number = self._numbers.setdefault(configuration, len(self.configurations))
        if number == len(self.configurations):
            self.configurations.append(configuration)
        return number

    def _granted(
        self, slot: int, amount: float, *, fresh: bool = True, source: int | None = None
    ) -> events.LeaseGranted:
        """Return the event of a lease for the model in `slot`."""
        number = int(self.holders[slot])
        return events.LeaseGranted(
            at=self.at, configuration=number, amount=amount, slot=slot, fresh=fresh, source=source
        )

    def _vacate(self, slot: int) -> float:
        """Empty the slot; return how much its model had learned."""
        units = self._bank(slot)
        self.models.stop(slot)
        self._hold(slot, EMPTY)
        return units

    def _hold(self, slot: int, number: int) -> None:
        self.holders[slot] = number
        self._live = None

    def _pause(self, slot: int, reason: str) -> events.Paused:
        number, units = int(self.holders[slot]), self._vacate(slot)
        return events.Paused(at=self.at, configuration=number, units=units, reason=reason)

    def _eliminate(self, slot: int, reason: str) -> events.Eliminated:
        number = int(self.holders[slot])
        self._vacate(slot)
        return events.Eliminated(at=self.at, configuration=number, reason=reason)

    def _bank(self, slot: int) -> float:
        """Add what the model in `slot` achieved to its configuration's account."""
        number, (units, total) = int(self.holders[slot]), self._achieved(slot)
        units_before, total_before = self.tallies.get(number, (0, 0.0))
        self.tallies[number] = units_before + units, total_before + total
        return units

    def _passes_log_point(self) -> bool:
        """Return whether the bounds of all live models are due, which is ever more seldom."""
        passed = self.at >= self._log_point
        while self._log_point <= self.at:
            self._log_point = next_log_point(self._log_point)
        return passed

    # -- state --------------------------------------------------------------------------------

    def state(self) -> State:
        """See `Saved.state`."""
        return {
            "race": super().state(),
            "configurations": [
                [one.interactions, one.learning_rate, one.namespaces]
                for one in self.configurations
            ],
            "models": [self.models.state(slot) for slot in self.live.tolist()],
            "random": dict(self.random.get_state(legacy=False)),
        }

    def fill(self, state: Any) -> None:
        """See `Saved.fill`."""
        for interactions, rate, kept in state["configurations"]:
            seen = None if kept is None else tuple(map(str, kept))
            self._number(VWConfiguration(tuple(map(tuple, interactions)), float(rate), seen))
        super().fill(state["race"])
        self._live = None
        numbers = self.holders[self.live].tolist()
        for slot, number, one in zip(self.live.tolist(), numbers, state["models"], strict=True):
            self.models.restore(slot, self.configurations[number], one)
        self.random.set_state(state["random"])
