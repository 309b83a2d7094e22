"""Readers of a log: the auditor, and what became of every configuration, by events alone.

The auditor checks every event of every job and fails one that breaks an invariant. The report's
pictures and the tracker's configuration runs both start from the records of configurations, so
that a leaderboard and MLflow cannot differ about one log.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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


class Observation(NamedTuple):
    """A loss or reward seen at `at`; a trial or a probe has no bounds."""

    at: float
    value: float
    lower: float | None = None
    upper: float | None = None


@dataclass(slots=True)
class Configuration:
    """One configuration that an algorithm considered, and what came of it.

    It is made from events one after the other; readers of a whole log change nothing.

    Attributes
    ----------
    outcome : str
        ``champion``, ``live``, ``paused``, ``pending``, ``eliminated`` or ``failed``. One that was
        evaluated and holds no lease is paused, one that was never evaluated nor leased is
        pending; the trials of an eliminated arm are eliminated with it.
    reason : str
        Why it was paused, was eliminated or failed; else empty.
    units : float
        All that it consumed: examples, trials or rows, over all its fresh starts.
    score : float, optional
        What it achieved by the job's own `metric`, over all its `units`; for an arm, the best
        reward of its trials; None if it was never measured.
    metric : str
        The job's metric; empty while the log has no end.
    loss : str
        What the values and bounds of its observations are, where that is another one.
    test : float, optional
        The test score next to `score`, where the environment recorded one.
    cpu_seconds : float
        The recorded cost of its own trials or probes.
    decisions : list of Decision
        What its algorithm decided about it in addition to leases and champions.
    earlier : float
        Of its units those of earlier fresh starts.
    """

    configuration: int
    parameters: Mapping[str, Any]
    admitted_at: float
    parent: int | None = None
    origin: str = ""
    outcome: str = "pending"
    reason: str = ""
    units: float = 0.0
    score: float | None = None
    metric: str = ""
    loss: str = ""
    test: float | None = None
    cpu_seconds: float = 0.0
    leases: list[events.LeaseGranted] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    decisions: list[events.Decision] = field(default_factory=list)
    earlier: float = 0.0

    def evaluated(self) -> None:
        """Leave the outcome pending, without a lease."""
        if self.outcome == "pending":
            self.outcome = "paused"

    def trial(self, event: events.TrialFinished) -> None:
        """Count a trial, of its own or of its arm."""
        self.units += 1
        self.cpu_seconds += event.cpu_seconds
        self.evaluated()
        if event.status == "ok":
            self.observations.append(Observation(event.at, event.reward))
            if self.score is None or event.reward > self.score:
                self.score, self.test = event.reward, event.test
        elif self.configuration != event.arm:
            self.outcome, self.reason = "failed", event.reason or event.status

    def probe(self, event: events.ProbeFinished) -> None:
        """Count a probe; the last one is the score."""
        self.units += event.rows
        self.cpu_seconds += event.cpu_seconds
        self.evaluated()
        if event.status == "ok":
            self.score = event.test_accuracy
            self.observations.append(Observation(event.at, event.test_accuracy))
        else:
            self.reason = event.reason or event.status


def configurations(  # noqa: C901, PLR0912, PLR0915  (a case for every kind)
    log: Iterable[events.Event],
) -> list[Configuration]:
    """Return every configuration of a log, in order of admission; an unfinished log will do.

    Examples
    --------
    >>> log = [
    ...     events.ConfigurationAdmitted(at=0, configuration=0, parameters={"rate": 0.5}),
    ...     events.LeaseGranted(at=0, configuration=0, amount=50, slot=0),
    ...     events.BoundsUpdated(at=50, configuration=0, value=0.3, lower=0, upper=1, units=50),
    ...     events.ChampionChanged(at=50, configuration=0, previous=None),
    ... ]
    >>> [(c.outcome, c.units, c.score) for c in configurations(log)]
    [('champion', 50.0, 0.3)]
    """
    found: dict[int, Configuration] = {}
    arm_of: dict[int, int] = {}
    one: Any  # configuration of an event
    champion: int | None = None
    at, loss, metric = 0.0, "", ""
    for event in log:
        at, one = event.at, found.get(getattr(event, "configuration", -1))
        match event:
            case events.Started():
                loss = event.loss
            case events.ConfigurationAdmitted():
                found[event.configuration] = Configuration(
                    configuration=event.configuration,
                    parameters=event.parameters,
                    admitted_at=at,
                    parent=event.parent,
                    origin=event.origin,
                )
            case events.LeaseGranted():
                one.earlier = one.units if event.fresh else one.earlier
                one.leases.append(event)
                one.outcome, one.reason = "live", ""
            case events.BoundsUpdated():
                one.score = one.score if loss else event.value
                one.evaluated()
                one.units = one.earlier + event.units
                one.observations.append(Observation(at, event.value, event.lower, event.upper))
            case events.ConfigurationScored():
                one.units = one.earlier = event.units  # over all fresh starts
                one.score = event.value
                one.evaluated()
                if not loss:
                    one.observations.append(Observation(at, event.value))
            case events.Paused():
                one.outcome, one.reason = "paused", event.reason
                one.units = one.earlier + event.units
            case events.Eliminated() | events.ConfigurationFailed():
                one.outcome = "eliminated" if isinstance(event, events.Eliminated) else "failed"
                one.reason = event.reason
            case events.ChampionChanged():
                champion = event.configuration
            case events.TrialFinished():
                # A pull is an observation of its arm, and of the trial's own configuration.
                if event.configuration != event.arm:
                    arm_of[event.configuration] = event.arm
                for number in {event.arm, event.configuration}:
                    found[number].trial(event)
            case events.ProbeFinished():
                found[event.configuration].probe(event)
            case events.Decision():
                found[event.configuration].decisions.append(event)
            case events.Finished():
                metric = event.metric
    every = [found[number] for number in sorted(found)]
    for one in every:
        one.metric, one.loss = metric, loss
    for number, arm in arm_of.items():
        one, of = found[number], found[arm]
        if one.outcome == "paused" and of.outcome in {"eliminated", "failed"}:
            one.outcome, one.reason = of.outcome, f"arm {arm}: {of.reason}"
    if champion in found:
        found[champion].outcome, found[champion].reason = "champion", ""
    return every


def phrase(parameters: Mapping[str, Any]) -> str:
    """Return what a configuration chose, as a line that people read.

    Examples
    --------
    >>> phrase({"interactions": ["a × b", "c × d"], "rate": 0.12345})
    "interactions=['a × b', 'c × d'], rate=0.1235"
    """
    rounded = {k: f"{v:.4g}" if isinstance(v, float) else v for k, v in parameters.items()}
    # Any text of a user stays one line.
    return " ".join(", ".join(f"{key}={value}" for key, value in rounded.items()).split())


def table(configurations: Sequence[Configuration]) -> dict[str, Any]:
    """Return all configurations as one table: columns and rows, parameters as JSON text.

    What decisions measured has a column each, with the last values.
    """
    measured = [
        {key: value for made in c.decisions for key, value in made.measures().items()}
        for c in configurations
    ]
    measures = list(dict.fromkeys(key for one in measured for key in one))
    names = ("configuration", "parent", "origin", "outcome", "reason", "score", "metric", "test",
             "units", "admitted_at", "cpu_seconds")  # fmt: skip
    rows = [
        [
            *(_finite(getattr(c, name)) for name in names),
            *(_finite(last.get(key)) for key in measures),
            len(c.leases),
            json.dumps(dict(c.parameters), default=str, ensure_ascii=False),
        ]
        for c, last in zip(configurations, measured, strict=True)
    ]
    return {"columns": [*names, *measures, "leases", "parameters"], "data": rows}


def _finite(value: Any) -> Any:
    """Return None for NaN and infinity, which JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
