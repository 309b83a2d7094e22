"""The two contracts of the core: an `Algorithm` decides, a `Bench` answers and keeps the score."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, ParamSpec

from pydantic import ValidationError
from typing_extensions import TypeVar

from leaseboard.algorithms.errors import SettingError, UsageError, invalid
from leaseboard.algorithms.events import Event, Finished, Started

P = ParamSpec("P")
Made = TypeVar("Made")
B = TypeVar("B", bound="Bench", default=Any)

Run = Generator[Event, None, Any]
"""What `Algorithm.run` returns: events, and at last the champion's model or None."""


@dataclass(frozen=True, slots=True)
class Score:
    """A job's result on its bench: `value` is what boards rank, `metrics` stand beside it."""

    value: float
    metric: str
    direction: str
    metrics: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.direction not in ("min", "max"):
            raise ValueError(f"direction {self.direction!r} must be 'min' or 'max'")


BUDGET_SPENT = "budget spent"
ALGORITHM_STOPPED = "algorithm stopped"
ENDED_EARLY = "ended early"
"""Why a run is finished: it consumed its budget; it decided that it needs no more; or neither, and
what it came to cannot be compared with runs that did consume theirs."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a job is charged where its trials or probes are replayed: what they cost when they ran.

    Attributes
    ----------
    cpu_seconds, wall_seconds : float
        As recorded.
    spent_cpu_seconds : float, optional
        What was really spent on those that nobody had run before, if the bench knows.
    peak_memory_mb : float, optional
        The most memory that a process of its own held, in millions of bytes.
    """

    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    spent_cpu_seconds: float | None = None
    peak_memory_mb: float | None = None

    def plus(self, cpu_seconds: float, wall_seconds: float) -> Cost:
        """The cost after a further charge."""
        return replace(
            self,
            cpu_seconds=self.cpu_seconds + cpu_seconds,
            wall_seconds=self.wall_seconds + wall_seconds,
        )


class Bench(ABC):
    """The environment side of a job. It owns the budget, measures, and computes the score.

    Attributes
    ----------
    kind : str
        ``stream``, ``pulls``, ``samples``, ``holdout`` or ``systems``: which algorithms can run on
        it.
    unit : str
        What the budget counts, such as ``examples``, ``trials``, ``rows``, ``seconds``.
    budget : float
        Units that may be consumed.
    seed : int
        The environment's seed: splits and the draw of configurations. It is shared by all
        algorithms of a repetition, so that they meet the same environment.
    at : float
        Units consumed until now: the `at` of every event.
    shown : mapping of str to value
        What an algorithm is shown in the place of the attributes of that name.
    """

    kind: ClassVar[str]
    to_be_spent: ClassVar[bool]
    """Whether the budget is the work to be done, not only a limit of what it may cost."""

    deeds: ClassVar[frozenset[str]]
    """The methods by which an algorithm acts on it: they spend its budget or make its score."""

    paid: ClassVar[frozenset[str]] = frozenset()
    """Those of them that are answered at a price; without any, an algorithm predicts."""

    unit: str
    budget: float
    seed: int
    at: float

    def __init__(self) -> None:
        self.shown: Mapping[str, Any] = {}
        self._notes: dict[str, float] = {}
        self._made: dict[Callable[..., Any], Any] = {}

    @property
    def cost(self) -> Cost | None:
        """What the job is charged; None for what its algorithm takes by the clock."""
        return None

    def note(self, metrics: Mapping[str, float]) -> None:
        """Take metrics that the run has to tell beside its score."""
        self._notes.update(metrics)

    def once(self, make: Callable[P, Made], *given: P.args, **named: P.kwargs) -> Made:
        """What `make` makes of what is given, made once a bench.

        Asked for in `Algorithm.prepare`, it is made outside the measured time.
        """
        if make not in self._made:
            self._made[make] = make(*given, **named)
        made: Made = self._made[make]
        return made

    def told(self, event: Event) -> Event:
        """An algorithm's event as the log gets it, completed by what only the bench knows."""
        return event

    def bars(self, algorithm: Algorithm[Any]) -> str:
        """Why the algorithm cannot work here, as the end of a sentence about it; or nothing."""
        del algorithm
        return ""

    @abstractmethod
    def score(self) -> Score:
        """The score of the run so far."""

    @abstractmethod
    def twin(self) -> Bench:
        """A bench that has seen nothing of the run, with a truth of its own."""


class Algorithm(ABC, Generic[B]):
    """A scheduler, policy or learner that runs on one kind of bench, such as ``StreamBench``.

    A concrete algorithm is a frozen pydantic dataclass: its fields are its settings, with types,
    ranges and defaults, and its docstring cites the paper. It holds no state of a run; `run`
    does. The first line of the docstring is what ``leaseboard list`` prints.
    """

    bench: ClassVar[str]
    hindsight: ClassVar[bool] = False
    """Whether it uses what no algorithm can know in time: a mark to measure by, no competitor."""

    baseline: ClassVar[bool] = False
    """Whether it is a naive baseline: what all others on a leaderboard have to beat."""

    many_classes: ClassVar[bool] = False
    """Whether it predicts three and more classes: by a chance for each on a stream, by a number
    for each on a hold-out."""

    tasks: ClassVar[frozenset[str]] = frozenset(("regression", "classification"))
    """What it can do on a stream."""

    may_stop: ClassVar[bool] = False
    """Whether it may decide to end before its budget is spent, on a bench that wants it spent."""

    @property
    def capacity(self) -> int | None:
        """How many configurations may be live at once; None if the algorithm has no such limit."""
        return None

    def live_at_most(self, bench: B) -> int | None:
        """`capacity` on a bench, where that decides it."""
        return self.capacity

    def loss(self, bench: B) -> str:
        """What its bounds speak of, by name; empty where that is the bench's own metric."""
        return ""

    def prepare(self, bench: B) -> None:
        """Compile kernels and the like, outside the measured time; must not consume budget."""

    @abstractmethod
    def run(self, bench: B, seed: int) -> Run:
        """Work against `bench` until its budget ends, yielding every decision as an event.

        All randomness comes from `seed`. The generator's return value is the champion's model,
        or None.
        """


def settings_of(algorithm: Algorithm) -> dict[str, Any]:
    """The settings of an algorithm as plain values, defaults included."""
    return {name: getattr(algorithm, name) for name in setting_names(type(algorithm))}


def setting_names(cls: type[Algorithm]) -> tuple[str, ...]:
    """What can be set of an algorithm class, in the order of its fields."""
    if not dataclasses.is_dataclass(cls):
        return ()
    return tuple(spec.name for spec in dataclasses.fields(cls) if spec.init)


Configured = TypeVar("Configured", bound="Algorithm")


def configured(cls: type[Configured], name: str, settings: Mapping[str, Any]) -> Configured:
    """An algorithm with `settings`; UsageError names the setting that is wrong, and why.

    Parameters
    ----------
    cls : type of Algorithm
    name : str
        What the user calls it.
    settings : mapping of str to value
        Texts are converted to a setting's type.
    """
    try:
        return cls(**settings)
    except ValidationError as error:
        first = error.errors()[0]
        if not first["loc"]:  # settings that do not go together
            raise UsageError(f"{name}: {first['ctx']['error']}") from error
        where = str(first["loc"][0])  # what follows is the member of a union, or an item
        raise SettingError(invalid(f"{name}: setting {where}", error.errors()), where) from error


def play(name: str, algorithm: Algorithm, bench: Bench, seed: int, seen: Any = None) -> Run:
    """One whole job as an event stream: `Started`, the algorithm's own events, `Finished`.

    Parameters
    ----------
    name : str
    algorithm : Algorithm
    bench : Bench
    seed : int
    seen : Window, optional
        What the algorithm is given in the place of `bench`.
    """
    seen = bench if seen is None else seen
    if algorithm.bench != bench.kind:
        raise ValueError(f"{name} runs on the {algorithm.bench} bench, not on {bench.kind}")
    yield Started(
        at=0,
        algorithm=name,
        bench=bench.kind,
        unit=bench.unit,
        budget=bench.budget,
        capacity=algorithm.live_at_most(seen),
        seed=seed,
        settings=settings_of(algorithm),
        loss=algorithm.loss(seen),
    )
    run = algorithm.run(seen, seed)
    model = yield from _completed(run, bench)
    score = bench.score()
    yield Finished(
        at=bench.at,
        reason=_reason(algorithm, bench),
        score=score.value,
        metric=score.metric,
        direction=score.direction,
        metrics=dict(score.metrics),
    )
    return model


def _reason(algorithm: Algorithm, bench: Bench) -> str:
    if bench.at >= bench.budget * (1 - 1e-9):
        return BUDGET_SPENT
    stops = algorithm.may_stop or not bench.to_be_spent
    return ALGORITHM_STOPPED if stops else ENDED_EARLY


def _completed(run: Run, bench: Bench) -> Run:
    """`run`, with what only the bench knows in its events."""
    try:
        while True:
            yield bench.told(next(run))
    except StopIteration as stop:
        return stop.value
    finally:
        run.close()
