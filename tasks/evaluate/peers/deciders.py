"""Searches of other libraries, each in a process of its own, which asks for every probe."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from leaseboard.algorithms.benches.samples import Decided, OutsideDecider, ProbeAsked
from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.evaluate.peers import select_program, venv
from leaseboard.tasks.evaluate.peers.talking import PATIENCE, TalkingProcess

OURS = "scikit-learn"
"""The library that our own environment has, as a dependency."""

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
        command = [str(python), "-s", "-P", select_program.__file__, which.system]
        self._process = TalkingProcess(command, which.system, patience)
        self._send(asdict(which) | {"seed": seed % 2**31})

    def hear(self) -> ProbeAsked | Decided:
        """See `DecidingSession.hear`."""
        said = self._process.line()
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
        self._process.close()

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
        self._process.send(json.dumps(message).encode() + b"\n")
