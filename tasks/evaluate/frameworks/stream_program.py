"""Learner on a stream inside its framework's environment: ``stream_program MODULE LEARNER``.

It imports nothing of Leaseboard; the learners of a system are in the module, a file next to it.
The first message that it reads is the order, the values of `Asked`. Each message after that holds
the labels that have come, of the first rows that have none, and a row, whose prediction it
answers. After a message without a row it answers the seconds of predicting and learning, and the
memory of its process.
"""

import importlib
import math
import time
from collections import deque
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

Row = dict[str, float]

LEAST = 1e-15
"""The least probability whose logarithm is taken."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Order of a learner; of ``classes`` there are three or more."""

    task: Literal["regression", "binary", "classes"]
    seed: int
    n_classes: int
    names: tuple[str, ...]
    nominal: tuple[str, ...]
    namespaces: tuple[tuple[str, ...], ...] = ()
    """Names of the features in groups, as the environment has them."""


def play(wire: Any, model: Any, asked: Asked) -> dict[str, float]:
    """Predict and learn until no row comes; return the seconds that took."""
    kinds = {"regression": float, "binary": lambda given: given > 0, "classes": int}
    as_label = kinds[asked.task]
    waiting = deque[Row]()
    spent = {"cpu_seconds": 0.0, "wall_seconds": 0.0}
    while True:
        labels, row = wire.recv()
        cpu, wall = time.process_time(), time.perf_counter()
        for label in labels:
            model.learn_one(waiting.popleft(), as_label(label))
        if row is not None:
            example = dict(zip(asked.names, row, strict=True))
            for name in asked.nominal:
                example[name] = int(example[name])
            waiting.append(example)
            predicted = _predicted(model, example, asked)
        spent["cpu_seconds"] += time.process_time() - cpu
        spent["wall_seconds"] += time.perf_counter() - wall
        if row is None:
            return spent
        wire.send(predicted)


def _predicted(model: Any, example: Row, asked: Asked) -> list[float]:
    """Return a number; for two classes the log odds; for more the probability of each."""
    if asked.task == "regression":
        return [float(model.predict_one(example) or 0.0)]  # None before its first example
    known = model.predict_proba_one(example)
    if asked.task == "binary":
        yes, no = known.get(True, 0.0), known.get(False, 0.0)
        return [math.log(max(yes, LEAST)) - math.log(max(no, LEAST))]
    found = [float(known.get(number, 0.0)) for number in range(asked.n_classes)]
    total = sum(found)
    return [each / total for each in found] if total > 1 else found


def main(inside: ModuleType, wire: Any, system: str, learner: str) -> None:
    """Read the order, learn the stream, and answer the time and memory that it took."""
    asked = Asked(**wire.recv())
    model = importlib.import_module(system).LEARNERS[learner](asked)
    spent = play(wire, model, asked)
    wire.send(spent | {"peak_memory_mb": inside.peak_memory_mb()})
