"""Process of a framework's program, which answers orders and is ended when it must."""

import os
import pickle
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.evaluate.frameworks import inside
from leaseboard.tasks.machine.environment import ONE_THREAD
from leaseboard.tasks.processes.child import Child, EndedError
from leaseboard.tasks.processes.limits import Limits

PATIENCE = 300.0
"""Wall seconds after which a program that does not answer is ended, and its job fails."""

_ERROR = re.compile(r"[\w.]*(Error|Exception)\b")
"""How the last line of a traceback begins, after which threads may go on printing."""


class GoneError(LeaseboardError):
    """Error of a program that ended before it answered; `word` is its last message."""

    def __init__(self, reason: str, word: str) -> None:
        super().__init__(f"{reason}: {word}")
        self.word = word


class FrameworkProcess:
    """Program in a framework's environment, on one thread, in a folder of its own.

    - `python`: the interpreter of the environment, see `venv`.
    - `*program`: what `inside` runs there, and its arguments.
    - `who`: its name in errors.
    - `patience`: wall seconds that an answer may take.
    - `fix`: what a user can do where it takes longer.
    """

    def __init__(
        self, python: Path, *program: str, who: str, patience: float = PATIENCE, fix: str = ""
    ) -> None:
        self._who, self._fix = who, fix
        self._limits = Limits(wall_seconds=patience)
        self._folder = tempfile.TemporaryDirectory(prefix="framework-")
        self._printed = Path(self._folder.name) / "printed.txt"
        ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        with self._printed.open("wb") as printed:
            self._child = Child.start(
                [str(python), "-s", "-P", inside.__file__],
                *program,
                who=who,
                stdout=printed,
                stderr=subprocess.STDOUT,
                cwd=self._folder.name,
                # Hashes of texts, and so the order of sets, are the same in every process.
                env=ours | ONE_THREAD | {"PYTHONHASHSEED": "0"},
                start_new_session=True,
            )

    def send(self, message: Any) -> None:
        """Send an order, or a part of one; `receive` reports a process that has ended."""
        self._child.send(pickle.dumps(message))

    def receive(self, when: str = "") -> Any:
        """Return the next answer; `when`: what it was doing, for errors.

        Raises GoneError if it has ended, LeaseboardError if it takes too long.
        """
        try:
            return pickle.loads(self._child.answer(self._limits))  # noqa: S301 - our own program
        except EndedError as end:
            if end.code is None:
                raise LeaseboardError(f"{self._who}{when}: {end}{self._fix}") from end
            lines = self._printed.read_text(encoding="utf-8", errors="replace").split("\n")
            lines = list(filter(str.strip, lines)) or ["no word"]
            word = [line for line in lines if _ERROR.match(line)] or lines
            raise GoneError(f"{end}{when}", word[-1]) from end

    def close(self) -> None:
        """End it and all that it started."""
        self._child.kill()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
