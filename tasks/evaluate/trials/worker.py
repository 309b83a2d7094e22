"""Subprocess for trials, so that a limit ends a trial and nothing else.

It takes arrays and orders in pickles, and answers each order with `BEGUN`, when the learner is
imported, and an outcome. Importing a learner takes longer than most trials. So no limit of a trial
counts it, and a worker outlives the job that started it: `resting` lends it to the next one.
"""

import contextlib
import importlib
import math
import os
import pickle
import signal
import subprocess
import sys
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from leaseboard.tasks.evaluate.trials import recipes
from leaseboard.tasks.evaluate.trials.evaluate import Arrays, Order, Stopped, TrialOutcome, run
from leaseboard.tasks.machine.environment import ONE_THREAD
from leaseboard.tasks.processes.forks import Ending, confine, no_answer
from leaseboard.tasks.processes.subprocesses import Silence, Subprocess, orders, to_parent

BEGUN = "begun"
IMPORT_SECONDS = 300.0
"""CPU or wall seconds after which a learner's import is given up."""
IDLE = 0.02
"""Of its CPU seconds, which a trial uses at least in the time after which it is looked at."""
GRACE_SECONDS = 0.5
"""After the seconds of an order a learner may finish what Python cannot interrupt; then its worker
is killed, and the next one imports all again."""


@dataclass(frozen=True, slots=True)
class TrialLimits:
    """Limits of one trial."""

    cpu_seconds: float = 60.0
    """Ends the trial; its status is ``timeout``."""
    memory_mb: int = 4000
    """Of the whole worker's data; beyond it the trial's status is ``memout``."""
    wall_factor: float = 20.0
    """A trial that uses hardly any of the processor in `wall_factor` times `cpu_seconds` is ended;
    one that is kept waiting by others is not."""


Imports = list[tuple[str, Mapping[str, Any]]]
"""Estimators as in a space, with values to build them, to be imported before any trial."""


class TrialWorker:
    """Worker process as its parent sees it, which enforces the limits.

    A worker that a limit killed is replaced at the next order.
    """

    def __init__(self, limits: TrialLimits) -> None:
        self._limits = limits
        self._process = Subprocess(
            "leaseboard.tasks.evaluate.trials.worker",
            *(str(limits.cpu_seconds), str(limits.memory_mb)),
            environment=_environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # Ends the process with this object, and before the interpreter clears its modules.
        weakref.finalize(self, self._process.kill)
        self._sent: Arrays | None = None
        self.warmed = False
        """Whether its process has imported what trials need."""
        self.cpu_seconds = self._seen = 0.0
        """CPU seconds of all its processes, as far as they have answered; of this one."""

    @property
    def pid(self) -> int | None:
        """Number of its process; None while no process runs."""
        return self._process.pid

    def run(self, order: Order, arrays: Arrays) -> TrialOutcome:
        """Return the outcome of `order`, also if the process that runs it dies."""
        begin, imported = time.perf_counter(), False
        self._start()
        if self._sent is not arrays:
            # It is new also if it died between trials, for which no trial is to blame.
            self._process.send(pickle.dumps(arrays))
            self._sent = arrays
        self._process.send(pickle.dumps(order))
        answer = self._answer(IMPORT_SECONDS)
        if answer == BEGUN:
            imported, begin = True, time.perf_counter()
            if order.clock == "wall":
                answer = self._answer(order.seconds + GRACE_SECONDS)
            else:
                answer = self._patiently()
        if not isinstance(answer, TrialOutcome):
            wall, code = time.perf_counter() - begin, self._process.code
            self.close()
            outcome = self._post_mortem(wall, code, order, imported=imported)
            self.cpu_seconds += outcome.cpu_seconds
            return outcome
        if answer.status == "memout":
            self.close()
        return answer

    def _patiently(self) -> Any:
        """Return the answer, however long the trial waits for a processor; None if it is idle."""
        import psutil

        used = 0.0
        while True:
            answer = self._answer(self._limits.cpu_seconds * self._limits.wall_factor)
            if answer is not None or self._process.code is not None:
                return answer
            with contextlib.suppress(psutil.NoSuchProcess):  # it ended just now
                before, used = used, sum(psutil.Process(self.pid).cpu_times()[:2])
                if used - before > self._limits.cpu_seconds * IDLE:
                    continue
            return None

    def warm(self, imports: Imports) -> None:
        """Have the process import what trials will need; it is started if it does not run."""
        self._start()
        self._process.send(pickle.dumps(imports))
        self._answer(IMPORT_SECONDS)  # if it died, the first order says why
        self.warmed = True

    def _start(self) -> None:
        """Start the process unless it runs."""
        if self._process.start():
            self._sent, self._seen, self.warmed = None, 0.0, False

    def _answer(self, seconds: float) -> Any:
        """Return the answer of the process, None if there is none, and count its CPU seconds."""
        answer, now = _read(self._process.answer(seconds)) or (None, self._seen)
        self.cpu_seconds += now - self._seen
        self._seen = now
        return answer

    def close(self) -> None:
        """End the process; the next order starts another."""
        self._process.kill()
        self.warmed = False

    def _post_mortem(
        self, wall: float, code: int | None, order: Order, *, imported: bool
    ) -> TrialOutcome:
        """Return why the worker died, or hangs, by how it ended."""
        limits, cpu = self._limits, min(wall, self._limits.cpu_seconds)
        if imported and order.clock == "wall" and wall > order.seconds:
            ending, cpu = Ending("stopped"), wall
        elif code == -signal.SIGVTALRM:
            ending, cpu = Ending("stopped"), order.seconds + GRACE_SECONDS
        elif not imported and code in (None, -signal.SIGPROF):
            reason = f"its import did not end in {IMPORT_SECONDS:g} seconds"
            ending, cpu = Ending("crash", reason), 0.0
        else:
            ending = no_answer(
                Silence.ENDED, code, "the process",
                cpu_seconds=limits.cpu_seconds,
                wall_seconds=limits.cpu_seconds * limits.wall_factor,
            )  # fmt: skip
            if ending.status == "timeout":
                cpu = limits.cpu_seconds
        return TrialOutcome(
            cpu_seconds=cpu, wall_seconds=wall, status=ending.status, reason=ending.reason
        )


def _environment() -> dict[str, str]:
    # A class of the user's, as of a notebook, may be in the current folder.
    path = os.pathsep.join(part or str(os.getcwd()) for part in sys.path)  # noqa: PTH109
    return {**ONE_THREAD, "PYTHONPATH": path}


_resting: defaultdict[TrialLimits, list[TrialWorker]] = defaultdict(list)


@contextlib.contextmanager
def resting(limits: TrialLimits) -> Iterator[TrialWorker]:
    """Lend a worker that has nothing to do, or a new one; it rests again afterwards."""
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


def close_resting() -> None:
    """End the workers that rest."""
    for workers in _resting.values():
        while workers:
            workers.pop().close()


def main() -> None:
    """Answer orders until the parent closes its end: the worker's side."""
    parent = to_parent()
    limits = TrialLimits(float(sys.argv[2]), int(sys.argv[3]))
    confine(memory_mb=limits.memory_mb)
    arrays: Arrays | None = None
    signal.signal(signal.SIGALRM, _stop)

    def say(answer: Any) -> None:
        parent.send_bytes(pickle.dumps((answer, time.process_time())))

    for said in orders(parent):
        order = _read(said)
        if isinstance(order, Arrays):
            arrays = order
            if any(fold.test_x is not None for fold in arrays.folds):
                importlib.import_module("sklearn.metrics")  # no trial is charged for it
            continue
        if isinstance(order, list):
            for estimator, values in order:
                with contextlib.suppress(Exception):  # a trial will meet it again and say so
                    recipes.build(estimator, values, 1, 0)
            say(None)
        else:
            assert arrays is not None
            say(_answer(order, arrays, limits, partial(say, BEGUN)))


def _answer(
    order: Order, arrays: Arrays, limits: TrialLimits, say_begun: Callable[[], None]
) -> TrialOutcome:
    """Return the outcome, unless a timer's signal ends this process: SIGPROF, SIGVTALRM."""

    def begin() -> None:
        signal.setitimer(signal.ITIMER_PROF, limits.cpu_seconds)
        if order.seconds < limits.cpu_seconds and order.clock == "cpu":
            signal.signal(signal.SIGPROF, _stop)
            signal.setitimer(signal.ITIMER_PROF, max(order.seconds, 1e-3))
            signal.setitimer(signal.ITIMER_VIRTUAL, order.seconds + GRACE_SECONDS)
        elif order.clock == "wall" and order.seconds < math.inf:
            signal.setitimer(signal.ITIMER_REAL, max(order.seconds, 1e-3))
        say_begun()

    def end() -> None:  # what is for the record has the time of the limits
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, limits.cpu_seconds)

    signal.setitimer(signal.ITIMER_PROF, IMPORT_SECONDS)
    try:
        return run(order, arrays, begin, end)
    except Stopped:  # as it ended anyway
        spent = order.seconds
        return TrialOutcome(cpu_seconds=spent, wall_seconds=spent, status="stopped")
    finally:
        for stopping in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(stopping, signal.SIG_IGN)
        for timer in (signal.ITIMER_PROF, signal.ITIMER_VIRTUAL, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, _stop)


def _stop(*_: object) -> None:
    raise Stopped


def _read(said: bytes | Silence) -> Any:
    """Return the message; None if the process was silent."""
    return None if isinstance(said, Silence) else pickle.loads(said)  # noqa: S301 - our own process


if __name__ == "__main__":
    # Messages are unpickled as classes of the module, which those of `__main__` are not.
    importlib.import_module("leaseboard.tasks.evaluate.trials.worker").main()
