"""What became of every configuration of a job, derived from its events alone.

The report's pictures and the tracker's configuration runs both start from these records, so
that a board and MLflow cannot tell two stories about one log.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from leaseboard.algorithms import events

CALLED = ("name", "learner", "interactions")
"""Parameters that say what a configuration is by their value alone."""

OUTCOMES = ("champion", "live", "paused", "pending", "eliminated", "failed")
"""Where a configuration can stand when the log ends, the best first."""


@dataclass(frozen=True, slots=True)
class Lease:
    """One lease: granted at `at`, over at `end` (extended, paused, gone, or the log ended)."""

    at: float
    amount: float
    slot: int | None
    fresh: bool
    end: float


@dataclass(frozen=True, slots=True)
class Observation:
    """A loss or reward seen at `at`, after `units` of the configuration's own.

    `units` counts from the configuration's last fresh start, as `BoundsUpdated` does. A trial
    or a probe has no bounds.
    """

    at: float
    units: float
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
        One of `OUTCOMES`. A configuration that was evaluated and holds no lease is ``paused``,
        one that was never evaluated nor leased is ``pending``; the trials of an eliminated arm
        are eliminated with it.
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
        The test score that stands beside `score`, where the bench recorded one.
    cpu_seconds : float
        The recorded cost of its own trials or probes.
    decisions : list of Decision
        What its algorithm decided about it beside leases and champions.
    held : LeaseGranted, optional
        The lease that it holds.
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
    leases: list[Lease] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    decisions: list[events.Decision] = field(default_factory=list)
    held: events.LeaseGranted | None = None
    earlier: float = 0.0

    def end_lease(self, at: float) -> None:
        """The lease that it holds, if any, is over."""
        if self.held is not None:
            lease, self.held = self.held, None
            self.leases.append(Lease(lease.at, lease.amount, lease.slot, lease.fresh, at))

    def lease(self, event: events.LeaseGranted) -> None:
        """It is live, afresh or still."""
        self.end_lease(event.at)
        if event.fresh:
            self.earlier = self.units
        self.held = event
        self.outcome, self.reason = "live", ""

    def use(self, units: float) -> float:
        """It has used so many units since it was fresh."""
        self.units = self.earlier + units
        return units

    def observe(self, at: float, units: float, value: float, *bounds: float) -> None:
        """A loss or reward was seen."""
        self.observations.append(Observation(at, units, value, *bounds))

    def evaluated(self) -> None:
        """It is no longer pending, and holds no lease."""
        if self.outcome == "pending":
            self.outcome = "paused"


def configurations(log: Iterable[events.Event]) -> list[Configuration]:
    """Every configuration of a log, in order of admission; an unfinished log will do.

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
    ledger = _Ledger()
    for event in log:
        ledger.take(event)
    return ledger.close()


class _Ledger:
    def __init__(self) -> None:
        self.found: dict[int, Configuration] = {}
        self.arm_of: dict[int, int] = {}
        self.champion: int | None = None
        self.at = 0.0
        self.loss = ""
        self.metric = ""

    def take(self, event: events.Event) -> None:  # noqa: C901, PLR0912  (a case for every kind)
        self.at = event.at
        match event:
            case events.Started():
                self.loss = event.loss
            case events.ConfigurationAdmitted():
                self.found[event.configuration] = Configuration(
                    configuration=event.configuration,
                    parameters=event.parameters,
                    admitted_at=event.at,
                    parent=event.parent,
                    origin=event.origin,
                )
            case events.LeaseGranted():
                self.found[event.configuration].lease(event)
            case events.BoundsUpdated():
                one = self.found[event.configuration]
                one.score = one.score if self.loss else event.value
                one.evaluated()
                units = one.use(event.units)
                one.observe(event.at, units, event.value, event.lower, event.upper)
            case events.ConfigurationScored():
                one = self.found[event.configuration]
                one.units = one.earlier = event.units  # over all fresh starts
                one.score = event.value
                one.evaluated()
                if not self.loss:
                    one.observe(event.at, event.units, event.value)
            case events.Paused():
                self._leave(event.configuration, "paused", event.reason).use(event.units)
            case events.Eliminated():
                self._leave(event.configuration, "eliminated", event.reason)
            case events.ConfigurationFailed():
                self._leave(event.configuration, "failed", event.reason)
            case events.ChampionChanged():
                self.champion = event.configuration
            case events.TrialFinished():
                self._trial(event)
            case events.ProbeFinished():
                self._probe(event)
            case events.Decision():
                self.found[event.configuration].decisions.append(event)
            case events.Measured():
                pass  # the job's own score, not a configuration's
            case events.Finished():
                self.metric = event.metric
            case _:
                assert_never(event)

    def close(self) -> list[Configuration]:
        every = [self.found[number] for number in sorted(self.found)]
        for one in every:
            one.end_lease(self.at)
            one.metric, one.loss = self.metric, self.loss
        for number, arm in self.arm_of.items():
            one, of = self.found[number], self.found[arm]
            if one.outcome == "paused" and of.outcome in {"eliminated", "failed"}:
                one.outcome, one.reason = of.outcome, f"arm {arm}: {of.reason}"
        if self.champion in self.found:
            self.found[self.champion].outcome, self.found[self.champion].reason = "champion", ""
        return every

    def _trial(self, event: events.TrialFinished) -> None:
        """A pull is an observation of its arm, and of the trial's own configuration."""
        if event.configuration != event.arm:
            self.arm_of[event.configuration] = event.arm
        for number in {event.arm, event.configuration}:
            one = self.found[number]
            one.units += 1
            one.cpu_seconds += event.cpu_seconds
            one.evaluated()
            if event.status == "ok":
                one.observe(event.at, one.units - one.earlier, event.reward)
                if one.score is None or event.reward > one.score:
                    one.score, one.test = event.reward, event.test
            elif number != event.arm:
                one.outcome, one.reason = "failed", event.reason or event.status

    def _probe(self, event: events.ProbeFinished) -> None:
        one = self.found[event.configuration]
        one.units += event.rows
        one.cpu_seconds += event.cpu_seconds
        one.evaluated()
        if event.status == "ok":
            one.score = event.test_accuracy
            one.observe(event.at, event.rows, event.test_accuracy)
        else:
            one.reason = event.reason or event.status

    def _leave(self, number: int, outcome: str, reason: str) -> Configuration:
        one = self.found[number]
        one.end_lease(self.at)
        one.outcome, one.reason = outcome, reason
        return one


def phrase(parameters: Mapping[str, Any]) -> str:
    """What a configuration chose, as a line that people read.

    Examples
    --------
    >>> phrase({"interactions": ["a × b", "c × d"], "rate": 0.12345, "features": "as they are"})
    'a × b, c × d; rate=0.1235; features=as they are'
    >>> phrase({"learner": "LightGBM", "max_depth": 3})
    'LightGBM, max_depth=3'
    """
    sole = len(parameters) == 1
    parts = [
        _value(value) if key in CALLED or sole else f"{_value(key)}={_value(value)}"
        for key, value in parameters.items()
        if sole or key not in CALLED or value
    ]
    return _joined(parts, ", ", "; ")


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return _joined(list(map(_value, value)), " ", ", ") or "none"
    # Whatever a user's text holds, it stays a line.
    return f"({phrase(value)})" if isinstance(value, Mapping) else " ".join(str(value).split())


def _joined(parts: Sequence[str], near: str, far: str) -> str:
    """`parts` with the nearer separator, if none of them has it itself."""
    return (far if any(near in part for part in parts) else near).join(parts)


def table(configurations: Sequence[Configuration]) -> dict[str, Any]:
    """All configurations as one table: columns and rows, parameters as JSON text.

    What decisions measured has a column each, with the last values.
    """
    measured = [
        {key: value for made in c.decisions for key, value in made.measures().items()}
        for c in configurations
    ]
    measures = list(dict.fromkeys(key for one in measured for key in one))
    names = [
        "configuration",
        "parent",
        "origin",
        "outcome",
        "reason",
        "score",
        "metric",
        "test",
        "units",
        "admitted_at",
        "cpu_seconds",
    ]
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
    """JSON has no NaN and no infinity: the table shows nothing there."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
