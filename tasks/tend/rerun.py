"""Jobs of a bundle run again here, and what came of them beside what the bundle says.

What is measured, seconds and memory, is left out of events and metrics: no two runs have the same.
All other numbers agree if they differ by rounding alone, and everything else if it is the same.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import tempfile
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, NamedTuple

from algorithms import registry
from algorithms.errors import DataError, DataUnavailableError, LeaseboardError, UsageError
from tasks import fetch
from tasks.folder.results import EVENTS
from tasks.jobs.attempt import attempt
from tasks.jobs.foreign import is_foreign
from tasks.jobs.job import Job, Result, plain
from tasks.jobs.run import BESIDE_EVENTS, check
from tasks.machine.environment import versions
from tasks.tend.bundle import Bundle
from tasks.tend.merge import SAME_SCORE

_COMPARED = (
    "digest", "status", "metric", "direction", "score", "metrics", "champion", "champion_seed",
    "unit", "units", "budget", "complete", "settings", "bench", "hindsight", "baseline",
)  # fmt: skip
"""Fields of a result that a second run has too."""
_SECONDS = "_seconds"
BY_SECONDS = "what it measured agrees, but seconds decide what it does, and it did otherwise here"


class Came(NamedTuple):
    """What running a job again said."""

    outcome: Literal["agreed", "refuted", "undecided"]
    reason: str = ""


def why_not(result: Result, job: Job | None) -> str:
    """Why a job is never run again; empty if it can be drawn."""
    if job is None:
        return "no job of its suite"
    if result.status not in ("ok", "diverged"):
        return f"{result.status}: only jobs that came to an end by themselves are run again"
    if "seconds" in result.unit:
        return "its budget is in seconds, which differ from run to run"
    try:
        foreign = is_foreign(job)
        if not foreign:
            check(job)
    except LeaseboardError as error:
        return f"it cannot be run here: {error}"
    return "it runs code of a user's, which is not run for a bundle" if foreign else ""


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


def run_again(bundle: Bundle, key: str, job: Job, mirrors: tuple[Path, ...]) -> Came:
    """Run a job and compare it with the bundle's.

    What other code or other packages made and is different is undecided, not refuted.
    """
    known = bundle.results[key]
    with tempfile.TemporaryDirectory() as folder:
        made, _, _ = attempt(job, Path(folder), mirrors=mirrors)
        if made.status == "skipped":
            return Came("undecided", made.reason)
        log = Path(folder) / EVENTS
        here = log.read_bytes() if log.is_file() else b""
    said = bundle.log(key)
    why = _first_difference(known, made) or first_other_event(said, here)
    if not why:
        return Came("agreed")
    if _by_seconds(job):
        other = _other_champion(known, made) or first_other_probe(said, here)
        if not other:
            return Came("undecided", f"{BY_SECONDS}: {why}")
        why = other
    if made.version != known.version:
        return Came("undecided", f"{why}; the code was {known.version}, here it is {made.version}")
    if other := _other_packages(bundle.manifest.versions):
        return Came("undecided", f"{why}; it was made with {other}")
    return Came("refuted", why)


def _by_seconds(job: Job) -> bool:
    return getattr(registry.algorithm_class(job.algorithm), "by_seconds", False)


def _other_champion(known: Result, made: Result) -> str:
    """Of the same champion, in what its score differs; empty if another one was chosen."""
    if known.champion != made.champion or alike(known.score, made.score):
        return ""
    return f"score is {known.score!r}, run again it is {made.score!r}"


def first_other_probe(said: bytes, now: bytes) -> str:
    """In what two runs differ of a probe that both have made, but for its seconds.

    A probe that was given up after its seconds, and an accuracy that one of them did not ask for,
    differ from nothing.
    """
    known = _probes(said)
    for place, probe in _probes(now).items():
        other = known.get(place)
        if other is None or "timeout" in (probe["status"], other["status"]):
            continue
        for name in ("status", "train_accuracy", "test_accuracy"):
            if _told(other[name]) and _told(probe[name]) and not alike(other[name], probe[name]):
                configuration, rows, _ = place
                return (
                    f"of configuration {configuration} on {rows} rows {name} is {other[name]!r},"
                    f" run again it is {probe[name]!r}"
                )
    return ""


def _told(value: Any) -> bool:
    """Whether it is no NaN, which a log holds as an object."""
    return isinstance(value, str | int | float)


def _probes(log: bytes) -> dict[tuple[int, int, int], Any]:
    """By configuration, training rows and test rows."""
    return {
        (event["configuration"], event["rows"], event["test_rows"]): event
        for event in _events(log)
        if isinstance(event, dict) and event["event"] == "ProbeFinished"
    }


def _other_packages(made_with: Mapping[str, str]) -> str:
    here = versions()
    names = sorted(made_with.keys() | here.keys())
    return ", ".join(
        f"{name} {made_with.get(name, 'missing')}, here {here.get(name, 'missing')}"
        for name in names
        if made_with.get(name) != here.get(name)
    )


def _first_difference(known: Result, made: Result) -> str:
    said, now = plain(known), plain(made)
    for name in _COMPARED:
        if not alike(said[name], now[name]):
            return f"{name} is {said[name]!r}, run again it is {now[name]!r}"
    return ""


def first_other_event(said: bytes, now: bytes) -> str:
    """Where two event logs part; empty if they do not."""
    for number, (one, two) in enumerate(zip_longest(_events(said), _events(now)), 1):
        if not alike(one, two):
            return f"event {number} is {_short(one)}, run again it is {_short(two)}"
    return ""


def _events(log: bytes) -> Iterator[Any]:
    if not log:
        return
    with gzip.open(io.BytesIO(log)) as lines:
        try:
            for line in lines:
                yield json.loads(line)
        except EOFError:  # a job that failed may leave such a log, and no other has the same end
            yield "the end of a log that was cut off"


def _short(event: Any) -> str:
    return "missing" if event is None else json.dumps(event)[:160]


def _measured(name: str) -> bool:
    return name.endswith(_SECONDS) or name in BESIDE_EVENTS


def alike(one: Any, other: Any) -> bool:
    """Whether two values of JSON are the same but for what is measured and rounding.

    Examples
    --------
    >>> alike({"at": 1, "cpu_seconds": 0.2}, {"at": 1.0, "cpu_seconds": 0.3})
    True
    >>> alike([0.1, "a"], [0.1001, "a"])
    False
    """
    match one, other:
        case dict(), dict():
            names = {name for name in one.keys() | other.keys() if not _measured(name)}
            return all(
                name in one and name in other and alike(one[name], other[name]) for name in names
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
