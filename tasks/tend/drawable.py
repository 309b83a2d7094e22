"""What of a bundle can be looked at here: which jobs can run again, and which data are at hand.

A job itself says so, never its result: that is the sender's word.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from algorithms.errors import DataError, DataUnavailableError, LeaseboardError, UsageError
from tasks import fetch
from tasks.jobs.benches.units import unit_of
from tasks.jobs.described import describe
from tasks.jobs.foreign import is_foreign
from tasks.jobs.job import Job, Result
from tasks.jobs.run import check

SKIPPED = "skipped: the sender did not run it"


def why_not(result: Result, job: Job | None) -> str:
    """Why a job is never run again; empty if it can be drawn."""
    if job is None:
        return "no job of its suite"
    if result.status == "skipped":
        return SKIPPED
    if result.status not in ("ok", "diverged"):
        return f"{result.status}: that it failed is the sender's word"
    try:
        if is_foreign(job):
            return "it runs code of a user's, which is not run for a bundle"
        check(job)
        unit = unit_of(describe(job.algorithm, job.settings).bench, job.bench)
    except LeaseboardError as error:
        return f"it cannot be run here: {error}"
    return "its budget is in seconds, which differ from run to run" if "seconds" in unit else ""


def other_data(
    results: Mapping[str, Result], mirrors: tuple[Path, ...]
) -> tuple[list[str], dict[str, str]]:
    """Which digests are not of the data that their references name, and which nobody here has.

    Returns
    -------
    list of str
        A line for each digest that is another.
    dict
        By reference, why the data could not be looked at.
    """
    digests: dict[str, set[str]] = {}
    for result in results.values():
        if result.digest:
            digests.setdefault(result.data, set()).add(result.digest)
    wrong, unseen = [], {}
    for reference, said in sorted(digests.items()):
        try:
            found = fetch.load(reference, mirrors=mirrors).digest
        except (DataUnavailableError, DataError, UsageError) as error:
            unseen[reference] = str(error)
            continue
        wrong += [
            f"{reference}: the bundle was made on data of the digest {one}, here it is {found}"
            for one in sorted(said - {found})
        ]
    return wrong, unseen
