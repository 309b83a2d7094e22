"""Files and pickles of models for streams.

What a file holds is never executed. A pickle is for those who trust where it comes from.
"""

from __future__ import annotations

import dataclasses
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

from leaseboard.algorithms import plain
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.events import Event, kind

Row = list[Any]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a file to write that takes the place of `path` in one step, or not at all."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.touch()
        yield partial
        partial.replace(path)
    except OSError as error:
        raise UsageError(
            f"{str(path)!r} cannot be written ({error.strerror}): name a file in a folder that"
            " exists and may be written"
        ) from error
    finally:
        if partial.is_file():
            partial.unlink()


def read_content(path: str | Path) -> bytes:
    """Return the content of a file; UsageError if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(
            f"{str(path)!r} cannot be read ({error.strerror}): name the file of a model"
        ) from error


class Savable(ABC):
    """A model that files and pickles hold, and that goes on from them as if it had never stopped.

    A subclass is built by `__init__` from the attributes declared here, and goes on from `state`
    by `_fill`.
    """

    namespaces: Mapping[str, list[str]] | None
    seed: int
    algorithm: str
    max_pending: int
    settings: dict[str, Any]

    @abstractmethod
    def __init__(
        self,
        namespaces: Mapping[str, list[str]] | None,
        seed: int,
        algorithm: str,
        max_pending: int,
        **settings: Any,
    ) -> None:
        """Build a model that has learned nothing."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return all that `_fill` needs, as plain values."""

    @abstractmethod
    def _fill(self, state: dict[str, Any]) -> None:
        """Go on from `state`; nothing was learned so far."""

    def save(self, path: str | Path) -> None:
        """Write the whole state as numbers and texts; `load` goes on from it exactly.

        Parameters
        ----------
        path : str or Path

        Raises
        ------
        UsageError
            If the classes or `about` hold other things than numbers, texts, arrays of numbers,
            and lists, tuples, sets and dicts of them, or the file cannot be written.
        """
        with replacing(Path(path)) as partial:
            partial.write_bytes(self.dump())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the model that `save` wrote. Nothing that the file holds is executed.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        OnlineAutoMLRegressor or OnlineAutoMLClassifier

        Raises
        ------
        UsageError
            If `save` of this version did not write the file.
        """
        name = repr(str(path))
        kind, state = plain.load(read_content(path), name)
        if kind != cls.__name__:
            raise UsageError(f"{name} holds {kind} state: load it as such")
        return cls.restored(state, name)

    def dump(self) -> bytes:
        """Return the content of the file that `save` writes."""
        return plain.dump(type(self).__name__, self.state())

    @classmethod
    def restored(cls, state: dict[str, Any], name: str) -> Self:
        """Return the model of the state in a file called `name`; see `load`."""
        try:
            namespaces: dict[str, list[str]] = {}
            for feature, space in state["features"]["declared"].items():
                namespaces.setdefault(space, []).append(feature)
            model = cls(
                namespaces or None, state["seed"], state["algorithm"], state["max_pending"],
                **state["settings"],
            )  # fmt: skip
            model._fill(state)
        except plain.UNFIT as error:
            raise plain.damaged(name) from error
        return model

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the state: joblib's own pickles would part arrays that are shared."""
        given = self.namespaces, self.seed, self.algorithm, self.max_pending
        state = pickle.dumps(self.state(), pickle.HIGHEST_PROTOCOL)
        return _unpickled, (type(self), plain.VERSION, given, self.settings, state)


def _unpickled(
    cls: type[Savable],
    version: int,
    given: tuple[Any, ...],
    settings: dict[str, Any],
    state: bytes,
) -> Savable:
    if version != plain.VERSION:
        raise UsageError(
            f"this {cls.__name__} was pickled by another version ({plain.FORMAT} {version}, not"
            f" {plain.VERSION}): {plain.REBUILD}"
        )
    model = cls(*given, **settings)
    model._fill(pickle.loads(state))  # noqa: S301 - it came in a pickle
    return model


def row_of(event: Event) -> Row:
    """Return the name of its kind and its raw fields: copies would take most of a save's time.

    Examples
    --------
    >>> from leaseboard.algorithms.events import Paused
    >>> row_of(Paused(at=5, configuration=2, units=3))
    ['Paused', 5, 2, 3, '']
    >>> event_of(['Paused', 5, 2, 3, ''])
    Paused(at=5, configuration=2, units=3, reason='')
    """
    name = type(event).__name__
    return [name, *_reader(name)(event)]


def event_of(row: Row) -> Event:
    """Return the event of which `row_of` made the row; ValueError or TypeError for any other."""
    name, *values = row
    return kind(name)(**dict(zip(_fields(name), values, strict=True)))


@cache
def _fields(name: str) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind(name)))


@cache
def _reader(name: str) -> Callable[[Event], tuple[Any, ...]]:
    return attrgetter(*_fields(name))
