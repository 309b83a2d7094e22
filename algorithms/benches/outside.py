"""Forecasters that are not ours on a stream: asked example by example, somewhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from algorithms.benches.stream import Stream


@dataclass(frozen=True, slots=True)
class OutsideForecasts:
    """What a forecaster of another system is, by name.

    Attributes
    ----------
    system : str
        Whose environment it runs in, such as ``river``.
    learner : str
        Which of that system's.
    """

    system: str
    learner: str


@dataclass(frozen=True, slots=True)
class StreamToll:
    """What forecasting and learning took, somewhere else.

    Attributes
    ----------
    cpu_seconds, wall_seconds : float
        Neither the start of the process nor the exchange with it count.
    peak_memory_mb : float
        Of its whole process, in millions of bytes.
    """

    cpu_seconds: float
    wall_seconds: float
    peak_memory_mb: float


class OutsideSession(Protocol):
    """One forecaster on one stream."""

    def learn_many(
        self, examples: NDArray[np.float32], labels: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """The progressive forecasts of the next examples: none was made knowing its label.

        Shape (n,), or chances of shape (n, n_classes) where three and more classes come.
        """

    def finish(self) -> StreamToll:
        """Learn what is left to be learned, and end."""

    def close(self) -> None:
        """End it, whatever it does."""


class Outside(Protocol):
    """Where such forecasters are started: in environments of their own, or a stand-in."""

    def start(self, which: OutsideForecasts, stream: Stream, seed: int) -> OutsideSession:
        """One that has seen nothing of the stream; SkipError where its system is missing."""
