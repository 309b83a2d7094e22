"""Suites and groups of them: what to run, in YAML, validated, expanded to jobs.

A suite is a full matrix of algorithms and data, with one leaderboard. Another kind of environment
needs a suite of its own; a suite group, such as ``ci``, names those that belong together.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.algorithms.seeds import derive_seed
from leaseboard.tasks.jobs.checks import Codes, Requirement
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.machine.environment import conf_files
from leaseboard.tasks.machine.yaml_files import Strict, load_yaml, read_yaml
from leaseboard.tasks.processes.child import Limits

Seed = Annotated[int, Field(ge=0, lt=2**31)]
Name = Annotated[str, Field(max_length=200)]
Settings = dict[str, Any]
YAML = (".yaml", ".yml")
Value = TypeVar("Value")


def _named(key: str) -> BeforeValidator:
    """Read a bare string as ``{key: string}``."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


class Data(Strict):
    """Dataset of a suite: a reference, its name in tables, and its own budget and options."""

    data: Annotated[str, Field(max_length=4096)]
    """A reference, such as `file:sales.csv?target=revenue`."""
    name: Name = ""
    """Its name in tables."""
    meaningful: bool = True
    """False: it is left out of the normalised score, but still ranked."""
    budget: Annotated[float, Field(gt=0)] | None = None
    """Replaces the suite's."""
    environment: Settings = Field(default_factory=dict)
    """Options of the environment, which override the suite's."""


class Contender(Strict):
    """Algorithm of a suite with its settings; `name` is its name on the leaderboard."""

    algorithm: Annotated[str, Field(max_length=4096)]
    """One of `leaseboard list`, or `FILE.py:CLASS`."""
    name: Name = ""
    """Its name on the leaderboard, not one by which readers know another algorithm; empty:
    `algorithm`."""
    settings: Settings = Field(default_factory=dict)
    """Its settings, as in `--set`."""
    environment: Settings = Field(default_factory=dict)
    """Options of the environment, which override the suite's and the dataset's."""

    @property
    def title(self) -> str:
        """Name on the leaderboard."""
        return self.name or self.algorithm


class Tracking(Strict):
    """Part of a job that goes to MLflow as runs of their own."""

    configurations: Annotated[str, Field(pattern=r"^(all|none|top:[1-9]\d*)$")] = "all"
    """Which of a job's configurations become MLflow runs: `all`, `none` or `top:N`."""


class Normalise(Strict):
    """Normalised score of ChaCha's tables: 0 is the loss of `zero`, 1 that of `one`."""

    zero: str
    """The algorithm whose loss is 0."""
    one: str
    """The algorithm whose loss is 1; a better one is above 1."""


class Suite(Strict):
    """Benchmark: every algorithm on every dataset with every seed.

    Seeds are either listed (`seeds`: each is the seed of the job and of its environment, as a
    paper's authors list them) or derived (`seed` and `repetitions`: the job's from seed, data,
    algorithm and repetition, the environment's from seed, data and repetition). A `metric` changes
    no job.
    """

    title: Name
    """The heading of its leaderboard."""
    description: Annotated[str, Field(max_length=10_000)] = ""
    """Its purpose, shown on its page."""
    data: list[Annotated[Data, _named("data")]] = Field(min_length=1)
    """Datasets, or their references only."""
    algorithms: list[Annotated[Contender, _named("algorithm")]] = Field(min_length=1)
    """Algorithms, or their names only."""
    seeds: Annotated[list[Seed], Field(min_length=1)] | None = None
    """The seed of each repetition, for both the job and its environment."""
    seed: Seed = 0
    """The number from which all seeds are derived, if `seeds` lists none."""
    repetitions: Annotated[int, Field(ge=1, le=100_000)] = 1
    """The number of repetitions, with other seeds each time, if `seeds` lists none."""
    budget: Annotated[float, Field(gt=0, le=1e15)] | None = None
    """The budget of each job, in the units of its environment; none: the environment's own."""
    environment: Settings = Field(default_factory=dict)
    """Options of the environment."""
    limits: Limits = Limits()
    """The resources that one job may use before it is stopped."""
    tracking: Tracking = Tracking()
    """The configurations that are recorded in MLflow."""
    metric: Annotated[Name, Field(min_length=1)] | None = None
    """The metric by which leaderboards rank, instead of the score: `rmse`, `mae`, `r2`, `error`,
    `log_loss`, `kappa`, `kappa_temporal`, `skill`, or those of tables."""
    normalise: Normalise | None = None
    """The algorithms whose losses are 0 and 1 of the normalised score."""
    baselines: bool = True
    """Algorithms on streams run next to the naive baselines that the suite does not name:
    `running-mean`, `last-label`, `seasonal-last`, `online-ridge`; false: only the listed
    algorithms, as for a paper."""
    requirements: list[Requirement] = Field(default_factory=list)
    """What the gate checks in addition to scores."""
    ignore: Codes = Field(default_factory=list)
    """Codes of diagnostics that are not shown, such as `LB003`."""
    name: str = ""
    """The file's own name replaces it."""
    _path: Path | None = PrivateAttr(default=None)
    _wanted: Mapping[tuple[str, str], int] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        titles = [contender.title for contender in self.algorithms]
        if title := duplicate(titles):
            raise ValueError(f"name {title!r} occurs twice: give each algorithm its own")
        if reference := duplicate(entry.data for entry in self.data):
            raise ValueError(f"data {reference!r} occurs twice: remove one")
        ends = (self.normalise.zero, self.normalise.one) if self.normalise else ()
        if absent := [title for title in ends if title not in titles]:
            raise ValueError(f"normalise names {absent[0]!r}, which is not an algorithm here")
        return self

    @model_validator(mode="after")
    def _check_requirements(self) -> Self:
        titles = [contender.title for contender in self.algorithms]
        places = {place for entry in self.data for place in (entry.data, entry.name)}
        for requirement in self.requirements:
            if (title := requirement.algorithm) not in titles:
                raise ValueError(f"requirements: {unknown('algorithm', title, titles)}")
            if requirement.data not in places | {""}:
                known = sorted(places - {""})
                raise ValueError(f"requirements: {unknown('data', requirement.data, known)}")
        if name := duplicate(each.name for each in self.all_requirements()):
            raise ValueError(f"requirement {name} occurs twice: remove one")
        return self

    def all_requirements(self) -> list[Requirement]:
        """Return every requirement with its data's reference; one of all data once for each."""
        return [
            requirement.model_copy(update={"data": entry.data})
            for requirement in self.requirements
            for entry in self.data
            if requirement.data in ("", entry.data, entry.name)
        ]

    @property
    def path(self) -> Path | None:
        """The file that it was read from, if any."""
        return self._path

    @property
    def data_names(self) -> dict[str, str]:
        """Names in tables of the datasets that have their own, by reference."""
        return {entry.data: entry.name for entry in self.data if entry.name}

    def jobs(self) -> list[Job]:
        """Return every job of the suite, in order: data, then repetition, then algorithm.

        Raises UsageError if two jobs are the same work.
        """
        repetitions = len(self.seeds) if self.seeds else self.repetitions
        jobs = [
            self._job(entry, contender, repetition)
            for entry in self.data
            for repetition in range(max([repetitions, *self._wanted.values()]))
            for contender in self.algorithms
            if repetition < max(repetitions, self._wanted.get((contender.title, entry.data), 0))
        ]
        refuse_duplicates((job.key("", job.data), job) for job in jobs)
        return jobs

    def extended(self, wanted: Mapping[tuple[str, str], int]) -> Self:
        """Return the suite with more repetitions of some scenarios, by name and data reference.

        The seeds of those beyond listed `seeds` are derived.
        """
        extended = self.model_copy()
        extended._wanted = wanted  # noqa: SLF001  (of its own class)
        return extended

    def _job(self, entry: Data, contender: Contender, repetition: int) -> Job:
        if self.seeds and repetition < len(self.seeds):
            seed = environment_seed = self.seeds[repetition]
        else:
            environment_seed = derive_seed(self.seed, entry.data, repetition)
            seed = derive_seed(self.seed, entry.data, contender.title, repetition)
        return Job(
            algorithm=contender.algorithm,
            data=entry.data,
            seed=seed,
            environment_seed=environment_seed,
            name=contender.title,
            settings=contender.settings,
            budget=self.budget if entry.budget is None else entry.budget,
            environment={**self.environment, **entry.environment, **contender.environment},
            repetition=repetition,
        )


def refuse_duplicates(jobs: Iterable[tuple[str, Job]]) -> None:
    """Raise UsageError if two jobs have one key."""
    first: dict[str, Job] = {}
    for key, job in jobs:
        earlier = first.setdefault(key, job)
        if earlier is not job:
            raise UsageError(
                f"duplicate job: {earlier.name} on {earlier.data} and {job.name} on {job.data}"
                f" with seed {job.seed} are the same work; remove one or change its settings"
            )


def duplicate(values: Iterable[Value]) -> Value | None:
    """Return the first value that occurs twice, None if all differ."""
    return next((value for value, count in Counter(values).items() if count > 1), None)


def suite_names(conf: Path) -> list[str]:
    """Return the names of the suites in a configuration folder, and of the shipped ones."""
    return sorted(conf_files("suites", conf))


class SuiteGroup(Strict):
    """YAML file of a suite group.

    - `suites`: names, or YAML files next to this one.
    """

    title: str
    description: str = ""
    suites: list[str] = Field(min_length=1)


def load_suite(name: str, conf: Path) -> Suite:
    """Return the suite called `name` in ``suites`` of `conf`, a shipped one, or a YAML file's.

    Raises UsageError with the nearest name, or with file, line and key path of what is wrong in
    the YAML.
    """
    group, (suite, *_) = load_suites(name, conf)
    if group:
        raise UsageError(f"{name} is a group of suites: name one of {', '.join(group.suites)}")
    return suite


def load_suites(name: str, conf: Path) -> tuple[SuiteGroup | None, list[Suite]]:
    """Return the suites that `name` denotes: those of a suite group, or the one of that name.

    Raises UsageError as `load_suite`, also if a suite occurs twice in a suite group.
    """
    path = Path(name)
    if path.suffix not in YAML:
        known = conf_files("suites", conf)
        if name not in known:
            raise unknown("suite", name, known)
        path = known[name]
    if "suites" not in read_yaml(path)[1]:
        suite = load_yaml(path, Suite).model_copy(update={"name": path.stem})
        suite._path = path  # noqa: SLF001  (of its own class)
        return None, [suite]
    group = load_yaml(path, SuiteGroup)
    if member := duplicate(Path(each).stem for each in group.suites):
        raise UsageError(f"{path}: suites: {member} occurs twice: remove one")
    named = [str(path.parent / each) if Path(each).suffix in YAML else each
             for each in group.suites]  # fmt: skip
    return group, [load_suite(each, conf) for each in named]


def check_apart(suites: list[Suite]) -> None:
    """Raise UsageError if two suites have an algorithm of the same name on the same data."""
    owners: dict[tuple[str, str], str] = {}
    for suite in suites:
        for contender, entry in itertools.product(suite.algorithms, suite.data):
            title, data = contender.title, entry.data
            owner = owners.setdefault((title, data), suite.name)
            if owner != suite.name:
                raise UsageError(
                    f"{title} on {data} is in {owner} and in {suite.name}: give one of them"
                    " another name"
                )


class Scheduled(Strict):
    """Suite that runs, or live model that is updated, by the clock."""

    name: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    """Name of the deployment in Prefect."""
    cron: str
    """Five fields: minute, hour, day of the month, month, day of the week."""
    timezone: str = "UTC"
    """Time zone of `cron`, such as `Europe/Berlin`."""
    suite: str | None = None
    """A name of ``conf/suites``, or a YAML file."""
    live: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    """FILE.yaml of ``leaseboard live update``; a path is from where the schedule is started, as is
    that of a suite's file."""
    gate: bool = False
    """Compare the suite with its accepted scores, as `leaseboard gate` does."""
    out: str | None = None
    """Where to write; ``runs/<suite>`` or ``runs/live/<name>`` by default. Finished jobs there are
    not run again, so a run with unchanged code and data has nothing to do."""
    workers: Annotated[int, Field(ge=1)] | None = None
    """The number of jobs of a suite that run at once."""

    @property
    def what(self) -> str:
        """Description of the suite or live model."""
        if self.live is not None:
            return f"live model {self.live}"
        return f"{'gate of ' * self.gate}suite {self.suite}"

    @model_validator(mode="after")
    def _check_time(self) -> Self:
        from cronsim import CronSim, CronSimError

        try:
            CronSim(self.cron, datetime(2000, 1, 1, tzinfo=ZoneInfo(self.timezone)))
        except CronSimError as error:
            raise ValueError(f"{self.cron!r} is not a cron expression: {error}") from error
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(f"unknown timezone {self.timezone!r}") from error
        return self

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.suite is None) == (self.live is None):
            raise ValueError(
                f"schedule {self.name!r} runs one thing: add suite or live, such as"
                " suite: quick or live: sales.yaml"
            )
        if self.live is not None and (self.gate or self.workers is not None):
            raise ValueError(
                f"schedule {self.name!r} of live {self.live!r} has gate or workers, which are of a"
                " suite: remove them"
            )
        return self


class Schedule(Strict):
    """All schedules of a configuration folder."""

    schedules: Annotated[list[Scheduled], Field(min_length=1)]


def load_schedule(conf: Path) -> Schedule:
    """Return the schedules of ``schedule.yaml`` in `conf`; every suite that they name exists.

    Raises UsageError: naming what is wrong, and where.
    """
    path = conf / "schedule.yaml"
    if not path.is_file():
        raise UsageError(f"{path} does not exist: write one, the operations page has an example")
    schedule = load_yaml(path, Schedule)
    if name := duplicate(entry.name for entry in schedule.schedules):
        raise UsageError(f"{path}: schedule {name!r} occurs twice: give it another name")
    for entry in schedule.schedules:
        if entry.suite is not None:
            (load_suites if entry.gate else load_suite)(entry.suite, conf)
    return schedule
