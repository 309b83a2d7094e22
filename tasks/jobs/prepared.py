"""What jobs on one dataset and environment share: made once, mapped by each of them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from leaseboard.algorithms.benches.holdout import Holdout, Part
from leaseboard.algorithms.benches.stream import Namespace, Origin, Stream
from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.evaluate.probes.sample_rows import Samples
from leaseboard.tasks.fetch import Dataset
from leaseboard.tasks.fetch.kept import (
    Arrays,
    Kept,
    copy_arrays,
    map_arrays,
    open_dataset,
    write_arrays,
)
from leaseboard.tasks.jobs import benches
from leaseboard.tasks.jobs.described import describe
from leaseboard.tasks.jobs.job import Job

_CLASSES = {each.__name__: each for each in (Holdout, Namespace, Origin, Part, Samples, Stream)}
_SPARSE = ("data", "indices", "indptr")


def freeze(value: Any, made_of: str, folder: Path) -> None:
    """Write a value made of arrays, sparse rows, tuples, plain values and `_CLASSES`.

    `made_of` says what `thaw` must be told, so that nobody takes it for another.
    """
    arrays: Arrays = {}
    said = _said(value, "", arrays)
    write_arrays(folder, arrays, {"made_of": made_of, "value": said})


def thaw(folder: Path, made_of: str) -> Any:
    """The value that `freeze` wrote; its arrays are mapped, and read-only.

    Raises DataError if it was made of something else.
    """
    arrays, said = map_arrays(folder)
    if said["made_of"] != made_of:
        raise DataError(f"{folder}: made of {said['made_of']}, not of {made_of}: prepare it anew")
    return _made(said["value"], arrays)


def _said(value: Any, name: str, arrays: Arrays) -> dict[str, Any]:
    """How to make `value` again; its arrays are put into `arrays` under names below `name`."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    if sparse.issparse(value):
        arrays.update({f"{name}.{part}": getattr(value, part) for part in _SPARSE})
        return {"sparse": name, "shape": value.shape}
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        made = {key: _said(each, f"{name}.{key}", arrays) for key, each in fields.items()}
        return {"class": type(value).__name__, "fields": made}
    if isinstance(value, tuple) and value and isinstance(value[0], np.ndarray):
        arrays[f"{name}.all"] = np.concatenate(value)  # a text has thousands: one array, not each
        arrays[f"{name}.ends"] = np.cumsum([len(each) for each in value])
        return {"arrays": name}
    if isinstance(value, tuple):
        return {"tuple": [_said(each, f"{name}.{i}", arrays) for i, each in enumerate(value)]}
    return {"plain": value}


def _made(said: dict[str, Any], arrays: Arrays) -> Any:
    match said:
        case {"array": name}:
            return arrays[name]
        case {"sparse": name, "shape": shape}:
            parts = tuple(arrays[f"{name}.{part}"] for part in _SPARSE)
            return sparse.csr_array(parts, shape=tuple(shape), copy=False)
        case {"class": name, "fields": fields}:
            return _CLASSES[name](**{key: _made(each, arrays) for key, each in fields.items()})
        case {"arrays": name}:
            return tuple(np.split(arrays[f"{name}.all"], arrays[f"{name}.ends"][:-1]))
        case {"tuple": parts}:
            return tuple(_made(each, arrays) for each in parts)
        case _:
            return said["plain"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Two folders: the data set, and what the bench is made of."""

    table: Path
    """See `leaseboard.tasks.fetch.kept`."""
    parts: Path | None = None
    """See `leaseboard.tasks.jobs.prepared`; None where the bench makes nothing before it is
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
