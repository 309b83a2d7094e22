"""What a suite would do: each job with its key, whether it is done, or why it cannot run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from algorithms.errors import DataError, DataUnavailableError
from tasks import fetch
from tasks.jobs import Job
from tasks.run import check, job_key
from tasks.versions import code_version


@dataclass(frozen=True, slots=True)
class Planned:
    """A job of a suite before it runs.

    Attributes
    ----------
    job : Job
    key : str
        The name of its result; of the job alone where its data cannot be read.
    done : bool
        A result with status ``ok`` is there.
    obstacle : str
        Why the job cannot run, empty if it can.
    digest : str
        Of the data, empty where they cannot be read.
    version : str
        Of the algorithm's code.
    """

    job: Job
    key: str
    done: bool
    obstacle: str = ""
    digest: str = ""
    version: str = ""


def plan(
    jobs: list[Job], is_done: Callable[[str], bool], mirrors: tuple[Path, ...] = ()
) -> list[Planned]:
    """Look at every job without running any; each data set is read once.

    Raises
    ------
    UsageError
        For an algorithm, setting or data reference that does not exist, before anything is read.
    """
    for job in jobs:
        check(job)
    planned: dict[int, Planned] = {}
    for reference in dict.fromkeys(job.data for job in jobs):
        mine = [(i, job) for i, job in enumerate(jobs) if job.data == reference]
        try:
            dataset = fetch.load(reference, mirrors=mirrors)
        except DataUnavailableError as error:
            obstacle = f"data not available: {error}"
        except DataError as error:
            obstacle = str(error)
        else:
            for i, job in mine:
                key = job_key(job, dataset)
                version = code_version(job.algorithm)
                planned[i] = Planned(job, key, is_done(key), "", dataset.digest, version)
            continue
        for i, job in mine:
            planned[i] = Planned(job, job.key("", reference), done=False, obstacle=obstacle)
    return [planned[i] for i in range(len(jobs))]
