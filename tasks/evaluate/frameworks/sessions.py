"""Sessions with frameworks: learners on a stream, row by row, and searches that ask for probes."""

import json
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.base import Cost
from leaseboard.algorithms.environments.samples import Decided, OutsideDecider, ProbeAsked
from leaseboard.algorithms.environments.stream import Origin, Stream
from leaseboard.algorithms.errors import DivergedError, LeaseboardError
from leaseboard.algorithms.online.schema import stream_schema
from leaseboard.tasks.evaluate.frameworks import venv
from leaseboard.tasks.evaluate.frameworks.process import PATIENCE, FrameworkProcess, GoneError

ONE_HOT = ("autovw",)
"""Frameworks that get our features; others get a category as one value, which they encode."""

_OVERFLOWS = "OverflowError", "FloatingPointError"
"""What Python raises where the numbers of a model have left the range."""


class StreamSession:
    """Learner of a framework in its process, see `OutsideSession`; SkipError where it is missing.

    Labels that have come are sent with the next row, which saves half of the exchanges.
    """

    def __init__(
        self, system: str, learner: str, stream: Stream, seed: int, patience: float = PATIENCE
    ) -> None:
        self._n_classes = len(stream.classes)
        self._at = self._waiting = 0
        self._owed: list[bytes] = []  # labels that are not sent yet
        self._columns = _columns(stream, with_categories=system not in ONE_HOT)
        binary = "regression" if stream.task == "regression" else "binary"
        self._process = FrameworkProcess(
            venv.python(system), "stream_program", f"stream_{system}", learner,
            who=f"{system}'s {learner}", patience=patience,
        )  # fmt: skip
        self._process.write(
            {
                "seed": seed % 2**31,
                "task": "classes" if stream.classes else binary,
                "n_classes": self._n_classes,
                "n_features": len(self._columns),
                "nominal": [place for place, own in enumerate(self._columns) if own[1]],
                "namespaces": stream_schema(stream).columns if system in ONE_HOT else (),
            }
        )

    def learn_many(
        self, examples: NDArray[np.float32], labels: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """See `OutsideSession.learn_many`."""
        found = list[NDArray[np.float64]]()
        for row, label in enumerate(labels.astype("<f4")):
            if not self._waiting:  # the process has no example without a label
                found.append(self.predict_waiting(examples[row : row + 1], 0))
            self._waiting -= 1
            self._owed.append(label.tobytes())
        return np.concatenate(found or [np.empty(0)])

    def predict_waiting(self, examples: NDArray[np.float32], pending: int) -> NDArray[np.float64]:
        """See `OutsideSession.predict_waiting`."""
        self._waiting += len(examples)
        predictions = np.empty((len(examples), self._n_classes or 1))
        values = [examples[:, own] @ np.arange(1, 1 + len(own), dtype=np.float32)
                  for own, _ in self._columns]  # fmt: skip
        rows = np.stack(values, axis=1).astype("<f4")
        for i in range(len(rows)):
            predictions[i] = np.frombuffer(self._answer(rows[i].tobytes()), dtype="<f8")
            self._at += 1
        return predictions if self._n_classes else predictions[:, 0]

    def finish(self) -> Cost:
        """See `OutsideSession.finish`."""
        return Cost(**json.loads(self._answer(b"")))

    def close(self) -> None:
        """See `OutsideSession.close`."""
        self._process.close()

    def _answer(self, row: bytes) -> bytes:
        """Send the labels that have come, and a row; return the answer.

        Raises DivergedError for a learner that ended because its numbers left the range.
        """
        owed, self._owed = self._owed, []
        self._process.send(b"".join([len(owed).to_bytes(4, "little"), *owed, row]))
        try:
            return self._process.receive(f" at example {self._at}")
        except GoneError as error:
            if error.word.startswith(_OVERFLOWS):
                raise DivergedError(str(error)) from error
            raise


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


class SearchSession:
    """Search in its process, see `DecidingSession`; SkipError where its library is missing."""

    def __init__(self, which: OutsideDecider, seed: int, patience: float = PATIENCE) -> None:
        self._which = which
        self._process = FrameworkProcess(
            venv.python(which.system), "select_program", which.system,
            who=which.system, patience=patience,
        )  # fmt: skip
        self._process.write(asdict(which) | {"seed": seed % 2**31})

    def hear(self) -> ProbeAsked | Decided:
        """See `DecidingSession.hear`."""
        said = self._process.receive()
        try:
            return self._checked(json.loads(said))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            shown = said[:200].decode(errors="replace")
            raise LeaseboardError(f"{self._which.system} asked for {shown!r}: {error}") from error

    def report(self, accuracy: float | None) -> None:
        """See `DecidingSession.report`."""
        self._process.write(accuracy)

    def close(self) -> None:
        """See `DecidingSession.close`."""
        self._process.close()

    def _checked(self, said: dict[str, Any]) -> ProbeAsked | Decided:
        """Return the request or the decision, if its numbers are in their ranges."""
        numbers = range(self._which.configurations)
        if "chosen" in said:
            dropped = {int(number): str(why) for number, why in said["dropped"].items()}
            chosen = said["chosen"]
            for number in (*dropped, *([] if chosen is None else [chosen])):
                _require(number, numbers, "configuration")
            return Decided(chosen, dropped)
        asked = ProbeAsked(**said)
        _require(asked.configuration, numbers, "configuration")
        _require(asked.rows, range(asked.folds, self._which.rows + 1), "rows")
        if asked.fold is not None:
            _require(asked.fold, range(asked.folds), "fold")
        return asked


def _require(value: object, known: range, what: str) -> None:
    if type(value) is not int or value not in known:
        raise ValueError(f"{what} {value!r} is not from {known.start} to {known.stop - 1}")
