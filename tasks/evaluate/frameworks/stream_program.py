"""Learner on a stream inside its framework's environment: ``stream_program MODULE LEARNER``.

It imports nothing of Leaseboard; the learners of a system are in the module, a file next to it.
The first message that it reads is the order in JSON: seed, task, classes, features, which of them
are numbers of categories, and which belong together. Each message after that holds the number of
labels that have come, these, of the first rows that have none, and a row, whose prediction it
answers.
Rows and labels are float32, predictions float64. After a message without a row it answers in JSON
the seconds of predicting and learning, and the memory of its process.
"""

import math
import struct
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


def play(wire: Any, model: Any, asked: Asked) -> tuple[float, float]:
    """Predict and learn until no row comes; return the CPU and wall seconds that took."""
    count, row = struct.Struct("<I"), struct.Struct(f"<{len(asked.names)}f")
    answer = struct.Struct(f"<{asked.n_classes if asked.task == 'classes' else 1}d")
    kinds = {"regression": float, "binary": lambda given: given > 0, "classes": int}
    as_label = kinds[asked.task]
    waiting = deque[Row]()
    spent_cpu = spent_wall = 0.0
    more = True
    while more:
        content = wire.receive()
        cpu, wall = time.process_time(), time.perf_counter()
        (n_labels,) = count.unpack_from(content)
        for label in struct.unpack_from(f"<{n_labels}f", content, count.size):
            model.learn_one(waiting.popleft(), as_label(label))
        end = count.size + 4 * n_labels
        more = len(content) > end
        if more:
            values = row.unpack_from(content, end)
            example = dict(zip(asked.names, values, strict=True))
            for name in asked.nominal:
                example[name] = int(example[name])
            waiting.append(example)
            predicted = answer.pack(*_predicted(model, example, asked))
        spent_cpu += time.process_time() - cpu
        spent_wall += time.perf_counter() - wall
        if more:
            wire.send(predicted)
    return spent_cpu, spent_wall


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
    order = wire.read()
    names = tuple(f"x{place}" for place in range(order["n_features"]))
    nominal = tuple(names[place] for place in order["nominal"])
    groups = tuple(tuple(names[place] for place in group) for group in order["namespaces"])
    asked = Asked(order["task"], order["seed"], order["n_classes"], names, nominal, groups)
    model = inside.sibling(system).LEARNERS[learner](asked)
    cpu, wall = play(wire, model, asked)
    took = {"cpu_seconds": cpu, "wall_seconds": wall}
    wire.write(took | {"peak_memory_mb": inside.peak_memory_mb()})
