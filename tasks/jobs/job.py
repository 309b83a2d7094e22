"""A job, and its result."""

import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from pydantic import ValidationError

from leaseboard.algorithms import registry
from leaseboard.algorithms.errors import UsageError, rule, short
from leaseboard.tasks.jobs.environments import REWARDING
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
_SURROGATE = re.compile("[\ud800-\udfff]")
MOST_SCORE = 1e100
"""Score beyond which a model has diverged: its square would not be finite."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run of one algorithm on one dataset with one seed."""

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

    def __post_init__(self) -> None:
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
          `leaseboard.tasks.machine.versions.code_and_libraries`.
        """
        identity = {
            name: value
            for name, value in _fields_of(self).items()
            if name not in ("name", "data", "repetition")
        }
        identity |= {"digest": digest, "version": version}
        canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"), default=str)
        return hashlib.sha256(canonical.encode()).hexdigest()[:20]


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a job: one row of ``results.parquet``, one ``result.json`` a job."""

    key: str
    """Name of the job: a hash of its data, code, libraries, settings and seeds."""
    algorithm: str
    """A registered name, a plugin's, or ``path/to/file.py:Class``."""
    name: str
    """Name of the algorithm on leaderboards."""
    data: str
    """Reference of the dataset."""
    digest: str
    """Checksum of the data as read."""
    seed: int
    """Seed of the algorithm."""
    environment_seed: int
    """Seed of splits and draws, shared by all algorithms of a repetition."""
    repetition: int
    """Number of the repetition, from 0."""
    status: str
    """``ok``, ``timeout``, ``memout``, ``crash``, ``diverged``, ``skipped`` or ``not done``."""
    reason: str = ""
    """Why it has no score, or none that can be compared."""
    score: float | None = None
    """Value of `metric`; None unless `status` is ``ok``."""
    metric: str = ""
    """Measure of the score; its unit is in the name or that of the target."""
    direction: str = "min"
    """``min`` if less of the score is better, ``max`` if more is."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Further measures, by name."""
    champion: Mapping[str, Any] | None = None
    """Parameters of the answer."""
    champion_seed: int | None = None
    """Seed of the champion's learner, if a trial had one."""
    unit: str = ""
    """What `units` and `budget` count, such as examples, trials or rows."""
    units: float = 0.0
    """Part of the `budget` that the run consumed."""
    budget: float | None = None
    """Units that the run could consume; None where it has no end."""
    rows: float | None = None
    """Number of rows of the dataset that the job could use."""
    rows_available: float | None = None
    """Number of rows in the source; None where that is unknown, such as beyond ``first_rows``."""
    complete: bool = True
    """False if the run ended before it had consumed its budget; it ranks after all that did."""
    baseline: bool = False
    """True if it is a naive baseline."""
    cpu_seconds: float = 0.0
    """CPU seconds of the algorithm's work alone; of recorded trials those that they cost."""
    wall_seconds: float = 0.0
    """Wall seconds of the algorithm's work alone."""
    setup_seconds: float = 0.0
    """Wall seconds of loading and encoding data."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the algorithm, defaults included."""
    environment: str = ""
    """Kind of environment."""
    environment_options: Mapping[str, Any] = field(default_factory=dict)
    """All options of the environment and of preprocessing, as the job had them."""
    events: str | None = None
    """Name of the event log in the job's folder."""
    version: str = ""
    """Version of the algorithm's code."""
    libraries: str = ""
    """Libraries that its code imports and computes with, each with its version."""
    plugins: str = ""
    """Distributions whose plugins it ran, each with its version."""
    started: str = ""
    """Time at which the job began, ISO 8601 in UTC."""
    host: str = ""
    """Name of the machine."""
    pid: int = 0
    """Number of the process that ran it."""
    source: str = ""
    """Origin of the data."""
    licence: str = ""
    """Licence of the data."""
    data_facts: Mapping[str, Any] = field(default_factory=dict)
    """Facts of the data, such as missing values; see `leaseboard.tasks.fetch.data_facts`."""

    @classmethod
    def of(cls, job: Job, **found: Any) -> Self:
        """Return the result of `job` with the job's identity and settings, and what was found."""
        asked = {
            "settings": job.settings,
            "environment_options": job.environment,
            "host": platform.node(),
            "pid": os.getpid(),
        }
        return cls(**_identity(job) | asked | found)

    def kept_for(self, job: Job, version: str = "") -> Self:
        """Return the same with the identity of `job`.

        - `job`: the planned one: elsewhere its data may have another address.
        - `version`: of the planned code, for a job that failed before it knew.
        """
        identity = _identity(job) | {"version": self.version or version}
        return replace(self, **identity, reason=discreet(self.reason))

    @property
    def failed(self) -> bool:
        """True if the job was run and went wrong."""
        return self.status in FAILURES


def replayed_cpu_seconds(of: Any) -> float:
    """Return the part of the CPU seconds of a result, or of its row, that was not spent again.

    They are of recorded trials or probes, which are charged what they cost when they ran.
    """
    if of.environment not in REWARDING:
        return 0.0
    unspent = of.cpu_seconds - of.metrics.get("spent_cpu_seconds", of.cpu_seconds)
    return unspent if unspent > REPLAYED * of.cpu_seconds else 0.0


def _identity(job: Job) -> dict[str, Any]:
    same = ("algorithm", "data", "seed", "environment_seed", "repetition")
    return {each: getattr(job, each) for each in same} | {"name": job.name or job.algorithm}


def plain(result: Result) -> dict[str, Any]:
    """Return a result in JSON's own types."""
    row: dict[str, Any] = json.loads(_json(_fields_of(result)))
    return row


def _fields_of(record: Job | Result) -> dict[str, Any]:
    """Return the fields without the copies that `dataclasses.asdict` makes."""
    return {each.name: getattr(record, each.name) for each in fields(record)}


def first_fault(error: ValidationError) -> str:
    """Return the place of the first fault, the rule that it breaks, and what was given."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if not str(part).startswith("function-"))
    said = f"{where}{rule(first)}".removeprefix(": ")
    return shown(f"{short(said)} (given {short(repr(first['input']), 80)})")


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
