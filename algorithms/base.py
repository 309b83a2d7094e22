"""The two contracts of the core: an `Algorithm` decides, an `Environment` answers and scores."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic

from pydantic import ValidationError
from typing_extensions import TypeVar

from leaseboard.algorithms.errors import UsageError, refused
from leaseboard.algorithms.events import Event, Finished, Started

Made = TypeVar("Made")
B = TypeVar("B", bound="Environment", default=Any)

Run = Generator[Event, None, None]
"""What `Algorithm.run` returns: events."""


@dataclass(frozen=True, slots=True)
class Score:
    """Result of a job: leaderboards rank `value`; `metrics` are shown with it."""

    value: float
    metric: str
    direction: str
    metrics: Mapping[str, float] = field(default_factory=dict)


BUDGET_SPENT = "budget spent"
ALGORITHM_STOPPED = "algorithm stopped"
ENDED_EARLY = "ended early"
"""Why a run is finished: it consumed its budget; it decided that it needs no more; or neither, and
what it came to cannot be compared with runs that did consume theirs."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Recorded costs, which a job is charged where its trials or probes are replayed.

    Attributes
    ----------
    cpu_seconds, wall_seconds : float
        As recorded.
    spent_cpu_seconds : float, optional
        What was really spent on those that were not recorded before, if the environment knows.
    peak_memory_mb : float, optional
        The most memory that a process of its own held, in millions of bytes.
    """

    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    spent_cpu_seconds: float | None = None
    peak_memory_mb: float | None = None

    def plus(self, cpu_seconds: float, wall_seconds: float) -> Cost:
        """Return the cost after a further charge."""
        return replace(
            self,
            cpu_seconds=self.cpu_seconds + cpu_seconds,
            wall_seconds=self.wall_seconds + wall_seconds,
        )


class Environment(ABC):
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
    at : float
        Units consumed until now: the `at` of every event.
    cost : Cost, optional
        What the job is charged; by default the time that its algorithm takes.
    """

    kind: ClassVar[str]
    to_be_spent: ClassVar[bool] = True
    """Whether the budget is the work to be done, not only a limit of what it may cost."""

    budget: float
    at: float
    cost: Cost | None = None

    def __init__(self, unit: str, budget: float) -> None:
        if not budget >= 0:
            raise UsageError(f"a budget of {budget} {unit} is negative: give some, or 0 for none")
        self.unit, self.budget, self.at = unit, budget, 0
        self._notes: dict[str, float] = {}
        self._made: dict[Callable[..., Any], Any] = {}

    def note(self, metrics: Mapping[str, float]) -> None:
        """Take metrics that the run reports in addition to its score."""
        self._notes.update(metrics)

    def once(self, make: Callable[..., Made], *given: object) -> Made:
        """Return what `make` makes of what is given, made once an environment.

        Asked for in `Algorithm.prepare`, it is made outside the measured time.
        """
        if make not in self._made:
            self._made[make] = make(*given)
        return self._made[make]

    def bars(self, algorithm: Algorithm[Any]) -> str:
        """Return why the algorithm cannot work here, as the end of a sentence; or nothing."""
        return ""

    @abstractmethod
    def score(self) -> Score:
        """Return the score of the run so far."""

    def measures(self) -> Mapping[str, float]:
        """Return metrics in addition to those of the score; no algorithm is charged for them."""
        return {}


class Algorithm(ABC, Generic[B]):
    """Scheduler, policy or learner that runs on one kind of environment.

    A concrete algorithm is a frozen pydantic dataclass: its fields are its settings, with types,
    ranges and defaults, and its docstring cites the paper. It holds no state of a run; `run`
    does. The first line of the docstring is what ``leaseboard list`` prints.
    """

    environment: ClassVar[str]
    baseline: ClassVar[bool] = False
    """Whether it is a naive baseline: what all others on a leaderboard have to beat."""

    many_classes: ClassVar[bool] = False
    """Whether it predicts three and more classes: by a probability for each on a stream, by a
    number for each on a hold-out."""

    predicts_pending: ClassVar[bool] = False
    """Whether it predicts on a stream while labels are pending."""

    tasks: ClassVar[frozenset[str]] = frozenset(("regression", "classification"))
    """What it can do on a stream."""

    may_stop: ClassVar[bool] = False
    """Whether it may end before its budget is spent where the environment wants it spent."""

    @property
    def capacity(self) -> int | None:
        """Number of configurations that may be live at once; None without such a limit."""
        return None

    def live_at_most(self, env: B) -> int | None:
        """Return `capacity` on an environment, where that decides it."""
        return self.capacity

    def loss(self, env: B) -> str:
        """Return the name of what its bounds are of; empty for the environment's own metric."""
        return ""

    def prepare(self, env: B) -> None:
        """Make what takes none of the measured time; must not consume budget."""

    @abstractmethod
    def run(self, env: B, seed: int) -> Run:
        """Work against `env` until its budget ends, yielding every decision as an event.

        All randomness comes from `seed`.
        """


def settings_of(algorithm: Algorithm) -> dict[str, Any]:
    """Return the settings of an algorithm as plain values, defaults included."""
    return {name: getattr(algorithm, name) for name in setting_names(type(algorithm))}


def setting_names(cls: type[Algorithm]) -> tuple[str, ...]:
    """Return the names of the settings of an algorithm class, in the order of its fields."""
    if not dataclasses.is_dataclass(cls):
        return ()
    return tuple(spec.name for spec in dataclasses.fields(cls) if spec.init)


Configured = TypeVar("Configured", bound="Algorithm")


def configured(cls: type[Configured], name: str, settings: Mapping[str, Any]) -> Configured:
    """Return an algorithm with `settings`; UsageError names the setting that is wrong, and why.

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
        raise refused(name, "setting", error) from error


def play(name: str, algorithm: Algorithm, env: Environment, seed: int) -> Run:
    """Yield the events of one whole job: `Started`, the algorithm's own events, `Finished`."""
    yield Started(
        at=0,
        algorithm=name,
        environment=env.kind,
        unit=env.unit,
        budget=env.budget,
        capacity=algorithm.live_at_most(env),
        seed=seed,
        settings=settings_of(algorithm),
        loss=algorithm.loss(env),
    )
    yield from algorithm.run(env, seed)
    score = env.score()
    yield Finished(
        at=env.at,
        reason=_reason(algorithm, env),
        score=score.value,
        metric=score.metric,
        direction=score.direction,
        metrics=dict(score.metrics),
    )


def _reason(algorithm: Algorithm, env: Environment) -> str:
    if env.at >= env.budget * (1 - 1e-9):
        return BUDGET_SPENT
    stops = algorithm.may_stop or not env.to_be_spent
    return ALGORITHM_STOPPED if stops else ENDED_EARLY
