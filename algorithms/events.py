"""The typed record of a run, and its file: decisions of an algorithm, answers of its environment.

Events are frozen values. An algorithm yields them, sinks read them, none can steer with them.
The same job with the same seed yields the same events, byte for byte, also in another process;
so no event holds a clock time. Costs that an environment measured (a fit's CPU seconds) are the
exception: they are *recorded* values, replayed exactly by the trial and probe stores.

A log is a gzip file of JSON lines, one event a line::

    {"event": "LeaseGranted", "at": 0, "configuration": 3, "amount": 50, "slot": 1, "fresh": true}
"""

import dataclasses
import gzip
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from leaseboard.algorithms.errors import naming

Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Base of all events: `at`, the units of its budget that the job had consumed by then."""

    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OfConfiguration(Event):
    """Something that happens to the configuration of this number."""

    configuration: int


class Decision(Event):
    """Decision of an algorithm of one kind about a configuration, which lives on.

    Such an event says all that readers need. A new kind inherits this: then it is audited, logged,
    and kept by MLflow.
    """

    __slots__ = ()

    configuration: int

    def measures(self) -> Mapping[str, float]:
        """Return metrics of the run of its configuration, at `at`."""
        return {}

    def notes(self) -> Mapping[str, Any]:
        """Return tags of its configuration's run; the last ones count, empty ones are left out."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Started(Event):
    """First event of every log.

    `unit` names what `at` counts (``examples``, ``trials``, ``rows``); `capacity` is the number
    of configurations that may be live at once, None where the environment has no limit. `loss`
    names what `BoundsUpdated` speaks of; empty where that is the job's own metric.
    """

    algorithm: str
    environment: str
    unit: str
    budget: float
    capacity: int | None
    seed: int
    settings: Parameters
    loss: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationAdmitted(OfConfiguration):
    """Admission of a configuration; identifiers count up from 0 in a job.

    `parent` is the configuration it was derived from (ChaCha's champion, a trial's arm).
    """

    parameters: Parameters
    parent: int | None = None
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseGranted(OfConfiguration):
    """Lease: a configuration may consume units until it has had `amount` since it was fresh.

    `fresh` says that a new model starts; otherwise the lease extends a live one. The new model
    starts with the weights of the live configuration `source`; without a `source`, from nothing.
    """

    amount: float
    slot: int | None = None
    fresh: bool = True
    source: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsUpdated(OfConfiguration):
    """Confidence bounds of a configuration's loss or reward, after `units` of its own."""

    value: float
    lower: float
    upper: float
    units: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationScored(OfConfiguration):
    """Achievement of a configuration itself, in the job's own metric.

    `value` is the mean over the `units` that it consumed in all its leases, and so comparable
    with the job's score as far as `units` and the budget are. The last one counts.
    """

    value: float
    units: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused(OfConfiguration):
    """Loss of a configuration's slot; it may return, and had used `units` of its lease."""

    units: float
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Eliminated(OfConfiguration):
    """End of a configuration's consideration for good: no lease may follow."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationFailed(OfConfiguration):
    """Crash, timeout or divergence of a configuration: no lease may follow."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChampionChanged(OfConfiguration):
    """Change of the configuration that is the algorithm's answer."""

    previous: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFinished(OfConfiguration):
    """One pull: a hyperparameter trial of `arm`, with the costs recorded when it was run.

    `test` is for the record: policies do not see it, the environment adds it. `seed` is the
    learner's, if there is one.
    """

    arm: int
    reward: float
    test: float | None = None
    cpu_seconds: float
    wall_seconds: float
    status: str = "ok"
    reason: str = ""
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeFinished(OfConfiguration):
    """One probe: a configuration trained on `rows` rows; accuracies and recorded costs."""

    rows: int
    train_accuracy: float
    test_accuracy: float
    test_rows: int
    cpu_seconds: float
    wall_seconds: float
    status: str = "ok"
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturesExpanded(Decision):
    """Choice of new parents by apple: monomials by name, and the sizes of the expansion.

    Of parallel nodes the union of their parents, and how many each `found`.
    """

    parents: tuple[str, ...]
    size: int
    degree: int
    configuration: int = 0
    found: tuple[int, ...] = ()

    def measures(self) -> Mapping[str, float]:
        found = {"features": self.size, "features.degree": self.degree}
        return found | {"features.parents": len(self.parents)}

    def notes(self) -> Mapping[str, Any]:
        return {"features.parents": self.parents, "features.found": self.found}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassChampionChanged(Decision):
    """Change of the champion of the race of one of many classes against the rest."""

    configuration: int
    label: str
    previous: int | None = None

    def notes(self) -> Mapping[str, Any]:
        return {"champion_of": self.label}


@dataclass(frozen=True, slots=True, kw_only=True)
class MonotonicityViolated(Decision):
    """Rise of an accuracy by `rise` on a sample with twice the rows, seen by ABC.

    `worth` is the rise up to all rows if it goes on.
    """

    configuration: int
    rows: int
    rise: float
    worth: float

    def measures(self) -> Mapping[str, float]:
        return {"fitness.rise": self.rise, "fitness.worth": self.worth}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploitivenessViolated(Decision):
    """Fall of an accuracy by `fall` at `rows` rows; at all rows it is below ABC's lower bound."""

    configuration: int
    rows: int
    fall: float

    def measures(self) -> Mapping[str, float]:
        return {"exploitiveness.fall": self.fall}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured(Event):
    """Point of the anytime curve: the job's own score after `at` units."""

    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished(Event):
    """Last event of every complete log."""

    reason: str
    score: float
    metric: str
    direction: str
    metrics: Parameters = dataclasses.field(default_factory=dict)


KINDS: Mapping[str, type[Event]] = {
    name: each
    for name, each in list(globals().items())
    if isinstance(each, type) and issubclass(each, Event) and not each.__subclasses__()
}
"""All kinds that exist, by name. Of one that is not a `Decision` the auditor and
`leaseboard.algorithms.audit` have to decide what it means."""

Kind = TypeVar("Kind", bound=Event)


def of(events: Iterable[Event], kind: type[Kind]) -> list[Kind]:
    """Return the events of one kind, in order.

    Examples
    --------
    >>> log = [Measured(at=5, value=0.5), ChampionChanged(at=7, configuration=2, previous=0)]
    >>> of(log, ChampionChanged)
    [ChampionChanged(at=7, configuration=2, previous=0)]
    """
    return [event for event in events if isinstance(event, kind)]


def to_json(event: Event) -> str:
    """Return one line of JSON, without spaces; NaN and infinities are written as strings."""
    payload = {"event": type(event).__name__}
    for field in dataclasses.fields(event):
        payload[field.name] = _plain(getattr(event, field.name))
    return json.dumps(payload, separators=(",", ":"), allow_nan=False)


def from_json(line: str) -> Event:
    """Return the event that `to_json` wrote.

    Of other lines it raises ValueError, KeyError or TypeError, which readers of files expect.
    """
    payload = json.loads(line)
    kind = KINDS[payload["event"]]
    return kind(**{name: _back(value) for name, value in payload.items() if name != "event"})


def write_log(path: Path, events: Iterable[Event]) -> None:
    """Write a complete log; equal events give equal bytes (the gzip header holds no time)."""
    with LogWriter(path) as log:
        for event in events:
            log(event)


def read_log(path: Path) -> Iterator[Event]:
    """Yield the events of a log, in order; replay them into any sink."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield from_json(line)


class LogWriter:
    """A sink that writes the full log of a job as a gzip file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._raw = path.open("wb")
        self._file = gzip.GzipFile(filename="", mode="wb", fileobj=self._raw, mtime=0)
        self._lines = 0

    def __call__(self, event: Event) -> None:
        """Append one event."""
        with naming(self._path):
            self._file.write(to_json(event).encode() + b"\n")
            self._lines += 1
            # What was flushed survives a kill; by count, so that equal events give equal bytes.
            if self._lines % 256 == 0 or self._lines & (self._lines - 1) == 0:
                self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Finish the file; a log that was never closed is cut off, not corrupt."""
        with naming(self._path):
            self._file.close()
            self._raw.close()


_SPECIAL = {str(each): each for each in (math.nan, math.inf, -math.inf)}
"""Each is one object, so that events that are read twice are equal."""


def _plain(value: Any) -> Any:
    """Return `value` in JSON's own types: numpy scalars become Python's, tuples become lists."""
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": str(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        value = sorted(value)
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _back(value: Any) -> Any:
    """Return the inverse of `_plain`; lists become tuples, as events hold."""
    if isinstance(value, dict):
        if set(value) == {"$float"}:
            return _SPECIAL[value["$float"]]
        return {key: _back(item) for key, item in value.items()}
    return tuple(map(_back, value)) if isinstance(value, list) else value
