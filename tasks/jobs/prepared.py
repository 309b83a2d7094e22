"""What jobs on one data set and bench share: made once, mapped into memory by each of them."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.fetch import Dataset
from tasks.fetch.kept import Kept, open_dataset
from tasks.jobs import benches
from tasks.jobs.benches.frozen import freeze, thaw
from tasks.jobs.described import describe
from tasks.jobs.job import Job


@dataclass(frozen=True, slots=True)
class Prepared:
    """Two folders: the data set, and what the bench is made of.

    Attributes
    ----------
    table : Path
        See `tasks.fetch.kept`.
    parts : Path, optional
        See `tasks.jobs.benches.frozen`; None where the bench makes nothing before it is asked.
    """

    table: Path
    parts: Path | None = None

    def dataset(self) -> Dataset:
        """The data set, mapped."""
        return open_dataset(self.table)

    def bench_parts(self, digest: str) -> Any:
        """What the bench is made of, mapped; a `DataError` if it is not of the data `digest`."""
        return None if self.parts is None else thaw(self.parts, digest)


def bench_of(job: Job) -> str:
    """The kind of bench that `job` runs on."""
    return describe(job.algorithm, job.settings).bench


def group(job: Job) -> str:
    """The name of what `job` shares with others on its data: equal names, equal parts."""
    kind = bench_of(job)
    told = json.dumps([kind, benches.shared_by(kind, job.bench, job.environment_seed)])
    return f"{kind}-{hashlib.sha256(told.encode()).hexdigest()[:16]}"


def prepare(kept: Kept, job: Job) -> Prepared:
    """Preprocess the data of `job` for its bench, beside the data; whoever asks again finds it.

    Raises
    ------
    LeaseboardError
        If the bench cannot take the data.
    """
    kind = bench_of(job)
    folder = kept.folder / group(job)
    if not folder.exists():
        parts = benches.parts(kind, kept.open(), job)
        if parts is None:
            return Prepared(kept.folder)
        new = Path(tempfile.mkdtemp(dir=kept.folder))
        freeze(parts, kept.digest, new)
        try:
            new.rename(folder)
        except OSError:
            if not folder.exists():
                raise
            shutil.rmtree(new)  # somebody else was as quick
    return Prepared(kept.folder, folder)
