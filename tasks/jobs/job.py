"""A job, and its result."""

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
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationError

from leaseboard.algorithms import registry
from leaseboard.algorithms.errors import UsageError, rule, short
from leaseboard.tasks.jobs.environments.kinds import KINDS
from leaseboard.tasks.machine.addresses import discreet
from leaseboard.tasks.machine.terminal import shown

STATUSES = ("ok", "timeout", "memout", "crash", "diverged", "skipped")
"""Statuses with which a job can end. Only results that are ``ok`` are reused."""
FAILURES = frozenset(STATUSES) - {"ok", "skipped"}
"""Statuses of a job that was run and went wrong; a skipped one was not run."""
UNDONE = "not done"
"""In place of a status, on leaderboards: its files were edited or damaged after it ended."""
REPLAYED = 0.01
"""Share of a cost from which on it is called replayed: two clocks differ by less."""
MOST_NAME = 5000
"""Length of the longest name: the longest path of a system, and options."""
MOST_REMARK = 2000
_SURROGATE = re.compile("[\ud800-\udfff]")
MOST_SCORE = 1e100
"""Score beyond which a model has diverged: its square would not be finite."""


def text_keys(value: Any) -> Any:
    """Return the value if all keys in it are text, as JSON and sorting need."""
    odd = [key for key in _keys(value) if not isinstance(key, str)]
    if odd:
        raise ValueError(f"the key {short(repr(odd[0]))} is not text: put it into quotes")
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
    """One run of one algorithm on one dataset with one seed.

    Raises UsageError if a key of the settings or options is not text.
    """

    algorithm: str
    """A registered name, a plugin's, or ``path/to/file.py:Class``."""
    data: str
    """A data reference such as ``openml:215`` or ``synthetic:fried?rows=1000``."""
    seed: int
    environment_seed: int
    """The environment's seed, shared by all algorithms of a repetition."""
    name: str = ""
    """Name of the algorithm on leaderboards, which differs for two settings of one algorithm."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The algorithm's settings that differ from its defaults."""
    budget: float | None = None
    """Units of the environment that the job may consume; None means all."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    """Options of the environment and of preprocessing, such as ``{"log_target": False}``; the
    algorithm's presets, such as ``optimiser: random`` of ER-UCB's paper, are added."""
    repetition: int = 0
    """Number of the repetition, from 0."""
    metric: str = ""
    """A plugin's metric that it measures, too."""
    predictions: bool = False
    """Whether it writes each label with its prediction."""

    def __post_init__(self) -> None:
        for name in ("settings", "environment"):
            try:
                text_keys(getattr(self, name))
            except ValueError as error:
                raise UsageError(f"{name} of {self.name or self.algorithm}: {error}") from error
        presets = registry.environment_presets(self.algorithm)
        object.__setattr__(self, "environment", {**presets, **self.environment})

    def examples(self) -> int | None:
        """Return the budget as a number of examples, None for all; UsageError if it is not one."""
        if self.budget is None:
            return None
        if self.budget < 1 or self.budget != int(self.budget):
            raise UsageError(
                f"budget {self.budget:g} must be a whole number of examples, at least 1"
            )
        return int(self.budget)

    def key(self, digest: str, version: str) -> str:
        """Return the name of the result: equal for equal work, in any process and order.

        - `digest`: of the data as read.
        - `version`: of the algorithm's code and its libraries, see
          `leaseboard.tasks.keys.versions.code_and_libraries`.
        """
        identity = {
            name: value
            for name, value in _fields_of(self).items()
            if name not in ("name", "data", "repetition")
            and (name not in ("metric", "predictions") or value)
        }
        identity |= {"digest": digest, "version": version}
        canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"), default=str)
        return hashlib.sha256(canonical.encode()).hexdigest()[:20]


def _printable(text: str) -> str:
    if any(sign in text for sign in "\n\t") or shown(text) != text:
        raise ValueError("control characters are not allowed")
    return text


def _one_of(*names: str) -> Any:
    return Field(pattern=rf"\A({'|'.join(names)})\z")


def _moment(text: str) -> str:
    if text:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None or not 1970 < moment.year < 9999:
            raise ValueError("a time since 1970 with its zone is expected")
    return text


def _number(value: Any) -> Any:
    """Return a numpy scalar as Python's own."""
    return value.item() if hasattr(value, "item") else value


def _remark(value: Any) -> Any:
    return shown(value)[:MOST_REMARK] if isinstance(value, str) else value


def _mapping(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


Name = Annotated[str, Field(max_length=MOST_NAME), AfterValidator(_printable)]
"""Text that identifies something: accepted unchanged, or refused."""
Remark = Annotated[str, BeforeValidator(_remark)]
"""Text for people, such as an exception's: shortened, with control characters escaped."""
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
    frozen=True,
    slots=True,
    config=ConfigDict(strict=True, extra="forbid"),
)
class Result:
    """Result of a job: one row of ``results.parquet``, one ``result.json`` a job.

    Its fields say what a result may hold: a value of another type or beyond its range is refused,
    here and in an archive.

    Raises pydantic.ValidationError: see `first_fault`.
    """

    key: Key
    """Name of the job: a hash of its data, code, libraries, settings and seeds."""
    algorithm: Title
    """A registered name, a plugin's, or ``path/to/file.py:Class``."""
    name: Title
    """Name of the algorithm on leaderboards."""
    data: Title
    """Reference of the dataset."""
    digest: Name
    """Checksum of the data as read."""
    seed: Seed
    """Seed of the algorithm."""
    environment_seed: Seed
    """Seed of splits and draws, shared by all algorithms of a repetition."""
    repetition: Seed
    """Number of the repetition, from 0."""
    status: Annotated[str, _one_of(*STATUSES, UNDONE)]
    """``ok``, ``timeout``, ``memout``, ``crash``, ``diverged``, ``skipped`` or ``not done``."""
    reason: Remark = ""
    """Why it has no score, or none that can be compared."""
    score: Score | None = None
    """Value of `metric`; None unless `status` is ``ok``."""
    metric: Remark = ""
    """Measure of the score; its unit is in the name or that of the target."""
    direction: Direction = "min"
    """``min`` if less of the score is better, ``max`` if more is."""
    metrics: Annotated[dict[Name, Number], BeforeValidator(_mapping)] = field(default_factory=dict)
    """Further measures, by name."""
    champion: Settings | None = None
    """Parameters of the answer."""
    champion_seed: Seed | None = None
    """Seed of the champion's learner, if a trial had one."""
    unit: Remark = ""
    """What `units` and `budget` count, such as examples, trials or rows."""
    units: Amount = 0.0
    """Part of the `budget` that the run consumed."""
    budget: Amount | None = None
    """Units that the run could consume; None where it has no end."""
    rows: Amount | None = None
    """Number of rows of the dataset that the job could use."""
    rows_available: Amount | None = None
    """Number of rows in the source; None where that is unknown, such as beyond ``first_rows``."""
    complete: bool = True
    """False if the run ended before it had consumed its budget; it ranks after all that did."""
    oracle_baseline: bool = False
    """True if the algorithm declares to use what cannot be known in time."""
    baseline: bool = False
    """True if it is a naive baseline."""
    cpu_seconds: Amount = 0.0
    """CPU seconds of the algorithm's work alone; of recorded trials those that they cost."""
    wall_seconds: Amount = 0.0
    """Wall seconds of the algorithm's work alone."""
    setup_seconds: Amount = 0.0
    """Wall seconds of loading and encoding data."""
    settings: Settings = field(default_factory=dict)
    """Settings of the algorithm, defaults included."""
    environment: Annotated[str, _one_of("", *KINDS)] = ""
    """Kind of environment."""
    environment_options: Settings = field(default_factory=dict)
    """All options of the environment and of preprocessing, as the job had them."""
    events: Name | None = None
    """Name of the event log in the job's folder."""
    version: Name = ""
    """Version of the algorithm's code."""
    libraries: Remark = ""
    """Libraries that its code imports and computes with, each with its version."""
    plugins: Name = ""
    """Distributions whose plugins it ran, each with its version."""
    started: Moment = ""
    """Time at which the job began, ISO 8601 in UTC."""
    host: Remark = ""
    """Name of the machine."""
    source: Remark = ""
    """Origin of the data."""
    licence: Remark = ""
    """Licence of the data."""
    data_facts: Settings = field(default_factory=dict)
    """Facts of the data, such as missing values; see `leaseboard.tasks.fetch.data_facts`."""

    @classmethod
    def of(cls, job: Job, **found: Any) -> Result:
        """Return the result of `job` with the job's identity and settings, and what was found."""
        asked = {
            "settings": job.settings,
            "environment_options": job.environment,
            "host": platform.node(),
        }
        return cls(**_identity(job) | asked | found)

    def kept_for(self, job: Job, version: str = "") -> Result:
        """Return the same with the identity of `job`.

        - `job`: the planned one: elsewhere its data may have another address.
        - `version`: of the planned code, for a job that failed before it knew.
        """
        identity = _identity(job) | {"version": self.version or version}
        return replace(self, **identity, reason=discreet(self.reason))

    def __post_init__(self) -> None:
        if self.score is not None and self.status != "ok":
            raise ValueError(f"a score with the status {self.status!r}: only ok jobs have one")

    @property
    def failed(self) -> bool:
        """True if the job was run and went wrong."""
        return self.status in FAILURES


def replayed_cpu_seconds(of: Any) -> float:
    """Return the part of the CPU seconds of a result, or of its row, that was not spent again.

    They are of recorded trials or probes, which are charged what they cost when they ran.
    """
    if not KINDS.get(of.environment, KINDS["stream"]).replayed:
        return 0.0
    unspent = of.cpu_seconds - of.metrics.get("spent_cpu_seconds", of.cpu_seconds)
    return unspent if unspent > REPLAYED * of.cpu_seconds else 0.0


def _identity(job: Job) -> dict[str, Any]:
    return {
        "algorithm": job.algorithm,
        "name": job.name or job.algorithm,
        "data": job.data,
        "seed": job.seed,
        "environment_seed": job.environment_seed,
        "repetition": job.repetition,
    }


def plain(result: Result) -> dict[str, Any]:
    """Return a result in JSON's own types."""
    row: dict[str, Any] = json.loads(_json(_fields_of(result)))
    return row


def _fields_of(record: Job | Result) -> dict[str, Any]:
    """Return the fields without the copies that `dataclasses.asdict` makes."""
    return {each.name: getattr(record, each.name) for each in fields(record)}


def first_fault(error: Exception) -> str:
    """Return the first thing that is wrong, in one line; of a checked value, place and rule."""
    if not isinstance(error, ValidationError):
        return shown(short(" ".join(str(error).split())))
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if not str(part).startswith("function-"))
    scalar = isinstance(first["input"], (str, int, float)) or first["input"] is None
    given = f" (given {repr(first['input'])[:80]})" if scalar else ""
    what = f"{where[:200]}{rule(first)}{given}"
    return shown(short(" ".join(what.removeprefix(": ").split("\n")), 400))


def plain_value(value: Any) -> Any:
    """Return a value in JSON's own types, as a result is read again; NaN becomes text."""
    return json.loads(_json(value), parse_constant=str)


def _json(value: Any) -> str:
    """Return JSON that every reader accepts: lone surrogates, which UTF-8 has not, are escaped."""
    text = json.dumps(
        value,
        default=lambda each: each.item() if hasattr(each, "item") else str(each),
        ensure_ascii=False,
    )
    return _SURROGATE.sub(lambda half: f"\\\\u{ord(half[0]):04x}", text)
