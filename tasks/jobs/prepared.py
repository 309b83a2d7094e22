"""Inputs that jobs on one dataset and environment share: made once, mapped by each job."""

import hashlib
import json
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import joblib

from leaseboard.algorithms.errors import DataError, naming
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.jobs import environments
from leaseboard.tasks.jobs.described import describe
from leaseboard.tasks.jobs.job import Job

FILE = "value.joblib"


def load_mapped(folder: Path) -> Any:
    """Return the value in `folder`; its arrays are mapped, and read-only.

    Examples
    --------
    >>> import numpy as np
    >>> folder = Path(tempfile.mkdtemp()) / "new"
    >>> dump({"x": np.arange(3.0)}, folder)
    >>> load_mapped(folder)
    {'x': memmap([0., 1., 2.])}
    """
    return joblib.load(folder / FILE, mmap_mode="r")


def dump(value: Any, folder: Path) -> None:
    """Write a value into a new folder.

    The folder appears whole; of several processes that write it at the same time the first wins.
    """
    new = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        with naming(new / FILE):
            joblib.dump(value, new / FILE)
        new.rename(folder)
    except OSError:
        if not folder.exists():
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Dataset in a folder of its own, and the parts of an environment in another."""

    reference: str
    """What was asked for."""
    digest: str
    """Of the content, see `leaseboard.tasks.fetch.dataset`."""
    table: Path
    parts: Path | None = None
    """None where nothing is prepared in advance."""

    def dataset(self, job: Job) -> Dataset:
        """Return the dataset of `job`, its numbers mapped: milliseconds for any size.

        Raises DataError if it is another one.
        """
        found: Dataset = load_mapped(self.table)
        if found.reference != job.data:
            raise DataError(f"a job on {job.data} was given {found.reference}: prepare its own")
        return found


def cache_dataset(dataset: Dataset, place: Path) -> Prepared:
    """Write `dataset` into a folder of its own in `place`."""
    named = hashlib.sha256(f"{dataset.reference} {dataset.digest}".encode()).hexdigest()[:16]
    folder = place.resolve() / f"table-{named}"
    if not folder.exists():
        dump(dataset, folder)
    return Prepared(dataset.reference, dataset.digest, folder)


def fetch_into(place: Path, reference: str) -> Prepared:
    """Load the dataset that `reference` names once, and cache it in a folder in `place`.

    Raises UsageError, DataError, DataUnavailableError as `leaseboard.tasks.fetch.loading.load`.
    """
    return cache_dataset(load(reference), place)


def group(job: Job) -> str:
    """Return the name of the parts that `job` shares with others on its data."""
    kind = describe(job.algorithm, job.settings).environment
    shared = environments.resolve(kind, job.environment).shared_by(job.environment_seed)
    text = json.dumps([kind, shared], default=str)
    return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def prepare(data: Prepared, job: Job) -> Prepared:
    """Preprocess the data of `job` for its environment, once, next to the data.

    Raises LeaseboardError if the environment cannot take the data.
    """
    place = data.table / group(job)
    if not place.exists():
        kind, dataset = describe(job.algorithm, job.settings).environment, data.dataset(job)
        options = environments.resolve(kind, job.environment)
        parts = options.parts(environments.divided(dataset, job), job.environment_seed)
        if parts is None:
            return data
        dump(parts, place)
    return replace(data, parts=place)
