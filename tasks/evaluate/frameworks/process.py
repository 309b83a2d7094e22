"""Process of a framework's program, which answers orders and is ended when it must."""

import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.evaluate.frameworks import inside
from leaseboard.tasks.machine.environment import ONE_THREAD
from leaseboard.tasks.processes.forks import over_wall, post_mortem
from leaseboard.tasks.processes.subprocesses import Silence, Subprocess
from leaseboard.tasks.processes.watchdog import kill_tree

PATIENCE = 300.0
"""Wall seconds after which a program that does not answer is ended, and its job fails."""

_LOOK_SECONDS = 0.02
_ERROR = re.compile(r"[\w.]*(Error|Exception)\b")
"""How the last line of a traceback begins, after which threads may go on printing."""


class GoneError(LeaseboardError):
    """Error of a program that ended before it answered; `word` is its last message."""

    def __init__(self, reason: str, word: str) -> None:
        super().__init__(f"{reason}: {word}")
        self.word = word


class FrameworkProcess(Subprocess):
    """Program in a framework's environment, on one thread, in a folder of its own.

    - `python`: the interpreter of the environment, see `venv`.
    - `*program`: what `inside` loads there, and its arguments.
    - `who`: its name in errors.
    - `patience`: wall seconds that an answer may take.
    - `fix`: what a user can do where it takes longer.
    - `arrays`: the content of ``data.npz`` in its folder.
    """

    reusable = False

    def __init__(
        self,
        python: Path,
        *program: str,
        who: str,
        patience: float = PATIENCE,
        fix: str = "",
        arrays: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self._python = python
        self._who = who
        self._patience = patience
        self._fix = fix
        self._folder = tempfile.TemporaryDirectory(prefix="framework-")
        if arrays is not None:
            np.savez(Path(self._folder.name) / "data.npz", **arrays)
        self._printed = Path(self._folder.name) / "printed.txt"
        super().__init__(inside.__file__, *program)
        self.start()

    def write(self, said: Any) -> None:
        """Send `said` in JSON."""
        self.send(json.dumps(said).encode())

    def receive(self, when: str = "") -> bytes:
        """Return the next answer; `when`: what it was doing, for errors.

        Raises GoneError if it has ended, LeaseboardError if it takes too long.
        """
        said = self.answer(self._patience)
        if said is Silence.ENDED and self.code is not None:
            reason = post_mortem(self.code, self._who).reason
            raise GoneError(f"{reason}{when}", self._last_word())
        if isinstance(said, Silence):
            late = over_wall(self._patience).reason
            raise LeaseboardError(f"{self._who}{when}: {late}{self._fix}")
        return said

    def finish(self) -> float:
        """Wait until it has ended; return its CPU seconds and those of the children it waited for.

        Raises LeaseboardError if it does not end by itself.
        """
        process = self._process
        assert isinstance(process, _Measured)
        deadline = time.monotonic() + self._patience
        while process.poll() is None:
            if time.monotonic() > deadline:
                raise LeaseboardError(f"{self._who}: it answered and does not end{self._fix}")
            time.sleep(_LOOK_SECONDS)
        return process.cpu_seconds

    def close(self) -> None:
        """End it and all that it started."""
        if self.pid is not None:
            kill_tree(self.pid)
            self.kill()
            self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _spawn(self, descriptor: int) -> subprocess.Popen[bytes]:
        """Start it without the variables of Python here; it imports nothing from its folder."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        with self._printed.open("wb") as printed:
            return _Measured(
                [str(self._python), "-s", "-P", self._module, str(descriptor), *self._arguments],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                cwd=self._folder.name,
                # Hashes of texts, and so the order of sets, are the same in every process.
                env=ours | ONE_THREAD | {"PYTHONHASHSEED": "0"},
                pass_fds=(descriptor,),
                start_new_session=True,
            )

    def _last_word(self) -> str:
        """Return the last error that it printed, or its last line."""
        text = self._printed.read_text(encoding="utf-8", errors="replace")
        lines = text.strip().splitlines()
        errors = [line for line in lines if _ERROR.match(line)]
        return (errors or lines or ["no word"])[-1]


class _Measured(subprocess.Popen[bytes]):
    """Process that knows its cost when it has ended, with that of its children."""

    cpu_seconds = 0.0

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
                self.cpu_seconds = usage.ru_utime + usage.ru_stime
        return self.returncode


def run_once(
    python: Path,
    system: str,
    order: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    patience: float,
) -> dict[str, Any]:
    """Return the answer of a system to one order, with the cost of its whole process.

    That is ``cpu_seconds`` and ``wall_seconds``, from its start to its end.
    """
    began = time.monotonic()
    with FrameworkProcess(
        python, "table_program", system, who=system, patience=patience,
        fix=": lower the budget", arrays=arrays,
    ) as process:  # fmt: skip
        process.write(order)
        answer: dict[str, Any] = json.loads(process.receive())
        cpu_seconds = process.finish()
    return answer | {"cpu_seconds": cpu_seconds, "wall_seconds": time.monotonic() - began}
