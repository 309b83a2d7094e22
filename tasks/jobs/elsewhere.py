"""Which of our modules a job runs in an environment of other people's: no import names them."""

from __future__ import annotations

from algorithms import registry
from algorithms.reference.outside_forecaster import OutsideForecaster
from algorithms.user_files import file_of
from tasks.jobs.job import Job


def programs(job: Job) -> list[str]:
    """The modules with the learners of `job`'s system, which its key must hold.

    So a change to what River runs is one for River's jobs alone.

    Examples
    --------
    >>> programs(Job("river-arf", "synthetic:fried", seed=0, environment_seed=0))
    ['tasks.evaluate.peers.stream_river']
    >>> programs(Job("chacha", "synthetic:fried", seed=0, environment_seed=0))
    []
    """
    if file_of(job.algorithm):
        return []
    algorithm = registry.algorithm_class(job.algorithm)
    if not issubclass(algorithm, OutsideForecaster):
        return []
    return [f"tasks.evaluate.peers.stream_{algorithm.system}"]
