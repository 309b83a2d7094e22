"""The smallest environments that mean anything, for checks and examples, in milliseconds."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.abc_selection.simulation import SimulatedFolds, SimulatedLearners
from leaseboard.algorithms.base import Cost, Environment
from leaseboard.algorithms.environments.folds import FoldProbe, FoldsEnvironment
from leaseboard.algorithms.environments.holdout import Holdout, HoldoutEnvironment, Part
from leaseboard.algorithms.environments.pulls import PullsEnvironment, Trial, Trials
from leaseboard.algorithms.environments.samples import (
    SamplesEnvironment,
)
from leaseboard.algorithms.environments.selecting import Probe
from leaseboard.algorithms.environments.stream import Namespace, Stream, StreamEnvironment
from leaseboard.algorithms.environments.systems import SystemFit, SystemsEnvironment
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


OUTSIDE: dict[str, Any] = {}
"""What is asked in place of a ``learner`` and a ``search`` of another library, for tests."""

TRAIN_ROWS = 240
"""Of the 300 rows of the hold-out environment."""


def tiny_environment(kind: str, tiny: Tiny = Tiny()) -> Environment:
    """Return a fresh tiny environment of `kind`."""
    return ENVIRONMENTS[kind](tiny)


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
    return StreamEnvironment(stream, budget=tiny.budget, outside=OUTSIDE.get("learner"))


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


class _Switched:
    """Source of answers of which the first `same` are those of one source, the others another's.

    What was answered once is answered alike whenever it is asked for.
    """

    def __init__(self, one: Any, other: Any, same: int) -> None:
        self._one, self._other, self._same = one, other, same
        self._first: set[tuple[object, ...]] = set()

    def __getattr__(self, name: str) -> Any:
        if name not in ("trial", "joint_trial", "measure", "measure_fold", "fit"):
            return getattr(self._one, name)

        def answer(*asked: object) -> Any:
            if len(self._first) < self._same:
                self._first.add((name, *asked))
            source = self._one if (name, *asked) in self._first else self._other
            return getattr(source, name)(*asked)

        return answer


def _source(kind: Callable[..., Any], tiny: Tiny) -> Any:
    if tiny.same is None:
        return kind(tiny)
    return _Switched(kind(tiny), kind(tiny, other=True), tiny.same)


class _Trials(Trials):
    """Arms that rise with the pulls, the later ones higher; all `other` ones fall.

    Broken ones fail now and then, and the second always. Two environments that differ in `same`
    differ in all test scores, which policies do not see.
    """

    def __init__(self, tiny: Tiny, *, other: bool = False) -> None:
        self.arms = _names(tiny)
        self.tunable = (True,) * tiny.choices
        self.tiny, self.other = tiny, other

    def trial(self, arm: int, n: int, seconds: float = math.inf) -> Trial:
        if self.tiny.broken and (n % 3 == 1 or arm == 1):
            return Trial(arm, {"n": n}, 0.0, None, 0.1, 0.1, "diverged", "NaN in the loss")
        noise = generator("tiny", arm, n).normal(0, 0.01)
        found = 0.5 + 0.1 * arm - 0.2 / (n + 1) + noise
        reward, test = float(np.clip(found, 0, 1)), found if self.tiny.same is None else 1 - found
        return Trial(arm, {"n": n}, 1 - reward if self.other else reward, test, 0.1, 0.1)

    def joint_trial(self, optimiser: str, n: int, seconds: float = math.inf) -> Trial:
        arm = int(generator("tiny", optimiser, n).integers(len(self.arms)))
        return self.trial((arm + self.other) % len(self.arms), n)


def _accuracies(tiny: Tiny) -> list[float]:
    return [0.7 + 0.2 * i / tiny.choices for i in range(tiny.choices)]


class _Learners(SimulatedLearners):
    """Learners of which a broken set's first fails on more than a few rows."""

    def __init__(self, tiny: Tiny, *, other: bool = False) -> None:
        super().__init__(_accuracies(tiny), 1500, 500, 0)
        self.broken, self.other = tiny.broken, other

    def measure(self, configuration: int, rows: int, test_rows: int) -> Probe:
        if self.broken and configuration == 0 and rows > 300:
            return Probe(rows=rows, test_rows=test_rows, status="crash", reason="NaN in the loss")
        probe = super().measure(configuration, rows, test_rows)
        if not self.other:
            return probe
        return replace(
            probe,
            train_correct=None if probe.train_correct is None else rows - probe.train_correct,
            half_correct=None if probe.half_correct is None else rows // 2 - probe.half_correct,
            test_correct=test_rows - probe.test_correct,
            half_test_correct=test_rows // 2 - (probe.half_test_correct or 0),
            fit_cpu=3 * probe.fit_cpu,
        )

    def measure_fold(self, configuration: int, rows: int, fold: int, folds: int) -> Probe:
        """Return a probe on the rows of the other folds."""
        tested = len(range(fold, rows, folds))
        probe = self.measure(configuration, rows - tested, tested)
        return replace(probe, train_correct=None, half_correct=None)


class _Fits:
    """System that is right in all test rows but the first; the `other` one is not."""

    def __init__(self, tiny: Tiny, *, other: bool = False) -> None:
        self._predictions = (np.arange(100) % 3).astype(np.float64)
        self._predictions[0] = np.nan if tiny.broken else 2
        self._other = other

    def fit(self, system: str, seed: int, seconds: float) -> SystemFit:
        if self._other:
            return SystemFit(1 - self._predictions, Cost(0.25, 0.5))
        return SystemFit(self._predictions, Cost(0.5, 1.0))


def _systems(tiny: Tiny) -> Environment:
    truth = (np.arange(100) % 3).astype(np.float64)
    budget = 30 if tiny.budget is None else tiny.budget
    return SystemsEnvironment(_source(_Fits, tiny), truth, "classification", budget)


class _Folds(SimulatedFolds):
    """Folds of which a broken set's first configuration fails one."""

    def __init__(self, tiny: Tiny, *, other: bool = False) -> None:
        super().__init__(_accuracies(tiny), rows=500, folds=4, seed=0)
        self.broken, self.other = tiny.broken, other

    def measure(self, configuration: int, fold: int) -> FoldProbe:
        probe = super().measure(configuration, fold)
        if self.broken and configuration == 0 and fold == 1:
            return replace(probe, status="crash", reason="NaN in the loss", right="")
        if not self.other:
            return probe
        right = probe.right.translate(str.maketrans("01", "10"))
        return replace(probe, right=right, test_correct=probe.test_rows - probe.test_correct)


ENVIRONMENTS: dict[str, Callable[[Tiny], Environment]] = {
    StreamEnvironment.kind: _stream,
    HoldoutEnvironment.kind: _holdout,
    PullsEnvironment.kind: lambda tiny: PullsEnvironment(
        _source(_Trials, tiny), 60 if tiny.budget is None else tiny.budget
    ),
    SamplesEnvironment.kind: lambda tiny: SamplesEnvironment(
        _source(_Learners, tiny),
        budget=tiny.budget,
        initial_rows=100,
        deciders=OUTSIDE.get("search"),
    ),
    SystemsEnvironment.kind: _systems,
    FoldsEnvironment.kind: lambda tiny: FoldsEnvironment(
        _source(_Folds, tiny), budget=tiny.budget
    ),
}

CUTS: dict[str, dict[int | None, tuple[int, ...]]] = {
    StreamEnvironment.kind: {None: (0, 1, 63, 64, 150, 299), 100: (37, 100)},
    HoldoutEnvironment.kind: {None: (0, 64, 150, TRAIN_ROWS), 100: (37,)},
    PullsEnvironment.kind: {None: (0, 3, 10, 31), 20: (9,)},
    SamplesEnvironment.kind: {None: (0, 1, 5, 9)},
    SystemsEnvironment.kind: {None: (0, 1)},
    FoldsEnvironment.kind: {None: (0, 1, 5, 9)},
}
"""By kind and budget: after how many answers an environment may well go on otherwise."""
