"""A program in a process group of its own, which is ended whatever comes, and what it cost."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.machine.threads import ONE_THREAD
from leaseboard.tasks.processes.endings import over_wall, post_mortem
from leaseboard.tasks.processes.leash import kill_tree

_LOOK_SECONDS = 0.02
_ERROR = re.compile(r"[\w.]*(Error|Exception)\b")
"""How the last line of a traceback begins, after which threads may go on talking."""


@dataclass(frozen=True, slots=True)
class OutsideCost:
    """What a program cost from its start to its end, and all processes that it waited for."""

    cpu_seconds: float
    wall_seconds: float


def run_apart(command: Sequence[str], who: str, folder: Path, patience: float) -> OutsideCost:
    """Run `command` in `folder` on one thread.

    - `who`: what errors call it.
    - `patience`: wall seconds after which it is ended.

    Raises LeaseboardError if it fails, with its last word, or takes too long.
    """
    said = folder / "said.txt"
    began = time.monotonic()
    with said.open("wb") as output:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment(),
            start_new_session=True,
        )
        try:
            cpu_seconds = _ended(process, began + patience)
        finally:
            kill_tree(process.pid)
            process.wait()
    if cpu_seconds is None:
        raise LeaseboardError(f"{who}: {over_wall(patience).reason}: lower the budget")
    if process.returncode:
        reason = post_mortem(process.returncode, who).reason
        raise LeaseboardError(f"{reason}: {last_word(said)}")
    return OutsideCost(cpu_seconds, time.monotonic() - began)


def environment() -> dict[str, str]:
    """Ours without what steers Python, and with the hashes of texts the same in every process."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return ours | ONE_THREAD | {"PYTHONHASHSEED": "0"}


def last_word(said: Path) -> str:
    """Of what a program said: its last error, or its last line."""
    lines = said.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    errors = [line for line in lines if _ERROR.match(line)]
    return (errors or lines or ["no word"])[-1]


def _ended(process: subprocess.Popen[bytes], deadline: float) -> float | None:
    """The CPU seconds of `process` when it has ended; None if it did not until `deadline`."""
    while time.monotonic() < deadline:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_utime + usage.ru_stime
        time.sleep(_LOOK_SECONDS)
    return None
