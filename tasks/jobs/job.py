"""A job, what it may use, and its result: the values that all of Leaseboard passes on."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Annotated, Any

import pydantic.dataclasses
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)

from leaseboard.algorithms.errors import UsageError, short
from leaseboard.tasks.jobs.benches.kinds import KINDS
from leaseboard.tasks.machine.addresses import discreet
from leaseboard.tasks.machine.terminal import shown

Limit = Annotated[float, Field(gt=0, le=1e9)]
"""Of seconds or megabytes: more than any machine has, and no more than timers and limits take."""


class Limits(BaseModel):
    """What one job may use before it is stopped; None means no limit.

    A job that prints more than `output_mb` goes on, and its log is cut.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    wall_seconds: Limit | None = None
    cpu_seconds: Limit | None = None
    memory_mb: Limit | None = None
    output_mb: Limit | None = 64.0


STATUSES = ("ok", "timeout", "memout", "crash", "diverged", "skipped")
"""Every status a job can end with. Only ``ok`` is ever reused."""
FAILURES = frozenset(STATUSES) - {"ok", "skipped"}
"""Of a job that was run and went wrong; one that is skipped was never run."""
MOST_NAME = 5000
"""Signs of the longest name: a path as long as a system takes them, and options."""
MOST_REMARK = 2000
_SURROGATE = re.compile("[\ud800-\udfff]")
MOST_SCORE = 1e100
"""Beyond it a model has diverged: squares of scores would be no finite numbers."""


def text_keys(value: Any) -> Any:
    """The value, if all keys in it are text: JSON has no others, and no order of mixed ones."""
    odd = [key for key in _keys(value) if not isinstance(key, str)]
    if odd:
        raise ValueError(f"the key {short(repr(odd[0]))} is no text: put it into quotes")
    return value


def _keys(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value
        value = list(value.values())
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _keys(inner)


@dataclass(frozen=True, slots=True)
class Job:
    """One run of one algorithm on one data set with one seed.

    Raises UsageError if a key of the settings or options is no text.
    """

    algorithm: str
    """A registered name, or ``path/to/file.py:Class``."""
    data: str
    """A data reference such as ``openml:215`` or ``synthetic:fried?rows=1000``."""
    seed: int
    environment_seed: int
    """The bench's seed, shared by all algorithms of a repetition."""
    label: str = ""
    """What boards call the algorithm; tells apart two settings of one algorithm."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The algorithm's settings that differ from its defaults."""
    budget: float | None = None
    """Units of the bench that the job may consume; None means all there is."""
    bench: Mapping[str, Any] = field(default_factory=dict)
    """Options of the bench and of preprocessing, such as ``{"log_target": False}``."""
    repetition: int = 0
    """Which repetition this is, from 0."""

    def __post_init__(self) -> None:
        for name in ("settings", "bench"):
            try:
                text_keys(getattr(self, name))
            except ValueError as error:
                raise UsageError(f"{name} of {self.label or self.algorithm}: {error}") from error

    def key(self, digest: str, version: str) -> str:
        """A name of the result: equal for equal work, whatever process or order computes it.

        - `digest`: of the data as read.
        - `version`: of the algorithm's code, see `leaseboard.tasks.keys.versions.code_version`.
        """
        identity = {
            name: value
            for name, value in _fields_of(self).items()
            if name not in ("label", "data", "repetition")
        }
        identity |= {"digest": digest, "version": version}
        canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"), default=str)
        return hashlib.sha256(canonical.encode()).hexdigest()[:20]


def _printable(text: str) -> str:
    if any(sign in text for sign in "\n\t") or shown(text) != text:
        raise ValueError("control characters are not allowed")
    return text


def _one_of(*names: str) -> AfterValidator:
    def check(text: str) -> str:
        if text not in names:
            raise ValueError(f"Input should be {', '.join(map(repr, names))}")
        return text

    return AfterValidator(check)


def _moment(text: str) -> str:
    if text:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None or not 1970 < moment.year < 9999:
            raise ValueError("a time since 1970 with its zone is expected")
    return text


def _number(value: Any) -> Any:
    """A numpy scalar as Python's own."""
    return value.item() if hasattr(value, "item") else value


def _remark(value: Any) -> Any:
    return shown(value)[:MOST_REMARK] if isinstance(value, str) else value


def _mapping(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


Name = Annotated[str, Field(max_length=MOST_NAME), AfterValidator(_printable)]
"""A text by which things are told apart: taken as it is, or refused."""
Remark = Annotated[str, BeforeValidator(_remark)]
"""A text for people, such as an exception's: cut, and its control characters written out."""
Key = Annotated[str, Field(pattern=r"\A[A-Za-z0-9_-]{1,64}\z")]
Title = Annotated[Name, Field(min_length=1)]
Moment = Annotated[Name, AfterValidator(_moment)]
Seed = Annotated[int, BeforeValidator(_number), Field(ge=0, lt=2**31)]
Number = Annotated[float, BeforeValidator(_number)]
Score = Annotated[Number, Field(ge=-MOST_SCORE, le=MOST_SCORE, allow_inf_nan=False)]
Amount = Annotated[Number, Field(ge=0, le=1e15, allow_inf_nan=False)]
Settings = Annotated[dict[str, Any], BeforeValidator(_mapping)]
Direction = Annotated[str, _one_of("min", "max")]


@pydantic.dataclasses.dataclass(
    frozen=True, slots=True, config=ConfigDict(strict=True, extra="forbid")
)
class Result:
    """What a job came to. One row of ``results.parquet``; one ``result.json`` a job.

    Its fields say what a result may hold, whoever made it: a value of another type or beyond its
    range is refused, here and in a bundle alike.

    `bench` is the kind of bench, `bench_options` what the job asked of it and of preprocessing.
    `units` is what the run consumed of its `budget`, None where that has no end. `rows` is how
    many rows of the dataset the job could use, of `rows_available` in the source, None where that
    is unknown, such as beyond ``first_rows``. A run that is not `complete` ended before it had
    consumed what its bench wanted consumed; it ranks after all that did. `hindsight` marks an
    algorithm that declares to use what cannot be known in time, and `baseline` a naive baseline.
    `champion` holds the parameters of the answer, and `champion_seed` the seed of its learner if a
    trial had one. `score` is None unless `status` is ``ok``. `cpu_seconds` and `wall_seconds` are
    the algorithm's work alone; loading data and compiling kernels is `setup_seconds`;
    `job_cpu_seconds` and `job_wall_seconds` are all that the job took by its own clocks. `source`
    and `licence` are the data's.

    Raises pydantic.ValidationError: see `first_fault`.
    """

    key: Key
    algorithm: Title
    label: Title
    data: Title
    digest: Name
    seed: Seed
    environment_seed: Seed
    repetition: Seed
    status: Annotated[str, _one_of(*STATUSES)]
    reason: Remark = ""
    score: Score | None = None
    metric: Remark = ""
    direction: Direction = "min"
    metrics: Annotated[dict[Name, Number], BeforeValidator(_mapping)] = field(default_factory=dict)
    champion: Settings | None = None
    champion_seed: Seed | None = None
    unit: Remark = ""
    units: Amount = 0.0
    budget: Amount | None = None
    rows: Amount | None = None
    rows_available: Amount | None = None
    complete: bool = True
    hindsight: bool = False
    baseline: bool = False
    cpu_seconds: Amount = 0.0
    wall_seconds: Amount = 0.0
    setup_seconds: Amount = 0.0
    job_cpu_seconds: Amount | None = None
    job_wall_seconds: Amount | None = None
    settings: Settings = field(default_factory=dict)
    bench: Annotated[str, _one_of("", *KINDS)] = ""
    bench_options: Settings = field(default_factory=dict)
    events: Name | None = None
    version: Name = ""
    started: Moment = ""
    host: Remark = ""
    source: Remark = ""
    licence: Remark = ""

    @classmethod
    def of(cls, job: Job, **found: Any) -> Result:
        """The result of `job`: whose it is and what was asked, as it says, and what was found."""
        asked = {"settings": job.settings, "bench_options": job.bench, "host": platform.node()}
        return cls(**_whose(job) | asked | found)

    def kept_for(self, job: Job, version: str = "") -> Result:
        """The same as a result of `job`, which whoever ran it is not asked about.

        - `job`: as it was planned here: where it ran its data may have had another address, and
          code of a user's could name any job.
        - `version`: of the code that was planned, for a job that failed before it knew.
        """
        whose = _whose(job) | {"version": self.version or version}
        return replace(self, **whose, reason=discreet(self.reason))

    def __post_init__(self) -> None:
        if self.score is not None and self.status != "ok":
            raise ValueError(f"a score beside the status {self.status!r}: only ok jobs have one")

    @property
    def failed(self) -> bool:
        """Whether the job was run and went wrong."""
        return self.status in FAILURES


def _whose(job: Job) -> dict[str, Any]:
    return {
        "algorithm": job.algorithm,
        "label": job.label or job.algorithm,
        "data": job.data,
        "seed": job.seed,
        "environment_seed": job.environment_seed,
        "repetition": job.repetition,
    }


def plain(result: Result) -> dict[str, Any]:
    """A result in JSON's own types: the row of it."""
    plain: dict[str, Any] = json.loads(_json(_fields_of(result)))
    return plain


def _fields_of(record: Job | Result) -> dict[str, Any]:
    """Its fields as they are: `dataclasses.asdict` would copy all that is in them."""
    return {each.name: getattr(record, each.name) for each in fields(record)}


def first_fault(error: Exception) -> str:
    """What is wrong first, in one line; of a value that was checked where, the rule and it."""
    if not isinstance(error, ValidationError):
        return shown(str(error))
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if not str(part).startswith("function-"))
    scalar = isinstance(first["input"], (str, int, float)) or first["input"] is None
    given = f" (given {repr(first['input'])[:80]})" if scalar else ""
    what = f"{where[:200]}: {first['msg'].removeprefix('Value error, ')}{given}"
    return shown(" ".join(what.removeprefix(": ").split("\n")))


def plain_value(value: Any) -> Any:
    """A value in JSON's own types, as it is read from a result again; NaN is text."""
    return json.loads(_json(value), parse_constant=str)


def _json(value: Any) -> str:
    """JSON that every reader takes: half of a surrogate pair, which UTF-8 has not, written out."""
    text = json.dumps(value, default=_unwrap, ensure_ascii=False)
    return _SURROGATE.sub(lambda half: f"\\\\u{ord(half[0]):04x}", text)


def _unwrap(value: Any) -> Any:
    """A numpy scalar as Python's own; anything else as text."""
    return value.item() if hasattr(value, "item") else str(value)
