"""What a worker and its jobs print: into a job's log, up to a size.

Printing kills no job and does not fill the disk: output beyond the limit is dropped, except for
the last of it, where a traceback is.
"""

import fcntl
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

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
        self._limit = self._space_left = 0.0
        self._tail, self._cut = b"", False

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
        """Return the last line that was printed, if it is in no log yet."""
        self.drain()
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
        """Complete the log, and close this end of the pipe; a second time is harmless."""
        if self._ours >= 0:
            self.end()
            os.close(self._ours)
            self.open, self._ours = False, -1
