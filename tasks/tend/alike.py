"""Where two runs of one job differ in more than what is measured.

Seconds and memory are left out of events and metrics: no two runs have the same. All other numbers
agree if they differ by rounding alone, and everything else if it is the same.
"""

from __future__ import annotations

import gzip
import io
import json
import math
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from leaseboard.tasks.jobs.job import Result, plain
from leaseboard.tasks.jobs.run import BESIDE_EVENTS
from leaseboard.tasks.tend.merge import SAME_SCORE

_COMPARED = (
    "digest", "status", "metric", "direction", "score", "metrics", "champion", "champion_seed",
    "unit", "units", "budget", "complete", "rows",
    "rows_available", "settings", "bench", "hindsight", "baseline",
)  # fmt: skip
"""Fields of a result that a second run has too."""
_BY_LUCK = frozenset(("score", "metrics"))
_SECONDS = "_seconds"


def first_difference(known: Result, made: Result) -> str:
    """In which field two results differ; empty if they do not."""
    said, now = plain(known), plain(made)
    for name in _COMPARED:
        if not alike(said[name], now[name]):
            return f"{name} is {said[name]!r}, run again it is {now[name]!r}"
    return ""


def first_other_shape(known: Result, made: Result) -> str:
    """In what two runs differ that luck decides nothing of; empty if one of them failed."""
    if known.status != made.status:
        return ""
    said, now = plain(known), plain(made)
    for each in (said, now):
        each["names of metrics"] = sorted(each["metrics"].keys() - BESIDE_EVENTS)
    for name in (*(name for name in _COMPARED if name not in _BY_LUCK), "names of metrics"):
        if not alike(said[name], now[name]):
            return f"{name} is {said[name]!r}, run again it is {now[name]!r}"
    return ""


def first_other_event(said: bytes, now: bytes) -> str:
    """Where two event logs part; empty if they do not."""
    for number, (one, two) in enumerate(zip_longest(events_of(said), events_of(now)), 1):
        if not alike(one, two):
            return f"event {number} is {_short(one)}, run again it is {_short(two)}"
    return ""


def events_of(log: bytes) -> Iterator[Any]:
    """The events of a packed log as JSON has them."""
    if not log:
        return
    with gzip.open(io.BytesIO(log)) as lines:
        try:
            for line in lines:
                yield json.loads(line)
        except EOFError:  # a job that failed may leave such a log, and no other has the same end
            yield "the end of a log that was cut off"


def probes_of(log: bytes) -> list[Any]:
    """The events of a packed log that tell what a probe came to."""
    return [
        event
        for event in events_of(log)
        if isinstance(event, dict) and event["event"] == "ProbeFinished"
    ]


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
