"""The auditor: checks every event of every job and fails one that breaks an invariant."""

from typing import Any

from leaseboard.algorithms import events
from leaseboard.algorithms.errors import AuditError

_OF_LIVING = (events.LeaseGranted, events.Eliminated, events.ConfigurationFailed,
              events.ChampionChanged, events.TrialFinished, events.ProbeFinished,
              events.Decision)  # fmt: skip
"""Events that no configuration has after it left consideration; a trial is its arm's."""


class Auditor:
    """A sink that raises `AuditError` at the first event which no honest scheduler can yield.

    What it keeps says how the job began, who its champion is, and how it ended.

    - the log starts with `Started`, ends with `Finished`, and never goes back in time;
    - the budget is conserved: nothing happens after it is spent;
    - only admitted configurations are spoken of, each admitted once, numbered from 0;
    - no lease, trial, probe or decision goes to a configuration that was eliminated or failed;
    - a lease is positive; it extends a live configuration or starts one afresh;
    - at most `capacity` configurations are live, and a slot holds one of them;
    - every lower bound is at most its upper bound;
    - the champion is alive.
    """

    def __init__(self) -> None:
        self.started: events.Started | None = None
        self.finished: events.Finished | None = None
        self.at = 0.0
        self.parameters: list[events.Parameters] = []
        self.seeds: dict[int, int | None] = {}
        self.dead: set[int] = set()
        self.live: dict[int, int | None] = {}
        self.champion: int | None = None

    def __call__(self, event: events.Event) -> None:
        """Check one event; the events must come in order."""
        if violation := self._misplaced(event) or self._violation(event):
            raise AuditError(f"audit at {event.at:g} units: {violation}")
        self.at = event.at
        match event:
            case events.Started():
                self.started = event
            case events.ConfigurationAdmitted():
                self.parameters.append(event.parameters)
            case events.LeaseGranted():
                self.live[event.configuration] = event.slot
            case events.Paused():
                del self.live[event.configuration]
            case events.Eliminated() | events.ConfigurationFailed():
                self.dead.add(event.configuration)
                self.live.pop(event.configuration, None)
            case events.ChampionChanged():
                self.champion = event.configuration
            case events.TrialFinished():
                self.seeds[event.configuration] = event.seed
            case events.Finished():
                self.finished = event

    def close(self) -> events.Finished:
        """Check that the log is complete; its last event."""
        if self.finished is None:
            raise AuditError(f"audit at {self.at:g} units: the log ends without Finished")
        return self.finished

    def _misplaced(self, event: events.Event) -> str:
        """Return how an event breaks the order of all events; empty if it does not."""
        begins = isinstance(event, events.Started)
        if self.finished is not None:
            return f"{type(event).__name__} after Finished"
        if self.started is None:
            return "" if begins else "the first event is not Started"
        if begins:
            return "started twice"
        if not event.at >= self.at:
            return f"time went back from {self.at} to {event.at}"
        within = event.at <= self.started.budget
        return "" if within else f"{event.at} units consumed of a budget of {self.started.budget}"

    def _violation(self, event: events.Event) -> str:  # noqa: PLR0911
        """Return how an event is at odds with those before it; empty if it is not."""
        number: Any = getattr(event, "configuration", None)
        named: set[Any] = {number, getattr(event, "arm", None), getattr(event, "parent", None)} - {
            None
        }
        if isinstance(event, events.ConfigurationAdmitted):
            named -= {number}
            if number != len(self.parameters):
                return f"configuration {number} admitted, expected {len(self.parameters)}"
        for one in named:
            if not 0 <= one < len(self.parameters):
                return f"configuration {one} was never admitted"
        if isinstance(event, _OF_LIVING):
            one = getattr(event, "arm", number)
            if one in self.dead:
                return f"configuration {one} has a {type(event).__name__} after it left"
        if isinstance(event, events.LeaseGranted):
            return self._lease_violation(event)
        if isinstance(event, events.BoundsUpdated) and not event.lower <= event.upper:
            return f"configuration {number} has {event.lower} above upper bound {event.upper}"
        if isinstance(event, events.ConfigurationScored) and not 0 < event.units <= event.at:
            return f"configuration {number} scored on {event.units} units of {event.at}"
        if isinstance(event, events.Paused) and number not in self.live:
            return f"configuration {number} paused but it is not live"
        leaves = isinstance(event, events.Eliminated | events.ConfigurationFailed)
        if leaves and number == self.champion:
            return f"the champion {number} left consideration"
        if isinstance(event, events.ChampionChanged) and event.previous != self.champion:
            return f"champion {self.champion} replaced as if it were {event.previous}"
        return ""

    def _lease_violation(self, event: events.LeaseGranted) -> str:
        number, holders = event.configuration, {slot: one for one, slot in self.live.items()}
        live = {number, *self.live}
        capacity = self.started.capacity if self.started else None
        if not event.amount > 0:
            return f"a lease of {event.amount} is not positive"
        if not event.fresh and number not in self.live:
            return f"the lease of {number} was extended but it is not live"
        if event.slot is not None and holders.get(event.slot, number) != number:
            return f"slot {event.slot} given to {number} while {holders[event.slot]} holds it"
        if capacity is not None and len(live) > capacity:
            return f"{len(live)} configurations are live, the capacity is {capacity}"
        return ""
