"""The default ConfigOracle: what a champion may be improved to in one step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leaseboard.algorithms.chacha.oracle import ConfigOracle, InteractionOracle, Tune, load_oracle
from leaseboard.algorithms.online.configuration import VWConfiguration

RATES = (0.03125, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0)
"""The ladder of learning rates, around VW's 0.5.

VW's update is importance-invariant: however large the rate, a step never carries a prediction
past its label. So rates far above 0.5 are safe, and often better.
"""


class RateLadder:
    """The champion at every rate of a ladder, from the highest to the lowest."""

    def __init__(self, rates: tuple[float, ...] = RATES) -> None:
        self.rates = tuple(sorted(rates, reverse=True))

    def __call__(
        self,
        champion: VWConfiguration,
        namespaces: tuple[str, ...],
        random: np.random.RandomState,
    ) -> list[VWConfiguration]:
        """As many candidates as rates; the champion itself may be among them."""
        return [replace(champion, learning_rate=rate) for rate in self.rates]


class FrontierOracle:
    """The champion with one more pair of namespaces, shuffled, then at the other rates.

    A rate costs no further terms and is judged after fewer examples than an interaction, so
    the rates come last, which is where the most promising candidates are.

    Parameters
    ----------
    tune : str, optional
        Both if not named.
    """

    def __init__(self, tune: Tune | None = None) -> None:
        oracles: dict[str, ConfigOracle] = {
            "interactions": InteractionOracle(max_order=2),
            "learning-rate": RateLadder(),
        }
        self.oracles = [oracle for name, oracle in oracles.items() if tune is None or name in tune]

    def __call__(
        self,
        champion: VWConfiguration,
        namespaces: tuple[str, ...],
        random: np.random.RandomState,
    ) -> list[VWConfiguration]:
        """The candidates, the most promising last; the champion itself may be among them."""
        proposals = [oracle(champion, namespaces, random) for oracle in self.oracles]
        return [candidate for batch in proposals for candidate in batch]


def make_frontier_oracle(tune: Tune | None) -> ConfigOracle:
    """The default's oracle for the task `tune`, or the user's own."""
    if tune is not None and ".py:" in tune:
        return load_oracle(tune)
    return FrontierOracle(tune)
