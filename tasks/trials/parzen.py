"""The tree-structured Parzen estimator (Bergstra et al. 2011), with hyperopt's estimators.

``hyperopt.tpe.suggest`` clones and evaluates a graph of the whole space at each trial, which over
thirteen arms costs more than most trials do. Its estimators treat each hyperparameter alone, so
here only those are asked which the trial needs: first the arm, then what is active of it.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tasks.trials.spaces import Hyperparameter

Floats = NDArray[np.float64]
Mixture = tuple[Floats, Floats, Floats]
"""Weights, means and standard deviations of normal components."""

GAMMA = 0.25
"""ceil(GAMMA sqrt(n)) of n trials are the good ones, at most `MOST_GOOD`."""
MOST_GOOD = 25
FORGETTING = 25
"""The newest so many observations keep their full weight."""
PRIOR_WEIGHT = 1.0
CANDIDATES = 24
"""Draws from the good trials' density, of which the likeliest to be good is suggested."""


class ParzenHistory:
    """What was tried of each label, and with which loss; proposals follow from it alone."""

    def __init__(self) -> None:
        self._losses: list[float] = []
        self._tried: defaultdict[str, list[tuple[int, Any]]] = defaultdict(list)

    def add(self, values: dict[str, Any], loss: float) -> None:
        """Enter the next finished trial: its value of each label, choices by their position."""
        for label, value in values.items():
            self._tried[label].append((len(self._losses), value))
        self._losses.append(loss)

    def good(self) -> frozenset[int]:
        """The numbers of the trials with the least losses."""
        n_good = min(int(np.ceil(GAMMA * np.sqrt(len(self._losses)))), MOST_GOOD)
        return frozenset(np.argsort(self._losses, kind="stable")[:n_good].tolist())

    def category(
        self, label: str, n_choices: int, good: frozenset[int], rng: np.random.Generator
    ) -> int:
        """The position of a choice that is likely among the good trials and not the others."""
        likely, unlikely = (_shares(values, n_choices) for values in self._parted(label, good))
        drawn = rng.choice(n_choices, size=CANDIDATES, p=likely)
        return int(drawn[np.argmax(likely[drawn] / unlikely[drawn])])

    def number(
        self, label: str, spec: Hyperparameter, good: frozenset[int], rng: np.random.Generator
    ) -> int | float:
        """A value that is likely among the good trials and not the others."""
        low, high = np.log(spec.range) if spec.log else spec.range
        likely, unlikely = (
            _mixture(np.log(values) if spec.log else values, low, high)
            for values in self._parted(label, good)
        )
        drawn = _draws(likely, low, high, rng)
        if spec.type == "int":
            values = np.round(np.exp(drawn) if spec.log else drawn)
            edges = np.clip([values - 0.5, values + 0.5], *spec.range)
            lower, upper = np.log(edges) if spec.log else edges
            gains = _masses(likely, lower, upper) / _masses(unlikely, lower, upper)
        else:
            values = np.exp(drawn) if spec.log else drawn
            gains = _densities(likely, drawn) / _densities(unlikely, drawn)
        return spec.clipped(float(values[np.argmax(gains)]))

    def _parted(self, label: str, good: frozenset[int]) -> tuple[NDArray[Any], NDArray[Any]]:
        tried = self._tried[label]
        return (
            np.array([value for trial, value in tried if trial in good]),
            np.array([value for trial, value in tried if trial not in good]),
        )


def _shares(positions: NDArray[Any], n_choices: int) -> Floats:
    from hyperopt.tpe import linear_forgetting_weights

    weights = linear_forgetting_weights(len(positions), FORGETTING)
    counts = np.bincount(positions.astype(np.intp), weights, n_choices) + PRIOR_WEIGHT
    return np.asarray(counts / counts.sum())


def _mixture(values: Floats, low: float, high: float) -> Mixture:
    from hyperopt.tpe import adaptive_parzen_normal

    middle, width = (low + high) / 2, high - low
    weights, means, spreads = adaptive_parzen_normal(
        values, PRIOR_WEIGHT, middle, width, FORGETTING
    )
    return weights, means, spreads


def _draws(mixture: Mixture, low: float, high: float, rng: np.random.Generator) -> Floats:
    """`CANDIDATES` draws of the mixture inside the range; the others are thrown away."""
    weights, means, spreads = mixture
    kept = np.empty(0)
    while len(kept) < CANDIDATES:
        component = rng.choice(len(weights), size=2 * CANDIDATES, p=weights)
        drawn = rng.normal(means[component], spreads[component])
        kept = np.concatenate([kept, drawn[(low <= drawn) & (drawn < high)]])
    return kept[:CANDIDATES]


def _densities(mixture: Mixture, points: Floats) -> Floats:
    """Up to a factor that is the same for all points."""
    weights, means, spreads = mixture
    distances = (points[:, None] - means) / spreads
    return np.asarray(np.exp(-0.5 * distances**2) @ (weights / spreads))


def _masses(mixture: Mixture, lower: Floats, upper: Floats) -> Floats:
    """The probability between `lower` and `upper`, up to the same factor for all."""
    weights, means, spreads = mixture
    above, below = ((edge[:, None] - means) / spreads for edge in (upper, lower))
    return np.asarray((ndtr(above) - ndtr(below)) @ weights)
