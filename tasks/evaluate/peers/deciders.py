"""Searches of other libraries, each in a process of its own, which asks for every probe."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from algorithms.benches.deciders import Decided, OutsideDecider, ProbeAsked
from algorithms.errors import LeaseboardError
from tasks.evaluate.peers import select_program, venv
from tasks.evaluate.peers.apart import last_word
from tasks.machine.threads import ONE_THREAD
from tasks.processes.endings import over_wall, post_mortem
from tasks.processes.leash import kill_tree

PATIENCE = 300.0
"""Wall seconds after which a search that neither asks nor chooses is ended, and its job fails."""

OURS = "scikit-learn"
"""The library that our own environment has, as a dependency."""

_PIECE = 1 << 16

CONFIGURATION = select_program.CONFIGURATION


class PeersDeciding:
    """Starts the searches of libraries that are installed; see `Deciders`."""

    def start(self, which: OutsideDecider, seed: int) -> SearchProcess:
        """See `Deciders.start`; SkipError, with the mend, where the library is not installed."""
        return SearchProcess(which, seed, PATIENCE)


class SearchProcess:
    """One search in its process; see `DecidingSession`."""

    def __init__(self, which: OutsideDecider, seed: int, patience: float) -> None:
        python = Path(sys.executable) if which.system == OURS else venv.python(which.system)
        self._which = which
        self._patience = patience
        self._heard = b""
        self._folder = tempfile.TemporaryDirectory(prefix="search-")
        self._said = Path(self._folder.name) / "said.txt"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [str(python), "-s", "-P", select_program.__file__, which.system],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                bufsize=0,
                cwd=self._folder.name,
                env=environment | ONE_THREAD | {"PYTHONHASHSEED": "0"},
                start_new_session=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders, self._answers = self._process.stdin, self._process.stdout
        self._ready = select.poll()  # which knows no limit of descriptors, as `select` does
        self._ready.register(self._answers, select.POLLIN)
        self._send(asdict(which) | {"seed": seed % 2**31})

    def hear(self) -> ProbeAsked | Decided:
        """See `DecidingSession.hear`."""
        said = self._line()
        try:
            return self._checked(json.loads(said))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            told = said[:200].decode(errors="replace")
            raise LeaseboardError(f"{self._which.system} asked for {told!r}: {error}") from error

    def tell(self, accuracy: float | None) -> None:
        """See `DecidingSession.tell`."""
        self._send(accuracy)

    def close(self) -> None:
        """See `DecidingSession.close`."""
        kill_tree(self._process.pid)
        self._process.wait()
        for pipe in (self._orders, self._answers):
            with suppress(BrokenPipeError):  # nobody needs what was left in it
                pipe.close()
        self._folder.cleanup()

    def _checked(self, said: dict[str, Any]) -> ProbeAsked | Decided:
        """What it said, if it speaks of what there is."""
        if "chosen" in said:
            dropped = {int(number): str(why) for number, why in said["dropped"].items()}
            chosen = said["chosen"]
            for number in (*dropped, *([] if chosen is None else [chosen])):
                self._require(number, range(self._which.configurations), CONFIGURATION)
            return Decided(chosen, dropped)
        asked = ProbeAsked(**said)
        self._require(asked.configuration, range(self._which.configurations), CONFIGURATION)
        self._require(asked.rows, range(asked.folds, self._which.rows + 1), "rows")
        if asked.fold is not None:
            self._require(asked.fold, range(asked.folds), "fold")
        return asked

    def _require(self, value: object, known: range, what: str) -> None:
        if type(value) is not int or value not in known:
            raise ValueError(f"{what} {value!r} is not from {known.start} to {known.stop - 1}")

    def _send(self, message: object) -> None:
        with suppress(BrokenPipeError):  # it has gone, which is told when its answer is awaited
            self._orders.write(json.dumps(message).encode() + b"\n")

    def _line(self) -> bytes:
        """The next line that it writes."""
        deadline = time.monotonic() + self._patience
        while b"\n" not in self._heard:
            left = max(0.0, deadline - time.monotonic())
            if not self._ready.poll(1000 * left):
                reason = over_wall(self._patience).reason
                raise LeaseboardError(f"{self._which.system}: {reason} for a decision")
            part = os.read(self._answers.fileno(), _PIECE)
            if not part:
                code = self._process.wait()
                reason = post_mortem(code, self._which.system).reason
                raise LeaseboardError(f"{reason}: {last_word(self._said)}")
            self._heard += part
        line, _, self._heard = self._heard.partition(b"\n")
        return line
