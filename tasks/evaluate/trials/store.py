"""The trial store: one append-only file of JSON lines for each stream of trials.

A stream is what one optimiser with one seed tries on one arm, or on all arms jointly, of one
data set and split. Its file is named by the hash of all that its trials depend on, and its first
line says what that is.

Only the holder of the file's lock extends it, after reading what others have appended since. So
processes that want the same trial at once compute it once, and none is lost. The lock is the
kernel's and dies with its holder. A holder that is killed while it writes leaves a line without
an end, which the next one cuts off. A file that holds anything else is damaged: it is named, set
aside, and its trials are computed anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from tasks.evaluate.recorded import Record, identity, named, sealed, set_aside, unsealed


class TrialFile:
    """The records of one stream, shared with all processes that open the same key.

    Parameters
    ----------
    folder : Path
        Of the store; created if absent.
    key : mapping
        Everything that the trials depend on.
    """

    def __init__(self, folder: Path, key: Mapping[str, Any]) -> None:
        self._head = sealed({"key": key}) + b"\n"
        name = hashlib.sha256(self._head).hexdigest()[:24]
        self.path = folder / name[:2] / f"{name}.jsonl"
        self._records: list[Record] = []
        self._offset = 0
        self._file = 0

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, n: int) -> Record:
        return self._records[n]

    def refresh(self) -> None:
        """Read what was appended since the last look, without a lock."""
        try:
            with named(self.path):
                self._look()
        except FileNotFoundError:
            return
        except ValueError:
            with self._locked():
                return

    def extend(self, compute: Callable[[int], Record]) -> bool:
        """Append one record, unless somebody else has meanwhile; whether it was appended here.

        Parameters
        ----------
        compute : callable
            Called with the record's number while the lock is held. When it raises, nothing is
            appended.
        """
        known = len(self._records)
        with self._locked() as file:
            if len(self._records) > known:
                return False
            self._repair(file)
            record = compute(len(self._records))
            with named(self.path):
                file.seek(0, os.SEEK_END)
                file.write((b"" if self._offset else self._head) + sealed(record) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            self._read(file)
        return True

    @contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        """The file with the lock on it, read to its end; a new one if it is damaged."""
        while True:
            with named(self.path):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                if self.path.is_dir():
                    set_aside(self.path)
                descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            with os.fdopen(descriptor, "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                if identity(self.path) != os.fstat(descriptor).st_ino:
                    continue  # it was set aside while we waited
                try:
                    self._read(file)
                except ValueError:
                    with named(self.path):
                        set_aside(self.path)
                    continue
                yield file
                return

    def _look(self) -> None:
        if self.path.is_dir():
            raise ValueError(f"{self.path} is a folder")
        with self.path.open("rb") as file:
            self._read(file)

    def _read(self, file: BinaryIO) -> None:
        """Take in the complete lines after the last one that was read."""
        number = os.fstat(file.fileno()).st_ino
        if number != self._file:  # the one that was read before was set aside
            self._file, self._offset, self._records = number, 0, []
        file.seek(self._offset)
        complete, end, _ = file.read().rpartition(b"\n")
        if not end:
            return
        lines = (complete + end).splitlines(keepends=True)
        if self._offset == 0:
            if lines[0] != self._head:
                raise ValueError(f"{self.path} does not begin with its key")
            self._offset += len(lines.pop(0))
        for line in lines:
            self._records.append(unsealed(line.removesuffix(b"\n")))
            self._offset += len(line)

    def _repair(self, file: BinaryIO) -> None:
        """Cut off a line that its writer did not finish."""
        file.seek(0, os.SEEK_END)
        if file.tell() > self._offset:
            file.truncate(self._offset)
