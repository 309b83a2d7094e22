"""What of a bundle can be looked at here: which jobs can run again, and which data are at hand.

A job itself says so, never its result: that is the sender's word.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from leaseboard.algorithms.errors import (
    DataError,
    DataUnavailableError,
    LeaseboardError,
    UsageError,
)
from leaseboard.tasks import fetch
from leaseboard.tasks.jobs.benches import unit_of
from leaseboard.tasks.jobs.described import describe
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.jobs.programs import is_foreign
from leaseboard.tasks.jobs.run import check

SKIPPED = "skipped by the sender, and it cannot be run here either"
RUNS_HERE = "skipped by the sender, and it can be run here"


def why_not(result: Result, job: Job | None) -> str:
    """Why a job is never run again; empty if it can be drawn, or tried if it was skipped."""
    if job is None:
        return "no job of its suite"
    if result.status not in ("ok", "diverged", "skipped"):
        return f"{result.status}: that it failed is the sender's word"
    try:
        if is_foreign(job):
            return "it runs code of a user's, which is not run for a bundle"
        check(job)
        unit = unit_of(describe(job.algorithm, job.settings).bench, job.bench)
    except LeaseboardError as error:
        return f"it cannot be run here: {error}"
    if result.status == "skipped":
        return ""
    return "its budget is in seconds, which differ from run to run" if "seconds" in unit else ""


def other_data(
    results: Mapping[str, Result], mirrors: tuple[Path, ...]
) -> tuple[list[str], dict[str, str], list[str]]:
    """Return which data are others than their references name, and which no one here has.

    Returns
    -------
    list of str
        A line for each digest that is another.
    dict
        By reference, why the data could not be looked at.
    list of str
        A line for each source and licence that is another: copies of the same data may have both.
    """
    said: dict[str, list[Result]] = {}
    for result in results.values():
        if result.digest:
            said.setdefault(result.data, []).append(result)
    wrong, unseen, stated = [], {}, []
    for reference, mine in sorted(said.items()):
        try:
            found = fetch.load(reference, mirrors=mirrors)
        except (DataUnavailableError, DataError, UsageError) as error:
            unseen[reference] = str(error)
            continue
        wrong += [
            f"{reference}: the bundle was made on data of the digest {one}, here it is"
            f" {found.digest}"
            for one in sorted({each.digest for each in mine} - {found.digest})
        ]
        ran = [each for each in mine if each.status in ("ok", "diverged")]
        stated += [
            f"{reference}: its {name} is {one!r}, here it is {getattr(found, name)!r}"
            for name in ("source", "licence")
            for one in sorted({getattr(each, name) for each in ran} - {getattr(found, name)})
        ]
    return wrong, unseen, stated
