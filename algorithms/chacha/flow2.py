"""FLOW2 in one dimension: the search for a learning rate inside ChaCha's oracle.

References
----------
.. [1] Wu, Wang, Huang. Frugal optimization for cost-related hyperparameters. AAAI 2021.
       https://arxiv.org/abs/2005.01571
"""

from __future__ import annotations

import math

LOWEST_RATE = 2e-10
HIGHEST_RATE = 1.0
"""The range that the authors searched, on a logarithmic scale."""

INITIAL_STEP = 0.1
"""Of the unit interval that the range is mapped to."""

SMALLEST_STEP = 0.005


def to_unit(rate: float) -> float:
    """Place of a learning rate in the searched range: 0 is the lowest, 1 the highest.

    Examples
    --------
    >>> round(to_unit(0.5), 4), to_unit(1.0)
    (0.969, 1.0)
    """
    return math.log(rate / LOWEST_RATE) / math.log(HIGHEST_RATE / LOWEST_RATE)


def from_unit(place: float) -> float:
    """The learning rate at `place`, clipped to the range.

    Examples
    --------
    >>> round(from_unit(to_unit(0.5) - 0.1), 4), from_unit(1.07)
    (0.0536, 1.0)
    """
    clipped = min(max(place, 0.0), 1.0)
    return LOWEST_RATE * math.pow(HIGHEST_RATE / LOWEST_RATE, clipped)


def shrunk_step(step: float, best_round: int, rounds: int) -> float:
    """The step after `rounds` rounds of which `best_round` was the last to improve.

    ``δ sqrt((k' + 1) / (k + 1))`` (paper [1]_, section "step size"), with a floor.

    Examples
    --------
    >>> round(shrunk_step(0.1, best_round=0, rounds=1), 4)
    0.0707
    """
    return max(step * math.sqrt((best_round + 1) / (rounds + 1)), SMALLEST_STEP)


class LearningRateSearch:
    """Proposes a step up and a step down from each champion's learning rate.

    A round is a change of champion. If the champion's learning rate moved, the direction was
    right and the step stays; if the champion won by something else, both proposals of the last
    round failed, and the step shrinks.

    Parameters
    ----------
    adaptive : bool
        False keeps the first step for ever, as a new search for every champion does in FLAML.
    """

    def __init__(self, *, adaptive: bool = True) -> None:
        self.adaptive = adaptive
        self.step = INITIAL_STEP
        self.rounds = 0
        self.best_round = 0
        self.incumbent: float | None = None

    def propose(self, rate: float) -> list[float]:
        """One step up and one step down from `rate`, as far as the range allows."""
        if self.incumbent is not None and self.adaptive:
            self.rounds += 1
            if rate == self.incumbent:
                self.step = shrunk_step(self.step, self.best_round, self.rounds)
            else:
                self.best_round = self.rounds
        self.incumbent = rate
        place = to_unit(rate)
        proposals = [from_unit(place + self.step), from_unit(place - self.step)]
        return [proposal for proposal in proposals if proposal != rate]
