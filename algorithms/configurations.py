"""What became of every configuration of a job, derived from its events alone.

The report's pictures and the tracker's configuration runs both start from these records, so
that a leaderboard and MLflow cannot differ about one log.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from leaseboard.algorithms import events


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
    champion: int | None = None
    at, loss, metric = 0.0, "", ""
    for event in log:
        at = event.at
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
                one = found[event.configuration]
                one.earlier = one.units if event.fresh else one.earlier
                one.leases.append(event)
                one.outcome, one.reason = "live", ""
            case events.BoundsUpdated():
                one = found[event.configuration]
                one.score = one.score if loss else event.value
                one.evaluated()
                one.units = one.earlier + event.units
                one.observations.append(Observation(at, event.value, event.lower, event.upper))
            case events.ConfigurationScored():
                one = found[event.configuration]
                one.units = one.earlier = event.units  # over all fresh starts
                one.score = event.value
                one.evaluated()
                if not loss:
                    one.observations.append(Observation(at, event.value))
            case events.Paused():
                one = found[event.configuration]
                one.outcome, one.reason = "paused", event.reason
                one.units = one.earlier + event.units
            case events.Eliminated() | events.ConfigurationFailed():
                one = found[event.configuration]
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
