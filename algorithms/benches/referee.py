"""The referee: keeps the score of a run where its algorithm has no hand in it.

An algorithm is given a window of its bench that shows it and takes what is done there. Everything
public can be read and called through it; nothing can be set, and what is private to the bench is
not there. This makes mistakes loud and keeps honest people honest. It is no sandbox: who digs
(``bench.record.__self__``) reaches the bench, and is found by the `Referee`, which does on a
second bench what was done at the window.
"""

from __future__ import annotations

import collections
import copy
import functools
import inspect
import json
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import FunctionType, GeneratorType, ModuleType
from typing import Any, NoReturn

import numpy as np

from leaseboard.algorithms.base import Bench, Run
from leaseboard.algorithms.benches import (
    arrays,
    folds,
    holdout,
    pulls,
    samples,
    selecting,
    stream,
    systems,
)
from leaseboard.algorithms.benches.folds import FoldsBench
from leaseboard.algorithms.benches.holdout import HoldoutBench
from leaseboard.algorithms.benches.pulls import PullsBench
from leaseboard.algorithms.benches.samples import SamplesBench
from leaseboard.algorithms.benches.selecting import SelectionBench
from leaseboard.algorithms.benches.stream import StreamBench
from leaseboard.algorithms.benches.systems import SystemsBench
from leaseboard.algorithms.errors import AuditError, LeaseboardError, NotYoursError
from leaseboard.algorithms.events import Event, Finished, ProbeFinished, TrialFinished
from leaseboard.algorithms.log_format import to_json

Deed = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A method of a bench that was called, and with which arguments."""


class Window:
    """A bench as its algorithm sees it.

    Parameters
    ----------
    look : callable
        Returns what is shown under a public name.
    """

    __slots__ = ("__weakref__", "_look")

    def __init__(self, look: Callable[[str], Any]) -> None:
        object.__setattr__(self, "_look", look)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise NotYoursError(f"{name!r} is the bench's own: use what is public of it")
        return self._look(name)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise NotYoursError(f"the bench owns {name!r}, so no algorithm can set it: keep your own")

    def __delattr__(self, name: str) -> NoReturn:
        raise NotYoursError(f"the bench owns {name!r}, so no algorithm can remove it")


def _deed(name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Deed:
    kept = {key: copy.copy(value) for key, value in named.items()}
    return name, tuple(copy.copy(value) for value in given), kept


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
        self.window = Window(self._look)
        self._begun: list[str] = []  # generators of the bench that did not come to their end
        self._bench = bench
        self._twin = bench.twin()

    def _look(self, name: str) -> Any:
        if name in self._bench.shown:
            return self._bench.shown[name]
        found = getattr(self._bench, name)
        return functools.partial(self._act, name, found) if name in self._bench.deeds else found

    def _act(self, name: str, method: Any, *given: Any, **named: Any) -> Any:
        """Call a bench's method, and keep it with its arguments as they are now."""
        if inspect.isgeneratorfunction(method):
            steps = method(*given, **named)
            self._begun.append(name)
            return self._iterate(name, steps, given, named)
        deed = _deed(name, given, named)
        done = method(*given, **named)  # one that raises has changed nothing
        self.deeds.append(deed)
        return done

    def _iterate(self, name: str, steps: Any, given: Any, named: Any) -> Run:
        """`steps`, kept when its first is done, with its arguments as they were before."""
        deed = _deed(name, given, named)
        try:
            try:
                first = next(steps)  # one that raises here has changed nothing
            except StopIteration as stop:
                self.deeds.append(deed)
                return stop.value
            self.deeds.append(deed)
            yield first
            return (yield from steps)
        except GeneratorExit:  # who closes it has left it half done
            self._begun.append(name)
            raise
        finally:
            self._begun.remove(name)

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
            for name, given, named in self.deeds:
                done = getattr(self._twin, name)(*given, **named)
                collections.deque(done if isinstance(done, GeneratorType) else (), maxlen=0)
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
    *(systems, arrays),
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


@dataclass(frozen=True, slots=True)
class Played:
    """A whole run: its bench, who watched it, and its events."""

    bench: Bench
    referee: Referee
    log: list[Event]


def first_difference(same: int, one: Played, other: Played) -> str:
    """Where the runs part although their benches do so only after `same` answers; or nothing.

    A prediction of example k may depend on the labels before it and on the features up to its own,
    whatever the size of the block in which it is handed in; on the hold-out bench the features of
    all training rows are known at once, the test rows' are not known to training. The choice of a
    pull or a probe may depend on the results of those before. What happened until then, in deeds
    and events, must be the same in both runs.

    Parameters
    ----------
    same : int
        How many answers were alike: labels, trials or probes.
    """
    if not one.bench.paid:
        found = _predicted(same, one, other) or _events(_until(same, one), _until(same, other))
        if not found and isinstance(one.bench, HoldoutBench) and same >= one.bench.n_train:
            found = _deeds(one.referee.deeds, other.referee.deeds)
        return found and f"{found} although nothing changes before the label of example {same}"
    found = _deeds(_up_to(same, one), _up_to(same, other)) or _events(
        _answered(same, one), _answered(same, other)
    )
    return found and f"{found} although the first {same} answers are the same"


def _predicted(same: int, one: Played, other: Played) -> str:
    mine, theirs = (_predictions(played)[: same + 1] for played in (one, other))
    n = min(len(mine), len(theirs))
    alike = (mine[:n] == theirs[:n]) | (np.isnan(mine[:n]) & np.isnan(theirs[:n]))
    moved = np.argwhere(~alike)
    if len(moved):
        t = tuple(moved[0].tolist())
        which = str(t[0]) + "".join(f", class {k}," for k in t[1:])
        return f"the prediction of example {which} moves from {mine[t]:g} to {theirs[t]:g}"
    return "" if len(mine) == len(theirs) else f"{len(mine)} predictions become {len(theirs)}"


def _predictions(played: Played) -> Any:
    """What was handed in, of three and more classes a column each."""
    blocks = [np.asarray(given[0]) for name, given, _ in played.referee.deeds if name == "record"]
    bench: Any = played.bench
    shown = bench.holdout if isinstance(bench, HoldoutBench) else getattr(bench, "stream", None)
    n_classes = len(shown.classes) if shown else 0
    if n_classes:
        blocks = [np.pad(each, ((0, 0), (0, n_classes - each.shape[1]))) for each in blocks]
    return np.concatenate([np.empty((0, n_classes) if n_classes else 0, np.float32), *blocks])


def _until(same: int, played: Played) -> list[Event]:
    return [e for e in played.log if e.at <= same and not isinstance(e, Finished)]


def _up_to(same: int, played: Played) -> list[Any]:
    """The deeds until `same` answers were paid for, and the next that is."""
    paid = [i for i, deed in enumerate(played.referee.deeds) if deed[0] in played.bench.paid]
    return played.referee.deeds[: paid[same] + 1 if same < len(paid) else None]


def _answered(same: int, played: Played) -> list[Event]:
    """The events until `same` answers were told."""
    told = (TrialFinished, ProbeFinished)
    places = [i for i, event in enumerate(played.log) if isinstance(event, told)]
    if same > len(places):
        return played.log[:-1]
    return played.log[: places[same - 1] + 1 if same else 1]


def _deeds(*logs: Sequence[Deed]) -> str:
    """Where the deeds part: arrays are compared by their bytes, and told by their length."""

    def read(deed: Deed) -> tuple[Any, str]:
        name, given, named = deed
        values = [*given, *named.values()]
        said = (f"{len(v)} values" if isinstance(v, np.ndarray) else repr(v) for v in values)
        plain = [v.tobytes() if isinstance(v, np.ndarray) else v for v in values]
        return (name, list(named), plain), f"{name}({', '.join(said)})"

    return _parted("deed", *([read(deed) for deed in log] for log in logs))


def _events(*logs: Sequence[Event]) -> str:
    """Where the events part, but for test scores, which the bench adds and no policy is told."""

    def read(event: Event) -> tuple[str, str]:
        event = replace(event, test=None) if isinstance(event, TrialFinished) else event
        return to_json(event), to_json(event)

    return _parted("event", *([read(event) for event in log] for log in logs))


def _parted(what: str, mine: Sequence[tuple[Any, str]], theirs: Sequence[tuple[Any, str]]) -> str:
    for n, ((one, said), (other, now)) in enumerate(zip(mine, theirs, strict=False)):
        if one != other:
            return f"its {what} {n} moves from {said} to {now}"
    return "" if len(mine) == len(theirs) else f"{len(mine)} {what}s become {len(theirs)}"
