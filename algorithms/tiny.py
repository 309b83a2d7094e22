"""The smallest benches that mean anything: what checks and examples run on, in milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algorithms.abc_selection.simulation import SimulatedLearners
from algorithms.base import Bench
from algorithms.benches.holdout import Holdout, HoldoutBench, Part
from algorithms.benches.pulls import PullsBench, Trial
from algorithms.benches.samples import Probe, SamplesBench
from algorithms.benches.stream import Namespace, Stream, StreamBench
from algorithms.seeds import generator


@dataclass(frozen=True, slots=True)
class Tiny:
    """What varies: the budget, how much there is to choose from, whether NaN lurks in it."""

    budget: int | None = None
    choices: int = 4
    broken: bool = False


def tiny_bench(kind: str, tiny: Tiny = Tiny()) -> Bench:
    """A fresh tiny bench of `kind`."""
    return BENCHES[kind](tiny)


def _product(tiny: Tiny) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """300 examples in which the product of two features explains most of the target."""
    rng = np.random.default_rng(0)
    features = rng.uniform(-1, 1, (300, tiny.choices)).astype(np.float32)
    labels = features[:, 0] + 3 * features[:, 0] * features[:, -1] + rng.normal(0, 0.1, 300)
    if tiny.broken:
        features[20, 0] = np.nan
        labels[30] = np.nan
    return features, labels.astype(np.float32)


def _names(tiny: Tiny) -> tuple[str, ...]:
    return tuple("abcdefgh"[: tiny.choices])


def _stream(tiny: Tiny) -> Bench:
    features, labels = _product(tiny)
    names = _names(tiny)
    namespaces = tuple(Namespace(name, i, i + 1) for i, name in enumerate(names))
    return StreamBench(Stream(features, labels, namespaces, names), budget=tiny.budget)


def _holdout(tiny: Tiny) -> Bench:
    features, labels = _product(tiny)
    texts = tuple(np.argsort(row).astype(np.int32) for row in features)
    train = Part(features[:240], labels[:240], texts[:240])
    test = Part(features[240:], labels[240:], texts[240:])
    return HoldoutBench(Holdout(train, test, _names(tiny)), passes=2, budget=tiny.budget)


class _Trials:
    """Arms that rise with the pulls, the later ones higher; a broken one fails now and then."""

    spent_cpu_seconds = 0.0

    def __init__(self, tiny: Tiny) -> None:
        self.arms = _names(tiny)
        self.tunable = (True,) * tiny.choices
        self.broken = tiny.broken

    def trial(self, arm: int, n: int) -> Trial:
        if self.broken and n % 3 == 1:
            return Trial(arm, {"n": n}, 0.0, None, 0.1, 0.1, "diverged", "NaN in the loss")
        noise = generator("tiny", arm, n).normal(0, 0.01)
        reward = 0.5 + 0.1 * arm - 0.2 / (n + 1) + noise
        return Trial(arm, {"n": n}, float(np.clip(reward, 0, 1)), reward, 0.1, 0.1)

    def joint_trial(self, optimiser: str, n: int) -> Trial:
        return self.trial(int(generator("tiny", optimiser, n).integers(len(self.arms))), n)


def _pulls(tiny: Tiny) -> Bench:
    return PullsBench(_Trials(tiny), budget=60 if tiny.budget is None else tiny.budget)


class _Learners(SimulatedLearners):
    """Learners of which a broken set's first fails on more than a few rows."""

    broken = False

    def measure(self, configuration: int, rows: int, test_rows: int) -> Probe:
        if self.broken and configuration == 0 and rows > 300:
            return Probe(rows=rows, test_rows=test_rows, status="crash", reason="NaN in the loss")
        return super().measure(configuration, rows, test_rows)


def _samples(tiny: Tiny) -> Bench:
    learners = _Learners([0.7 + 0.2 * i / tiny.choices for i in range(tiny.choices)], 1500, 500, 0)
    learners.broken = tiny.broken
    return SamplesBench(learners, budget=tiny.budget, initial_rows=100)


BENCHES: dict[str, Callable[[Tiny], Bench]] = {
    "stream": _stream,
    "holdout": _holdout,
    "pulls": _pulls,
    "samples": _samples,
}
