"""Which code beyond this installation a job runs: a file, a class, another framework.

The answer is read from the job alone, before it runs, because whatever ran the code could be made
to deny it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from leaseboard.algorithms import registry
from leaseboard.algorithms.reference.frameworks import OnTable, OutsideSearch, StreamFramework
from leaseboard.algorithms.user_files import file_of, is_reference
from leaseboard.tasks.evaluate.frameworks import runs, venv
from leaseboard.tasks.evaluate.trials.spaces import searched
from leaseboard.tasks.jobs.benches.kinds import KINDS
from leaseboard.tasks.jobs.job import Job

KNOWN = ("sklearn", "lightgbm")
"""Packages whose classes a space may name without its jobs being foreign."""


def is_foreign(job: Job) -> bool:
    """Whether `job` runs code of a user, which may change whatever its process holds."""
    return any(True for _ in references(job)) or bool(
        classes(job, registry.algorithm_class(job.algorithm).bench)
    )


def references(job: Job) -> Iterator[str]:
    """Every ``file.py`` or ``file.py:Class`` that a job names, its algorithm first."""
    yield from filter(is_reference, _texts([job.algorithm, job.settings, job.bench]))


def files(job: Job) -> list[Path]:
    """The user's files that a job names: its algorithm's, that of an oracle, of pipelines."""
    return [file_of(text) or Path(text) for text in references(job)]


def classes(job: Job, bench: str) -> list[str]:
    """The classes of `job`'s arms, as ``module:Class``, but for those of `KNOWN` packages."""
    if KINDS[bench].chooses != "arm":
        return []
    spaces = searched(str(job.bench.get("space", "")), job.bench.get("arms"))
    arms = (arm for space in spaces for arm in space.arms.values())
    named = (arm.estimator for arm in arms if ":" in arm.estimator)
    return [name for name in named if name.partition(":")[0].partition(".")[0] not in KNOWN]


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str() | Path():
            yield str(value)
        case Mapping():
            yield from _texts(list(value.values()))
        case list() | tuple() | set() | frozenset():
            for each in value:
                yield from _texts(each)


def programs(job: Job) -> list[str]:
    """The modules that set up the system of `job`, which its key must hold.

    So a change to what River runs is one for River's jobs alone.

    Examples
    --------
    >>> programs(Job("river-arf", "synthetic:fried", seed=0, environment_seed=0))
    ['leaseboard.tasks.evaluate.frameworks.stream_river']
    >>> programs(Job("chacha", "synthetic:fried", seed=0, environment_seed=0))
    []
    """
    system, algorithm = _system(job), _built(job)
    if isinstance(algorithm, StreamFramework):
        return [f"leaseboard.tasks.evaluate.frameworks.stream_{system}"]
    return runs.programs(system) if isinstance(algorithm, OnTable) else []


def pinned(job: Job) -> str:
    """What is installed where the system of `job` runs, for the job's key; empty if that is here.

    So River of another version has other results, and not those of the one before.

    Examples
    --------
    >>> pinned(Job("chacha", "synthetic:fried", seed=0, environment_seed=0))
    ''
    """
    library = runs.library(_system(job))
    return f" pins {venv.digest(library)}" if library in venv.names() else ""


def _system(job: Job) -> str:
    """Who computes elsewhere for `job`; empty if nobody does."""
    algorithm = _built(job)
    elsewhere = isinstance(algorithm, StreamFramework | OnTable | OutsideSearch)
    return algorithm.system if elsewhere else ""


def _built(job: Job) -> object:
    return None if file_of(job.algorithm) else registry.build(job.algorithm, job.settings)
