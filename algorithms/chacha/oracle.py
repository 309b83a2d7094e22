"""ConfigOracle: given a champion, which configurations to try next (section 3.1 of the paper)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, Protocol

import numpy as np
from pydantic import Field

from leaseboard.algorithms.chacha.flow2 import LearningRateSearch
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.configuration import Interaction, VWConfiguration
from leaseboard.algorithms.user_files import import_file

Tune = (
    Literal["interactions", "learning-rate", "interactions+learning-rate"]
    | Annotated[str, Field(pattern=r"^.+\.py:\w+$")]
)
"""What an oracle varies: the paper's NI, the learning rate alone, NI+LR; or one's own oracle,
``path/to/file.py:Class``."""


class ConfigOracle(Protocol):
    """Anything callable that maps a champion to candidates; users may supply their own.

    It may keep state of a run (a learning-rate search does), so each run gets a fresh one.
    """

    def __call__(
        self,
        champion: VWConfiguration,
        namespaces: tuple[str, ...],
        random: np.random.RandomState,
    ) -> list[VWConfiguration]:
        """Propose candidates, those to try first last. Known ones are passed over.

        Parameters
        ----------
        champion : VWConfiguration
        namespaces : tuple of str
            Those that the stream has shown so far.
        random : RandomState
            The run's own generator.
        """


class InteractionOracle:
    """Adds one interaction to the champion's (the paper's task ``NI``).

    The candidates' new interactions are the crosses of two of the champion's interactions and
    the raw namespaces, without repeated namespaces: ``k (k - 1) / 2`` pairs of ``k`` namespaces
    for the initial configuration. They come shuffled.

    Parameters
    ----------
    max_order : int, optional
        Longest interaction; the number of namespaces by default, as in the authors' code.
    """

    def __init__(self, max_order: int | None = None) -> None:
        self.max_order = max_order

    def __call__(
        self,
        champion: VWConfiguration,
        namespaces: tuple[str, ...],
        random: np.random.RandomState,
    ) -> list[VWConfiguration]:
        """The champion with each possible interaction added; with one it has, itself."""
        units = (*champion.interactions, *((name,) for name in namespaces))
        max_order = len(namespaces) if self.max_order is None else self.max_order
        crosses = sorted(crossed(units, max_order))
        random.shuffle(crosses)
        return [
            replace(champion, interactions=(*champion.interactions, cross)) for cross in crosses
        ]


class LearningRateOracle:
    """Moves the champion's learning rate by one FLOW2 step in either direction."""

    def __init__(self, *, adaptive: bool = True) -> None:
        self.search = LearningRateSearch(adaptive=adaptive)

    def __call__(
        self,
        champion: VWConfiguration,
        namespaces: tuple[str, ...],
        random: np.random.RandomState,
    ) -> list[VWConfiguration]:
        """The champion with a higher and with a lower learning rate."""
        rates = self.search.propose(champion.learning_rate)
        return [VWConfiguration(champion.interactions, rate) for rate in rates]


class JointOracle:
    """Interactions and learning rate together (the paper's task ``NI+LR``).

    Parameters
    ----------
    interactions, learning_rate
        The oracles that are joined.
    combined : bool
        Whether a candidate may change both at once. The authors' code changes one or the other.
    """

    def __init__(
        self,
        interactions: InteractionOracle,
        learning_rate: LearningRateOracle,
        *,
        combined: bool = True,
    ) -> None:
        self.interactions = interactions
        self.learning_rate = learning_rate
        self.combined = combined

    def __call__(
        self,
        champion: VWConfiguration,
        namespaces: tuple[str, ...],
        random: np.random.RandomState,
    ) -> list[VWConfiguration]:
        """First what changes both, then interactions alone, then the learning rate alone."""
        crossed_configurations = self.interactions(champion, namespaces, random)
        rated = self.learning_rate(champion, namespaces, random)
        both = [
            VWConfiguration(crossed.interactions, other.learning_rate)
            for crossed in crossed_configurations
            for other in rated
            if self.combined
        ]
        return [*both, *crossed_configurations, *rated]


def no_candidates(
    champion: VWConfiguration, namespaces: tuple[str, ...], random: np.random.RandomState
) -> list[VWConfiguration]:
    """The oracle of who has nothing to try."""
    return []


def crossed(units: tuple[Interaction, ...], max_order: int) -> set[Interaction]:
    """All crosses of two `units`, each namespace at most once in a cross.

    Examples
    --------
    >>> sorted(crossed((("a",), ("b",), ("c",)), max_order=3))
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    >>> sorted(crossed((("a", "b"), ("a",), ("b",), ("c",)), max_order=3))
    [('a', 'b'), ('a', 'b', 'c'), ('a', 'c'), ('b', 'c')]
    """
    crosses = (tuple(sorted({*left, *right})) for left in units for right in units)
    return {cross for cross in crosses if 2 <= len(cross) <= max_order}


def make_oracle(
    tune: Tune | None, *, combined: bool = True, adaptive: bool = True
) -> ConfigOracle:
    """A fresh oracle for the task `tune`.

    Parameters
    ----------
    tune : str, optional
        Interactions if not named.
    combined : bool
        Whether a candidate may change interactions and learning rate at once.
    adaptive : bool
        Whether the learning rate's step shrinks when it stops helping.
    """
    if tune in (None, "interactions"):
        return InteractionOracle()
    if tune == "learning-rate":
        return LearningRateOracle(adaptive=adaptive)
    if tune == "interactions+learning-rate":
        return JointOracle(
            InteractionOracle(), LearningRateOracle(adaptive=adaptive), combined=combined
        )
    return load_oracle(tune)


def load_oracle(reference: str) -> ConfigOracle:
    """An oracle of the class that ``path/to/file.py:Class`` names, built without arguments."""
    file, _, name = reference.rpartition(":")
    module = import_file(Path(file), "oracle")
    if not hasattr(module, name):
        raise UsageError(f"{file!r} has no oracle {name!r}: name a class that it defines")
    oracle: ConfigOracle = getattr(module, name)()
    return oracle
