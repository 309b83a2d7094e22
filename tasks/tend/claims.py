"""What a bundle says of its jobs, held against itself: no job is run and no data are read.

Seals and digests are the bundle's own, see `tasks.tend.bundle`, and who forges can compute them
anew. Here the parts that must agree are compared: the jobs that the suite asks for with those that
are there, the key of a job with all that it stands for, and a result with its event log.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from algorithms.errors import LeaseboardError
from algorithms.events import LeaseGranted, ProbeFinished, Started, of
from algorithms.log_format import from_json
from tasks.jobs import benches
from tasks.jobs.benches.units import unit_of
from tasks.jobs.described import describe
from tasks.jobs.foreign import references
from tasks.jobs.job import Job, Result, plain_value
from tasks.jobs.run import BESIDE_EVENTS, told
from tasks.tend.bundle import Bundle


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
        *_missing(bundle, jobs),
        *(
            f"{named(result)}: {why}"
            for result in bundle.results.values()
            for why in _of_one(bundle, result, jobs.get(place(result)))
        ),
    ]


def _missing(bundle: Bundle, jobs: Mapping[tuple[str, str, int], Job]) -> list[str]:
    there = {place(result) for result in bundle.results.values()}
    return [
        f"{named(job)}: its suite asks for it, and it is not in the bundle"
        for where, job in jobs.items()
        if where not in there
    ]


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


def _against_job(result: Result, job: Job) -> Iterator[str]:
    """Where a result is not of the job's bench, data and code; nothing if nobody here can say.

    A bench whose options name files, and code of a user's, make keys of what only their owner has.
    What cannot be asked for here is never drawn, and the verdict says so.
    """
    if any(True for _ in references(job)):
        return
    try:
        kind = describe(job.algorithm, job.settings).bench
        asked = {"bench": kind, "unit": unit_of(kind, job.bench)}
        more = benches.identity(kind, job.bench)
    except LeaseboardError:
        return
    for name, value in asked.items():
        said = getattr(result, name)  # of a job that failed it may be empty
        if said != value and (said or result.status == "ok"):
            yield f"{name} is {said!r}, that of its job is {value!r}"
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
        yield from _differs(name, getattr(result, name), value)
    for name in sorted((metrics.keys() | result.metrics.keys()) - BESIDE_EVENTS):
        yield from _differs(f"metrics.{name}", result.metrics.get(name), metrics.get(name))
    if "selection_cpu_seconds" in metrics:
        yield from _other_seconds(result, bundle.log(result.key), auditor.champion)


def _other_seconds(result: Result, log: bytes, champion: int | None) -> Iterator[str]:
    """Where a selection took other seconds than its probes did."""
    events = [from_json(line) for line in gzip.decompress(log).decode().splitlines()]
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


def _differs(name: str, said: Any, logged: Any) -> Iterator[str]:
    if plain_value(said) != plain_value(logged):
        yield f"{name} is {_short(said)}, its event log says {_short(logged)}"


def _short(value: Any) -> str:
    return repr(value)[:80]
