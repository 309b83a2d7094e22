"""The smallest environments that mean anything, for checks and examples, in milliseconds."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms import seeds
from leaseboard.algorithms.abc_selection.simulation import SimulatedFolds, SimulatedLearners
from leaseboard.algorithms.base import Cost, Environment
from leaseboard.algorithms.environments.folds import FoldProbe, FoldsEnvironment
from leaseboard.algorithms.environments.holdout import Holdout, HoldoutEnvironment, Part
from leaseboard.algorithms.environments.pulls import PullsEnvironment, Trial, Trials
from leaseboard.algorithms.environments.samples import (
    Decided,
    OutsideDecider,
    ProbeAsked,
    SamplesEnvironment,
)
from leaseboard.algorithms.environments.selecting import Probe
from leaseboard.algorithms.environments.stream import Namespace, Stream, StreamEnvironment
from leaseboard.algorithms.environments.systems import SystemFit, SystemsEnvironment
from leaseboard.algorithms.reference.naive import RunningMean
from leaseboard.algorithms.seeds import generator


@dataclass(frozen=True, slots=True)
class Tiny:
    """Variables of a tiny environment.

    Attributes
    ----------
    budget : int, optional
        In the environment's unit.
    choices : int
        How much there is to choose from.
    broken : bool
        Whether NaN lurks in it.
    classes : int
        Of three and more a stream or hold-out has so many, the last of which comes late.
    same : int, optional
        After so many answers (labels, trials, probes) it goes on otherwise: two environments that
        differ in `same` alone cannot be distinguished before, but by looking ahead.
    """

    budget: int | None = None
    choices: int = 4
    broken: bool = False
    classes: int = 0
    same: int | None = None


TRAIN_ROWS = 240
"""Of the 300 rows of the hold-out environment."""


def tiny_environment(kind: str, tiny: Tiny = Tiny()) -> Environment:
    """Return a fresh tiny environment of `kind`."""
    return ENVIRONMENTS[kind].make(tiny)


def _product(tiny: Tiny) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return 300 examples in which the product of two features explains most of the target."""
    rng = np.random.default_rng(0)
    features = rng.uniform(-1, 1, (300, tiny.choices)).astype(np.float32)
    labels = features[:, 0] + 3 * features[:, 0] * features[:, -1] + rng.normal(0, 0.1, 300)
    if tiny.broken:
        features[20, 0] = np.nan
        labels[30] = np.nan
    return features, labels.astype(np.float32)


def _other(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return other numbers of another scale, sign and order, none of them where it was."""
    return (1 - 2 * values[::-1]).astype(np.float32)


def _names(tiny: Tiny) -> tuple[str, ...]:
    return tuple("abcdefgh"[: tiny.choices])


def _stream(tiny: Tiny) -> Environment:
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
    return StreamEnvironment(stream, budget=tiny.budget, outside=_Outsider)


class _Outsider:
    """Any learner of another system: the mean of the labels so far."""

    def __init__(self, system: str, learner: str, stream: Stream, seed: int) -> None:
        self._mean = RunningMean().predictor(1, "regression", len(stream.classes) or None)

    def learn_many(
        self, examples: NDArray[np.float32], labels: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        return self._mean.learn_many(examples, labels).astype(np.float64)

    def predict_waiting(self, examples: NDArray[np.float32], pending: int) -> NDArray[np.float64]:
        return self._mean.predict_waiting(examples, pending).astype(np.float64)

    def finish(self) -> Cost:
        return Cost(cpu_seconds=0.5, wall_seconds=1.0, peak_memory_mb=100.0)

    def close(self) -> None:
        """Do nothing: there is nothing to end."""


def _classes(values: NDArray[np.float32], tiny: Tiny) -> NDArray[np.float32]:
    """Return classes of numbers, by the order in which they come; the last comes half-way."""
    found = np.digitize(values, np.linspace(-1, 1, tiny.classes - 1))
    late, half = tiny.classes - 1, len(found) // 2
    found[:half][found[:half] == late] = 0
    found[half] = late if tiny.same is None or tiny.same > half else 0
    places: dict[int, int] = {}
    numbers = [places.setdefault(each, len(places)) for each in found.tolist()]
    return np.array(numbers, dtype=np.float32)


def _holdout(tiny: Tiny) -> Environment:
    features, labels = _product(tiny)
    if tiny.same is not None:
        labels[tiny.same :] = _other(labels[tiny.same :])
    if tiny.same is not None and tiny.same < TRAIN_ROWS:
        features[TRAIN_ROWS:] = _other(features[TRAIN_ROWS:])
    task, called = "regression", tuple("ABCDEFGH"[: tiny.classes])
    if called:
        labels, task = _classes(labels, tiny), "classification"
    texts = tuple((" ".join(map(str, np.argsort(row))),) for row in features)
    train = Part(features[:TRAIN_ROWS], labels[:TRAIN_ROWS], texts[:TRAIN_ROWS])
    test = Part(features[TRAIN_ROWS:], labels[TRAIN_ROWS:], texts[TRAIN_ROWS:])
    holdout = Holdout(train, test, _names(tiny), task, called)
    return HoldoutEnvironment(holdout, passes=2, budget=tiny.budget)


class _Veil:
    """Veil that lets the first answers through; the others are to be otherwise."""

    def __init__(self, tiny: Tiny) -> None:
        self.most = math.inf if tiny.same is None else tiny.same
        self._through: set[tuple[object, ...]] = set()

    def hides(self, *asked: object) -> bool:
        """Return whether the answer is to be otherwise; the same one whenever it is asked for."""
        if len(self._through) < self.most:
            self._through.add(asked)
        return asked not in self._through


class _Trials(Trials):
    """Arms that rise with the pulls, the later ones higher.

    Broken ones fail now and then, and the second always.
    """

    def __init__(self, tiny: Tiny) -> None:
        self.arms = _names(tiny)
        self.tunable = (True,) * tiny.choices
        self.tiny = tiny
        self.veil = _Veil(tiny)

    def trial(self, arm: int, n: int, seconds: float = math.inf) -> Trial:
        return self._veiled(self._run(arm, n), arm, n)

    def joint_trial(self, optimiser: str, n: int, seconds: float = math.inf) -> Trial:
        arm = int(generator("tiny", optimiser, n).integers(len(self.arms)))
        return self._veiled(self._run(arm, n), optimiser, n)

    def _run(self, arm: int, n: int) -> Trial:
        if self.tiny.broken and (n % 3 == 1 or arm == 1):
            return Trial(arm, {"n": n}, 0.0, None, 0.1, 0.1, "diverged", "NaN in the loss")
        noise = generator("tiny", arm, n).normal(0, 0.01)
        reward = 0.5 + 0.1 * arm - 0.2 / (n + 1) + noise
        return Trial(arm, {"n": n}, float(np.clip(reward, 0, 1)), reward, 0.1, 0.1)

    def _veiled(self, trial: Trial, source: object, n: int) -> Trial:
        """Return `trial` or another one; where trials may be hidden, all test scores are."""
        hidden = self.veil.hides(source, n)
        if self.tiny.same is not None and trial.test is not None:
            trial = replace(trial, test=1 - trial.test)
        if not hidden or trial.status != "ok":
            return trial
        other = (trial.arm + 1) % len(self.arms) if isinstance(source, str) else trial.arm
        return replace(trial, arm=other, reward=1 - trial.reward)


def _accuracies(tiny: Tiny) -> list[float]:
    return [0.7 + 0.2 * i / tiny.choices for i in range(tiny.choices)]


class _Learners(SimulatedLearners):
    """Learners of which a broken set's first fails on more than a few rows."""

    def __init__(self, tiny: Tiny) -> None:
        super().__init__(_accuracies(tiny), 1500, 500, 0)
        self.broken = tiny.broken
        self.veil = _Veil(tiny)

    def measure(self, configuration: int, rows: int, test_rows: int) -> Probe:
        return self._veiled(self._run(configuration, rows, test_rows), configuration, rows)

    def measure_fold(self, configuration: int, rows: int, fold: int, folds: int) -> Probe:
        """Return a probe on the rows of the other folds."""
        tested = len(range(fold, rows, folds))
        probe = self._run(configuration, rows - tested, tested)
        probe = replace(probe, train_correct=None, half_correct=None)
        return self._veiled(probe, configuration, rows, fold)

    def _run(self, configuration: int, rows: int, test_rows: int) -> Probe:
        if self.broken and configuration == 0 and rows > 300:
            return Probe(rows=rows, test_rows=test_rows, status="crash", reason="NaN in the loss")
        return super().measure(configuration, rows, test_rows)

    def _veiled(self, probe: Probe, *asked: int) -> Probe:
        if not self.veil.hides(*asked) or probe.status != "ok":
            return probe
        rows, test_rows = probe.rows, probe.test_rows
        return replace(
            probe,
            train_correct=None if probe.train_correct is None else rows - probe.train_correct,
            half_correct=None if probe.half_correct is None else rows // 2 - probe.half_correct,
            test_correct=test_rows - probe.test_correct,
            half_test_correct=test_rows // 2 - (probe.half_test_correct or 0),
            fit_cpu=3 * probe.fit_cpu,
        )


@dataclass(frozen=True, slots=True)
class _Fits:
    """A system that is right in all test rows but the first; an unpaid one is not."""

    tiny: Tiny

    def fit(self, system: str, seed: int, seconds: float) -> SystemFit:
        predictions = (np.arange(100) % 3).astype(np.float64)
        predictions[0] = np.nan if self.tiny.broken else 2
        if self.tiny.same == 0:
            return SystemFit(1 - predictions, Cost(0.25, 0.5))
        return SystemFit(predictions, Cost(0.5, 1.0))


def _systems(tiny: Tiny) -> Environment:
    truth = (np.arange(100) % 3).astype(np.float64)
    budget = 30 if tiny.budget is None else tiny.budget
    return SystemsEnvironment(_Fits(tiny), truth, "classification", budget)


class _Folds(SimulatedFolds):
    """Folds of which a broken set's first configuration fails one."""

    def __init__(self, tiny: Tiny) -> None:
        super().__init__(_accuracies(tiny), rows=500, folds=4, seed=0)
        self.broken = tiny.broken
        self.veil = _Veil(tiny)

    def measure(self, configuration: int, fold: int) -> FoldProbe:
        probe = super().measure(configuration, fold)
        if self.broken and configuration == 0 and fold == 1:
            return replace(probe, status="crash", reason="NaN in the loss", right="")
        if not self.veil.hides(configuration, fold):
            return probe
        right = probe.right.translate(str.maketrans("01", "10"))
        return replace(probe, right=right, test_correct=probe.test_rows - probe.test_correct)


@dataclass(frozen=True, slots=True)
class TinyKind:
    """Maker of a tiny environment of a kind.

    Attributes
    ----------
    make : callable
    cuts : dict of int or None to tuple of int
        By budget: after how many answers the environment may well go on otherwise.
    """

    make: Callable[[Tiny], Environment]
    cuts: dict[int | None, tuple[int, ...]]


ENVIRONMENTS = {
    StreamEnvironment.kind: TinyKind(_stream, {None: (0, 1, 63, 64, 150, 299), 100: (37, 100)}),
    HoldoutEnvironment.kind: TinyKind(_holdout, {None: (0, 64, 150, TRAIN_ROWS), 100: (37,)}),
    PullsEnvironment.kind: TinyKind(
        lambda tiny: PullsEnvironment(_Trials(tiny), 60 if tiny.budget is None else tiny.budget),
        {None: (0, 3, 10, 31), 20: (9,)},
    ),
    SamplesEnvironment.kind: TinyKind(
        lambda tiny: SamplesEnvironment(
            _Learners(tiny), budget=tiny.budget, initial_rows=100, deciders=TinySearch
        ),
        {None: (0, 1, 5, 9)},
    ),
    SystemsEnvironment.kind: TinyKind(_systems, {None: (0, 1)}),
    FoldsEnvironment.kind: TinyKind(
        lambda tiny: FoldsEnvironment(_Folds(tiny), budget=tiny.budget), {None: (0, 1, 5, 9)}
    ),
}


class TinySearch:
    """Any search of another library: the best on the first rows, or of two folds."""

    def __init__(self, which: OutsideDecider, seed: int) -> None:
        folds = which.settings.get("folds", 1)
        numbers = range(which.configurations)
        if folds == 1:
            self._left = [ProbeAsked(each, which.initial_rows) for each in numbers]
        else:
            rows = max(folds, which.initial_rows)
            self._left = [ProbeAsked(n, rows, f, folds) for n in numbers for f in (0, 1)]
        self._asked: list[int] = []
        self._reported: dict[int, float] = {}

    def hear(self) -> ProbeAsked | Decided:
        """See `DecidingSession.hear`."""
        if self._left:
            self._asked.append(self._left[0].configuration)
            return self._left.pop(0)
        best = max(self._reported, key=lambda each: self._reported[each], default=None)
        others = sorted({*self._asked} - {best})
        return Decided(best, dict.fromkeys(others, "it is not the best"))

    def report(self, accuracy: float | None) -> None:
        """See `DecidingSession.report`."""
        number = self._asked[-1]
        self._reported[number] = max(accuracy or 0.0, self._reported.get(number, 0.0))

    def close(self) -> None:
        """Do nothing: there is nothing to end."""


def parity(
    rows: int = 2000, variables: int = 10, order: int = 3, seed: int = 0
) -> HoldoutEnvironment:
    """Return random signs; the label is the product of the first `order` of them.

    Parameters
    ----------
    rows : int
        Training rows; a quarter as many are added for the test.
    variables, order, seed : int
    """
    signs = seeds.generator(seed, "parity").integers(0, 2, (rows + rows // 4, variables))
    x = (2 * signs - 1).astype(np.float32)
    y = x[:, :order].prod(axis=1)
    train, test = Part(x[:rows], y[:rows]), Part(x[rows:], y[rows:])
    names = tuple(f"x{i + 1}" for i in range(variables))
    return HoldoutEnvironment(Holdout(train, test, names, "classification"), seed)
