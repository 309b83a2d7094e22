"""A learner played between its pipes, for the tests of each library's learners."""

import io
import struct

import numpy as np

from leaseboard.tasks.evaluate.peers.stream_program import Asked, BetweenPipes

CLASSES = {"regression": 0, "binary": 0, "classes": 3}


class Orders(io.RawIOBase):
    """Examples and labels, of which each label is readable only when its forecast was written."""

    def __init__(self, rows, labels):
        self.parts = [
            part for row, label in zip(rows, labels, strict=True)
            for part in (np.float32(row).tobytes(), np.float32([label]).tobytes())
        ]  # fmt: skip
        self.given = 0

    def read(self, size=-1):
        if self.given == len(self.parts):
            return b""
        assert self.given % 2 == 0 or self.forecasts() == self.given // 2 + 1
        part = self.parts[self.given]
        assert len(part) == size
        self.given += 1
        return part


def played(asked, model, rows, labels):
    orders, answers = Orders(rows, labels), io.BytesIO()
    width = 8 * max(1, asked.n_classes)
    orders.forecasts = lambda: len(answers.getvalue()) // width
    found = BetweenPipes(model, asked)
    found.play(orders, answers)
    numbers = struct.unpack(f"<{len(answers.getvalue()) // 8}d", answers.getvalue())
    return found, np.array(numbers).reshape(len(labels), -1)


def asked_for(task, nominal=()):
    return Asked(task, 1, CLASSES[task], ("x0", "x1", "x2"), nominal)


class MeanOfLabels:
    """Tells what it has learned."""

    def __init__(self):
        self.seen = []

    def predict_one(self, example):
        return sum(label for _, label in self.seen) / max(1, len(self.seen))

    def predict_proba_one(self, example):
        labels = [label for _, label in self.seen]
        return {label: labels.count(label) / len(labels) for label in set(labels)}

    def learn_one(self, example, label):
        self.seen.append((example, label))
