"""What jobs on one data set and bench share: made once, mapped into memory by each of them."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.fetch import Dataset
from leaseboard.tasks.fetch.arrays import copy_arrays
from leaseboard.tasks.fetch.kept import Kept, open_dataset
from leaseboard.tasks.jobs import benches
from leaseboard.tasks.jobs.benches.frozen import freeze, thaw
from leaseboard.tasks.jobs.described import describe
from leaseboard.tasks.jobs.job import Job


@dataclass(frozen=True, slots=True)
class Prepared:
    """Two folders: the data set, and what the bench is made of."""

    table: Path
    """See `leaseboard.tasks.fetch.kept`."""
    parts: Path | None = None
    """See `leaseboard.tasks.jobs.benches.frozen`; None where the bench makes nothing before it is
    asked.
    """

    def dataset(self, job: Job) -> Dataset:
        """The data set of `job`, mapped.

        Raises DataError if it is another one.
        """
        found = open_dataset(self.table)
        if found.reference != job.data:
            raise DataError(f"a job on {job.data} was given {found.reference}: prepare its own")
        return found

    def bench_parts(self, job: Job, kind: str, digest: str) -> Any:
        """What the bench of `job`, of that kind and on the data `digest`, is made of, mapped.

        Raises DataError if they are parts of another bench.
        """
        return None if self.parts is None else thaw(self.parts, _made_of(job, kind, digest))

    def copied(self, place: Path) -> Prepared:
        """The same in `place`, for a job with code that none other shall suffer from."""
        table = copy_arrays(self.table, place / "table")
        return Prepared(table, self.parts and copy_arrays(self.parts, place / "parts"))


def bench_of(job: Job) -> str:
    """The kind of bench that `job` runs on."""
    return describe(job.algorithm, job.settings).bench


def group(job: Job) -> str:
    """The name of what `job` shares with others on its data: equal names, equal parts."""
    return _group(job, bench_of(job))


def _group(job: Job, kind: str) -> str:
    shared = benches.shared_by(kind, job.bench, job.environment_seed)
    told = json.dumps([kind, shared], default=str)
    return f"{kind}-{hashlib.sha256(told.encode()).hexdigest()[:16]}"


def _made_of(job: Job, kind: str, digest: str) -> str:
    return f"{_group(job, kind)} of {digest}"


def prepare(kept: Kept, job: Job) -> Prepared:
    """Preprocess the data of `job` for its bench, beside the data; whoever asks again finds it.

    Raises LeaseboardError if the bench cannot take the data.
    """
    kind = bench_of(job)
    folder = kept.folder / _group(job, kind)
    if not folder.exists():
        parts = benches.parts(kind, kept.open(), job)
        if parts is None:
            return Prepared(kept.folder)
        new = Path(tempfile.mkdtemp(dir=kept.folder))
        freeze(parts, _made_of(job, kind, kept.digest), new)
        try:
            new.rename(folder)
        except OSError:
            if not folder.exists():
                raise
            shutil.rmtree(new)  # somebody else was as quick
    return Prepared(kept.folder, folder)
