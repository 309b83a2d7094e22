"""Forecasters of peers on a stream: each in a process of its peer's environment, row by row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.benches.stream import Origin, OutsideForecasts, Stream, StreamToll
from leaseboard.algorithms.errors import DivergedError
from leaseboard.algorithms.online.schema import stream_schema
from leaseboard.tasks.evaluate.peers import inside, stream_program, venv
from leaseboard.tasks.evaluate.peers.talking import PATIENCE, GoneError, TalkingProcess

ONE_HOT = ("autovw",)
"""Systems that get our features; others get a category as one value, which they encode."""

_OVERFLOWS = "OverflowError", "FloatingPointError"
"""What Python raises where the numbers of a model have left the range."""


class PeersOutside:
    """Starts the forecasters of peers that are installed; see `Outside`."""

    def start(self, which: OutsideForecasts, stream: Stream, seed: int) -> PeerSession:
        """See `Outside.start`; SkipError, with the mend, where the peer is not installed."""
        return PeerSession(which, stream, seed, PATIENCE)


class PeerSession:
    """One forecaster in its process; see `OutsideSession`.

    The process is told a row, and its label when its forecast has come: the label goes with the
    next row, which saves half of the exchanges.
    """

    def __init__(
        self, which: OutsideForecasts, stream: Stream, seed: int, patience: float
    ) -> None:
        python = venv.python(which.system)
        many = len(stream.classes)
        self._n_classes = many
        self._at = 0
        self._owed = b""
        self._columns = _columns(stream, with_categories=which.system not in ONE_HOT)
        binary = "regression" if stream.task == "regression" else "binary"
        order = {
            "seed": seed % 2**31,
            "task": "classes" if many else binary,
            "n_classes": many,
            "n_features": len(self._columns),
            "nominal": [place for place, own in enumerate(self._columns) if own[1]],
            "namespaces": stream_schema(stream).columns if which.system in ONE_HOT else (),
        }
        command = inside.command(python, stream_program.__name__, which.system, which.learner)
        self._process = TalkingProcess(command, f"{which.system}'s {which.learner}", patience)
        self._process.send(json.dumps(order).encode() + b"\n")

    def learn_many(
        self, examples: NDArray[np.float32], labels: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """See `OutsideSession.learn_many`."""
        width = self._n_classes or 1
        told = np.empty((len(labels), width))
        values = [examples[:, own] @ np.arange(1, 1 + len(own), dtype=np.float32)
                  for own, _ in self._columns]  # fmt: skip
        rows, answers = np.stack(values, axis=1).astype("<f4"), labels.astype("<f4")
        with _overflows_diverge():
            for i in range(len(labels)):
                self._process.send(self._owed + rows[i].tobytes())
                told[i] = np.frombuffer(self._process.receive(8 * width, self._where), dtype="<f8")
                self._owed = answers[i].tobytes()
                self._at += 1
        return told if self._n_classes else told[:, 0]

    def finish(self) -> StreamToll:
        """See `OutsideSession.finish`."""
        self._process.send(self._owed)
        self._process.end()
        with _overflows_diverge():
            return StreamToll(**json.loads(self._process.line(self._where)))

    def close(self) -> None:
        """See `OutsideSession.close`."""
        self._process.close()

    @property
    def _where(self) -> str:
        return f" at example {self._at}"


def _columns(stream: Stream, *, with_categories: bool) -> list[tuple[list[int], bool]]:
    """Return the features that make each column for another system, and whether it is nominal.

    The features of one text, or of one part of a date, are the numbers of its values in the order
    in which they came, and 0 for none.
    """
    found: dict[Any, list[int]] = {}
    origins = stream.origins or map(Origin, stream.names)
    for place, of in enumerate(origins):
        nominal = bool(of.value) and with_categories
        found.setdefault((of.column, of.part) if nominal else place, []).append(place)
    return [(own, isinstance(key, tuple)) for key, own in found.items()]


@contextmanager
def _overflows_diverge() -> Iterator[None]:
    """Whoever ended because its numbers left the range has diverged."""
    try:
        yield
    except GoneError as error:
        if error.word.startswith(_OVERFLOWS):
            raise DivergedError(str(error)) from error
        raise
