"""Runs inside a peer's environment: ``inside.py stream_program SYSTEM LEARNER``, over its pipes.

It imports nothing of Leaseboard; the learners of a system are in the file beside it that is named
for the system. The first line that it reads is the order as JSON: seed, task, classes, features,
which of them are numbers of categories, and which belong together. Then it reads an example,
writes its forecast, reads the label and learns it, and so on: a label is not sent before the
forecast has come. Examples and labels are float32, forecasts float64. When no example comes any
more it writes a line of JSON: what forecasting and learning took, and the memory of its process.
"""

from __future__ import annotations

import json
import math
import os
import struct
import sys
import time
from dataclasses import dataclass
from types import ModuleType
from typing import Any, BinaryIO, Literal

Row = dict[str, float]

LEAST = 1e-15
"""The least chance whose logarithm is told."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a learner is made for; of ``classes`` there are three or more."""

    task: Literal["regression", "binary", "classes"]
    seed: int
    n_classes: int
    names: tuple[str, ...]
    nominal: tuple[str, ...]
    namespaces: tuple[tuple[str, ...], ...] = ()
    """The names of the features in groups, as the bench has them."""


class BetweenPipes:
    """A learner between its pipes, and the clocks of what it does."""

    def __init__(self, model: Any, asked: Asked) -> None:
        self._model = model
        self._asked = asked
        self._row = struct.Struct(f"<{len(asked.names)}f")
        self.cpu_seconds = 0.0
        self.wall_seconds = 0.0

    def play(self, orders: BinaryIO, answers: BinaryIO) -> None:
        """Forecast and learn until no example comes."""
        asked, label = self._asked, struct.Struct("<f")
        told = struct.Struct(f"<{asked.n_classes if asked.task == 'classes' else 1}d")
        nominal = [(name, asked.names.index(name)) for name in asked.nominal]
        while len(content := orders.read(self._row.size)) == self._row.size:
            cpu, wall = time.process_time(), time.perf_counter()
            values = self._row.unpack(content)
            example = dict(zip(asked.names, values, strict=True))
            for name, place in nominal:
                example[name] = int(values[place])
            forecast = told.pack(*self._forecast(example))
            self._count(cpu, wall)
            answers.write(forecast)
            answers.flush()
            (given,) = label.unpack(orders.read(label.size))
            cpu, wall = time.process_time(), time.perf_counter()
            self._learn(example, given)
            self._count(cpu, wall)

    def _count(self, cpu: float, wall: float) -> None:
        self.cpu_seconds += time.process_time() - cpu
        self.wall_seconds += time.perf_counter() - wall

    def _forecast(self, example: Row) -> list[float]:
        """A number; for two classes log odds; for more a chance for each."""
        if self._asked.task == "regression":
            return [float(self._model.predict_one(example))]
        chances = self._model.predict_proba_one(example)
        if self._asked.task == "binary":
            yes, no = chances.get(True, 0.0), chances.get(False, 0.0)
            return [math.log(max(yes, LEAST)) - math.log(max(no, LEAST))]
        found = [float(chances.get(number, 0.0)) for number in range(self._asked.n_classes)]
        total = sum(found)
        return [each / total for each in found] if total > 1 else found

    def _learn(self, example: Row, label: float) -> None:
        if self._asked.task == "regression":
            self._model.learn_one(example, label)
        elif self._asked.task == "binary":
            self._model.learn_one(example, label > 0)
        else:
            self._model.learn_one(example, int(label))


def main(inside: ModuleType, system: str, learner: str) -> None:
    """Take the order, play, tell what it took."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    orders = sys.stdin.buffer
    order = json.loads(orders.readline())
    names = tuple(f"x{place}" for place in range(order["n_features"]))
    nominal = tuple(names[place] for place in order["nominal"])
    groups = tuple(tuple(names[place] for place in group) for group in order["namespaces"])
    asked = Asked(order["task"], order["seed"], order["n_classes"], names, nominal, groups)
    learners = inside.beside(f"stream_{system}").LEARNERS
    played = BetweenPipes(learners[learner](asked), asked)
    played.play(orders, answers)
    took = {"cpu_seconds": played.cpu_seconds, "wall_seconds": played.wall_seconds}
    answers.write(json.dumps(took | {"peak_memory_mb": inside.peak_memory_mb()}).encode() + b"\n")
    answers.flush()
