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

from leaseboard.algorithms.online.configuration import Interaction, VWConfiguration
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


class ConfigOracle(Saved):
    """Proposer of candidates for a champion; this one, of a fixed set of models, has none.

    It may keep state of a run (a learning-rate search does), so each run gets a fresh one.
    """

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
        return []


class LearningRateOracle(ConfigOracle):
    """Proposer of one FLOW2 step up and one down from each champion's learning rate.

    A round is a change of champion. If the champion's learning rate moved, the direction was
    right and the step stays; if the champion won by something else, both proposals of the last
    round failed, and the step shrinks.

    Parameters
    ----------
    literal : bool
        False keeps the first step for ever, as a new search for every champion does in FLAML.
    """

    kept: ClassVar[tuple[str, ...]] = ("step", "rounds", "best_round", "incumbent")

    def __init__(self, literal: bool) -> None:
        self.literal = literal
        self.step = INITIAL_STEP
        self.rounds = 0
        self.best_round = 0
        self.incumbent = 0.0  # none

    def __call__(
        self, champion: VWConfiguration, namespaces: Namespaces, random: Random
    ) -> list[VWConfiguration]:
        """Return the champion with a higher and with a lower rate, as far as the range allows."""
        rate = champion.learning_rate
        if self.incumbent and self.literal:
            self.rounds += 1
            if rate == self.incumbent:
                self.step = shrunk_step(self.step, self.best_round, self.rounds)
            else:
                self.best_round = self.rounds
        self.incumbent = rate
        place = to_unit(rate)
        proposals = [from_unit(place + self.step), from_unit(place - self.step)]
        return [replace(champion, learning_rate=one) for one in proposals if one != rate]


class InteractionOracle(ConfigOracle):
    """Proposer of one more interaction than the champion's (the paper's task ``NI``).

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
        self, champion: VWConfiguration, namespaces: Namespaces, random: Random
    ) -> list[VWConfiguration]:
        """Return the champion with each possible interaction added; with one it has, itself."""
        max_order = len(namespaces) if self.max_order is None else self.max_order
        units = (*champion.interactions, *((name,) for name in namespaces))
        found = [
            replace(champion, interactions=(*champion.interactions, cross))
            for cross in sorted(crossed(units, max_order))
        ]
        random.shuffle(found)  # type: ignore[arg-type]
        return found


class JointOracle(ConfigOracle):
    """Interactions and learning rate together (the paper's task ``NI+LR``).

    Parameters
    ----------
    literal : bool
        Whether a candidate may change both at once. The authors' code changes one or the other.
    """

    kept: ClassVar[tuple[str, ...]] = ("learning_rate",)

    def __init__(self, literal: bool) -> None:
        self.interactions = InteractionOracle()
        self.learning_rate = LearningRateOracle(literal)
        self.literal = literal

    def __call__(
        self, champion: VWConfiguration, namespaces: Namespaces, random: Random
    ) -> list[VWConfiguration]:
        """Return what changes both, then interactions alone, then the learning rate alone."""
        crossed_configurations = self.interactions(champion, namespaces, random)
        rated = self.learning_rate(champion, namespaces, random)
        both = [
            replace(crossed, learning_rate=other.learning_rate)
            for crossed in crossed_configurations
            for other in rated
            if self.literal
        ]
        return [*both, *crossed_configurations, *rated]


def crossed(units: tuple[Interaction, ...], max_order: int) -> set[Interaction]:
    """Return all crosses of two `units`, each namespace at most once in a cross.

    Examples
    --------
    >>> sorted(crossed((("a",), ("b",), ("c",)), max_order=3))
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    >>> sorted(crossed((("a", "b"), ("a",), ("b",), ("c",)), max_order=3))
    [('a', 'b'), ('a', 'b', 'c'), ('a', 'c'), ('b', 'c')]
    """
    crosses = (tuple(sorted({*left, *right})) for left in units for right in units)
    return {cross for cross in crosses if 2 <= len(cross) <= max_order}


def make_oracle(tune: Tune | None, *, literal: bool = False) -> ConfigOracle:
    """Return a fresh oracle for the task `tune`, by default for interactions.

    Parameters
    ----------
    tune : str, optional
    literal : bool
        See `LearningRateOracle` and `JointOracle`.
    """
    if tune in (None, "interactions"):
        return InteractionOracle()
    return LearningRateOracle(literal) if tune == "learning-rate" else JointOracle(literal)


RATES = (0.03125, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0)
"""The ladder of learning rates, around VW's 0.5.

VW's update is importance-invariant: however large the rate, a step never carries a prediction
past its label. So rates far above 0.5 are safe, and often better.
"""


class FrontierOracle(ConfigOracle):
    """Proposer of the champion with one more pair of namespaces, shuffled, then at other rates.

    A rate costs no further terms and is judged after fewer examples than an interaction, so
    the rates come last, which is where the best candidates are expected.
    """

    def __call__(
        self, champion: VWConfiguration, namespaces: Namespaces, random: Random
    ) -> list[VWConfiguration]:
        """Return the candidates, the likely best last; one may be the champion itself."""
        pairs = InteractionOracle(max_order=2)(champion, namespaces, random)
        return [*pairs, *(replace(champion, learning_rate=rate) for rate in reversed(RATES))]
