"""Searches of other people's libraries, which decide somewhere else what is probed next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class OutsideDecider:
    """A search of another library, and what it searches.

    Attributes
    ----------
    system : str
        Whose search it is, such as ``optuna``.
    settings : mapping of str to value
        Of the search, in that library's words where it has some.
    configurations, rows, initial_rows : int
        How many there are to choose from, the rows of a full training, and of a first probe.
    """

    system: str
    settings: Mapping[str, Any]
    configurations: int
    rows: int
    initial_rows: int


@dataclass(frozen=True, slots=True)
class ProbeAsked:
    """What a search wants to know next.

    Attributes
    ----------
    configuration : int
        From 0.
    rows : int
        Of the sample.
    fold, folds : int, optional
        Trained on the sample but for that one of so many folds, and tested on it; without them
        trained on the sample and tested on held-out rows.
    """

    configuration: int
    rows: int
    fold: int | None = None
    folds: int = 1


@dataclass(frozen=True, slots=True)
class Decided:
    """What a search came to.

    Attributes
    ----------
    chosen : int or None
        None if nothing could be trained.
    dropped : mapping of int to str
        Why the others were not chosen.
    """

    chosen: int | None
    dropped: Mapping[int, str] = field(default_factory=dict)


class DecidingSession(Protocol):
    """One search that is under way."""

    def hear(self) -> ProbeAsked | Decided:
        """What it asks for, or what it came to."""

    def tell(self, accuracy: float | None) -> None:
        """Answer what it asked for last; None if that could not be trained."""

    def close(self) -> None:
        """End it, whatever it does."""


class Deciders(Protocol):
    """Where such searches are started: in environments of their own, or a stand-in."""

    def start(self, which: OutsideDecider, seed: int) -> DecidingSession:
        """One that knows nothing yet; SkipError where its library is missing."""
