"""A suite: what to run, written in YAML, validated, and expanded to jobs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from algorithms.errors import UsageError, invalid, short, unknown
from algorithms.seeds import derive_seed
from tasks.jobs import Job, text_keys
from tasks.paths import conf_files
from tasks.promise import Promise
from tasks.yaml_size import MOST_CHARACTERS, check_depth, check_size

SUITE_FILE = "suite.json"
"""The suite beside the results of its run."""

Model = TypeVar("Model", bound=BaseModel)
Seed = Annotated[int, Field(ge=0, lt=2**31)]
Amount = Annotated[float, Field(gt=0, le=1e9)]
"""Of seconds or megabytes: more than any machine has, and no more than timers and limits take."""
Name = Annotated[str, Field(max_length=200)]
Settings = Annotated[dict[str, Any], AfterValidator(text_keys)]
MOST_JOBS = 100_000
"""Of one suite: each is a folder, a row and an MLflow run."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _named(key: str) -> BeforeValidator:
    """Let a bare string stand for ``{key: string}``."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


class Data(_Strict):
    """A data set of a suite: a reference, what tables call it, and its own budget and options."""

    data: Annotated[str, Field(max_length=4096)]
    name: Name = ""
    meaningful: bool = True
    budget: Annotated[float, Field(gt=0)] | None = None
    bench: Settings = Field(default_factory=dict)


class Contender(_Strict):
    """An algorithm of a suite with its settings; `label` is its name on the board."""

    name: Annotated[str, Field(max_length=4096)]
    label: Name = ""
    settings: Settings = Field(default_factory=dict)
    bench: Settings = Field(default_factory=dict)

    @property
    def title(self) -> str:
        """What the board calls it."""
        return self.label or self.name


class Limits(_Strict):
    """What one job may use before it is stopped; None means no limit.

    A job that prints more than `output_mb` goes on, and its log is cut.
    """

    wall_seconds: Amount | None = None
    cpu_seconds: Amount | None = None
    memory_mb: Amount | None = None
    output_mb: Amount | None = 64.0


class Tracking(_Strict):
    """How much of a job goes to MLflow as runs of its own."""

    configurations: Annotated[str, Field(pattern=r"^(all|leased|none|top:[1-9]\d*)$")] = "all"


class Normalise(_Strict):
    """The normalised score of ChaCha's tables: 0 is `zero`'s loss, 1 is `one`'s."""

    zero: str
    one: str


class Published(_Strict):
    """A number that a paper prints, and how far ours may be from it and still agree."""

    source: str
    algorithm: str
    data: str
    metric: str
    value: float
    sd: float | None = None
    tolerance: float | None = None


class Suite(_Strict):
    """A benchmark: every algorithm on every data set with every seed.

    Seeds are either listed (`seeds`: each is the seed of the job and of its environment, as a
    paper's authors list them) or derived (`seed` and `repetitions`: the job's from seed, data,
    algorithm and repetition, the environment's from seed, data and repetition). `relative_to`
    names baselines, to whose errors and times the others are put in relation.
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
    normalise: Normalise | None = None
    relative_to: list[str] = Field(default_factory=list)
    published: list[Published] = Field(default_factory=list)
    promises: list[Promise] = Field(default_factory=list)
    kind: Literal["benchmark", "speed"] = "benchmark"
    name: str = ""

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

    def workers(self, asked: int | None) -> int | None:
        """How many jobs may run at once: of a speed suite one, so that none slows another."""
        return 1 if self.kind == "speed" else asked

    def jobs(self) -> list[Job]:
        """Every job of the suite, in order: data, then repetition, then algorithm.

        Raises
        ------
        UsageError
            If two jobs are the same work.
        """
        jobs = [
            self._job(entry, contender, repetition)
            for entry in self.data
            for repetition in range(len(self.seeds) if self.seeds else self.repetitions)
            for contender in self.algorithms
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

    def _job(self, entry: Data, contender: Contender, repetition: int) -> Job:
        if self.seeds:
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

    Raises
    ------
    UsageError
        With the nearest name, or with file, line and key path of what is wrong in the YAML.
    """
    path = suite_path(name, conf)
    if is_collection(path):
        raise UsageError(f"{name} is a collection of suites: name one of those in {path}")
    suite = load_yaml(path, Suite)
    return suite.model_copy(update={"name": path.stem})


def is_collection(path: Path) -> bool:
    """Whether a YAML file names suites in the place of data and algorithms."""
    return "suites" in _read(path)[1]


def suite_path(name: str, conf: Path) -> Path:
    """The file of the suite called `name`; UsageError with the nearest name."""
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        known = conf_files("suites", conf)
        if name not in known:
            raise unknown("suite", name, known)
        return known[name]
    return path


def where(path: Path, location: list[str | int]) -> str:
    """``file:line: key.path`` of a place in a YAML file, for an error about what stands there."""
    tree = yaml.compose(path.read_text(encoding="utf-8"), Loader=_Loader)
    return f"{path}:{_line(tree, location)}: {'.'.join(map(str, location))}"


def load_yaml(path: Path, model: type[Model]) -> Model:
    """A validated `model` from a YAML file, or a UsageError that says where it is wrong."""
    tree, content = _read(path)
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise UsageError(_explain(path, tree, error, model)) from error


def _read(path: Path) -> tuple[yaml.Node | None, Mapping[str, Any]]:
    """The mapping in a YAML file, and the nodes that know its lines."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text: byte {error.start} is invalid") from error
    if len(text) > MOST_CHARACTERS:
        raise UsageError(
            f"{path}: {len(text)} characters: a configuration has at most {MOST_CHARACTERS}"
        )
    try:
        check_depth(yaml.parse(text, Loader=_Loader), path)
        loader = _Loader(text)
        tree = loader.get_single_node()
        check_size(tree, path)
        content = None if tree is None else loader.construct_document(tree)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark else str(path)
        raise UsageError(f"{place}: {getattr(error, 'problem', error)}") from error
    if not isinstance(content, Mapping):
        raise UsageError(f"{path}: a YAML mapping is expected, not {type(content).__name__}")
    return tree, content


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML's safe loader, compiled where it is so installed, that refuses a key written twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key in (str(key.value) for key, _ in node.value):
            if key in seen:
                problem = f"key {short(key)!r} stands twice"
                raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def _explain(path: Path, tree: yaml.Node | None, error: ValidationError, model: Any) -> str:
    first = error.errors()[0]
    location = [part for part in first["loc"] if not str(part).startswith("function-")]
    key = ".".join(short(str(part)) for part in location)
    place = f"{path}:{_line(tree, location)}"
    if first["type"] == "extra_forbidden" and len(location) == 1:
        return f"{place}: {unknown('key', key, model.model_fields)}"
    if first["type"] == "literal_error" and isinstance(first["input"], str):
        return f"{place}: {invalid(key, [first])}"
    message = first["msg"].removeprefix("Value error, ")
    given = (
        f" (given {short(repr(first['input']))})"
        if location and first["type"] != "missing"
        else ""
    )
    return f"{place}: {key or 'suite'}: {message}{given}"


def _line(node: yaml.Node | None, location: list[Any]) -> int:
    """The line of the deepest node on the way to `location`, counted from 1."""
    line = node.start_mark.line if node else 0
    for part in location:
        if isinstance(node, yaml.MappingNode):
            pair = next(((k, v) for k, v in node.value if k.value == str(part)), None)
            if pair is None:
                break
            line, node = pair[0].start_mark.line, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            node = node.value[part]
            line = node.start_mark.line
        else:
            break
    return line + 1
