"""What became of every configuration of a job, derived from its events alone.

The report's pictures and the tracker's configuration runs both start from these records, so
that a board and MLflow cannot tell two stories about one log.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from leaseboard.algorithms.events import (
    BoundsUpdated,
    ChampionChanged,
    ConfigurationAdmitted,
    ConfigurationFailed,
    ConfigurationScored,
    Decision,
    Eliminated,
    Event,
    Finished,
    LeaseGranted,
    Measured,
    Paused,
    ProbeFinished,
    Started,
    TrialFinished,
)

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


@dataclass(frozen=True, slots=True)
class Configuration:
    """One configuration that an algorithm considered, and what came of it.

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
    decisions : tuple of Decision
        What its algorithm decided about it beside leases and champions.
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
    leases: tuple[Lease, ...] = ()
    observations: tuple[Observation, ...] = ()
    decisions: tuple[Decision, ...] = ()


def configurations(events: Iterable[Event]) -> list[Configuration]:
    """Every configuration of a log, in order of admission; an unfinished log will do.

    Examples
    --------
    >>> log = [
    ...     ConfigurationAdmitted(at=0, configuration=0, parameters={"rate": 0.5}),
    ...     LeaseGranted(at=0, configuration=0, amount=50, slot=0),
    ...     BoundsUpdated(at=50, configuration=0, value=0.3, lower=0.2, upper=0.4, units=50),
    ...     ChampionChanged(at=50, configuration=0, previous=None),
    ... ]
    >>> [(c.outcome, c.units, c.score) for c in configurations(log)]
    [('champion', 50.0, 0.3)]
    """
    ledger = _Ledger()
    for event in events:
        ledger.take(event)
    return ledger.close()


@dataclass(slots=True)
class _Draft:
    """A configuration while its log is read."""

    record: Configuration
    standing: str = "pending"
    reason: str = ""
    held: LeaseGranted | None = None
    spent: float = 0.0  # by earlier fresh starts
    units: float = 0.0  # since the last fresh start
    score: float | None = None
    test: float | None = None
    cpu_seconds: float = 0.0
    leases: list[Lease] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)

    def end_lease(self, at: float) -> None:
        if self.held is not None:
            lease = self.held
            self.leases.append(Lease(lease.at, lease.amount, lease.slot, lease.fresh, at))
            self.held = None

    def evaluated(self) -> None:
        if self.standing == "pending":
            self.standing = "paused"


class _Ledger:
    def __init__(self) -> None:
        self.drafts: dict[int, _Draft] = {}
        self.arm_of: dict[int, int] = {}
        self.champion: int | None = None
        self.at = 0.0
        self.loss = ""
        self.metric = ""

    def take(self, event: Event) -> None:  # noqa: C901, PLR0912  (a case for every kind)
        self.at = event.at
        match event:
            case Started():
                self.loss = event.loss
            case ConfigurationAdmitted():
                self.drafts[event.configuration] = _Draft(
                    Configuration(
                        configuration=event.configuration,
                        parameters=event.parameters,
                        admitted_at=event.at,
                        parent=event.parent,
                        origin=event.origin,
                    )
                )
            case LeaseGranted():
                self._lease(event)
            case BoundsUpdated():
                self._bounds(event)
            case ConfigurationScored():
                self._score(event)
            case Paused():
                self._leave(event.configuration, "paused", event.reason)
                self.drafts[event.configuration].units = event.units
            case Eliminated():
                self._leave(event.configuration, "eliminated", event.reason)
            case ConfigurationFailed():
                self._leave(event.configuration, "failed", event.reason)
            case ChampionChanged():
                self.champion = event.configuration
            case TrialFinished():
                self._trial(event)
            case ProbeFinished():
                self._probe(event)
            case Decision():
                self.drafts[event.configuration].decisions.append(event)
            case Measured():
                pass  # the job's own score, not a configuration's
            case Finished():
                self.metric = event.metric
            case _:
                assert_never(event)

    def close(self) -> list[Configuration]:
        return [self._record(number) for number in sorted(self.drafts)]

    def _lease(self, event: LeaseGranted) -> None:
        draft = self.drafts[event.configuration]
        draft.end_lease(event.at)
        if event.fresh:
            draft.spent += draft.units
            draft.units = 0.0
        draft.held = event
        draft.standing, draft.reason = "live", ""

    def _bounds(self, event: BoundsUpdated) -> None:
        draft = self.drafts[event.configuration]
        draft.units = event.units
        if not self.loss:
            draft.score = event.value
        draft.evaluated()
        draft.observations.append(
            Observation(event.at, event.units, event.value, event.lower, event.upper)
        )

    def _score(self, event: ConfigurationScored) -> None:
        draft = self.drafts[event.configuration]
        draft.spent, draft.units = event.units, 0.0
        draft.score = event.value
        draft.evaluated()
        if not self.loss:
            draft.observations.append(Observation(event.at, event.units, event.value))

    def _trial(self, event: TrialFinished) -> None:
        """A pull is an observation of its arm, and of the trial's own configuration."""
        if event.configuration != event.arm:
            self.arm_of[event.configuration] = event.arm
        for number in {event.arm, event.configuration}:
            draft = self.drafts[number]
            draft.units += 1
            draft.cpu_seconds += event.cpu_seconds
            draft.evaluated()
            if event.status == "ok":
                draft.observations.append(Observation(event.at, draft.units, event.reward))
                if draft.score is None or event.reward > draft.score:
                    draft.score, draft.test = event.reward, event.test
            elif number != event.arm:
                draft.standing, draft.reason = "failed", event.reason or event.status

    def _probe(self, event: ProbeFinished) -> None:
        draft = self.drafts[event.configuration]
        draft.units += event.rows
        draft.cpu_seconds += event.cpu_seconds
        draft.evaluated()
        if event.status == "ok":
            draft.score = event.test_accuracy
            draft.observations.append(Observation(event.at, event.rows, event.test_accuracy))
        else:
            draft.reason = event.reason or event.status

    def _leave(self, number: int, standing: str, reason: str) -> None:
        draft = self.drafts[number]
        draft.end_lease(self.at)
        draft.standing, draft.reason = standing, reason

    def _record(self, number: int) -> Configuration:
        draft = self.drafts[number]
        draft.end_lease(self.at)
        outcome, reason = draft.standing, draft.reason
        arm = self.drafts.get(self.arm_of.get(number, -1))
        if number == self.champion:
            outcome, reason = "champion", ""
        elif arm is not None and outcome == "paused" and arm.standing in {"eliminated", "failed"}:
            outcome = arm.standing
            reason = f"arm {self.arm_of[number]}: {arm.reason}"
        return replace(
            draft.record,
            outcome=outcome,
            reason=reason,
            units=draft.spent + draft.units,
            score=draft.score,
            metric=self.metric,
            loss=self.loss,
            test=draft.test,
            cpu_seconds=draft.cpu_seconds,
            leases=tuple(draft.leases),
            observations=tuple(draft.observations),
            decisions=tuple(draft.decisions),
        )


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
