"""The referee: keeps the score of a run where its algorithm has no hand in it."""

from __future__ import annotations

import json
import operator
from types import FunctionType, ModuleType
from typing import Any

from algorithms.base import Bench
from algorithms.benches import (
    folds,
    holdout,
    predictions,
    pulls,
    samples,
    selecting,
    stream,
    systems,
)
from algorithms.benches.folds import FoldsBench
from algorithms.benches.holdout import HoldoutBench
from algorithms.benches.pulls import PullsBench
from algorithms.benches.samples import SamplesBench
from algorithms.benches.selecting import SelectionBench
from algorithms.benches.stream import StreamBench
from algorithms.benches.systems import SystemsBench
from algorithms.benches.window import Deed, Window, redo
from algorithms.errors import AuditError, LeaseboardError
from algorithms.events import Finished
from algorithms.log_format import to_json


class Referee:
    """Watches what an algorithm does at the window of its bench, and does it again elsewhere.

    The second bench, the twin, has a copy of the truth that the algorithm was never given. After
    the run `verify` does there what was done at the window; another score is a false one.

    Parameters
    ----------
    bench : Bench
        Fresh.

    Attributes
    ----------
    window : Window
        What the algorithm is given in the bench's place.
    deeds : list of Deed
        What it did there.
    """

    def __init__(self, bench: Bench) -> None:
        _require_whole()
        self.deeds: list[Deed] = []
        self._begun: list[str] = []
        self.window = Window(bench, self.deeds.append, self._begun)
        self._twin = bench.twin()

    def verify(self, finished: Finished) -> None:
        """Raise `AuditError` unless all that was begun is done, and the twin comes to the same."""
        _require_whole()
        if self._begun:
            name = self._begun[0]
            raise AuditError(
                f"bench.{name}(...) was called and not iterated to its end, and does nothing by"
                f" itself: write `yield from bench.{name}(...)`"
            )
        try:
            for deed in self.deeds:
                redo(self._twin, deed)
            score = self._twin.score()
        except (ValueError, LeaseboardError) as error:
            raise AuditError(
                f"what was done cannot be done on a bench of its own: {error}"
            ) from error
        twin = Finished(
            at=self._twin.at,
            reason=finished.reason,
            score=score.value,
            metric=score.metric,
            direction=score.direction,
            metrics=dict(score.metrics),
        )
        # As the log writes them, where NaN equals NaN.
        told, found = (json.loads(to_json(event)) for event in (finished, twin))
        for name in found:
            if told[name] != found[name]:
                raise AuditError(
                    f"the run tells {name}={told[name]}, a second bench that was told the same"
                    f" predictions and decisions says {found[name]}: an algorithm must not"
                    " change its bench"
                )


def _behaviour(owner: type | ModuleType) -> dict[str, object]:
    """What a class or module does: its attributes or functions, and the functions' code."""
    return {
        name: (value, value.__code__ if isinstance(value, FunctionType) else None)
        for name, value in vars(owner).items()
        if isinstance(owner, type) or isinstance(value, FunctionType)
    }


_OWNERS = (
    *(Bench, StreamBench, HoldoutBench, PullsBench, SelectionBench, SamplesBench, FoldsBench),
    *(SystemsBench, Window, stream, stream.Progressive, holdout, pulls, selecting, samples, folds),
    *(systems, predictions),
)
_WHOLE = {owner: _behaviour(owner) for owner in _OWNERS}
"""As they were imported, before any code of a user was."""


def _require_whole() -> None:
    """Raise `AuditError` if somebody has replaced a method of a bench, or what it calls."""
    for owner, whole in _WHOLE.items():
        now = _behaviour(owner)
        changed = [name for name in {**whole, **now} if not _same(whole.get(name), now.get(name))]
        if changed:
            raise AuditError(
                f"{owner.__name__}.{changed[0]} was replaced: an algorithm must not change its"
                " bench"
            )


def _same(one: Any, other: Any) -> bool:
    return None not in (one, other) and all(map(operator.is_, one, other))
