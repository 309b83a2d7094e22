"""What an algorithm is given of its bench: a window that shows it and takes what is done there.

Everything public can be read and called through it; nothing can be set, and what is private to
the bench is not there. This makes mistakes loud and keeps honest people honest. It is no
sandbox: who digs (``bench.record.__self__``) reaches the bench, and is found by the
`algorithms.benches.referee.Referee`, which does on a second bench what was done at the window.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from types import GeneratorType
from typing import Any, NoReturn

from algorithms.errors import NotYoursError

Deed = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A method of a bench that was called, and with which arguments."""

DEEDS = frozenset(
    ("record", "skip", "submit", "pull", "pull_joint", "probe", "train", "retest", "crown", "note")
)
"""The methods by which an algorithm acts on a bench: they spend its budget or make its score."""


class Window:
    """A bench as its algorithm sees it.

    Parameters
    ----------
    bench : Bench
        Its attribute `shown`, if it has one, maps names to what is shown in their place.
    note : callable
        Told of every deed, in order.
    """

    __slots__ = ("__weakref__", "_look")

    def __init__(self, bench: Any, note: Callable[[Deed], None]) -> None:
        shown = getattr(bench, "shown", {})

        def look(name: str) -> Any:
            if name in shown:
                return shown[name]
            found = getattr(bench, name)
            return functools.partial(_do, note, name, found) if name in DEEDS else found

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
    kept = tuple(copy.copy(value) for value in given), {k: copy.copy(v) for k, v in named.items()}
    done = method(*given, **named)  # one that raises has changed nothing
    note((name, *kept))
    return done


def redo(bench: Any, deed: Deed) -> None:
    """Do to `bench` what was done at a window."""
    name, given, named = deed
    done = getattr(bench, name)(*given, **named)
    if isinstance(done, GeneratorType):
        for _ in done:
            pass
