"""Inputs that jobs on one dataset and environment share: made once, mapped by each job."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.fetch.cached import CachedDataset, dump_once, load_mapped
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.jobs import environments
from leaseboard.tasks.jobs.described import describe
from leaseboard.tasks.jobs.job import Job


@dataclass(frozen=True, slots=True)
class Prepared:
    """Two folders: the dataset, and the parts of the environment."""

    table: Path
    """See `leaseboard.tasks.fetch.cached`."""
    parts: Path | None = None
    """None where the environment prepares nothing in advance."""

    def dataset(self, job: Job) -> Dataset:
        """Return the dataset of `job`, mapped.

        Raises DataError if it is another one.
        """
        found: Dataset = load_mapped(self.table)
        if found.reference != job.data:
            raise DataError(f"a job on {job.data} was given {found.reference}: prepare its own")
        return found

    def environment_parts(self, job: Job, kind: str, digest: str) -> Any:
        """Return the parts of the environment of `job`, of that kind and data `digest`, mapped.

        Raises DataError if they are parts of another environment.
        """
        if self.parts is None:
            return None
        found, parts = load_mapped(self.parts)
        if found != (asked := _made_of(job, kind, digest)):
            raise DataError(f"{self.parts}: made of {found}, not of {asked}: prepare it again")
        return parts


def environment_of(job: Job) -> str:
    """Return the kind of environment that `job` runs in."""
    return describe(job.algorithm, job.settings).environment


def group(job: Job) -> str:
    """Return the name of the parts that `job` shares with others on its data."""
    return _group(job, environment_of(job))


def _group(job: Job, kind: str) -> str:
    shared = environments.resolve(kind, job.environment).shared_by(job.environment_seed)
    text = json.dumps([kind, shared], default=str)
    return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _made_of(job: Job, kind: str, digest: str) -> str:
    return f"{_group(job, kind)} of {digest}"


def prepare(data: CachedDataset, job: Job) -> Prepared:
    """Preprocess the data of `job` for its environment, once, next to the data.

    Raises LeaseboardError if the environment cannot take the data.
    """
    kind = environment_of(job)
    folder = data.folder / _group(job, kind)
    if not folder.exists():
        parts = environments.parts(kind, data.open(), job)
        if parts is None:
            return Prepared(data.folder)
        dump_once(lambda: (_made_of(job, kind, data.digest), parts), folder)
    return Prepared(data.folder, folder)
