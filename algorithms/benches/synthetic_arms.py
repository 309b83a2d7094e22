"""Synthetic arms: what they pay is drawn from known distributions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from leaseboard.algorithms.policies.policy import Floats, Ints


class Arms(ABC):
    """K arms whose feedbacks are drawn from known distributions."""

    @property
    @abstractmethod
    def n_arms(self) -> int:
        """K."""

    @abstractmethod
    def draw(self, arm: Ints, n: Ints, rng: np.random.Generator) -> Floats:
        """The feedback of pull number `n`, from 1, of `arm`; NaN where it fails."""


@dataclass(frozen=True, slots=True)
class GaussianArms(Arms):
    """Arms with normally distributed feedbacks that do not depend on the number of the pull.

    Attributes
    ----------
    means, sds : tuple of float, length n_arms
    """

    means: tuple[float, ...]
    sds: tuple[float, ...]

    @property
    def n_arms(self) -> int:
        """K."""
        return len(self.means)

    def draw(self, arm: Ints, n: Ints, rng: np.random.Generator) -> Floats:
        """N(mean, sd²) of each arm."""
        return rng.normal(np.asarray(self.means)[arm], np.asarray(self.sds)[arm], np.shape(n))


SEVEN_GAUSSIANS = GaussianArms(
    means=(0.84, 0.84, 0.85, 0.85, 0.88, 0.88, 0.89),
    sds=(0.07, 0.01, 0.04, 0.02, 0.01, 0.02, 0.01),
)
"""Section 4.1 of the ER-UCB paper; arm 1 (here 0) has the largest extreme region."""


@dataclass(frozen=True, slots=True)
class RisingArms(Arms):
    """Arms whose feedbacks rise with the pulls, as an optimiser's trials do.

    The feedback of pull n is ``limit - drop / n**rate - noise |z|`` with z ~ N(0, 1). Without
    noise the curve is increasing, bounded and concave: Assumption 1 of Rising Bandits.

    Attributes
    ----------
    limits, drops, rates : tuple of float, length n_arms
    noise : float
    """

    limits: tuple[float, ...]
    drops: tuple[float, ...]
    rates: tuple[float, ...]
    noise: float = 0.0

    @property
    def n_arms(self) -> int:
        """K."""
        return len(self.limits)

    def draw(self, arm: Ints, n: Ints, rng: np.random.Generator) -> Floats:
        """The curve less its noise."""
        limit, drop, rate = (np.asarray(v)[arm] for v in (self.limits, self.drops, self.rates))
        curve = rising_curve(n, limit, drop, rate)
        return curve - self.noise * np.abs(rng.standard_normal(np.shape(n)))


FOUR_RISING = RisingArms(
    limits=(0.9, 0.85, 0.8, 0.88), drops=(0.4, 0.25, 0.1, 0.6), rates=(0.5, 1.0, 1.0, 0.5)
)
"""Two arms that rise for long, one that ends lower, and one that stops early."""


def rising_curve(n: Ints, limit: Floats, drop: Floats, rate: Floats) -> Floats:
    """The curve limit - drop / n^rate."""
    return np.asarray(limit - drop / n**rate, dtype=np.float64)
