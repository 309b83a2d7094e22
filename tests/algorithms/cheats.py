"""Algorithms that do what no algorithm may: each is found by the checks.

The first word of a docstring names the check that finds it.
"""

from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.base import Algorithm


@dataclass(frozen=True, kw_only=True)
class OnStream(Algorithm):
    """Base class of the cheats on a stream."""

    environment: ClassVar[str] = "stream"


def guesses(env):
    """Return honest predictions, none of them good."""
    return np.zeros(env.budget, dtype=np.float32)


class Honest(OnStream):
    """Nothing: the mean of the labels before."""

    def run(self, env, seed):
        labels = env.stream.labels[: env.budget].astype(float)
        means = (np.cumsum(labels) - labels) / np.maximum(np.arange(len(labels)), 1)
        yield from env.record(means.astype(np.float32))


class Peek(OnStream):
    """look_ahead: predicts each label before it is reported."""

    def run(self, env, seed):
        yield from env.record(env.stream.labels[: env.budget].copy())


class PeekFeatures(OnStream):
    """look_ahead: sees the features of the next example."""

    def run(self, env, seed):
        yield from env.record(np.roll(env.stream.features[: env.budget, 0], -1))


class PeekBeyond(OnStream):
    """look_ahead: learns the examples after its budget."""

    def run(self, env, seed):
        rest = env.stream.labels[env.budget :]
        guess = rest.mean() if len(rest) else 0.0
        yield from env.record(np.full(env.budget, guess, dtype=np.float32))


class EditLabels(OnStream):
    """audit: sets the labels to what it predicts."""

    def run(self, env, seed):
        env.stream.labels[:] = 0
        yield from env.record(guesses(env))


class OnPulls(Algorithm):
    """Base class of cheats that pull each arm once and then the one that `best` names."""

    environment: ClassVar[str] = "pulls"

    def run(self, env, seed):
        yield from env.admit()
        while env.at < env.budget:
            trial = yield from env.pull(self.best(env))
            self.see(env, trial)

    def best(self, env):
        """Return the next arm."""
        return sum(env.pulls) % len(env.arms)

    def see(self, env, trial):
        """Look at a trial."""


@dataclass(frozen=True, kw_only=True)
class HonestPulls(OnPulls):
    """Nothing: each arm in turn."""


@dataclass(frozen=True, kw_only=True)
class ReadTest(OnPulls):
    """audit: reads the test score of its trials."""

    def see(self, env, trial):
        assert trial.test is not None, "no test score is reported of a trial"


@dataclass(frozen=True, kw_only=True)
class PeekTestRows(Algorithm):
    """audit: submits the labels of the test rows."""

    environment: ClassVar[str] = "holdout"

    def run(self, env, seed):
        yield from env.record(np.zeros(env.budget, dtype=np.float32))
        env.submit(env.holdout.test.labels)


@dataclass(frozen=True, kw_only=True)
class SubmitTwice(Algorithm):
    """audit: asks for the score of many predictions of the test rows, and keeps the best."""

    environment: ClassVar[str] = "holdout"

    def run(self, env, seed):
        yield from env.record(np.zeros(env.budget, dtype=np.float32))
        n = env.holdout.test.rows.shape[0]
        for value in (-1, 0, 1):
            env.submit(np.full(n, value, dtype=np.float32))


HONEST = (Honest, HonestPulls)
CHEATS = tuple(
    cls
    for cls in list(globals().values())
    if isinstance(cls, type)
    and issubclass(cls, Algorithm)
    and cls not in (Algorithm, OnStream, OnPulls, *HONEST)
)


def found_by(cheat):
    """Return the name of the check that must find it."""
    return cheat.__doc__.partition(":")[0]
