"""Many streams at once: `learn_streams` here and on processes, next to Vowpal Wabbit.

``python -m benchmarks.many_streams [--streams N] [--rows N] [--workers N ...]`` lets models of
default settings, models with five live ones under the published rules, and plain Vowpal Wabbit
(a workspace a stream, fed by text that is ready) learn the same streams of ten features, in turns.
Of the repeats it prints the least: seconds of a clock, seconds of CPU, those of the processes
too, streams a second; and what each of some models that are kept adds to the program's memory.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import psutil

from leaseboard.algorithms.chacha.streaming import ChaChaRegressor, learn_streams
from leaseboard.algorithms.environments.holdout import Nodes
from leaseboard.algorithms.online.kernel import Floats
from leaseboard.tasks.jobs.environments.holdout import cluster

Block = tuple[Floats, Floats]
Make = Callable[[], ChaChaRegressor]
OURS: dict[str, Make] = {
    "default": ChaChaRegressor,
    "icml-eval b=5": lambda: ChaChaRegressor(algorithm="chacha-icml-eval", b=5),
}


VOWPAL = "Vowpal Wabbit"
WEIGHED = 50
"""How many models are kept to see what memory they take."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Costs of a way for all streams: seconds by the clock and of CPU, kilobytes a model."""

    name: str
    seconds: float
    cpu: float
    kilobytes: float | None


def streams(n_streams: int, rows: int, seed: int = 0) -> list[Block]:
    """Return independent streams after Friedman: five features count, two of them multiplied."""
    rng = np.random.default_rng(seed)
    blocks = []
    for _ in range(n_streams):
        X = rng.random((rows, 10), dtype=np.float32)
        y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
        y += 10 * X[:, 3] + 5 * X[:, 4] + rng.normal(size=rows)
        blocks.append((X, y.astype(np.float32)))
    return blocks


def measure(blocks: list[Block], pools: Mapping[int, Nodes], repeats: int = 3) -> list[Taken]:
    """Measure every way alternately, `repeats` times; return the least of each."""
    loops: dict[str, Callable[[list[Block]], list[Any]]] = {
        name: partial(_learned, make, None) for name, make in OURS.items()
    }
    ways: dict[str, Callable[[], Any]] = {}
    for name, make in OURS.items():
        loops[name](blocks[:2])  # compiles
        ways[f"{name}, here"] = partial(loops[name], blocks)
        for n, nodes in pools.items():
            _learned(make, nodes, blocks[: 8 * n])  # starts it, and compiles there
            ways[f"{name}, {n} processes"] = partial(_learned, make, nodes, blocks)
    texts = [_lines(*block) for block in blocks]
    ways[VOWPAL] = lambda: [_vowpal(lines) and None for lines in texts]  # a thousand take 9 GB
    kept: list[Any] = []
    memory = {f"{name}, here": _kilobytes(loop, blocks, kept) for name, loop in loops.items()}
    memory[VOWPAL] = _kilobytes(_vowpals, texts, kept)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, work in ways.items():
            found[name].append(_seconds(work))
    return [
        Taken(
            name, min(clock for clock, _ in times), min(cpu for _, cpu in times), memory.get(name)
        )
        for name, times in found.items()
    ]


def _seconds(work: Callable[[], Any]) -> tuple[float, float]:
    cpu, start = _cpu(), time.perf_counter()
    work()
    return time.perf_counter() - start, _cpu() - cpu


def _cpu() -> float:
    """Return the CPU seconds of this process and those that it has."""
    this = psutil.Process()
    return sum(sum(one.cpu_times()[:2]) for one in (this, *this.children(recursive=True)))


def _kilobytes(
    learned: Callable[[list[Any]], list[Any]], each: list[Any], kept: list[Any]
) -> float:
    """Return what a model adds to the program's memory; models in `kept` are not reused."""
    before = psutil.Process().memory_info().rss
    kept.append(learned(each[:WEIGHED]))
    return float(psutil.Process().memory_info().rss - before) / 1024 / len(kept[-1])


def _learned(make: Make, nodes: Nodes | None, blocks: list[Block]) -> list[Any]:
    models = [make() for _ in blocks]
    learn_streams(models, blocks, nodes=nodes)
    return models


def _vowpals(texts: list[list[str]]) -> list[Any]:
    return list(map(_vowpal, texts))


def _vowpal(lines: list[str]) -> Any:
    from vowpalwabbit import Workspace

    workspace = Workspace(arg_list=["--quiet"])
    for line in lines:
        workspace.learn(line)
    return workspace


def _lines(X: Floats, y: Floats) -> list[str]:
    return [
        f"{label!r} | " + " ".join(f"{k}:{value:.6f}" for k, value in enumerate(row))
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]


def main(arguments: Sequence[str] | None = None, echo: Callable[[str], None] | None = None) -> int:
    """Run the command line of the module."""
    parser = argparse.ArgumentParser(description="Many independent streams learned at once")
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--workers", type=int, nargs="+", default=[os.cpu_count() or 1])
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args(arguments)
    say = echo or print
    say(
        f"{asked.streams} streams of {asked.rows} examples of 10 features, "
        f"least of {asked.repeats}"
    )
    say(f"{'':28} {'seconds':>9} {'CPU':>9} {'streams/s':>10} {'KB a model':>11}")
    blocks = streams(asked.streams, asked.rows)
    with ExitStack() as open_pools:
        pools = {n: open_pools.enter_context(cluster("processes")(n)) for n in asked.workers}
        found = measure(blocks, pools, asked.repeats)
    for one in found:
        rate = asked.streams / one.seconds
        memory = "" if one.kilobytes is None else f"{one.kilobytes:.0f}"
        say(f"{one.name:28} {one.seconds:9.2f} {one.cpu:9.2f} {rate:10.1f} {memory:>11}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
