"""One thread at a time in the methods of a model, also in the child of a fork."""

import os
import threading
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, ClassVar, TypeVar
from weakref import WeakSet

from leaseboard.algorithms.errors import UsageError

Method = TypeVar("Method", bound=Callable[..., Any])

_locks: WeakSet[Any] = WeakSet()


def new_lock() -> Any:
    """Return a lock that one thread may take several times, and that is free after a fork."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _free_all() -> None:
    """Free all locks: a thread that held one in the parent does not exist in the child."""
    for lock in _locks:
        lock._at_fork_reinit()  # noqa: SLF001 - as the standard library's logging frees its own


if hasattr(os, "register_at_fork"):  # not on Windows, which forks nothing
    os.register_at_fork(after_in_child=_free_all)


def exclusive(method: Method) -> Method:
    """Let only one thread at a time be in such methods of an object; refuse a half-learned one.

    The object has a `_lock`, and is `_learning` from the first change of a call until its last.
    Where a call of another thread learns just now, this one is refused without waiting.
    """

    @wraps(method)
    def alone(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self._learning:
            raise half_learned()
        with self._lock:
            if self._learning:
                raise half_learned()
            return method(self, *args, **kwargs)

    return alone  # type: ignore[return-value]


class Exclusive:
    """Base of classes whose public methods are `exclusive`, each without being marked.

    Attributes
    ----------
    locking : tuple of str
        Methods that are called for every example, and see to it themselves in half the time.
    """

    locking: ClassVar[tuple[str, ...]] = ()
    _learning: bool
    _lock: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, method in [*vars(cls).items()]:
            if isinstance(method, FunctionType) and not name.startswith("_"):
                setattr(cls, name, method if name in cls.locking else exclusive(method))


def half_learned() -> UsageError:
    """Return the error of a model that has begun to learn and not ended."""
    return UsageError(
        "this model is in the middle of learning: another thread learns with it just now, or an"
        " interrupt or error stopped a call halfway; wait for the other thread, or load what"
        " `save` wrote before"
    )
