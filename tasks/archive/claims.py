"""Contradictions of an archive with itself: no job is run and no data are read.

Checksums and digests are the archive's own, see `leaseboard.tasks.archive.bundle`, and a forger
can compute them again. Here the parts that must agree are compared: the jobs that the suite asks
for with those that are there, the key of a job with all that it is made of, and a result with its
event log.
"""

import io
import json
import math
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import settings_of
from leaseboard.algorithms.configurations import configurations, table
from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.algorithms.events import LeaseGranted, ProbeFinished, Started, of
from leaseboard.tasks.archive.bundle import CONFIGURATIONS, Bundle, named, place
from leaseboard.tasks.folder.event_logs import read_partial_log
from leaseboard.tasks.folder.results import EVENTS
from leaseboard.tasks.jobs import environments
from leaseboard.tasks.jobs.described import describe
from leaseboard.tasks.jobs.environments import unit_of
from leaseboard.tasks.jobs.job import Job, Result, plain_value
from leaseboard.tasks.jobs.programs import pinned, references
from leaseboard.tasks.jobs.run import NOT_IN_EVENTS, event_fields, failed
from leaseboard.tasks.machine.progress import counted


def asked(bundle: Bundle) -> dict[tuple[str, str, int], Job]:
    """Return the jobs of the archive's suite; none if it has no suite."""
    return {place(job): job for job in bundle.suite.jobs()} if bundle.suite else {}


def faults(bundle: Bundle) -> list[str]:
    """Return a line for each contradiction of the archive with itself."""
    if bundle.suite is None:
        return ["it has no suite.json, so no one can say which jobs there were"]
    jobs = asked(bundle)
    found = []
    if bundle.suite.name not in ("", bundle.manifest.suite):
        found.append(f"it is of {bundle.manifest.suite!r}, its suite is {bundle.suite.name!r}")
    there = Counter(map(place, bundle.results.values()))
    for where, job in jobs.items():
        if not there[where]:
            found.append(f"{named(job)}: its suite asks for it, and it is not in the archive")
        elif there[where] > 1:
            why = f"its suite asks for one result, and {there[where]} are in it"
            found.append(f"{named(job)}: {why}")
    for result in counted(bundle.results.values(), "checking event logs", "jobs"):
        of_one = _of_one(bundle, result, jobs.get(place(result)))
        found += [f"{named(result)}: {why}" for why in of_one]
    return found


def _of_one(bundle: Bundle, result: Result, job: Job | None) -> Iterator[str]:
    if job is None:
        yield "no job of its suite"
        return
    for name in ("algorithm", "seed", "environment_seed"):
        if getattr(result, name) != getattr(job, name):
            yield f"{name} {getattr(result, name)!r}, its suite says {getattr(job, name)!r}"
    yield from _against_job(result, job)
    if result.status in ("ok", "diverged") and not result.digest:
        yield "no digest of its data"
    if result.status == "ok":
        yield from _against_log(bundle, result)
    if result.events not in ((EVENTS,) if result.status == "ok" else (EVENTS, None)):
        yield f"events is {result.events!r}, a job has {EVENTS!r}"
    if said := bundle.part(result.key, CONFIGURATIONS):
        log = bundle.log(result.key)
        considered = table(configurations(read_partial_log(io.BytesIO(log)))) if log else None
        if plain_value(json.loads(said)) != plain_value(considered):
            yield f"its {CONFIGURATIONS} is not that of its event log"


def _against_job(result: Result, job: Job) -> Iterator[str]:
    """Yield where a result is not of the job's environment, data and code, if checked here.

    Keys of environments whose options name files, and of users' code, are made of what only their
    owner has. Such jobs are never drawn, and the verdict says so.
    """
    if any(True for _ in references(job)):
        return
    try:
        known = describe(job.algorithm, job.settings)
        asked = {
            "environment": known.environment,
            "environment_options": environments.effective(known.environment, job.environment),
            "oracle_baseline": known.oracle_baseline,
            "baseline": known.baseline,
            "settings": settings_of(registry.build(job.algorithm, job.settings)),
            "unit": unit_of(known.environment, job.environment),
        }
        more = environments.identity(known.environment, job.environment) + pinned(job)
    except LeaseboardError:
        return
    before = failed(job, result.status, "")  # fields of a job without its environment
    for name, value in asked.items():
        said = getattr(result, name)
        if result.status == "ok" or said != getattr(before, name):
            yield from _differs(name, said, value, "that of its job is")
    ours = job.key(result.digest, result.version if result.digest else job.data)
    if not more and result.key != ours:
        yield (
            f"its key {result.key} is not of this job, with the data"
            f" {result.digest or 'of no digest'} and the code {result.version or 'of no version'}"
        )


def _against_log(bundle: Bundle, result: Result) -> Iterator[str]:
    """Yield where a result contradicts the events of its job."""
    auditor = bundle.audited(result.key)
    started = auditor.started
    assert isinstance(started, Started)  # the log was read as a whole one
    says = event_fields(auditor) | {"name": started.algorithm, "seed": started.seed}
    says["environment"] = started.environment
    metrics = says.pop("metrics")
    for name, value in says.items():
        yield from _differs(name, getattr(result, name), value, "its event log says")
    for name in sorted((metrics.keys() | result.metrics.keys()) - NOT_IN_EVENTS):
        both = result.metrics.get(name), metrics.get(name)
        yield from _differs(f"metrics.{name}", *both, "its event log says")
    if "selection_cpu_seconds" in metrics:
        yield from _other_seconds(result, bundle.log(result.key), auditor.champion)


def _other_seconds(result: Result, log: bytes, champion: int | None) -> Iterator[str]:
    """Yield where a selection took other seconds than its probes did."""
    events = read_partial_log(io.BytesIO(log))
    probes = of(events, ProbeFinished)
    cut = any(
        isinstance(one, LeaseGranted) and not isinstance(other, ProbeFinished)
        for one, other in pairwise(events)
    )
    for clock in ("cpu_seconds", "wall_seconds"):
        said = result.metrics.get(f"selection_{clock}", math.nan)
        spent = sum(getattr(probe, clock) for probe in probes)
        may = [spent]
        if isinstance(events[-2], ProbeFinished) and events[-2].configuration == champion:
            may.append(spent - getattr(events[-2], clock))  # trained in full, after selection
        if not (cut and said > spent) and not any(_near(said, one) for one in may):
            yield f"metrics.selection_{clock} is {said!r}, its probes took {spent!r}"
        if getattr(result, clock) < spent and not _near(getattr(result, clock), spent):
            yield f"{clock} is {getattr(result, clock)!r}, its probes took {spent!r}"


def _near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)


def _differs(name: str, said: Any, known: Any, whose: str) -> Iterator[str]:
    if plain_value(said) != plain_value(known):
        yield f"{name} is {repr(said)[:80]}, {whose} {repr(known)[:80]}"
