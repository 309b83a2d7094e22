"""Many streams at once: `learn_many` by workers, beside a loop and Vowpal Wabbit.

``python -m benchmarks.many_streams [--streams N] [--rows N] [--workers N ...]`` lets models of
default settings, models with five live ones under the published rules, and plain Vowpal Wabbit
(a workspace a stream, fed by text that is ready) learn the same streams of ten features, in turns.
Of the repeats it prints the least: seconds of a clock, seconds of CPU, streams a second, and what
each model that is kept adds to the program's memory.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import psutil

from algorithms.chacha.streaming import ChaChaRegressor, learn_many
from algorithms.online.live import Floats

Block = tuple[Floats, Floats]
Make = Callable[[], ChaChaRegressor]
OURS: dict[str, Make] = {
    "default": ChaChaRegressor,
    "icml-eval b=5": lambda: ChaChaRegressor(algorithm="chacha-icml-eval", b=5),
}


@dataclass(frozen=True, slots=True)
class Taken:
    """What a way took for all streams: seconds by the clock and of CPU, kilobytes a model."""

    name: str
    seconds: float
    cpu: float
    kilobytes: float


def streams(n_streams: int, rows: int, seed: int = 0) -> list[Block]:
    """Independent streams after Friedman: five features count, of which two are multiplied."""
    rng = np.random.default_rng(seed)
    blocks = []
    for _ in range(n_streams):
        X = rng.random((rows, 10), dtype=np.float32)
        y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
        y += 10 * X[:, 3] + 5 * X[:, 4] + rng.normal(size=rows)
        blocks.append((X, y.astype(np.float32)))
    return blocks


def measure(blocks: list[Block], workers: Sequence[int], repeats: int = 3) -> list[Taken]:
    """Every way in turns, `repeats` times; the least of each."""
    texts = [_lines(*block) for block in blocks]
    ways: dict[str, Callable[[], list[Any]]] = {}
    for name, make in OURS.items():
        ways[f"{name}, a loop"] = partial(_loop, make, blocks)
        for n in workers:
            ways[f"{name}, workers={n}"] = partial(_at_once, make, blocks, n)
    ways["Vowpal Wabbit, a loop"] = lambda: [_vowpal(lines) for lines in texts]
    for make in OURS.values():
        _loop(make, blocks[:2])  # compiles
    found = [
        _taken(name, work, len(blocks)) for _ in range(repeats) for name, work in ways.items()
    ]
    return [
        Taken(
            name,
            min(one.seconds for one in found if one.name == name),
            min(one.cpu for one in found if one.name == name),
            max(one.kilobytes for one in found if one.name == name),  # later ones reuse memory
        )
        for name in ways
    ]


def _taken(name: str, work: Callable[[], list[Any]], n_streams: int) -> Taken:
    process = psutil.Process()
    before, cpu, start = process.memory_info().rss, time.process_time(), time.perf_counter()
    kept = work()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    taken = process.memory_info().rss - before
    del kept
    return Taken(name, seconds, cpu, taken / 1024 / n_streams)


def _loop(make: Make, blocks: list[Block]) -> list[Any]:
    models = [make() for _ in blocks]
    for model, block in zip(models, blocks, strict=True):
        model.learn_many(*block)
    return models


def _at_once(make: Make, blocks: list[Block], workers: int) -> list[Any]:
    models = [make() for _ in blocks]
    learn_many(models, blocks, workers=workers)
    return models


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
    """The command line of the module."""
    parser = argparse.ArgumentParser(description="Many independent streams learned at once")
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, os.cpu_count() or 1])
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args(arguments)
    say = echo or print
    say(
        f"{asked.streams} streams of {asked.rows} examples of 10 features, "
        f"least of {asked.repeats}"
    )
    say(f"{'':28} {'seconds':>9} {'CPU':>9} {'streams/s':>10} {'KB a model':>11}")
    blocks = streams(asked.streams, asked.rows)
    for one in measure(blocks, list(dict.fromkeys(asked.workers)), asked.repeats):
        rate = asked.streams / one.seconds
        say(f"{one.name:28} {one.seconds:9.2f} {one.cpu:9.2f} {rate:10.1f} {one.kilobytes:11.0f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
