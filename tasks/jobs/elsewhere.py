"""What a job runs in an environment of other people's: modules that no import names, and pins."""

from __future__ import annotations

from leaseboard.algorithms import registry
from leaseboard.algorithms.reference.frameworks import OnTable, OutsideSearch, StreamFramework
from leaseboard.algorithms.user_files import file_of
from leaseboard.tasks.evaluate.frameworks import runs, venv
from leaseboard.tasks.jobs.job import Job


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
