"""What a bundle says of its jobs, held against itself: no job is run and no data are read.

Seals and digests are the bundle's own, see `leaseboard.tasks.tend.bundle`, and who forges can
compute them anew. Here the parts that must agree are compared: the jobs that the suite asks for
with those that are there, the key of a job with all that it stands for, and a result with its
event log.
"""

from __future__ import annotations

import io
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import settings_of
from leaseboard.algorithms.configurations import configurations, table
from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.algorithms.events import LeaseGranted, ProbeFinished, Started, of
from leaseboard.tasks.folder.event_logs import read_partial_log
from leaseboard.tasks.folder.results import EVENTS
from leaseboard.tasks.jobs import benches
from leaseboard.tasks.jobs.benches import unit_of
from leaseboard.tasks.jobs.described import describe
from leaseboard.tasks.jobs.job import Job, Result, plain_value
from leaseboard.tasks.jobs.programs import pinned, references
from leaseboard.tasks.jobs.run import BESIDE_EVENTS, failed, told
from leaseboard.tasks.tend.bundle import CONFIGURATIONS, Bundle


def place(of: Job | Result) -> tuple[str, str, int]:
    """Where a job stands on a board."""
    return of.label or of.algorithm, of.data, of.repetition


def named(of: Job | Result) -> str:
    """A job in words."""
    label, data, repetition = place(of)
    return f"{label} on {data}, repetition {repetition}"


def asked(bundle: Bundle) -> dict[tuple[str, str, int], Job]:
    """The jobs of the bundle's suite; none if it has no suite."""
    return {place(job): job for job in bundle.suite.jobs()} if bundle.suite else {}


def faults(bundle: Bundle) -> list[str]:
    """One line for everything in which the bundle contradicts itself."""
    if bundle.suite is None:
        return ["it has no suite.json, so nobody can say which jobs there were"]
    jobs = asked(bundle)
    return [
        *_other_jobs(bundle, jobs),
        *(
            f"{named(result)}: {why}"
            for result in bundle.results.values()
            for why in _of_one(bundle, result, jobs.get(place(result)))
        ),
    ]


def _other_jobs(bundle: Bundle, jobs: Mapping[tuple[str, str, int], Job]) -> Iterator[str]:
    """Where the bundle has another name than its suite, or another number of results of a job."""
    if bundle.suite and bundle.suite.name not in ("", bundle.manifest.suite):
        yield f"it is of {bundle.manifest.suite!r}, its suite is {bundle.suite.name!r}"
    there = Counter(map(place, bundle.results.values()))
    for where, job in jobs.items():
        if not there[where]:
            yield f"{named(job)}: its suite asks for it, and it is not in the bundle"
        elif there[where] > 1:
            yield f"{named(job)}: its suite asks for one result, and {there[where]} are in it"


def _of_one(bundle: Bundle, result: Result, job: Job | None) -> Iterator[str]:
    if job is None:
        yield "no job of its suite"
        return
    same = ("algorithm", "seed", "environment_seed")
    for name in same:
        if getattr(result, name) != getattr(job, name):
            yield f"{name} {getattr(result, name)!r}, its suite says {getattr(job, name)!r}"
    yield from _against_job(result, job)
    if result.status in ("ok", "diverged") and not result.digest:
        yield "no digest of its data"
    if result.status == "ok":
        yield from _against_log(bundle, result)
    if result.events not in ((EVENTS,) if result.status == "ok" else (EVENTS, None)):
        yield f"events is {result.events!r}, a job has {EVENTS!r}"
    log = bundle.log(result.key)
    if said := bundle.part(result.key, CONFIGURATIONS):
        considered = table(configurations(read_partial_log(io.BytesIO(log)))) if log else None
        if plain_value(json.loads(said)) != plain_value(considered):
            yield f"its {CONFIGURATIONS} is not that of its event log"


def _against_job(result: Result, job: Job) -> Iterator[str]:
    """Where a result is not of the job's bench, data and code; nothing if no one here can say.

    A bench whose options name files, and code of a user's, make keys of what only their owner has.
    What cannot be asked for here is never drawn, and the verdict says so.
    """
    if any(True for _ in references(job)):
        return
    try:
        known = describe(job.algorithm, job.settings)
        asked = {
            "bench": known.bench,
            "bench_options": benches.check_options(known.bench, job.bench),
            "hindsight": known.hindsight,
            "baseline": known.baseline,
            "settings": settings_of(registry.build(job.algorithm, job.settings)),
            "unit": unit_of(known.bench, job.bench),
        }
        more = benches.identity(known.bench, job.bench) + pinned(job)
    except LeaseboardError:
        return
    before = failed(job, result.status, "")  # what a job says of itself until its bench is there
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
    """Where a result says other than the events of its job."""
    auditor = bundle.audited(result.key)
    started = auditor.started
    assert isinstance(started, Started)  # the log was read as a whole one
    says = told(auditor) | {"label": started.algorithm, "seed": started.seed}
    says["bench"] = started.bench
    metrics = says.pop("metrics")
    for name, value in says.items():
        yield from _differs(name, getattr(result, name), value, "its event log says")
    for name in sorted((metrics.keys() | result.metrics.keys()) - BESIDE_EVENTS):
        both = result.metrics.get(name), metrics.get(name)
        yield from _differs(f"metrics.{name}", *both, "its event log says")
    if "selection_cpu_seconds" in metrics:
        yield from _other_seconds(result, bundle.log(result.key), auditor.champion)


def _other_seconds(result: Result, log: bytes, champion: int | None) -> Iterator[str]:
    """Where a selection took other seconds than its probes did."""
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
