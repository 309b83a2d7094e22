"""Which of our modules a job runs in an environment of other people's: no import names them."""

from __future__ import annotations

from algorithms import registry
from algorithms.reference.outside_forecaster import OutsideForecaster
from algorithms.reference.tables import OnTable
from algorithms.user_files import file_of
from tasks.evaluate.peers import fits
from tasks.jobs.job import Job


def programs(job: Job) -> list[str]:
    """The modules that set up the system of `job`, which its key must hold.

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
    cls = registry.algorithm_class(job.algorithm)
    if issubclass(cls, OutsideForecaster):
        return [f"tasks.evaluate.peers.stream_{cls.system}"]
    if issubclass(cls, OnTable):
        built = registry.build(job.algorithm, job.settings)
        assert isinstance(built, OnTable)
        return fits.programs(built.system)
    return []
