"""What a target of fuzzing is, and mutations of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.fuzz.mutations import TOKENS, of_bytes, of_text

Mutate = Callable[[Random, Sequence[bytes]], bytes]


class WrongError(AssertionError):
    """Error of content that was read as other content."""


@dataclass(frozen=True)
class Target:
    """What is fuzzed.

    Attributes
    ----------
    seeds : function
        Returns valid contents.
    mutate : function
        Returns mutated content, of a generator and the contents.
    read : function
        Reads the content in a folder of its own; any error but `LeaseboardError` is a fault.
    """

    seeds: Callable[[], Iterable[bytes]]
    mutate: Mutate
    read: Callable[[bytes, Path], object]


def texts(*more: str) -> Mutate:
    """Return what mutates lines, words and bytes, with tokens of the format."""
    tokens = [*TOKENS, *(each.encode() for each in more)]

    def mutate(rng: Random, seeds: Sequence[bytes]) -> bytes:
        how = of_text if rng.random() < 0.75 else of_bytes
        return how(rng, rng.choice(seeds), seeds, tokens)

    return mutate


def encoded(*contents: str) -> Callable[[], list[bytes]]:
    """Return what returns texts as UTF-8."""
    return lambda: [each.encode() for each in contents]
