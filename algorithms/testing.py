"""The smallest environments that mean anything, for checks and examples, in milliseconds."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.base import Cost, Environment
from leaseboard.algorithms.environments.holdout import (
    Holdout,
    HoldoutEnvironment,
    Part,
    SystemFit,
    SystemsEnvironment,
)
from leaseboard.algorithms.environments.pulls import PullsEnvironment, Trial, Trials
from leaseboard.algorithms.environments.samples import (
    FoldsEnvironment,
    KnownVerdicts,
    Probes,
    SamplesEnvironment,
)
from leaseboard.algorithms.environments.selecting import Probe
from leaseboard.algorithms.environments.stream import Namespace, Stream, StreamEnvironment
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
    if tiny.same is not None:
        labels[tiny.same :] = _other(labels[tiny.same :])
        features[tiny.same + 1 :] = _other(features[tiny.same + 1 :])
    names = _names(tiny)
    namespaces = tuple(Namespace(name, i, i + 1) for i, name in enumerate(names))
    task, classes = "regression", tuple("ABCDEFGH"[: tiny.classes])
    if classes:
        labels, task = _classes(labels, tiny), "classification"
    stream = Stream(features, labels, namespaces, names, task, classes=classes)
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
    train, test = (
        Part(features[rows], labels[rows], texts[rows])
        for rows in (slice(TRAIN_ROWS), slice(TRAIN_ROWS, None))
    )
    holdout = Holdout(train, test, _names(tiny), task, called)
    return HoldoutEnvironment(holdout, passes=2, budget=tiny.budget)


class _Source:
    """Source of answers, of which those after the first `same` are others, whenever asked for."""

    def __init__(self, tiny: Tiny) -> None:
        self.tiny = tiny
        self._asked: dict[tuple[object, ...], int] = {}

    def _is_other(self, *asked: object) -> bool:
        number = self._asked.setdefault(asked, len(self._asked))
        return self.tiny.same is not None and number >= self.tiny.same


class _Trials(_Source, Trials):
    """Arms that rise with the pulls, the later ones higher; all other ones fall.

    Broken ones fail now and then, and the second always. Two environments that differ in `same`
    differ in all test scores, which policies do not see.
    """

    def __init__(self, tiny: Tiny) -> None:
        super().__init__(tiny)
        self.arms, self.tunable = _names(tiny), (True,) * tiny.choices

    def trial(self, arm: int, n: int, seconds: float = math.inf) -> Trial:
        return self._pulled(arm, n, self._is_other(arm, n))

    def joint_trial(self, optimiser: str, n: int, seconds: float = math.inf) -> Trial:
        arm, other = generator("tiny", optimiser, n).integers(len(self.arms)), self._is_other(n)
        return self._pulled((int(arm) + other) % len(self.arms), n, other)

    def _pulled(self, arm: int, n: int, other: bool) -> Trial:
        if self.tiny.broken and (n % 3 == 1 or arm == 1):
            return Trial(arm, {"n": n}, 0.0, None, 0.1, 0.1, "diverged", "NaN in the loss")
        noise = generator("tiny", arm, n).normal(0, 0.01)
        found = 0.5 + 0.1 * arm - 0.2 / (n + 1) + noise
        reward, test = float(np.clip(found, 0, 1)), found if self.tiny.same is None else 1 - found
        return Trial(arm, {"n": n}, 1 - reward if other else reward, test, 0.1, 0.1)


def _accuracies(tiny: Tiny) -> NDArray[np.float64]:
    return 0.7 + 0.2 * np.arange(tiny.choices) / tiny.choices


class _Learners(_Source, Probes):
    """Classifiers that are right on known rows; a broken set's first fails on more than a few."""

    def __init__(self, tiny: Tiny) -> None:
        super().__init__(tiny)
        right = np.arange(2000) < np.round(2000 * _accuracies(tiny))[:, None]
        right = generator(0, "simulated split").permuted(right.astype(np.int32), axis=1)
        self.train_rows, self.test_rows = 1500, 500
        self._own = KnownVerdicts(right, 1500, [1e-3] * tiny.choices)
        self._others = KnownVerdicts(1 - right, 1500, [3e-3] * tiny.choices)
        self.configurations = [{"learner": "simulated", "index": i} for i in range(tiny.choices)]

    def measure(self, configuration: int, rows: int, test_rows: int) -> Probe:
        if self.tiny.broken and configuration == 0 and rows > 300:
            return Probe(rows=rows, test_rows=test_rows, status="crash", reason="NaN in the loss")
        source = self._others if self._is_other(configuration, rows, test_rows) else self._own
        return source.measure(configuration, rows, test_rows)

    def measure_fold(
        self, configuration: int, rows: int, fold: int, folds: int, *, verdicts: bool = False
    ) -> Probe:
        """Return a probe on the rows of the other folds."""
        tested = len(range(fold, rows, folds))
        probe = self.measure(configuration, rows - tested, tested)
        return replace(probe, train_correct=None, half_correct=None)


class _Folds(_Learners):
    """Verdicts that are known; a broken set's first configuration fails in one fold."""

    def __init__(self, tiny: Tiny) -> None:
        super().__init__(tiny)
        self.train_rows, self.test_rows = 500, 0
        self._right = generator(0, "simulated folds").random((tiny.choices, 500))

    def measure_fold(
        self, configuration: int, rows: int, fold: int, folds: int, *, verdicts: bool = False
    ) -> Probe:
        drawn = np.array_split(self._right[configuration], folds)[fold]
        right = (drawn < _accuracies(self.tiny)[configuration]) ^ self._is_other(
            configuration, fold
        )
        probe = Probe(rows=rows - len(right), test_rows=len(right), fit_cpu=1.0, fit_wall=1.0)
        if self.tiny.broken and configuration == 0 and fold == 1:
            return replace(probe, status="crash", reason="NaN in the loss")
        signs = "".join("01"[each] for each in right.astype(int))
        return replace(probe, test_correct=int(right.sum()), right=signs)


class _Fits(_Source):
    """System that is right in all test rows but the first; the other one is not."""

    def fit(self, system: str, seed: int, seconds: float) -> SystemFit:
        found = (np.arange(100) % 3).astype(np.float64)
        found[0] = np.nan if self.tiny.broken else 2
        if self._is_other(system, seed):
            return SystemFit(1 - found, Cost(0.25, 0.5))
        return SystemFit(found, Cost(0.5, 1.0))


def _pulls(tiny: Tiny) -> Environment:
    return PullsEnvironment(_Trials(tiny), 60 if tiny.budget is None else tiny.budget)


def _samples(tiny: Tiny) -> Environment:
    search = OUTSIDE.get("search")
    return SamplesEnvironment(_Learners(tiny), 0, tiny.budget, initial_rows=100, deciders=search)


def _systems(tiny: Tiny) -> Environment:
    truth = (np.arange(100) % 3).astype(np.float64)
    budget = 30 if tiny.budget is None else tiny.budget
    return SystemsEnvironment(_Fits(tiny), truth, "classification", budget)


ENVIRONMENTS: dict[str, Callable[[Tiny], Environment]] = {
    "stream": _stream,
    "holdout": _holdout,
    "pulls": _pulls,
    "samples": _samples,
    "systems": _systems,
    "folds": lambda tiny: FoldsEnvironment(_Folds(tiny), 4, budget=tiny.budget),
}

CUTS: dict[str, dict[int | None, tuple[int, ...]]] = {
    "stream": {None: (0, 1, 63, 64, 150, 299), 100: (37, 100)},
    "holdout": {None: (0, 64, 150, TRAIN_ROWS), 100: (37,)},
    "pulls": {None: (0, 3, 10, 31), 20: (9,)},
    "samples": {None: (0, 1, 5, 9)},
    "systems": {None: (0, 1)},
    "folds": {None: (0, 1, 5, 9)},
}
"""By kind and budget: after how many answers an environment may well go on otherwise."""
