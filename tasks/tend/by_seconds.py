"""Jobs that measured seconds guide: what of them can be checked, when they did otherwise here.

Whatever they chose, its score is that of one configuration, trained in full: it is trained here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from leaseboard.algorithms import registry
from leaseboard.algorithms.benches.selecting import SelectionBench
from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks import fetch
from leaseboard.tasks.jobs import benches
from leaseboard.tasks.jobs.job import Job, plain_value
from leaseboard.tasks.tend.alike import alike, probes_of
from leaseboard.tasks.tend.bundle import Bundle

BY_SECONDS = "seconds decide what it does, and it did otherwise here"


class HeldTo(NamedTuple):
    """What was checked of such a job."""

    refuted: str = ""
    """In what it differs though seconds decide nothing of it; empty if in nothing."""
    checked: str = ""
    """Otherwise: what was checked, and what was not."""


def by_seconds(job: Job) -> bool:
    """Whether seconds decide what the algorithm of `job` does."""
    return getattr(registry.algorithm_class(job.algorithm), "by_seconds", False)


def held_to(bundle: Bundle, key: str, job: Job, here: bytes, mirrors: tuple[Path, ...]) -> HeldTo:
    """Hold a job to its champion's score and to the probes that it shares with a run of our own.

    - `here`: the event log of that run.
    """
    said, now = _probes(bundle.log(key)), _probes(here)
    both = [place for place in said if place in now]
    compared = [place for place in both if "timeout" not in _statuses(said[place], now[place])]
    for place in compared:
        if why := _other_probe(place, said[place], now[place]):
            return HeldTo(why)
    score = "its score was NOT checked: it has none"
    if bundle.results[key].score is not None:
        try:
            if why := _other_score(bundle, key, job, mirrors):
                return HeldTo(why)
            score = "its champion, trained in full here, has the score that it says"
        except LeaseboardError as error:
            score = f"its score was NOT checked: {error}"
    probes = f"{len(compared)} of its {len(said)} probes were made here too and agree"
    return HeldTo(checked=f"{BY_SECONDS}; {score}; {probes}, the others were NOT checked")


def _other_score(bundle: Bundle, key: str, job: Job, mirrors: tuple[Path, ...]) -> str:
    """In what a score is not that of its champion; empty if it is."""
    known, number = bundle.results[key], bundle.audited(key).champion
    kind = registry.algorithm_class(job.algorithm).bench
    bench = benches.make(kind, fetch.load(job.data, mirrors=mirrors), job)
    assert isinstance(bench, SelectionBench)  # seconds guide nobody else
    offered = dict(enumerate(bench.configurations)).get(-1 if number is None else number)
    if not alike(plain_value(offered), plain_value(known.champion)):
        return f"champion is {known.champion!r}, configuration {number} of its job is {offered!r}"
    bench.champion = number
    here = bench.score().value
    if alike(known.score, here):
        return ""
    return f"score is {known.score!r}, its champion, trained in full here, has {here!r}"


def _probes(log: bytes) -> dict[tuple[int, int, int], Any]:
    """By configuration, training rows and test rows."""
    return {
        (probe["configuration"], probe["rows"], probe["test_rows"]): probe
        for probe in probes_of(log)
    }


def _statuses(*probes: Any) -> set[str]:
    return {probe["status"] for probe in probes}


def _other_probe(place: tuple[int, int, int], said: Any, now: Any) -> str:
    """In what two differ but for their seconds, and for what one of them did not ask."""
    for name in ("status", "train_accuracy", "test_accuracy"):
        if _told(said[name]) and _told(now[name]) and not alike(said[name], now[name]):
            configuration, rows, _ = place
            return (
                f"of configuration {configuration} on {rows} rows {name} is {said[name]!r},"
                f" run again it is {now[name]!r}"
            )
    return ""


def _told(value: Any) -> bool:
    """Whether it is no NaN, which a log holds as an object."""
    return isinstance(value, str | int | float)
