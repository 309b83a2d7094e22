"""A process of its own for trials, so that a limit can end a trial and nothing else.

Run as ``python -m tasks.evaluate.trials.worker``: it reads pickled messages from its standard
input, the limits first, then arrays and orders, and answers each order with `BEGUN`, when the
learner is imported, and an outcome. Importing a learner takes longer than most trials. So no limit
of a trial counts it, and a worker outlives the job that started it: `resting` lends it to the next
one.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, Self, cast

from tasks.evaluate.trials.evaluate import Arrays, Order, TrialOutcome, run
from tasks.machine.threads import ONE_THREAD
from tasks.processes.children import confine, spawn
from tasks.processes.endings import over_wall, post_mortem

Readable = IO[bytes] | io.RawIOBase

BEGUN = "begun"
IMPORT_SECONDS = 300.0
"""CPU or wall seconds after which a learner's import is given up."""

_LENGTH = struct.Struct("!Q")


@dataclass(frozen=True, slots=True)
class TrialLimits:
    """What one trial may use.

    Attributes
    ----------
    cpu_seconds : float
        Ends the trial; its status is ``timeout``.
    memory_mb : int
        Of the whole worker's data; beyond it the trial's status is ``memout``.
    wall_factor : float
        A trial that makes no progress, without using the processor, is ended after
        `wall_factor` times `cpu_seconds`.
    """

    cpu_seconds: float = 60.0
    memory_mb: int = 4000
    wall_factor: float = 20.0


class TrialWorker:
    """The parent's side: orders go out, outcomes come back, limits are enforced.

    A worker that a limit killed is replaced at the next order.
    """

    def __init__(self, limits: TrialLimits) -> None:
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None
        self._sent: Arrays | None = None

    @property
    def pid(self) -> int | None:
        """Of its process; None while there is none."""
        return self._process.pid if self._process else None

    def run(self, order: Order, arrays: Arrays) -> TrialOutcome:
        """The outcome of `order` on `arrays`, whatever becomes of the process that runs it."""
        begin = time.perf_counter()
        patience = self._limits.cpu_seconds * self._limits.wall_factor
        imported = False
        try:
            process = self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            if self._sent is not arrays:
                _send(process.stdin, arrays)
                self._sent = arrays
            _send(process.stdin, order)
            # Without its buffer, which would hold the second answer while we wait for it.
            answers = cast("io.BufferedReader", process.stdout).raw
            answer = _receive_within(IMPORT_SECONDS, answers)
            if answer == BEGUN:
                imported, begin = True, time.perf_counter()
                answer = _receive_within(patience, answers)
            if isinstance(answer, TrialOutcome):
                if answer.status == "memout":
                    self.close()
                return answer
        except BrokenPipeError:
            pass
        return self._post_mortem(time.perf_counter() - begin, imported=imported)

    def close(self) -> None:
        """End the process; the next order starts another."""
        process, self._process, self._sent = self._process, None, None
        if process is None:
            return
        process.kill()
        process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self.close()  # it died while it rested, which is no trial's fault
        if self._process is None:
            # A class of the user's, as of a notebook, may be in the current folder.
            path = os.pathsep.join(part or str(os.getcwd()) for part in sys.path)  # noqa: PTH109
            self._process = spawn(
                "tasks.evaluate.trials.worker",
                environment={**ONE_THREAD, "PYTHONPATH": path},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            assert self._process.stdin is not None
            _send(self._process.stdin, self._limits)
        return self._process

    def _post_mortem(self, wall: float, *, imported: bool) -> TrialOutcome:
        """The worker died, or hangs: say why, by how it ended."""
        process = self._process
        assert process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        code = process.poll()
        self.close()
        limits = self._limits
        if not imported and code in (None, -signal.SIGPROF):
            reason = f"its import did not end in {IMPORT_SECONDS:g} seconds"
            return TrialOutcome(0.0, None, 0.0, wall, "crash", reason)
        if code is None:
            ending = over_wall(limits.cpu_seconds * limits.wall_factor)
        else:
            ending = post_mortem(code, "the process", limits.cpu_seconds)
        cpu = limits.cpu_seconds if ending.status == "timeout" else min(wall, limits.cpu_seconds)
        return TrialOutcome(0.0, None, cpu, wall, ending.status, ending.reason)


_resting: defaultdict[TrialLimits, list[TrialWorker]] = defaultdict(list)


@contextlib.contextmanager
def resting(limits: TrialLimits) -> Iterator[TrialWorker]:
    """A worker that has nothing to do, or a new one; it rests again afterwards."""
    workers = _resting[limits]
    try:
        worker = workers.pop()
    except IndexError:
        worker = TrialWorker(limits)
    try:
        yield worker
    except BaseException:
        worker.close()
        raise
    workers.append(worker)


def resting_pids() -> list[int]:
    """The processes of the workers that rest."""
    return [worker.pid for each in _resting.values() for worker in each if worker.pid is not None]


def close_resting() -> None:
    """End the workers that rest."""
    for workers in _resting.values():
        while workers:
            workers.pop().close()


def main() -> None:
    """The worker's side: answer orders until the parent closes the pipe."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a learner prints must not get between the answers
    orders = sys.stdin.buffer
    limits = _receive(orders)
    confine(memory_mb=limits.memory_mb)
    arrays: Arrays | None = None

    def begin() -> None:
        signal.setitimer(signal.ITIMER_PROF, limits.cpu_seconds)
        _send(answers, BEGUN)

    while (order := _receive(orders)) is not None:
        if isinstance(order, Arrays):
            arrays = order
            continue
        assert arrays is not None
        signal.setitimer(signal.ITIMER_PROF, IMPORT_SECONDS)  # its signal ends the process
        outcome = run(order, arrays, begin)
        signal.setitimer(signal.ITIMER_PROF, 0)
        _send(answers, outcome)


def _send(stream: IO[bytes], message: Any) -> None:
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def _receive_within(seconds: float, stream: Readable) -> Any:
    """The next message; None at the end of the stream, or if it does not begin in time."""
    return _receive(stream) if select.select([stream], [], [], seconds)[0] else None


def _receive(stream: Readable) -> Any:
    """The next message; None at the end of the stream."""
    head = _read(stream, _LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = _read(stream, length)
    return pickle.loads(data) if len(data) == length else None  # noqa: S301 - between own processes


def _read(stream: Readable, count: int) -> bytes:
    """So many bytes, or fewer at the end of the stream."""
    data: bytes = stream.read(count) or b""
    while len(data) < count and (part := stream.read(count - len(data))):
        data += part
    return data


if __name__ == "__main__":
    main()
