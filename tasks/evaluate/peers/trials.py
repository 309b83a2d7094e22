"""A peer's search as trials: run once in its own environment, stored, replayed ever after."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from leaseboard.algorithms.benches.pulls import Trial, Unit
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.evaluate.peers import program, venv
from leaseboard.tasks.evaluate.peers.apart import run_apart
from leaseboard.tasks.evaluate.trials.evaluate import Arrays
from leaseboard.tasks.evaluate.trials.replay import Protocol
from leaseboard.tasks.keys.versions import recorded_key
from leaseboard.tasks.store.recorded import Record, Store


class PeerTrials:
    """The trials of one run of a peer, as of a single arm that is named after it.

    A peer knows only wall time. The CPU time of its process is shared among its trials by their
    wall time, and that is what it is charged; on a busy machine it gets less of it than a budget
    in CPU seconds would allow.

    - `system`: a peer with pins in ``conf/peers``; SkipError where it is not installed.
    - `arrays`: gives the encoded data; called only if the peer must be run.
    - `budget`: in `unit`; the peer is told it.
    - `trial_seconds`: the limit of one trial, for peers that have such a limit.
    - `patience`: wall seconds after which the peer is ended, and the job fails.
    """

    def __init__(
        self,
        system: str,
        protocol: Protocol,
        arrays: Callable[[], Arrays],
        *,
        budget: float,
        unit: Unit,
        seed: int,
        store: Store,
        trial_seconds: float,
        patience: float,
    ) -> None:
        self._python = venv.python(system)
        self.arms = (system,)
        self.tunable = (True,)
        self.spent_cpu_seconds = 0.0
        self._arrays = arrays
        self._patience = patience
        self._request = {
            "seed": seed % 2**31,
            "trials": int(budget) if unit == "trials" else None,
            "seconds": budget if unit == "cpu_seconds" else None,
            "trial_seconds": trial_seconds,
        }
        key = recorded_key(
            code=(__name__, *protocol.code),
            peer=system,
            environment=venv.digest(system),
            data=protocol.digest,
            split=protocol.split,
            encoding=protocol.encoding,
            request=self._request,
        )
        self._records = store.records(key)
        self._trials: list[Trial] | None = None

    def trial(self, arm: int, n: int) -> Trial:
        """The peer's trial number `n`."""
        del arm
        return self._recorded()[n]

    def joint_trial(self, optimiser: str, n: int) -> Trial:
        """A peer chooses by itself: UsageError."""
        raise UsageError(f"{self.arms[0]} has no trial {n} of {optimiser}: it searches by itself")

    def n_trials(self, arm: int) -> int:
        """How many trials the peer made before it ended."""
        del arm
        return len(self._recorded())

    def _recorded(self) -> list[Trial]:
        if self._trials is None:
            self._records.refresh()
            while not len(self._records):
                self._records.extend(self._run)
            self._trials = as_trials(self._records[0])
        return self._trials

    def _run(self, _number: int) -> Record:
        arrays = self._arrays()
        if arrays.task != "classification" or len(arrays.folds) != 1:
            raise UsageError(f"{self.arms[0]} needs a classification and protocol=holdout")
        (fold,) = arrays.folds
        parts = ("train_x", "train_y", "validation_x", "validation_y", "test_x", "test_y")
        with tempfile.TemporaryDirectory(prefix="peer-") as name:
            folder = Path(name)
            np.savez(folder / "data.npz", **{part: getattr(fold, part) for part in parts})
            (folder / "request.json").write_text(json.dumps(self._request), encoding="utf-8")
            command = [str(self._python), "-I", program.__file__, self.arms[0], str(folder)]
            run_apart(command, self.arms[0], folder, self._patience)
            answer: Record = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
        self.spent_cpu_seconds += answer["cpu_seconds"]
        return answer


def as_trials(answer: Mapping[str, Any]) -> list[Trial]:
    """The trials of a peer's answer; only its best, which alone was tested, has a test score."""
    tried = answer["tried"]
    rewards = [-1.0 if each["reward"] is None else each["reward"] for each in tried]
    best = int(np.argmax(rewards)) if rewards else -1
    ends = np.maximum.accumulate([0.0, *(each["end"] for each in tried)])
    share = answer["cpu_seconds"] / max(answer["wall_seconds"], 1e-9)
    trials = []
    for n, (each, wall) in enumerate(zip(tried, np.diff(ends).tolist(), strict=True)):
        failed = each["reward"] is None
        trials.append(
            Trial(
                arm=0,
                parameters=each["parameters"],
                reward=0.0 if failed else each["reward"],
                test=answer["test"] if n == best else None,
                cpu_seconds=wall * share,
                wall_seconds=wall,
                status="crash" if failed else "ok",
                reason=(each.get("reason") or "it has no score") if failed else "",
            )
        )
    return trials
