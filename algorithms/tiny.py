"""The smallest benches that mean anything: what checks and examples run on, in milliseconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.abc_selection.simulation import SimulatedFolds, SimulatedLearners
from leaseboard.algorithms.base import Bench
from leaseboard.algorithms.benches.folds import FoldProbe, FoldsBench
from leaseboard.algorithms.benches.holdout import Holdout, HoldoutBench, Part
from leaseboard.algorithms.benches.pulls import Feedback, PullsBench, Trial
from leaseboard.algorithms.benches.samples import SamplesBench
from leaseboard.algorithms.benches.selecting import Probe
from leaseboard.algorithms.benches.stream import (
    Namespace,
    OutsideForecasts,
    Stream,
    StreamBench,
    StreamToll,
)
from leaseboard.algorithms.benches.systems import SystemFit, SystemsBench
from leaseboard.algorithms.events import Event
from leaseboard.algorithms.reference.labels import RunningMean
from leaseboard.algorithms.seeds import generator
from leaseboard.algorithms.tiny_search import TinySearches


@dataclass(frozen=True, slots=True)
class Tiny:
    """What varies of a tiny bench.

    Attributes
    ----------
    budget : int, optional
        In the bench's unit.
    choices : int
        How much there is to choose from.
    broken : bool
        Whether NaN lurks in it.
    classes : int
        Of three and more a stream or hold-out has so many, the last of which comes late.
    same : int, optional
        After so many answers (labels, trials, probes) it goes on otherwise: two benches that
        differ in `same` alone cannot be told apart before, but by who looks ahead.
    """

    budget: int | None = None
    choices: int = 4
    broken: bool = False
    classes: int = 0
    same: int | None = None


TRAIN_ROWS = 240
"""Of the 300 rows of the hold-out bench."""


def tiny_bench(kind: str, tiny: Tiny = Tiny()) -> Bench:
    """A fresh tiny bench of `kind`."""
    return BENCHES[kind].make(tiny)


def _product(tiny: Tiny) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """300 examples in which the product of two features explains most of the target."""
    rng = np.random.default_rng(0)
    features = rng.uniform(-1, 1, (300, tiny.choices)).astype(np.float32)
    labels = features[:, 0] + 3 * features[:, 0] * features[:, -1] + rng.normal(0, 0.1, 300)
    if tiny.broken:
        features[20, 0] = np.nan
        labels[30] = np.nan
    return features, labels.astype(np.float32)


def _other(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Other numbers of another scale, sign and order, none of them where it was."""
    return (1 - 2 * values[::-1]).astype(np.float32)


def _names(tiny: Tiny) -> tuple[str, ...]:
    return tuple("abcdefgh"[: tiny.choices])


def _stream(tiny: Tiny) -> Bench:
    features, labels = _product(tiny)
    names = _names(tiny)
    namespaces = tuple(Namespace(name, i, i + 1) for i, name in enumerate(names))
    if tiny.same is not None:
        labels[tiny.same :] = _other(labels[tiny.same :])
        features[tiny.same + 1 :] = _other(features[tiny.same + 1 :])
    if tiny.classes:
        labels, called = _classes(labels, tiny), tuple("ABCDEFGH"[: tiny.classes])
        stream = Stream(features, labels, namespaces, names, "classification", classes=called)
    else:
        stream = Stream(features, labels, namespaces, names)
    return StreamBench(stream, budget=tiny.budget, outside=_Outsiders())


class _Outsiders:
    """Stand-ins for forecasters of other systems: each is the mean of the labels so far."""

    def start(self, which: OutsideForecasts, stream: Stream, seed: int) -> _Outsider:
        return _Outsider(len(stream.classes))


class _Outsider:
    def __init__(self, n_classes: int) -> None:
        mean = RunningMean()
        numbers = mean.forecaster(1, "regression")
        self._mean = mean.of_classes(1, n_classes) if n_classes else numbers

    def learn_many(
        self, examples: NDArray[np.float32], labels: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        return self._mean.learn_many(examples, labels).astype(np.float64)

    def finish(self) -> StreamToll:
        return StreamToll(cpu_seconds=0.5, wall_seconds=1.0, peak_memory_mb=100.0)

    def close(self) -> None:
        """There is nothing to end."""


def _classes(values: NDArray[np.float32], tiny: Tiny) -> NDArray[np.float32]:
    """Classes of numbers, by the order in which they come; the last comes half-way."""
    found = np.digitize(values, np.linspace(-1, 1, tiny.classes - 1))
    late, half = tiny.classes - 1, len(found) // 2
    found[:half][found[:half] == late] = 0
    found[half] = late if tiny.same is None or tiny.same > half else 0
    places: dict[int, int] = {}
    numbers = [places.setdefault(each, len(places)) for each in found.tolist()]
    return np.array(numbers, dtype=np.float32)


def _holdout(tiny: Tiny) -> Bench:
    features, labels = _product(tiny)
    if tiny.same is not None:
        labels[tiny.same :] = _other(labels[tiny.same :])
    if tiny.same is not None and tiny.same < TRAIN_ROWS:
        features[TRAIN_ROWS:] = _other(features[TRAIN_ROWS:])
    task, called = "regression", tuple("ABCDEFGH"[: tiny.classes])
    if called:
        labels, task = _classes(labels, tiny), "classification"
    texts = tuple(np.argsort(row).astype(np.int32) for row in features)
    train = Part(features[:TRAIN_ROWS], labels[:TRAIN_ROWS], texts[:TRAIN_ROWS])
    test = Part(features[TRAIN_ROWS:], labels[TRAIN_ROWS:], texts[TRAIN_ROWS:])
    holdout = Holdout(train, test, _names(tiny), task, called)
    return HoldoutBench(holdout, passes=2, budget=tiny.budget)


class _Trials:
    """Arms that rise with the pulls, the later ones higher.

    Broken ones fail now and then, and the second always.
    """

    spent_cpu_seconds = 0.0

    def __init__(self, tiny: Tiny) -> None:
        self.arms = _names(tiny)
        self.tunable = (True,) * tiny.choices
        self.broken = tiny.broken

    def trial(self, arm: int, n: int) -> Trial:
        if self.broken and (n % 3 == 1 or arm == 1):
            return Trial(arm, {"n": n}, 0.0, None, 0.1, 0.1, "diverged", "NaN in the loss")
        noise = generator("tiny", arm, n).normal(0, 0.01)
        reward = 0.5 + 0.1 * arm - 0.2 / (n + 1) + noise
        return Trial(arm, {"n": n}, float(np.clip(reward, 0, 1)), reward, 0.1, 0.1)

    def joint_trial(self, optimiser: str, n: int) -> Trial:
        return self.trial(int(generator("tiny", optimiser, n).integers(len(self.arms))), n)


def _pulls(tiny: Tiny) -> Bench:
    budget = 60 if tiny.budget is None else tiny.budget
    if tiny.same is None:
        return PullsBench(_Trials(tiny), budget)
    return _VeiledPulls(_VeiledTrials(tiny), budget)


class _VeiledTrials(_Trials):
    """Trials that are otherwise, but for those that were paid for; all test scores are."""

    def __init__(self, tiny: Tiny) -> None:
        super().__init__(tiny)
        self.left = tiny.same or 0
        self._paid: set[tuple[object, int]] = set()

    def pay(self, source: object, n: int) -> None:
        """One more trial is as it is, while any are left."""
        if self.left:
            self.left -= 1
            self._paid.add((source, n))

    def trial(self, arm: int, n: int) -> Trial:
        return self._veiled(super().trial(arm, n), (arm, n))

    def joint_trial(self, optimiser: str, n: int) -> Trial:
        arm = int(generator("tiny", optimiser, n).integers(len(self.arms)))
        return self._veiled(super().trial(arm, n), (optimiser, n))

    def _veiled(self, trial: Trial, key: tuple[object, int]) -> Trial:
        trial = replace(trial, test=None if trial.test is None else 1 - trial.test)
        if key in self._paid or trial.status != "ok":
            return trial
        other = (trial.arm + 1) % len(self.arms) if isinstance(key[0], str) else trial.arm
        return replace(trial, arm=other, reward=1 - trial.reward)


class _VeiledPulls(PullsBench):
    """Pays for a trial before it is run."""

    def __init__(self, trials: _VeiledTrials, budget: float) -> None:
        super().__init__(trials, budget)
        self._veil = trials

    def pull(self, arm: int) -> Feedback:
        self._veil.pay(arm, self._pulls[arm])
        return super().pull(arm)

    def pull_joint(self, optimiser: str) -> Feedback:
        self._veil.pay(optimiser, self._joint_pulls[optimiser])
        return super().pull_joint(optimiser)


class _Learners(SimulatedLearners):
    """Learners of which a broken set's first fails on more than a few rows."""

    broken = False

    def measure(self, configuration: int, rows: int, test_rows: int) -> Probe:
        if self.broken and configuration == 0 and rows > 300:
            return Probe(rows=rows, test_rows=test_rows, status="crash", reason="NaN in the loss")
        return super().measure(configuration, rows, test_rows)

    def measure_fold(self, configuration: int, rows: int, fold: int, folds: int) -> Probe:
        """As a probe on the rows of the other folds."""
        tested = len(range(fold, rows, folds))
        probe = self.measure(configuration, rows - tested, tested)
        return replace(probe, train_correct=None, half_correct=None)


def _samples(tiny: Tiny) -> Bench:
    learners = _Learners([0.7 + 0.2 * i / tiny.choices for i in range(tiny.choices)], 1500, 500, 0)
    learners.broken = tiny.broken
    if tiny.same is None:
        return SamplesBench(
            learners, budget=tiny.budget, initial_rows=100, deciders=TinySearches()
        )
    return _VeiledSamples(_VeiledLearners(learners, tiny.same), tiny.budget)


class _VeiledLearners:
    """Learners whose probes are otherwise, but for those that were paid for."""

    def __init__(self, learners: _Learners, left: int) -> None:
        self.configurations = learners.configurations
        self.train_rows = learners.train_rows
        self.test_rows = learners.test_rows
        self.left = left
        self._learners = learners
        self._paid: set[tuple[int, ...]] = set()

    def pay(self, *asked: int) -> None:
        """One more probe is as it is, while any are left."""
        if self.left:
            self.left -= 1
            self._paid.add(asked)

    def measure(self, configuration: int, rows: int, test_rows: int) -> Probe:
        probe = self._learners.measure(configuration, rows, test_rows)
        return self._veiled(probe, configuration, rows)

    def measure_fold(self, configuration: int, rows: int, fold: int, folds: int) -> Probe:
        probe = self._learners.measure_fold(configuration, rows, fold, folds)
        return self._veiled(probe, configuration, rows, fold)

    def _veiled(self, probe: Probe, *asked: int) -> Probe:
        if asked in self._paid or probe.status != "ok":
            return probe
        rows, test_rows = probe.rows, probe.test_rows
        wrong = None if probe.train_correct is None else rows - probe.train_correct
        return replace(
            probe,
            train_correct=wrong,
            half_correct=None if probe.half_correct is None else rows // 2 - probe.half_correct,
            test_correct=test_rows - probe.test_correct,
            half_test_correct=test_rows // 2 - (probe.half_test_correct or 0),
            fit_cpu=3 * probe.fit_cpu,
        )


class _VeiledSamples(SamplesBench):
    """Pays for a probe before it is run."""

    def __init__(self, learners: _VeiledLearners, budget: float | None) -> None:
        super().__init__(learners, budget=budget, initial_rows=100, deciders=TinySearches())
        self._veil = learners

    def probe(
        self,
        configuration: int,
        rows: int,
        *,
        train: bool = True,
        seconds: float = math.inf,
        tested: int = 2,
    ) -> Generator[Event, None, Probe | None]:
        self._veil.pay(configuration, rows)
        asked = super().probe(configuration, rows, train=train, seconds=seconds, tested=tested)
        return (yield from asked)

    def probe_fold(
        self, configuration: int, rows: int, fold: int, folds: int
    ) -> Generator[Event, None, Probe | None]:
        self._veil.pay(configuration, rows, fold)
        return (yield from super().probe_fold(configuration, rows, fold, folds))


@dataclass(frozen=True, slots=True)
class _Fits:
    """A system that is right in all test rows but the first; an unpaid one is not."""

    tiny: Tiny

    def fit(self, system: str, seed: int, seconds: float) -> SystemFit:
        forecasts = (np.arange(100) % 3).astype(np.float64)
        forecasts[0] = np.nan if self.tiny.broken else 2
        if self.tiny.same == 0:
            return SystemFit(1 - forecasts, 0.25, 0.5)
        return SystemFit(forecasts, 0.5, 1.0)


def _systems(tiny: Tiny) -> Bench:
    truth = (np.arange(100) % 3).astype(np.float64)
    budget = 30 if tiny.budget is None else tiny.budget
    return SystemsBench(_Fits(tiny), truth, "classification", budget)


class _Folds(SimulatedFolds):
    """Folds of which a broken set's first configuration fails one, with fits as they are paid for.

    After `same` of them, if that is not None, the verdicts are otherwise.
    """

    def __init__(self, tiny: Tiny) -> None:
        accuracies = [0.7 + 0.2 * i / tiny.choices for i in range(tiny.choices)]
        super().__init__(accuracies, rows=500, folds=4, seed=0)
        self.broken = tiny.broken
        self.left = math.inf if tiny.same is None else tiny.same
        self._paid: set[tuple[int, int]] = set()

    def measure(self, configuration: int, fold: int) -> FoldProbe:
        probe = super().measure(configuration, fold)
        if self.broken and configuration == 0 and fold == 1:
            return replace(probe, status="crash", reason="NaN in the loss", right="")
        key = (configuration, fold)
        if key not in self._paid and len(self._paid) < self.left:
            self._paid.add(key)
        if key in self._paid:
            return probe
        right = probe.right.translate(str.maketrans("01", "10"))
        return replace(probe, right=right, test_correct=probe.test_rows - probe.test_correct)


def _folds(tiny: Tiny) -> Bench:
    return FoldsBench(_Folds(tiny), budget=tiny.budget)


@dataclass(frozen=True, slots=True)
class TinyKind:
    """How a kind of bench is made tiny.

    Attributes
    ----------
    make : callable
    cuts : dict of int or None to tuple of int
        By budget: after how many answers the bench may well go on otherwise.
    """

    make: Callable[[Tiny], Bench]
    cuts: dict[int | None, tuple[int, ...]]


BENCHES = {
    StreamBench.kind: TinyKind(_stream, {None: (0, 1, 63, 64, 150, 299), 100: (37, 100)}),
    HoldoutBench.kind: TinyKind(_holdout, {None: (0, 64, 150, TRAIN_ROWS), 100: (37,)}),
    PullsBench.kind: TinyKind(_pulls, {None: (0, 3, 10, 31), 20: (9,)}),
    SamplesBench.kind: TinyKind(_samples, {None: (0, 1, 5, 9)}),
    SystemsBench.kind: TinyKind(_systems, {None: (0, 1)}),
    FoldsBench.kind: TinyKind(_folds, {None: (0, 1, 5, 9)}),
}
