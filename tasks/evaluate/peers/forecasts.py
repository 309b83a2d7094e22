"""Forecasters of peers on a stream: each in a process of its peer's environment, row by row."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from algorithms.benches.outside import OutsideForecasts, StreamToll
from algorithms.benches.stream import Stream
from algorithms.errors import DivergedError, LeaseboardError
from tasks.evaluate.peers import stream_program, venv
from tasks.evaluate.peers.apart import last_word
from tasks.machine.threads import ONE_THREAD
from tasks.processes.endings import over_wall, post_mortem
from tasks.processes.leash import kill_tree

PATIENCE = 300.0
"""Wall seconds after which a forecaster that does not answer is ended, and its job fails."""

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
        self._who = f"{which.system}'s {which.learner}"
        self._n_classes = many
        self._patience = patience
        self._at = 0
        self._owed = b""
        self._folder = tempfile.TemporaryDirectory(prefix="peer-")
        self._said = Path(self._folder.name) / "said.txt"
        binary = "regression" if stream.task == "regression" else "binary"
        order = {
            "seed": seed % 2**31,
            "task": "classes" if many else binary,
            "n_classes": many,
            "n_features": stream.features.shape[1],
            "nominal": stream.nominal,
            "namespaces": [(each.start, each.stop) for each in stream.namespaces],
        }
        command = [str(python), "-s", "-P", stream_program.__file__]
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [*command, which.system, which.learner],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                bufsize=0,
                cwd=self._folder.name,
                env=_environment(),
                start_new_session=True,
            )
        self._answers = select.poll()  # which knows no limit of descriptors, as `select` does
        self._answers.register(self._pipe, select.POLLIN)
        self._send(json.dumps(order).encode() + b"\n")

    @property
    def _pipe(self) -> int:
        """What it answers through."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def learn_many(
        self, examples: NDArray[np.float32], labels: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """See `OutsideSession.learn_many`."""
        width = self._n_classes or 1
        told = np.empty((len(labels), width))
        rows, answers = examples.astype("<f4", order="C"), labels.astype("<f4")
        for i in range(len(labels)):
            self._send(self._owed + rows[i].tobytes())
            told[i] = np.frombuffer(self._receive(8 * width), dtype="<f8")
            self._owed = answers[i].tobytes()
            self._at += 1
        return told if self._n_classes else told[:, 0]

    def finish(self) -> StreamToll:
        """See `OutsideSession.finish`."""
        self._send(self._owed)
        stdin = self._process.stdin
        assert stdin is not None
        with suppress(BrokenPipeError):  # it has gone, which the next line tells
            stdin.close()
        line = b""
        while not line.endswith(b"\n"):
            line += self._receive(1)
        return StreamToll(**json.loads(line))

    def close(self) -> None:
        """See `OutsideSession.close`."""
        kill_tree(self._process.pid)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):  # nobody needs what was left in it
                pipe.close()
        self._folder.cleanup()

    def _send(self, content: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with suppress(BrokenPipeError):  # it has gone, which is told when its answer is awaited
            stdin.write(content)

    def _receive(self, n: int) -> bytes:
        """The next `n` bytes that it answers."""
        content = b""
        while len(content) < n:
            if not self._answers.poll(1000 * self._patience):
                reason = over_wall(self._patience).reason
                raise LeaseboardError(f"{self._who} at example {self._at}: {reason}")
            part = os.read(self._pipe, n - len(content))
            if not part:
                raise self._ended()
            content += part
        return content

    def _ended(self) -> LeaseboardError:
        """Why it has gone before it answered."""
        code = self._process.wait()
        word = last_word(self._said)
        reason = f"{post_mortem(code, self._who).reason} at example {self._at}: {word}"
        overflown = word.startswith(_OVERFLOWS)
        return DivergedError(reason) if overflown else LeaseboardError(reason)


def _environment() -> dict[str, str]:
    """Ours without what steers Python, and with the hashes of texts the same in every process."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return ours | ONE_THREAD | {"PYTHONHASHSEED": "0"}
