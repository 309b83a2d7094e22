"""Pool's side of a worker process: orders go in, answers and endings come out.

What a worker and its jobs print goes through a pipe that the pool reads, into a job's log up to a
size. Printing kills no job and does not fill the disk: output beyond the limit is dropped, except
for the last of it, where a traceback is.
"""

import fcntl
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psutil

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.processes.forks import Ending, post_mortem
from leaseboard.tasks.processes.subprocesses import Silence, Subprocess
from leaseboard.tasks.processes.watchdog import descendants, kill_below, kill_tree

WHO = "the worker process"
POLL_SECONDS = 0.05
START_SECONDS = 120.0
"""How long a worker may import; no job is charged for it."""
TREE_SECONDS = 0.5
"""Time between searches for a job's children; its own process is measured at each poll."""


class StoppedError(LeaseboardError):
    """Interruption of a run: the job has no result and will run again."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Ending of an attempt at a job, with the row of its result if it has one.

    `fit` says that the worker answered, and can take another job; `usage` that a `UsageError`
    ended it.
    """

    ending: Ending
    row: dict[str, Any] | None = None
    fit: bool = False
    usage: bool = False


class Worker:
    """Worker process and its output.

    - `work`: the function that runs a job.
    - `environment`: variables in addition to our own.
    - `forks`: whether it forks for each job, whose code is untrusted.
    """

    def __init__(self, work: str, environment: Mapping[str, str], *, forks: bool) -> None:
        self.output = Output()
        self._process = Subprocess(
            "leaseboard.tasks.pool.worker",
            *(work, str(int(forks))),
            environment=lambda: environment,
            stdout=self.output.theirs,
            stderr=self.output.theirs,
            start_new_session=True,
        )
        self._process.start()
        os.close(self.output.theirs)
        assert self._process.pid is not None
        self.pid = self._process.pid
        self.ready = False
        self._measured = psutil.Process(self.pid)
        self._children: list[psutil.Process] = []
        self._reusable: set[int] = set()
        self._looked = 0.0
        self._forks = forks
        self._ending, self._ended = threading.Lock(), False
        self._cpu = 0.0  # the most seen: a process that has gone counts no more

    def order(self, message: dict[str, Any]) -> None:
        """Send an order; `answer` reports a worker that has ended."""
        self._process.send(json.dumps(message).encode())

    def answer(self, timeout: float) -> Reply | None:
        """Return the worker's answer within `timeout` seconds, None without one.

        Its output meanwhile goes to the job's log.
        """
        said = self._process.answer(timeout, meanwhile=self.output)
        if said is Silence.LATE:
            return None
        if isinstance(said, Silence):
            return Reply(self._post_mortem())
        message = json.loads(said)
        if "code" in message:  # of a fork that did not answer
            return Reply(post_mortem(message["code"], WHO), fit=True)
        self._reusable = set(message.get("kept", ()))
        if "result" in message:
            row = message["result"]
            return Reply(Ending(row["status"]), row, fit=True)
        ending = Ending(message["status"], message["reason"])
        usage = message.get("usage", False)
        return Reply(ending, fit=ending.status != "stopped", usage=usage)

    def wait_until_ready(self, stopping: threading.Event) -> Reply | None:
        """Wait until the worker has imported what jobs need; return how it ended, if it did."""
        deadline = time.monotonic() + START_SECONDS
        while not self.ready:
            answer = self.answer(POLL_SECONDS)
            self.ready = answer is not None and answer.ending.status == "ready"
            if answer is not None and not self.ready:
                return answer
            if stopping.is_set():
                raise StoppedError("interrupted before the job began")
            if time.monotonic() > deadline:
                late = f"the worker did not start within {START_SECONDS:g} s"
                return Reply(Ending("crash", late))
        return None

    def usage(self) -> tuple[float, int]:
        """Return the CPU seconds and resident bytes of the worker and its descendants.

        A fork shares the worker's memory, so only the fork's is counted.
        """
        now = time.monotonic()
        if now - self._looked > TREE_SECONDS or (self._forks and not self._children):
            self._looked = now
            self._children = []
            for pid in descendants(self.pid):
                with suppress(psutil.NoSuchProcess):
                    self._children.append(psutil.Process(pid))
        cpu, memory = 0.0, 0
        for process in (self._measured, *self._children):
            with suppress(psutil.Error):
                times = process.cpu_times()
                cpu += times.user + times.system + times.children_user + times.children_system
                if not (self._forks and process is self._measured):
                    memory += process.memory_info().rss
        self._cpu = max(self._cpu, cpu)
        return self._cpu, memory

    def ask_to_stop(self) -> None:
        """Ask the worker and everything in its group to end."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGTERM)

    def kill_children(self) -> bool:
        """End what a finished job left behind, except for processes that are used again.

        Returns whether nothing is left; else the worker is not fit for another job.
        """
        over = kill_below(self.pid, self._reusable)
        self.output.end()
        return over

    def kill(self) -> None:
        """End the worker and its descendants, and wait for it.

        A run that is interrupted twice closes its pool while a job's own thread ends its worker.
        """
        with self._ending:
            if not self._ended:
                self._ended = True
                kill_tree(self.pid)
                self._process.kill()
                self.output.end()
                self.output.close()

    def _post_mortem(self) -> Ending:
        """Return why no answer will come."""
        code = self._process.code
        if code is None:
            return Ending("crash", "the job closed the worker's channel")
        self.output.drain()
        ending = post_mortem(code, WHO)
        said = self.output.last_line() if code >= 0 else ""
        return Ending(ending.status, f"{ending.reason}: {said}".rstrip(": "))


CHUNK_BYTES = 1 << 20
TAIL_BYTES = 1 << 14
"""Bytes at the end of a log that was cut."""
_MOST_CHUNKS = 64


class Output:
    """Pool's end of a worker's standard output and error.

    Attributes
    ----------
    theirs : int
        The descriptor that the worker gets; close it here when it has it.
    open : bool
        Whether a process can still write.
    fault : OSError, optional
        Why the job's log could not be written; None if it could.
    """

    def __init__(self) -> None:
        self._ours, self.theirs = os.pipe()
        os.set_blocking(self._ours, False)
        if sys.platform == "linux":
            with suppress(OSError):  # more than the system grants
                fcntl.fcntl(self._ours, fcntl.F_SETPIPE_SZ, CHUNK_BYTES)
        self.open = True
        self.fault: OSError | None = None
        self._path: Path | None = None
        self._file: IO[bytes] | None = None
        self._space_left = 0.0
        self._limit = 0.0
        self._tail = b""
        self._cut = False

    def fileno(self) -> int:
        """Return the file descriptor, for `select`."""
        return self._ours

    def begin(self, path: Path, megabytes: float | None) -> None:
        """Write a job's output to `path` from now on; the file is made with the first of it."""
        self.drain()  # output from before belongs to no job
        self._path, self._tail, self._cut, self.fault = path, b"", False, None
        self._limit = float("inf") if megabytes is None else megabytes
        self._space_left = self._limit * 1e6 - TAIL_BYTES

    def take(self) -> bool:
        """Read a chunk of the output, if there is any; return whether there was.

        What cannot be written is dropped, and `fault` says why.
        """
        try:
            chunk = os.read(self._ours, CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not chunk:
            self.open = False
            return False
        if self._path is not None and self._space_left > 0:
            head = chunk if len(chunk) <= self._space_left else chunk[: int(self._space_left)]
            self._space_left -= len(head)
            self._write(head)
            chunk = chunk[len(head) :]
        said = self._tail + chunk
        self._cut = self._cut or len(said) > TAIL_BYTES
        self._tail = said[-TAIL_BYTES:]
        return True

    def drain(self) -> None:
        """Read all of the output; its writers have ended, or write slower than this reads."""
        for _ in range(_MOST_CHUNKS):
            if not self.take():
                return

    def end(self) -> None:
        """Complete the log of a job that has ended with all its processes."""
        self.drain()
        if self._path is not None and self._cut:
            self._write(
                f"\n[cut here: the job printed more than {self._limit:g} MB, the limit"
                " output_mb; what it printed last:]\n".encode()
            )
        if self._path is not None and self._tail:
            self._write(self._tail)
        if self._file is not None:
            self._file.close()
        self._path, self._file, self._tail = None, None, b""

    def last_line(self) -> str:
        """Return the last line that was printed outside a job, empty in one."""
        if self._path is not None:
            return ""
        lines = self._tail.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def _write(self, content: bytes) -> None:
        assert self._path is not None
        if self.fault:
            return
        try:
            if self._file is None:
                self._file = self._path.open("ab", buffering=0)
            while content:
                content = content[self._file.write(content) or 0 :]
        except OSError as error:
            self.fault = error
            error.filename = str(self._path)

    def close(self) -> None:
        """Close this end of the pipe."""
        self.open = False
        os.close(self._ours)
