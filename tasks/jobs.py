"""A job and its result: the two values that every other part of Leaseboard passes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

STATUSES = ("ok", "timeout", "memout", "crash", "diverged", "skipped")
"""Every status a job can end with. Only ``ok`` is ever reused."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run of one algorithm on one data set with one seed.

    Attributes
    ----------
    algorithm : str
        A registered name, or ``path/to/file.py:Class``.
    data : str
        A data reference such as ``openml:215`` or ``synthetic:fried?rows=1000``.
    seed : int
        The algorithm's seed.
    environment_seed : int
        The bench's seed, shared by all algorithms of a repetition.
    label : str
        What boards call the algorithm; tells apart two settings of one algorithm.
    settings : mapping
        The algorithm's settings that differ from its defaults.
    budget : float, optional
        Units of the bench that the job may consume; None means all there is.
    bench : mapping
        Options of the bench and of preprocessing, such as ``{"log_target": False}``.
    repetition : int
        Which repetition this is, from 0.
    """

    algorithm: str
    data: str
    seed: int
    environment_seed: int
    label: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    budget: float | None = None
    bench: Mapping[str, Any] = field(default_factory=dict)
    repetition: int = 0

    def key(self, digest: str, version: str) -> str:
        """A name of the result: equal for equal work, whatever process or order computes it.

        Parameters
        ----------
        digest : str
            Of the data as read.
        version : str
            Of the algorithm's code, see `tasks.versions.code_version`.
        """
        identity = {
            name: value
            for name, value in asdict(self).items()
            if name not in ("label", "data", "repetition")
        }
        identity |= {"digest": digest, "version": version}
        canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"), default=str)
        return hashlib.sha256(canonical.encode()).hexdigest()[:20]


@dataclass(frozen=True, slots=True)
class Result:
    """What a job came to. One row of ``results.parquet``; one ``result.json`` a job.

    `bench` is the kind of bench, `bench_options` what the job asked of it and of preprocessing.
    `champion` holds the parameters of the answer, and `champion_seed` the seed of its learner if a
    trial had one. `score` is None unless `status` is ``ok``. `cpu_seconds` and `wall_seconds` are
    the algorithm's work alone; loading data and compiling kernels is `setup_seconds`. `source` and
    `licence` are the data's.
    """

    key: str
    algorithm: str
    label: str
    data: str
    digest: str
    seed: int
    environment_seed: int
    repetition: int
    status: str
    reason: str = ""
    score: float | None = None
    metric: str = ""
    direction: str = "min"
    metrics: Mapping[str, float] = field(default_factory=dict)
    champion: Mapping[str, Any] | None = None
    champion_seed: int | None = None
    unit: str = ""
    units: float = 0.0
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    setup_seconds: float = 0.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    bench: str = ""
    bench_options: Mapping[str, Any] = field(default_factory=dict)
    events: str | None = None
    version: str = ""
    started: str = ""
    host: str = ""
    source: str = ""
    licence: str = ""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status {self.status!r} is none of {', '.join(STATUSES)}")
