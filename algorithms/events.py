"""The typed record of a run: what an algorithm decided and what its bench answered.

Events are frozen values. An algorithm yields them, sinks watch them, nobody can steer with them.
The same job with the same seed yields the same events, byte for byte, also in another process;
so no event holds a clock time. Costs that a bench measured (a fit's CPU seconds) are the one
exception: they are *recorded* values, replayed exactly by the trial and probe stores.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, get_args

Parameters = Mapping[str, Any]

Name: TypeAlias = Callable[[int], str]
"""What a reader calls the configuration of that number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Happened:
    """What all events have: `at`, the units of its budget that the job had consumed by then."""

    at: float

    def words(self, name: Name) -> tuple[str, str] | None:
        """What was decided, and about what, as the page of a job lists it; None if it does not."""
        return None  # the page's pictures and tables show it


class Decision(_Happened):
    """What an algorithm of one kind decides about a configuration, which lives on.

    Such an event says all that readers need. A new kind inherits this and joins the union `Event`:
    then it is audited, logged, listed on the page of its job, and kept by MLflow.
    """

    __slots__ = ()

    configuration: int

    @abstractmethod  # for the type checker alone: the machinery of `abc` slows every `match`
    def words(self, name: Name) -> tuple[str, str]:
        """See `_Happened.words`."""
        raise NotImplementedError

    def measures(self) -> Mapping[str, float]:
        """Metrics of the run of its configuration, at `at`."""
        return {}

    def notes(self) -> Mapping[str, Any]:
        """Tags of the run of its configuration; the last ones count, empty ones are left out."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Started(_Happened):
    """The first event of every log.

    `unit` names what `at` counts (``examples``, ``trials``, ``rows``); `capacity` is the number
    of configurations that may be live at once, None where the bench knows no such limit. `loss`
    names what `BoundsUpdated` speaks of; empty where that is the job's own metric.
    """

    algorithm: str
    bench: str
    unit: str
    budget: float
    capacity: int | None
    seed: int
    settings: Parameters
    loss: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationAdmitted(_Happened):
    """A configuration entered consideration; identifiers count up from 0 in a job.

    `parent` is the configuration it was derived from (ChaCha's champion, a trial's arm).
    """

    configuration: int
    parameters: Parameters
    parent: int | None = None
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseGranted(_Happened):
    """A configuration may consume units until it has had `amount` of them since it was fresh.

    `fresh` says that a new model starts; otherwise the lease extends a live one. The new model
    starts with the weights of the live configuration `source`, or from nothing if that is None.
    """

    configuration: int
    amount: float
    slot: int | None = None
    fresh: bool = True
    source: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsUpdated(_Happened):
    """Confidence bounds of a configuration's loss or reward, after `units` of its own."""

    configuration: int
    value: float
    lower: float
    upper: float
    units: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationScored(_Happened):
    """What a configuration itself achieved, in the job's own metric.

    `value` is the mean over the `units` that it consumed in all its leases, and so comparable
    with the job's score as far as `units` and the budget are. The last one counts.
    """

    configuration: int
    value: float
    units: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused(_Happened):
    """A live configuration lost its slot and may return; it had used `units` of its lease."""

    configuration: int
    units: float
    reason: str = ""

    def words(self, name: Name) -> tuple[str, str]:
        return "paused", name(self.configuration) + (f": {self.reason}" if self.reason else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Eliminated(_Happened):
    """A configuration left consideration for good: no lease may follow."""

    configuration: int
    reason: str

    def words(self, name: Name) -> tuple[str, str]:
        return "eliminated", f"{name(self.configuration)}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationFailed(_Happened):
    """A configuration crashed, timed out or diverged: no lease may follow."""

    configuration: int
    reason: str

    def words(self, name: Name) -> tuple[str, str]:
        return "failed", f"{name(self.configuration)}: {self.reason[:120]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChampionChanged(_Happened):
    """The configuration that stands for the algorithm's answer changed."""

    configuration: int
    previous: int | None

    def words(self, name: Name) -> tuple[str, str]:
        was = "" if self.previous is None else f" (was {self.previous})"
        return "champion", f"{name(self.configuration)}{was}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFinished(_Happened):
    """One pull: a hyperparameter trial of `arm`, with the costs recorded when it was run.

    `test` is for the record: no policy is told it, the bench adds it to the event. `seed` is the
    learner's, if there is one.
    """

    configuration: int
    arm: int
    reward: float
    test: float | None = None
    cpu_seconds: float
    wall_seconds: float
    status: str = "ok"
    reason: str = ""
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeFinished(_Happened):
    """One probe: a configuration trained on `rows` rows; accuracies and recorded costs."""

    configuration: int
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
    """apple chose new parents: monomials by name, and the sizes of the expansion."""

    epoch: int
    parents: tuple[str, ...]
    size: int
    degree: int
    configuration: int = 0

    def words(self, name: Name) -> tuple[str, str]:
        return "expanded", f"to {self.size} features; parents {_listed(self.parents)}"

    def measures(self) -> Mapping[str, float]:
        return _expansion(self.size, self.degree, self.parents)

    def notes(self) -> Mapping[str, Any]:
        return {"features.parents": self.parents, "features.found": ()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentsMerged(Decision):
    """apple's nodes united their parents: how many each found, and the union by name."""

    found: tuple[int, ...]
    parents: tuple[str, ...]
    size: int
    degree: int
    configuration: int = 0

    def words(self, name: Name) -> tuple[str, str]:
        found = _listed(str(number) for number in self.found)
        return "merged", (
            f"{name(self.configuration)}: {len(self.found)} nodes found {found} parents;"
            f" {self.size} features of degree {self.degree} at most from their union,"
            f" {_listed(self.parents)}"
        )

    def measures(self) -> Mapping[str, float]:
        return _expansion(self.size, self.degree, self.parents)

    def notes(self) -> Mapping[str, Any]:
        return {"features.parents": self.parents, "features.found": self.found}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassChampionChanged(Decision):
    """Of many classes, the champion of the race of one against the rest changed."""

    configuration: int
    label: str
    previous: int | None = None

    def words(self, name: Name) -> tuple[str, str]:
        was = "" if self.previous is None else f" (was {self.previous})"
        return "champion of a class", f"{self.label}: {name(self.configuration)}{was}"

    def notes(self) -> Mapping[str, Any]:
        return {"champion_of": self.label}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsGrouped(Decision):
    """ChaCha says which columns are meant where configurations name some of a group."""

    groups: Mapping[str, Sequence[str]]
    configuration: int = 0

    def words(self, name: Name) -> tuple[str, str]:
        told = (f"{group} = {_listed(columns, 20)}" for group, columns in self.groups.items())
        return "grouped", "; ".join(told)

    def notes(self) -> Mapping[str, Any]:
        return {"columns": self.groups}


@dataclass(frozen=True, slots=True, kw_only=True)
class FitnessBroken(Decision):
    """ABC saw the accuracy on a sample rise by `rise` with twice the rows.

    `worth` is the rise up to all rows if it goes on.
    """

    configuration: int
    rows: int
    rise: float
    worth: float

    def words(self, name: Name) -> tuple[str, str]:
        return "not fit", (
            f"{name(self.configuration)}: accuracy on the sample rose by {self.rise:.4f} in its"
            f" last doubling to {self.rows} rows, worth {self.worth:.4f} if it goes on"
        )

    def measures(self) -> Mapping[str, float]:
        return {"fitness.rise": self.rise, "fitness.worth": self.worth}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploitivenessBroken(Decision):
    """ABC saw accuracy fall by `fall` at `rows` rows; at all rows it is below its lower bound."""

    configuration: int
    rows: int
    fall: float

    def words(self, name: Name) -> tuple[str, str]:
        fell = f"accuracy fell by {self.fall:.4f} at {self.rows} rows"
        return "worse with more rows", f"{name(self.configuration)}: {fell}"

    def measures(self) -> Mapping[str, float]:
        return {"exploitiveness.fall": self.fall}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured(_Happened):
    """A point of the anytime curve: the job's own score after `at` units."""

    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished(_Happened):
    """The last event of every complete log."""

    reason: str
    score: float
    metric: str
    direction: str
    metrics: Parameters = dataclasses.field(default_factory=dict)


Event: TypeAlias = (
    Started
    | ConfigurationAdmitted
    | LeaseGranted
    | BoundsUpdated
    | ConfigurationScored
    | Paused
    | Eliminated
    | ConfigurationFailed
    | ChampionChanged
    | TrialFinished
    | ProbeFinished
    | FeaturesExpanded
    | ParentsMerged
    | ClassChampionChanged
    | ColumnsGrouped
    | FitnessBroken
    | ExploitivenessBroken
    | Measured
    | Finished
)
"""All kinds, and there are no others. Of one that is no `Decision` two readers have to decide what
it means: they match on events and end with ``assert_never``, so that mypy names them."""

KINDS: Mapping[str, type[Event]] = {cls.__name__: cls for cls in get_args(Event)}

Kind = TypeVar("Kind", bound=Event)


def kind(name: str) -> type[Event]:
    """The event class called `name`."""
    if name not in KINDS:
        raise ValueError(f"unknown event {name!r}: a log holds only {', '.join(sorted(KINDS))}")
    return KINDS[name]


def of(events: Iterable[Event], kind: type[Kind]) -> list[Kind]:
    """The events of one kind, in order.

    Examples
    --------
    >>> log = [Measured(at=5, value=0.5), ChampionChanged(at=7, configuration=2, previous=0)]
    >>> of(log, ChampionChanged)
    [ChampionChanged(at=7, configuration=2, previous=0)]
    """
    return [event for event in events if isinstance(event, kind)]


def _expansion(size: int, degree: int, parents: Sequence[str]) -> Mapping[str, float]:
    return {"features": size, "features.degree": degree, "features.parents": len(parents)}


def _listed(words: Iterable[str], most: int = 10) -> str:
    every = list(words)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more
