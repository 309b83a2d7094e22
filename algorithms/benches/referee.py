"""The referee: keeps the score of a run where its algorithm has no hand in it.

An algorithm is given a window of its bench that shows it and takes what is done there. Everything
public can be read and called through it; nothing can be set, and what is private to the bench is
not there. This makes mistakes loud and keeps honest people honest. It is no sandbox: who digs
(``bench.record.__self__``) reaches the bench, and is found by the `Referee`, which does on a
second bench what was done at the window.
"""

from __future__ import annotations

import copy
import functools
import inspect
import json
import operator
from collections.abc import Callable, Generator
from types import FunctionType, GeneratorType, ModuleType
from typing import Any, NoReturn

from leaseboard.algorithms.base import Bench
from leaseboard.algorithms.benches import (
    folds,
    holdout,
    predictions,
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
from leaseboard.algorithms.events import Finished
from leaseboard.algorithms.log_format import to_json

Deed = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A method of a bench that was called, and with which arguments."""


class Window:
    """A bench as its algorithm sees it.

    Parameters
    ----------
    bench : Bench
        Its attribute `shown` maps names to what is shown in their place.
    note : callable
        Told of every deed, in the order in which they were done.
    begun : list of str
        Gets the name of every deed that is a generator, and loses it when that came to its end.
    """

    __slots__ = ("__weakref__", "_look")

    def __init__(self, bench: Bench, note: Callable[[Deed], None], begun: list[str]) -> None:
        shown = bench.shown

        def look(name: str) -> Any:
            if name in shown:
                return shown[name]
            found = getattr(bench, name)
            if name not in bench.deeds:
                return found
            if inspect.isgeneratorfunction(found):
                return functools.partial(_begin, note, name, found, begun)
            return functools.partial(_do, note, name, found)

        object.__setattr__(self, "_look", look)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise NotYoursError(f"{name!r} is the bench's own: use what is public of it")
        return self._look(name)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise NotYoursError(f"the bench owns {name!r}, so no algorithm can set it: keep your own")

    def __delattr__(self, name: str) -> NoReturn:
        raise NotYoursError(f"the bench owns {name!r}, so no algorithm can remove it")


def _do(note: Callable[[Deed], None], name: str, method: Any, *given: Any, **named: Any) -> Any:
    """Call a bench's method, and note it with its arguments as they are now."""
    deed = _deed(name, given, named)
    done = method(*given, **named)  # one that raises has changed nothing
    note(deed)
    return done


def _begin(
    note: Callable[[Deed], None],
    name: str,
    method: Any,
    begun: list[str],
    *given: Any,
    **named: Any,
) -> Generator[Any, Any, Any]:
    """The generator that a bench's method returns, of which nothing is done yet."""
    steps = method(*given, **named)
    begun.append(name)
    return _iterated(note, name, steps, begun, given, named)


def _iterated(
    note: Callable[[Deed], None],
    name: str,
    steps: Generator[Any, Any, Any],
    begun: list[str],
    given: tuple[Any, ...],
    named: dict[str, Any],
) -> Generator[Any, Any, Any]:
    """`steps`, noted when its first is done, with its arguments as they were before."""
    deed = _deed(name, given, named)
    try:
        try:
            first = next(steps)  # one that raises here has changed nothing
        except StopIteration as stop:
            note(deed)
            return stop.value
        note(deed)
        yield first
        return (yield from steps)
    except GeneratorExit:  # who closes it has left it half done
        begun.append(name)
        raise
    finally:
        begun.remove(name)


def _deed(name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Deed:
    kept = {key: copy.copy(value) for key, value in named.items()}
    return name, tuple(copy.copy(value) for value in given), kept


def redo(bench: Bench, deed: Deed) -> None:
    """Do to `bench` what was done at a window."""
    name, given, named = deed
    done = getattr(bench, name)(*given, **named)
    if isinstance(done, GeneratorType):
        for _ in done:
            pass


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
