"""Jobs of an archive run again here, and how their results compare with the archive's.

Seconds and memory are left out of events and metrics: no two runs have the same. All other
numbers agree if they differ by rounding alone, and everything else if it is the same. A job that
measured seconds guide may choose another configuration here; its score is that of one
configuration, trained in full, which is trained here.
"""

import gzip
import io
import json
import math
import tempfile
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, NamedTuple

from leaseboard.algorithms import registry
from leaseboard.algorithms.environments.selecting import SelectionEnvironment
from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.archive.bundle import Bundle
from leaseboard.tasks.archive.merge import SAME_SCORE
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.folder.results import EVENTS
from leaseboard.tasks.jobs import environments
from leaseboard.tasks.jobs.job import Job, Result, plain, plain_value
from leaseboard.tasks.jobs.run import NOT_IN_EVENTS
from leaseboard.tasks.machine.environment import versions
from leaseboard.tasks.pool.attempts import run_one

Outcome = Literal["agreed", "refuted", "undecided"]
BY_SECONDS = "seconds decide what it does, and the outcome was another here"
_COMPARED = (
    "digest", "status", "metric", "direction", "score", "metrics", "champion", "champion_seed",
    "unit", "units", "budget", "complete", "rows",
    "rows_available", "settings", "environment", "oracle_baseline", "baseline", "plugins",
    "data_facts",
)  # fmt: skip
"""Fields of a result that a second run has too."""


class Repeated(NamedTuple):
    """Outcome of a job that was run again, and why."""

    outcome: Outcome
    reason: str = ""


def run_again(bundle: Bundle, key: str, job: Job, mirrors: tuple[Path, ...]) -> Repeated:
    """Run a job and compare it with the archive's.

    A difference is undecided, not refuted, where other code or other packages made the archive's
    result, or where seconds or memory addresses decide, which are others in every run.
    """
    known = bundle.results[key]
    with tempfile.TemporaryDirectory() as folder:
        made = run_one(job, Path(folder), mirrors=mirrors, here=True).result
        if made.status == "skipped":
            return Repeated("undecided", made.reason)
        path = Path(folder) / EVENTS
        log = path.read_bytes() if path.is_file() else b""
    why = other_field(known, made) or other_event(bundle.log(key), log)
    if not why:
        return Repeated("agreed")
    if getattr(registry.algorithm_class(job.algorithm), "by_seconds", False):
        refuted, checked = _without_seconds(bundle, key, job, log, mirrors)
        if not refuted:
            return Repeated("undecided", f"{checked}: {why}")
        why = refuted
    if luck := registry.unrepeatable(job.algorithm):
        refuted = other_field(known, made, by_seconds=True)
        if not refuted:
            return Repeated("undecided", f"its score was NOT checked: {luck}: {why}")
        why = refuted
    if made.version != known.version:
        code = f"the code was {known.version}, here it is {made.version}"
        return Repeated("undecided", f"{why}; {code}")
    theirs, ours = bundle.manifest.versions, versions()
    others = [
        f"{name} {theirs.get(name, 'missing')}, here {ours.get(name, 'missing')}"
        for name in sorted(theirs.keys() | ours.keys())
        if theirs.get(name) != ours.get(name)
    ]
    if others:
        return Repeated("undecided", f"{why}; it was made with {', '.join(others)}")
    return Repeated("refuted", why)


def runs_here(job: Job, mirrors: tuple[Path, ...]) -> bool:
    """Return whether a job that was skipped elsewhere has a score here."""
    with tempfile.TemporaryDirectory() as folder:
        made = run_one(job, Path(folder), mirrors=mirrors, here=True).result
        return made.status in ("ok", "diverged")


def other_field(known: Result, made: Result, *, by_seconds: bool = False) -> str:
    """Return in which field two results differ; empty if they agree.

    `by_seconds`: leave out what seconds decide: the status, the score, and the values of metrics.
    """
    if by_seconds and known.status != made.status:
        return ""
    said, now = plain(known), plain(made)
    if by_seconds:
        for each in (said, now):
            each |= {"score": None, "metrics": sorted(each["metrics"].keys() - NOT_IN_EVENTS)}
    for name in _COMPARED:
        if not alike(said[name], now[name]):
            return f"{name} is {said[name]!r}, run again it is {now[name]!r}"
    return ""


def other_event(said: bytes, now: bytes) -> str:
    """Return where two event logs differ first; empty if they agree."""
    for number, both in enumerate(zip_longest(_events_of(said), _events_of(now)), 1):
        if not alike(*both):
            one, two = ("missing" if e is None else json.dumps(e)[:160] for e in both)
            return f"event {number} is {one}, run again it is {two}"
    return ""


def alike(one: Any, other: Any) -> bool:
    """Return whether two values of JSON agree but for what is measured and rounding.

    Examples
    --------
    >>> alike({"at": 1, "cpu_seconds": 0.2}, {"at": 1.0, "cpu_seconds": 0.3})
    True
    >>> alike([0.1, "a"], [0.1001, "a"])
    False
    """
    match one, other:
        case dict(), dict():
            return all(
                name in one and name in other and alike(one[name], other[name])
                for name in one.keys() | other.keys()
                if not (name.endswith("_seconds") or name in NOT_IN_EVENTS)
            )
        case list(), list():
            return len(one) == len(other) and all(map(alike, one, other))
        case (bool(), _) | (_, bool()):
            return one is other
        case ((int() | float()), (int() | float())):
            both_nan = math.isnan(one) and math.isnan(other)
            return both_nan or math.isclose(one, other, rel_tol=SAME_SCORE, abs_tol=1e-12)
        case _:
            return bool(one == other)


def _events_of(log: bytes) -> Iterator[Any]:
    """Yield the events of a packed log as JSON has them."""
    if not log:
        return
    with gzip.open(io.BytesIO(log)) as lines:
        try:
            for line in lines:
                yield json.loads(line)
        except EOFError:  # a job that failed may leave such a log, and no other has the same end
            yield "the end of a log that was cut off"


def _without_seconds(
    bundle: Bundle, key: str, job: Job, log: bytes, mirrors: tuple[Path, ...]
) -> tuple[str, str]:
    """Compare a job that seconds guide in what they do not decide.

    That is the score of its champion, and the probes that it shares with the run of the event log
    `log`.

    Returns
    -------
    tuple of str
        What is different, empty if nothing is; else what was checked, and what was not.
    """
    said, now = (
        {
            (event["configuration"], event["rows"], event["test_rows"]): event
            for event in _events_of(each)
            if isinstance(event, dict) and event["event"] == "ProbeFinished"
        }
        for each in (bundle.log(key), log)
    )
    compared = 0
    for place in [place for place in said if place in now]:
        both = said[place], now[place]
        if "timeout" in {probe["status"] for probe in both}:
            continue
        compared += 1
        for name in ("status", "train_accuracy", "test_accuracy"):
            one, two = (probe[name] for probe in both)
            # A NaN, of what one of the two did not measure, is an object in a log.
            measured = all(isinstance(value, str | int | float) for value in (one, two))
            if measured and not alike(one, two):
                of = f"of configuration {place[0]} on {place[1]} rows"
                return f"{of} {name} is {one!r}, run again it is {two!r}", ""
    score = "its score was NOT checked: it has none"
    if bundle.results[key].score is not None:
        try:
            if why := _other_score(bundle, key, job, mirrors):
                return why, ""
            score = "its champion, trained in full here, has the score that it says"
        except LeaseboardError as error:
            score = f"its score was NOT checked: {error}"
    probes = f"{compared} of its {len(said)} probes were made here too and agree"
    return "", f"{BY_SECONDS}; {score}; {probes}, the others were NOT checked"


def _other_score(bundle: Bundle, key: str, job: Job, mirrors: tuple[Path, ...]) -> str:
    """Return how a score differs from that of its champion; empty if it does not."""
    known, number = bundle.results[key], bundle.audited(key).champion
    kind = registry.algorithm_class(job.algorithm).environment
    env = environments.make(kind, loading.load(job.data, mirrors=mirrors), job)
    assert isinstance(env, SelectionEnvironment)  # seconds guide no other
    offered = dict(enumerate(env.configurations)).get(-1 if number is None else number)
    if not alike(plain_value(offered), plain_value(known.champion)):
        return f"champion is {known.champion!r}, configuration {number} of its job is {offered!r}"
    env.champion = number
    here = env.score().value
    if alike(known.score, here):
        return ""
    return f"score is {known.score!r}, its champion, trained in full here, has {here!r}"
