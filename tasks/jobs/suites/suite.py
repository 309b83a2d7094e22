"""Suites and collections of them: what to run, in YAML, validated, expanded to jobs.

A suite is a full matrix of algorithms and data, with one board. What runs on another kind of bench
is a suite of its own; a collection, such as ``ci``, names those that belong together.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    model_validator,
)

from leaseboard.algorithms.benches.measures import Measure
from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.algorithms.seeds import derive_seed
from leaseboard.tasks.jobs.job import Job, Limits, text_keys
from leaseboard.tasks.jobs.suites.promise import Promise
from leaseboard.tasks.machine.paths import conf_files
from leaseboard.tasks.machine.yaml_files import Strict, load_yaml, read_yaml, where

Seed = Annotated[int, Field(ge=0, lt=2**31)]
Name = Annotated[str, Field(max_length=200)]
Settings = Annotated[dict[str, Any], AfterValidator(text_keys)]
MOST_JOBS = 100_000
"""Of one suite: each is a folder, a row and an MLflow run."""


def _named(key: str) -> BeforeValidator:
    """Let a bare string stand for ``{key: string}``."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


class Data(Strict):
    """A data set of a suite: a reference, what tables call it, and its own budget and options."""

    data: Annotated[str, Field(max_length=4096)]
    name: Name = ""
    meaningful: bool = True
    budget: Annotated[float, Field(gt=0)] | None = None
    bench: Settings = Field(default_factory=dict)


class Contender(Strict):
    """An algorithm of a suite with its settings; `label` is its name on the board."""

    name: Annotated[str, Field(max_length=4096)]
    label: Name = ""
    settings: Settings = Field(default_factory=dict)
    bench: Settings = Field(default_factory=dict)

    @property
    def title(self) -> str:
        """What the board calls it."""
        return self.label or self.name


class Tracking(Strict):
    """How much of a job goes to MLflow as runs of its own."""

    configurations: Annotated[str, Field(pattern=r"^(all|leased|none|top:[1-9]\d*)$")] = "all"


class Normalise(Strict):
    """The normalised score of ChaCha's tables: 0 is `zero`'s loss, 1 is `one`'s."""

    zero: str
    one: str


class Printed(Strict):
    """A number that a paper prints, and how far ours may be from it and still agree."""

    source: str
    algorithm: str
    data: str
    metric: str
    value: float
    sd: float | None = None
    tolerance: float | None = None


class Suite(Strict):
    """A benchmark: every algorithm on every data set with every seed.

    Seeds are either listed (`seeds`: each is the seed of the job and of its environment, as a
    paper's authors list them) or derived (`seed` and `repetitions`: the job's from seed, data,
    algorithm and repetition, the environment's from seed, data and repetition). `relative_to`
    names baselines, to whose errors and times the others are put in relation. `baselines` adds the
    naive baselines to algorithms on streams, see `rankable.with_baselines`. `metric` is what
    boards rank by in the place of the score, see
    `leaseboard.algorithms.benches.measures`; it makes no job another.
    """

    title: Name
    description: Annotated[str, Field(max_length=10_000)] = ""
    data: list[Annotated[Data, _named("data")]] = Field(min_length=1)
    algorithms: list[Annotated[Contender, _named("name")]] = Field(min_length=1)
    seeds: Annotated[list[Seed], Field(min_length=1)] | None = None
    seed: Seed = 0
    repetitions: Annotated[int, Field(ge=1, le=MOST_JOBS)] = 1
    budget: Annotated[float, Field(gt=0, le=1e15)] | None = None
    bench: Settings = Field(default_factory=dict)
    limits: Limits = Limits()
    tracking: Tracking = Tracking()
    metric: Measure | None = None
    normalise: Normalise | None = None
    relative_to: list[str] = Field(default_factory=list)
    baselines: bool = True
    published: list[Printed] = Field(default_factory=list)
    promises: list[Promise] = Field(default_factory=list)
    kind: Literal["benchmark", "speed"] = "benchmark"
    name: str = ""
    _wanted: Mapping[tuple[str, str], int] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        repetitions = len(self.seeds) if self.seeds else self.repetitions
        jobs = len(self.data) * len(self.algorithms) * repetitions
        if jobs > MOST_JOBS:
            raise ValueError(
                f"repetitions: {repetitions} of {len(self.algorithms)} algorithms on"
                f" {len(self.data)} data sets are {jobs} jobs: a suite can have {MOST_JOBS}"
            )
        return self

    @model_validator(mode="after")
    def _check_labels(self) -> Self:
        titles = [contender.title for contender in self.algorithms]
        for title in titles:
            if titles.count(title) > 1:
                raise ValueError(f"label {title!r} stands twice: give each algorithm its own")
        for i, one in enumerate(self.algorithms):
            for other in self.algorithms[:i]:
                if one.model_copy(update={"label": other.label}) == other:
                    raise ValueError(
                        f"{other.title} and {one.title} are the same work: remove one or change"
                        " its settings"
                    )
        references = [entry.data for entry in self.data]
        for reference in references:
            if references.count(reference) > 1:
                raise ValueError(f"data {reference!r} stands twice: remove one")
        if self.normalise:
            for title in (self.normalise.zero, self.normalise.one):
                if title not in titles:
                    raise ValueError(f"normalise names {title!r}, which is no algorithm here")
        for title in self.relative_to:
            if title not in titles:
                raise ValueError(f"relative_to names {title!r}, which is no algorithm here")
        return self

    @model_validator(mode="after")
    def _check_promises(self) -> Self:
        titles = [contender.title for contender in self.algorithms]
        places = {place for entry in self.data for place in (entry.data, entry.name)}
        for promise in self.promises:
            for title in filter(None, (promise.algorithm, promise.over)):
                if title not in titles:
                    raise ValueError(f"promises: {unknown('algorithm', title, titles)}")
            if promise.data not in places | {""}:
                known = sorted(places - {""})
                raise ValueError(f"promises: {unknown('data', promise.data, known)}")
        said = [promise.identity for promise in self.promised()]
        for promise in self.promised():
            if said.count(promise.identity) > 1:
                raise ValueError(f"promise {promise.name} stands twice: remove one")
        return self

    def promised(self) -> list[Promise]:
        """Every promise with the reference of its data; one of all data once for each of them."""
        return [
            promise.model_copy(update={"data": entry.data})
            for promise in self.promises
            for entry in self.data
            if promise.data in ("", entry.data, entry.name)
        ]

    @property
    def data_names(self) -> dict[str, str]:
        """What tables call the data sets that have a name of their own, by reference."""
        return {entry.data: entry.name for entry in self.data if entry.name}

    def stands_for(self) -> list[str]:
        """Return what names do not say: of algorithms, data sets, and how they are compared."""
        found = []
        for entry, shown, name in (
            *((one, one.title, one.name) for one in self.algorithms),
            *((each, each.name or each.data, each.data) for each in self.data),
        ):
            more = entry.model_dump(exclude_defaults=True, exclude={"name", "label", "data"})
            if shown != name or more:
                found.append(f"{shown} is {name}" + (f" with {json.dumps(more)}" if more else ""))
        compared = {"budget", "bench", "limits", "metric", "normalise", "relative_to"}
        if more := self.model_dump(exclude_defaults=True, include=compared):
            found.append(f"the suite has {json.dumps(more)}")
        return found

    def workers(self, asked: int | None) -> int | None:
        """How many jobs may run at once: of a speed suite one, so that none slows another."""
        return 1 if self.kind == "speed" else asked

    def jobs(self) -> list[Job]:
        """Every job of the suite, in order: data, then repetition, then algorithm.

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
        first: dict[str, Job] = {}
        for job in jobs:
            twin = first.setdefault(job.key("", job.data), job)
            if twin is not job:
                raise UsageError(
                    f"duplicate job: {twin.label} and {job.label} on {job.data} with seed"
                    f" {job.seed} are the same work; remove one or change its settings"
                )
        return jobs

    def extended(self, wanted: Mapping[tuple[str, str], int]) -> Suite:
        """Return the suite with more repetitions of some scenarios, by label and data reference.

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
            algorithm=contender.name,
            data=entry.data,
            seed=seed,
            environment_seed=environment_seed,
            label=contender.title,
            settings=contender.settings,
            budget=self.budget if entry.budget is None else entry.budget,
            bench={**self.bench, **entry.bench, **contender.bench},
            repetition=repetition,
        )


def suite_names(conf: Path) -> list[str]:
    """The names of the suites in a configuration folder, and of those that are shipped."""
    return sorted(conf_files("suites", conf))


def load_suite(name: str, conf: Path) -> Suite:
    """The suite called `name` in ``suites`` of `conf`, a shipped one, or that of a YAML file.

    Raises UsageError with the nearest name, or with file, line and key path of what is wrong in
    the YAML.
    """
    path = suite_path(name, conf)
    if is_collection(path):
        raise UsageError(f"{name} is a collection of suites: name one of those in {path}")
    suite = load_yaml(path, Suite)
    return suite.model_copy(update={"name": path.stem})


def is_collection(path: Path) -> bool:
    """Whether a YAML file names suites in the place of data and algorithms."""
    return "suites" in read_yaml(path)[1]


def suite_path(name: str, conf: Path) -> Path:
    """The file of the suite called `name`; UsageError with the nearest name."""
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        known = conf_files("suites", conf)
        if name not in known:
            raise unknown("suite", name, known)
        return known[name]
    return path


class Collection(Strict):
    """The YAML file of a collection.

    `suites`: names, or YAML files beside this one.
    """

    title: str
    description: str = ""
    suites: list[str] = Field(min_length=1)


def members(name: str, conf: Path) -> list[str]:
    """The suites that `name` stands for: those of a collection, or the one of that name.

    Raises UsageError if a suite stands twice in a collection, or is a collection itself.
    """
    path = suite_path(name, conf)
    if not is_collection(path):
        return [name]
    found = [
        str(path.parent / member) if Path(member).suffix in (".yaml", ".yml") else member
        for member in load_yaml(path, Collection).suites
    ]
    for i, member in enumerate(found):
        place = where(path, ["suites", i])
        if Path(member).stem in (Path(other).stem for other in found[:i]):
            raise UsageError(f"{place}: {member} stands twice: remove one")
        if is_collection(suite_path(member, conf)):
            raise UsageError(f"{place}: {member} is a collection itself: name its suites")
    return found


def check_apart(suites: list[Suite]) -> None:
    """Raise a UsageError if two suites have an algorithm of the same label on the same data."""
    owners: dict[tuple[str, str], str] = {}
    for suite in suites:
        for title, data in itertools.product(
            (contender.title for contender in suite.algorithms),
            (entry.data for entry in suite.data),
        ):
            owner = owners.setdefault((title, data), suite.name)
            if owner != suite.name:
                raise UsageError(
                    f"{title} on {data} stands in {owner} and in {suite.name}: give one of them"
                    " another label"
                )
