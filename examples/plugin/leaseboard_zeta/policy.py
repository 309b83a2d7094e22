"""The zeta-policy of heterogeneous online ensembles (HEROS).

A pool holds online learners of different cost. All of them predict; each block of examples trains
only a few. The policy takes the cheapest of those whose error is within `zeta` of the best one's,
and with the probability `epsilon` random ones, so that no learner is forgotten.

This is written from the published abstract and the documentation of the authors' program, which
name the parameters (``ZetaPolicy(num_models_to_train=6, zeta=0.01, epsilon=0.1)``, all models
evaluated, a first phase that trains all). The pool here is of linear learners on the first
columns, which differ in their rate and number of columns; theirs is of Hoeffding trees.

Reference: Köbschall, Buschjäger, Fischer, Hartung, Kramer. Lift what you can: green online
learning with heterogeneous ensembles. Data Mining and Knowledge Discovery 40(3), 32, 2026.
"""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard import Algorithm, Run, StreamEnvironment

BLOCK = 50
"""Examples between two decisions."""
RATES = 0.01, 0.03, 0.1, 0.3


class Pool:
    """Linear learners by normalised least mean squares on standardised columns.

    Learner `k` has the first ``widths[k]`` columns and the rate ``rates[k]``; to train it costs
    its width.
    """

    def __init__(self, n_features: int) -> None:
        sizes = sorted({max(1, n_features // 4), max(1, n_features // 2), n_features})
        self.widths = np.repeat(sizes, len(RATES))
        self.rates = np.tile(RATES, len(sizes))
        self.mask = np.arange(n_features + 1) < self.widths[:, None]
        self.mask[:, -1] = True  # the constant
        self.weights = np.zeros(self.mask.shape)
        self.seen, self.mean, self.square = 0, np.zeros(n_features), np.zeros(n_features)

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Return the prediction of each learner, shape (n_learners,)."""
        return self.weights @ self._row(x)

    def learn(self, x: np.ndarray, y: float, chosen: np.ndarray) -> None:
        """Train the learners `chosen`, and update the columns' mean and spread."""
        row = self._row(x) * self.mask[chosen]
        errors = y - (self.weights[chosen] * row).sum(axis=1)
        step = self.rates[chosen] * errors / (row**2).sum(axis=1)
        self.weights[chosen] += step[:, None] * row
        self.seen += 1
        moved = x - self.mean
        self.mean += moved / self.seen
        self.square += moved * (x - self.mean)

    def _row(self, x: np.ndarray) -> np.ndarray:
        spread = np.sqrt(self.square / max(self.seen, 1)) + 1e-9
        return np.append(np.clip((x - self.mean) / spread, -5, 5), 1.0)


@dataclass(frozen=True, kw_only=True)
class Zeta(Algorithm[StreamEnvironment]):
    """Zeta-policy: trains the cheapest of the learners that are near the best one.

    Parameters
    ----------
    train : int
        Learners that a block of examples trains.
    zeta : float
        Share by which an error may be above the least one to count as near.
    epsilon : float
        Probability with which a block trains random learners instead.
    fade : float
        Weight of the past in the mean error after one example.
    """

    environment: ClassVar[str] = "stream"
    train: Annotated[int, Field(ge=1)] = 3
    zeta: Annotated[float, Field(ge=0)] = 0.05
    epsilon: Annotated[float, Field(ge=0, le=1)] = 0.1
    fade: Annotated[float, Field(gt=0, lt=1)] = 0.99

    def run(self, env: StreamEnvironment, seed: int) -> Run:
        """Predict by the best learner so far, and train those that the policy takes."""
        stream, rng = env.stream, np.random.default_rng(seed)
        pool = Pool(stream.features.shape[1])
        everyone = np.arange(len(pool.rates))
        errors, cost = np.zeros(len(everyone)), 0.0
        for start in range(0, env.budget, BLOCK):
            stop = min(start + BLOCK, env.budget)
            chosen = self.choose(errors, pool.widths, rng) if start else everyone
            predictions = np.empty(stop - start, dtype=np.float32)
            for at in range(start, stop):
                x, y = stream.features[at].astype(float), float(stream.labels[at])
                said = pool.predict(x)
                predictions[at - start] = said[errors.argmin()]
                errors = self.fade * errors + (1 - self.fade) * (said - y) ** 2
                pool.learn(x, y, chosen)
            cost += float(pool.widths[chosen].sum()) * (stop - start)
            yield from env.record(predictions)
        full = float(pool.widths.sum()) * max(env.budget, 1)
        env.note({"trained_share": cost / full})

    def choose(
        self, errors: np.ndarray, costs: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Return the learners to train: the cheapest near the best, or random ones."""
        count = min(self.train, len(errors))
        if rng.random() < self.epsilon:
            return rng.permutation(len(errors))[:count]
        far = errors > errors.min() * (1 + self.zeta)
        return np.lexsort((errors, costs, far))[:count]
