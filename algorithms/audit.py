"""The auditor: checks every event of every job and fails one that breaks an invariant."""

from typing import assert_never

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

    def __call__(self, event: events.Event) -> None:  # noqa: C901, PLR0912  (a case for every kind)
        """Check one event; the events must come in order."""
        self._check_order(event)
        number = getattr(event, "configuration", None)
        if number is not None and not isinstance(event, events.ConfigurationAdmitted):
            self._require_known(number)
        if isinstance(event, _OF_LIVING):
            one = event.arm if isinstance(event, events.TrialFinished) else event.configuration
            self._require_known(one)
            kind = type(event).__name__
            self._require(one not in self.dead, f"configuration {one} has a {kind} after it left")
        match event:
            case events.Started():
                self.started = event
            case events.ConfigurationAdmitted():
                self._require(
                    number == len(self.parameters),
                    f"configuration {number} admitted, expected {len(self.parameters)}",
                )
                if event.parent is not None:
                    self._require_known(event.parent)
                self.parameters.append(event.parameters)
            case events.LeaseGranted():
                self._check_lease(event)
            case events.BoundsUpdated():
                self._require(
                    event.lower <= event.upper,
                    f"configuration {number} has lower bound {event.lower} above upper bound"
                    f" {event.upper}",
                )
            case events.ConfigurationScored():
                self._require(
                    0 < event.units <= event.at,
                    f"configuration {number} scored on {event.units} units of {event.at}",
                )
            case events.Paused():
                self._require(
                    event.configuration in self.live,
                    f"configuration {number} paused but it is not live",
                )
                del self.live[event.configuration]
            case events.Eliminated() | events.ConfigurationFailed():
                self._require(number != self.champion, f"the champion {number} left consideration")
                self.dead.add(event.configuration)
                self.live.pop(event.configuration, None)
            case events.ChampionChanged():
                self._require(
                    event.previous == self.champion,
                    f"champion {self.champion} replaced as if it were {event.previous}",
                )
                self.champion = number
            case events.TrialFinished():
                self.seeds[event.configuration] = event.seed
            case events.ProbeFinished() | events.Decision() | events.Measured():
                pass  # a score may be any number, and its time is checked above
            case events.Finished():
                self.finished = event
            case _:
                assert_never(event)

    def close(self) -> events.Finished:
        """Check that the log is complete; its last event."""
        self._require(self.finished is not None, "the log ends without Finished")
        assert self.finished is not None
        return self.finished

    def _check_order(self, event: events.Event) -> None:
        self._require(self.finished is None, f"{type(event).__name__} after Finished")
        if self.started is None:
            self._require(isinstance(event, events.Started), "the first event is not Started")
            return
        self._require(not isinstance(event, events.Started), "started twice")
        self._require(event.at >= self.at, f"time went back from {self.at} to {event.at}")
        budget = self.started.budget
        self._require(event.at <= budget, f"{event.at} units consumed of a budget of {budget}")
        self.at = event.at

    def _check_lease(self, event: events.LeaseGranted) -> None:
        self._require(event.amount > 0, f"a lease of {event.amount} is not positive")
        if not event.fresh:
            self._require(
                event.configuration in self.live,
                f"the lease of {event.configuration} was extended but it is not live",
            )
        if event.slot is not None:
            holder = next((c for c, slot in self.live.items() if slot == event.slot), None)
            self._require(
                holder in (None, event.configuration),
                f"slot {event.slot} given to {event.configuration} while {holder} holds it",
            )
        self.live[event.configuration] = event.slot
        capacity = self.started.capacity if self.started else None
        self._require(
            capacity is None or len(self.live) <= capacity,
            f"{len(self.live)} configurations are live, the capacity is {capacity}",
        )

    def _require_known(self, configuration: int) -> None:
        self._require(
            0 <= configuration < len(self.parameters),
            f"configuration {configuration} was never admitted",
        )

    def _require(self, holds: bool, violation: str) -> None:
        if not holds:
            raise AuditError(f"audit at {self.at:g} units: {violation}")
