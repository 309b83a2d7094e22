"""What an algorithm is given of its bench: a window that shows it and takes what is done there.

Everything public can be read and called through it; nothing can be set, and what is private to
the bench is not there. This makes mistakes loud and keeps honest people honest. It is no
sandbox: who digs (``bench.record.__self__``) reaches the bench, and is found by the
`algorithms.benches.referee.Referee`, which does on a second bench what was done at the window.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Generator
from types import GeneratorType
from typing import Any, NoReturn

from algorithms.base import Bench
from algorithms.errors import NotYoursError

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
