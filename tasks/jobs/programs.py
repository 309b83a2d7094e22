"""Code beyond this installation that a job runs: a file, a class, another framework.

It is read from the job alone, before that runs: untrusted code could hide it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from leaseboard.algorithms import plugins, registry
from leaseboard.algorithms.plugins import Plugin, file_of
from leaseboard.algorithms.reference.frameworks import OnTable, OutsideSearch, StreamFramework
from leaseboard.tasks.jobs.environments.kinds import KINDS
from leaseboard.tasks.jobs.job import Job

KNOWN = ("sklearn", "lightgbm")
"""Packages whose classes a space may name without its jobs being untrusted."""


def is_untrusted(job: Job) -> bool:
    """Return whether `job` runs a user's code, which may change anything in its process."""
    return bool([*references(job), *plugins_of(job)]) or bool(
        classes(job, registry.algorithm_class(job.algorithm).environment)
    )


def plugins_of(job: Job) -> list[Plugin]:
    """Return the plugins whose code a job runs, its algorithm's first."""
    found = registry.plugin(job.algorithm), plugins.find("metrics", job.metric)
    return [each for each in found if each is not None]


def references(job: Job) -> Iterator[str]:
    """Yield every ``file.py`` or ``file.py:Class`` that a job names, its algorithm first."""
    yield from filter(file_of, _texts([job.algorithm, job.settings, job.environment]))


def files(job: Job) -> list[Path]:
    """Return the user's files that a job names, and those of its plugins."""
    named = [file for text in references(job) if (file := file_of(text))]
    return [*named, *(file for each in plugins_of(job) for file in each.files())]


def classes(job: Job, kind: str) -> list[str]:
    """Return the classes of `job`'s arms, as ``module:Class``, outside of `KNOWN` packages."""
    if KINDS[kind].chooses != "arm":
        return []
    from leaseboard.tasks.evaluate.spaces import searched  # learners, for policies alone

    spaces = searched(str(job.environment.get("space", "")), job.environment.get("arms"))
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
    """Return the modules that set up the framework of `job`, which are part of its key.

    So a change to them changes the keys of the jobs of frameworks alone.

    Examples
    --------
    >>> programs(Job("river-arf", "synthetic:fried", seed=0, environment_seed=0))
    ['leaseboard.tasks.evaluate.framework_streams']
    >>> programs(Job("online-automl", "synthetic:fried", seed=0, environment_seed=0))
    []
    """
    algorithm = _built(job)
    if not isinstance(algorithm, StreamFramework):
        return []
    return ["leaseboard.tasks.evaluate.framework_streams"]


def pinned(job: Job) -> str:
    """Return the pins of the framework of `job` and the versions of its plugins, for its key.

    So another version of River, or of a plugin, has results of its own.

    Examples
    --------
    >>> pinned(Job("online-automl", "synthetic:fried", seed=0, environment_seed=0))
    ''
    """
    added = "".join(f" {each.source}" for each in plugins_of(job))
    algorithm = _built(job)
    if not isinstance(algorithm, StreamFramework | OnTable | OutsideSearch):
        return added
    from leaseboard.tasks.evaluate import venv  # for jobs of frameworks alone

    system = algorithm.system
    return f" pins {venv.digest(system)}{added}" if system in venv.names() else added


def _built(job: Job) -> object:
    outside = registry.file_of(job.algorithm)
    return None if outside else registry.build(job.algorithm, job.settings)
