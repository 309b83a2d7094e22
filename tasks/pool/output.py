"""What a worker and its jobs print: a pipe that the pool empties, into a job's log up to a size.

Nobody is killed for printing, and nothing fills the disk: what is beyond the limit is read and
dropped, but for the last of it, where a traceback is.
"""

from __future__ import annotations

import fcntl
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

CHUNK_BYTES = 1 << 20
TAIL_BYTES = 1 << 14
"""How much of the end of a log that was cut is kept."""
_MOST_CHUNKS = 64


class Output:
    """The pool's end of a worker's standard output and error.

    Attributes
    ----------
    theirs : int
        The descriptor that the worker gets; close it here when it has it.
    open : bool
        Whether anybody can still write.
    fault : str
        Why the job's log could not be written, empty if it could.
    """

    def __init__(self) -> None:
        self._ours, self.theirs = os.pipe()
        os.set_blocking(self._ours, False)
        if sys.platform == "linux":
            with suppress(OSError):  # more than the system grants
                fcntl.fcntl(self._ours, fcntl.F_SETPIPE_SZ, CHUNK_BYTES)
        self.open = True
        self.fault = ""
        self._path: Path | None = None
        self._file: IO[bytes] | None = None
        self._room = 0.0
        self._limit = 0.0
        self._tail = b""
        self._cut = False

    def fileno(self) -> int:
        """For `select`."""
        return self._ours

    def begin(self, path: Path, megabytes: float | None) -> None:
        """From now on it is a job's, and goes to `path`: the file is made when something comes."""
        self.drain()  # what was said before is nobody's
        self._path, self._tail, self._cut, self.fault = path, b"", False, ""
        self._limit = float("inf") if megabytes is None else megabytes
        self._room = self._limit * 1e6 - TAIL_BYTES

    def take(self) -> bool:
        """Take what is there, at most a chunk; whether there was anything.

        What cannot be written is dropped, and `fault` says why.
        """
        try:
            chunk = os.read(self._ours, CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not chunk:
            self.open = False
            return False
        if self._path is not None and self._room > 0:
            kept = chunk if len(chunk) <= self._room else chunk[: int(self._room)]
            self._room -= len(kept)
            self._write(kept)
            chunk = chunk[len(kept) :]
        said = self._tail + chunk
        self._cut = self._cut or len(said) > TAIL_BYTES
        self._tail = said[-TAIL_BYTES:]
        return True

    def drain(self) -> None:
        """Take all that is there; its writers are gone, or write no faster than they are read."""
        for _ in range(_MOST_CHUNKS):
            if not self.take():
                return

    def end(self) -> None:
        """The job is over, and all that could write for it is gone."""
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
        """The last line that was said outside a job, empty in one."""
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
            self.fault = f"{self._path}: {error.strerror}"

    def close(self) -> None:
        """Listen no more."""
        self.open = False
        os.close(self._ours)
