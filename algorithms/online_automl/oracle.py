"""ConfigOracle: given a champion, which configurations to try next (section 3.1 of the paper).

Its learning rates come from FLOW2 in one dimension [1]_, the default's from a ladder.

References
----------
.. [1] Wu, Wang, Huang. Frugal optimization for cost-related hyperparameters. AAAI 2021.
       https://arxiv.org/abs/2005.01571
"""

import math
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from leaseboard.algorithms.online.schema import VWConfiguration
from leaseboard.algorithms.plain import Saved
from leaseboard.algorithms.transcendental import exp, log

Tune = Literal["interactions", "learning-rate", "interactions+learning-rate"]
"""What an oracle varies: the paper's NI, the learning rate alone, or NI+LR."""

Namespaces = tuple[str, ...]
Random = np.random.RandomState

LOWEST_RATE = 2e-10
HIGHEST_RATE = 1.0
"""The range that the authors searched, on a logarithmic scale."""

INITIAL_STEP = 0.1
"""Of the unit interval that the range is mapped to."""

SMALLEST_STEP = 0.005


def to_unit(rate: float) -> float:
    """Return the place of a learning rate in the searched range: 0 is the lowest, 1 the highest.

    Examples
    --------
    >>> round(to_unit(0.5), 4), to_unit(1.0)
    (0.969, 1.0)
    """
    return log(rate / LOWEST_RATE) / log(HIGHEST_RATE / LOWEST_RATE)


def from_unit(place: float) -> float:
    """Return the learning rate at `place`, clipped to the range.

    Examples
    --------
    >>> round(from_unit(to_unit(0.5) - 0.1), 4), round(from_unit(1.07), 4)
    (0.0536, 1.0)
    """
    clipped = min(max(place, 0.0), 1.0)
    return LOWEST_RATE * exp(clipped * log(HIGHEST_RATE / LOWEST_RATE))


def shrunk_step(step: float, best_round: int, rounds: int) -> float:
    """Return the step after `rounds` rounds of which `best_round` was the last to improve.

    ``δ sqrt((k' + 1) / (k + 1))``, as in the section "step size" of FLOW2's paper, with a floor.

    Examples
    --------
    >>> round(shrunk_step(0.1, best_round=0, rounds=1), 4)
    0.0707
    """
    return max(step * math.sqrt((best_round + 1) / (rounds + 1)), SMALLEST_STEP)


def with_interactions(
    champion: VWConfiguration, namespaces: Namespaces, random: Random, max_order: int | None = None
) -> list[VWConfiguration]:
    """Return the champion with each possible interaction added; with one it has, itself.

    The new interactions are the crosses of two of the champion's interactions and
    the raw namespaces, without repeated namespaces: ``k (k - 1) / 2`` pairs of ``k`` namespaces
    for the initial configuration. They come shuffled.

    Parameters
    ----------
    champion, namespaces, random
        See `ConfigOracle`.
    max_order : int, optional
        Longest interaction; the number of namespaces by default, as in the authors' code.
    """
    most = len(namespaces) if max_order is None else max_order
    units = (*champion.interactions, *((name,) for name in namespaces))
    crosses = {tuple(sorted({*left, *right})) for left in units for right in units}
    found = [
        replace(champion, interactions=(*champion.interactions, cross))
        for cross in sorted(crosses)
        if 2 <= len(cross) <= most
    ]
    random.shuffle(found)  # type: ignore[arg-type]
    return found


class ConfigOracle(Saved):
    """Proposer of candidates for a champion, by the tasks of the paper.

    It keeps the state of a search, so each run gets a fresh one. The learning-rate search proposes
    one FLOW2 step up and one down from each champion's learning rate. A round is a change of
    champion. If the champion's learning rate moved, the direction was right and the step stays; if
    the champion won by something else, both proposals of the last round failed, and the step
    shrinks.

    Parameters
    ----------
    tune : str
        What varies; by default nothing does, and there are no candidates.
    literal : bool
        Whether a candidate may change both at once, and the step shrinks. The authors' code
        changes one or the other, and begins a new search with every champion.
    """

    kept: ClassVar[tuple[str, ...]] = ("step", "rounds", "best_round", "incumbent")

    def __init__(self, tune: Tune | Literal[""] = "", *, literal: bool = False) -> None:
        self.tune, self.literal = tune, literal
        self.step, self.rounds, self.best_round = INITIAL_STEP, 0, 0
        self.incumbent = 0.0  # none

    def __call__(
        self, champion: VWConfiguration, namespaces: Namespaces, random: Random
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
        crossed, rates = list[VWConfiguration](), list[float]()
        if "interactions" in self.tune:
            crossed = with_interactions(champion, namespaces, random)
        if "learning-rate" in self.tune:
            rates = self._rates(champion.learning_rate)
        both = [replace(one, learning_rate=rate) for one in crossed for rate in rates]
        rated = [replace(champion, learning_rate=rate) for rate in rates]
        return [*(both if self.literal else ()), *crossed, *rated]

    def _rates(self, rate: float) -> list[float]:
        """Return a higher and a lower rate, as far as the range allows."""
        if self.incumbent and self.literal:
            self.rounds += 1
            if rate == self.incumbent:
                self.step = shrunk_step(self.step, self.best_round, self.rounds)
            else:
                self.best_round = self.rounds
        self.incumbent = rate
        place = to_unit(rate)
        proposals = [from_unit(place + self.step), from_unit(place - self.step)]
        return [one for one in proposals if one != rate]


RATES = (0.03125, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0)
"""The ladder of learning rates, around VW's 0.5.

VW's update is importance-invariant: however large the rate, a step never carries a prediction
past its label. So rates far above 0.5 are safe, and often better.
"""
