"""CPU time an example of a stream of many classes next to that of two of the same examples.

``python -m benchmarks.classes DATA [--mirror FOLDER] [--rows N] [--repeats N]`` runs ``chacha``
with default settings over all classes, and over the most frequent one against the rest; then
`ChaChaClassifier` on both, by `predict_one` and `learn_one` for each example.
"""

from __future__ import annotations

import argparse
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.chacha import played
from benchmarks.timing import Timing, Way, measure, table
from leaseboard.algorithms import registry
from leaseboard.algorithms.chacha.streaming import ChaChaClassifier
from leaseboard.algorithms.environments.stream import Stream
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.preprocess.streaming import as_stream

TWO = "the most frequent class against the rest"
SINGLE = ", one call at a time"


def run(stream: Stream, repeats: int) -> list[Timing]:
    """Measure all classes of `stream`, then two."""
    numbers = stream.labels.astype(np.int64)
    often = np.where(numbers == np.bincount(numbers).argmax(), 1, -1).astype(np.float32)
    two = replace(stream, labels=often, classes=())
    algorithm, every = registry.build("chacha"), f"{len({*numbers.tolist()})} classes"
    ways = [
        played(every, stream, algorithm),
        played(TWO, two, algorithm),
        _one_by_one(every + SINGLE, stream),
        _one_by_one(TWO + SINGLE, two),
    ]
    for way in ways:
        way.work()  # compiles
    return measure(ways, repeats)


def _one_by_one(name: str, stream: Stream) -> Way:
    """Predict and learn every example, a dict, and return the share of errors."""
    rows: list[dict[Hashable, Any]] = [dict(enumerate(row)) for row in stream.features.tolist()]
    labels = stream.labels.tolist()

    def work() -> float:
        model, errors = ChaChaClassifier(seed=2345), 0
        for x, y in zip(rows, labels, strict=True):
            errors += model.predict_one(x) != y
            model.learn_one(x, y)
        return errors / len(labels)

    return Way(name, len(labels), work)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of the module."""
    parser = argparse.ArgumentParser(description="CPU time an example of many classes and of two")
    parser.add_argument("data")
    parser.add_argument("--mirror", type=Path, action="append", default=[])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args(arguments)
    whole = as_stream(loading.load(given.data, mirrors=tuple(given.mirror)))
    rows = slice(given.rows)
    stream = replace(whole, features=whole.features[rows], labels=whole.labels[rows])
    print(table(run(stream, given.repeats), TWO))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
