"""CPU time of rival ways of doing the same work, interleaved, as ratios of one of them."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Way:
    """One way of doing the work.

    Attributes
    ----------
    name : str
    examples : int
        How many examples one run of `work` takes.
    work : callable
        What is timed. Its return value is the loss, None where it has none.
    scale : float
        What the measured time is multiplied by: VW's own pass trains one model, b are wanted.
    repeats : int, optional
        Runs, where they shall differ from the others'; slow rivals are run once.
    """

    name: str
    examples: int
    work: Callable[[], float | None]
    scale: float = 1.0
    repeats: int | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """Costs of a way: microseconds of CPU an example, over its runs, and the loss."""

    name: str
    examples: int
    median_us: float
    least_us: float
    runs: int
    loss: float | None


def measure(ways: Sequence[Way], repeats: int = 5) -> list[Timing]:
    """Time every way `repeats` times, round-robin, so that a busy moment meets them all alike."""
    seconds: dict[str, list[float]] = {way.name: [] for way in ways}
    losses: dict[str, float | None] = {}
    for turn in range(repeats):
        for way in ways:
            if turn >= (way.repeats or repeats):
                continue
            started = time.process_time()
            losses[way.name] = way.work()
            seconds[way.name].append((time.process_time() - started) * way.scale)
    return [_timing(way, seconds[way.name], losses[way.name]) for way in ways]


def ratio(timings: Sequence[Timing], slow: str, fast: str) -> float:
    """Return how much longer `slow` takes than `fast`, by medians; NaN if `fast` took 0."""
    median = {timing.name: timing.median_us for timing in timings}
    return median[slow] / median[fast] if median[fast] else float("nan")


def table(timings: Sequence[Timing], reference: str) -> str:
    """Return the timings as lines of text, each with its ratio to `reference`."""
    width = max(len(timing.name) for timing in timings)
    lines = [f"{'':{width}}  us/example    least    ratio   examples  loss"]
    for timing in timings:
        times = ratio(timings, timing.name, reference)
        loss = "" if timing.loss is None else f"{timing.loss:.6g}"
        lines.append(
            f"{timing.name:{width}}  {timing.median_us:10.3f} {timing.least_us:8.3f}"
            f" {times:8.2f} {timing.examples:10d}  {loss}"
        )
    return "\n".join(lines)


def write(timings: Sequence[Timing], path: Path) -> None:
    """Write the timings as JSON."""
    path.write_text(json.dumps([asdict(timing) for timing in timings], indent=1) + "\n")


def _timing(way: Way, seconds: list[float], loss: float | None) -> Timing:
    us = [1e6 * value / way.examples for value in seconds]
    return Timing(way.name, way.examples, statistics.median(us), min(us), len(us), loss)
