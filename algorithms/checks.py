"""Requirements of every algorithm, checked on the smallest environments that say anything.

``leaseboard check my_algorithm.py:Name`` runs them; so does the test suite over the registry.
"""

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms import events, registry
from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.base import Algorithm, Environment, play
from leaseboard.algorithms.environments import samples
from leaseboard.algorithms.environments.holdout import Holdout, HoldoutEnvironment, Part
from leaseboard.algorithms.environments.pulls import PullsEnvironment, Trial, Trials
from leaseboard.algorithms.environments.stream import Stream, StreamEnvironment
from leaseboard.algorithms.errors import RuleBrokenError
from leaseboard.algorithms.online.schema import Origin, Schema
from leaseboard.algorithms.plugins import blamed
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
    classes : int
        Of three and more a stream or hold-out has so many, the last of which comes late.
    same : int, optional
        Of a stream or hold-out: after so many labels the data are others. Two environments that
        differ in `same` alone cannot be distinguished before, but by looking ahead.
    """

    budget: int | None = None
    choices: int = 4
    classes: int = 0
    same: int | None = None


TRAIN_ROWS = 240
"""Of the 300 rows of the hold-out environment."""


def tiny_environment(kind: str, tiny: Tiny = Tiny()) -> Environment:
    """Return a fresh tiny environment of `kind`."""
    if kind not in ENVIRONMENTS:
        raise RuleBrokenError(f"the environment {kind!r} has no checks")
    return ENVIRONMENTS[kind](tiny)


def _examples(tiny: Tiny, shown: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return 300 examples in which the product of two features explains most of the target.

    If data are others after `tiny.same` labels, so are the features from row `shown` on.
    """
    rng = np.random.default_rng(0)
    features = rng.uniform(-1, 1, (300, tiny.choices)).astype(np.float32)
    drawn = features[:, 0] + 3 * features[:, 0] * features[:, -1] + rng.normal(0, 0.1, 300)
    labels = drawn.astype(np.float32)
    if tiny.same is not None:  # of another scale, sign and order
        labels[tiny.same :] = 1 - 2 * labels[tiny.same :][::-1]
        features[shown:] = 1 - 2 * features[shown:][::-1]
    return features, labels


def _names(tiny: Tiny) -> tuple[str, ...]:
    return tuple("abcdefgh"[: tiny.choices])


def schema_of(*names: str) -> Schema:
    """Return the schema of columns with these names, each in a group of its own."""
    places = tuple((place,) for place in range(len(names)))
    return Schema(names, places, names, origins=tuple(map(Origin, names)))


def _stream(tiny: Tiny) -> Environment:
    features, labels = _examples(tiny, 1 + (tiny.same or 0))
    names = _names(tiny)
    labels, task, classes = _classes(labels, tiny)
    stream = Stream(features, labels, schema_of(*names), task, classes=classes)
    return StreamEnvironment(stream, budget=tiny.budget)


def _classes(values: NDArray[np.float32], tiny: Tiny) -> tuple[NDArray[Any], str, tuple[str, ...]]:
    """Return classes of numbers by the order in which they come, a task, and the classes' names.

    The last comes half-way; without classes it is a regression.
    """
    if not tiny.classes:
        return values, "regression", ()
    found = np.digitize(values, np.linspace(-1, 1, tiny.classes - 1))
    late, half = tiny.classes - 1, len(found) // 2
    found[:half][found[:half] == late] = 0
    found[half] = late if tiny.same is None or tiny.same > half else 0
    places: dict[int, int] = {}
    numbers = [places.setdefault(each, len(places)) for each in found.tolist()]
    found = np.array(numbers, dtype=np.float32)
    return found, "classification", tuple("ABCDEFGH"[: tiny.classes])


def _holdout(tiny: Tiny) -> Environment:
    features, labels = _examples(tiny, TRAIN_ROWS)  # all training rows are shown at once
    labels, task, called = _classes(labels, tiny)
    texts = tuple((" ".join(map(str, np.argsort(row))),) for row in features)
    train, test = (
        Part(features[rows], labels[rows], texts[rows])
        for rows in (slice(TRAIN_ROWS), slice(TRAIN_ROWS, None))
    )
    holdout = Holdout(train, test, _names(tiny), task, called)
    return HoldoutEnvironment(holdout, passes=2, budget=tiny.budget)


class _Trials(Trials):
    """Arms that rise with the pulls, the later ones higher."""

    def __init__(self, tiny: Tiny) -> None:
        self.arms, self.tunable = _names(tiny), (True,) * tiny.choices

    def trial(self, arm: int, n: int, seconds: float = math.inf) -> Trial:
        noise = generator("tiny", arm, n).normal(0, 0.01)
        found = 0.5 + 0.1 * arm - 0.2 / (n + 1) + noise
        return Trial(arm, {"n": n}, float(np.clip(found, 0, 1)), found, 0.1, 0.1)

    def joint_trial(self, optimiser: str, n: int, seconds: float = math.inf) -> Trial:
        return self.trial(int(generator("tiny", optimiser, n).integers(len(self.arms))), n)


class Learners(samples.KnownVerdicts):
    """Classifiers that are right on known rows."""

    def __init__(self, tiny: Tiny) -> None:
        accuracies = 0.7 + 0.2 * np.arange(tiny.choices)[:, None] / tiny.choices
        right = np.arange(2000) < np.round(2000 * accuracies)
        right = generator(0, "simulated split").permuted(right.astype(np.int32), axis=1)
        super().__init__(right, 1500, [1e-3] * tiny.choices)
        self.configurations = [{"learner": "simulated", "index": i} for i in range(tiny.choices)]


ENVIRONMENTS: dict[str, Callable[[Tiny], Environment]] = {
    "stream": _stream,
    "holdout": _holdout,
    "pulls": lambda tiny: PullsEnvironment(
        _Trials(tiny), 60 if tiny.budget is None else tiny.budget
    ),
    "samples": lambda tiny: samples.SamplesEnvironment(
        Learners(tiny), budget=tiny.budget, initial_rows=100
    ),
}
"""By kind. None is of whole systems, which the environment runs by their names."""

CUTS: dict[str, dict[int | None, tuple[int, ...]]] = {
    "stream": {None: (0, 1, 63, 64, 150, 299), 100: (37, 100)},
    "holdout": {None: (0, 64, 150), 100: (37,)},
}
"""By kind and budget: after how many labels the data may well be others. In other environments an
algorithm sees what it asks and pays for alone."""


Check = Callable[[Algorithm], None]

WITH_CLASSES = (StreamEnvironment.kind, HoldoutEnvironment.kind)
"""Where an algorithm predicts; elsewhere it asks, and pays for answers."""


def recorded(env: Environment, *methods: str) -> list[NDArray[Any]]:
    """Return a list to which the predictions are added that these methods of `env` are given.

    They are ``record`` of training examples, and ``submit`` of a hold-out's test rows.
    """
    found: list[NDArray[Any]] = []

    def record(method: Any, predictions: Any, *more: Any, **named: Any) -> Any:
        found.append(np.array(predictions))
        return method(predictions, *more, **named)

    for name in methods:
        if hasattr(env, name):
            setattr(env, name, partial(record, getattr(env, name)))
    return found


def checks() -> dict[str, Check]:
    """Return every check by its name, in the order in which they are reported."""
    return {
        name.removeprefix("check_"): function
        for name, function in globals().items()
        if name.startswith("check_")
    }


def broken(algorithm: str, name: str) -> str:
    """Return in one line how the algorithm breaks a requirement; empty if it does not."""
    built = registry.build(algorithm)
    try:
        checks()[name](built)
    except Exception as error:  # noqa: BLE001  (any error of an algorithm breaks a requirement)
        return blamed(error)
    return ""


def check_audit(algorithm: Algorithm) -> None:
    """Check that the auditor finds nothing, the score is finite, and a capacity grants leases."""
    for tiny in (*_data(algorithm), Tiny(choices=1)):
        log, _ = _played(algorithm, tiny)
        score = _audit(log).score
        _require(np.isfinite(score), f"the score is {score}, not a finite number")
        leases = algorithm.capacity is None or events.of(log, events.LeaseGranted)
        _require(leases, "it has a capacity and grants no lease")


def check_look_ahead(algorithm: Algorithm) -> None:
    """Check that it predicts by what it knew until then: later data change nothing before."""
    for tiny in _data(algorithm):
        for budget, cuts in CUTS.get(algorithm.environment, {}).items():
            known = replace(tiny, budget=budget)
            unchanged = _played(algorithm, known)
            for same in cuts:
                other = _until(same, *_played(algorithm, replace(known, same=same)))
                for was, now in zip_longest(_until(same, *unchanged), other):
                    alike = f"{was} becomes {now} although nothing changes before label {same}"
                    _require(was == now, alike)


def check_seeded(algorithm: Algorithm) -> None:
    """Check that the same seed gives the same events again, after a run that was broken off."""
    for tiny in _data(algorithm):
        expected = _lines(_played(algorithm, tiny)[0])
        run = play("checked", algorithm, tiny_environment(algorithm.environment, tiny), 1)
        for _ in range(len(expected) // 2):
            next(run)
        run.close()
        again = _lines(_played(algorithm, tiny)[0])
        _require(again == expected, "two runs with one seed differ")


def check_global_randomness(algorithm: Algorithm) -> None:
    """Check that neither `random` nor `numpy.random` is used, whose states would change."""
    before = _global_states()
    _played(algorithm, Tiny())
    unused = _global_states() == before
    _require(unused, "a global random generator was used: derive one from the seed")


def check_budget(algorithm: Algorithm) -> None:
    """Check that it spends nothing of no budget, and runs to the end within the least unit."""
    log, _ = _played(algorithm, Tiny(budget=0))
    _require(log[-1].at == 0, f"without a budget it spends {log[-1].at}")
    trials = len(events.of(log, events.TrialFinished))
    _require(not trials, f"without a budget it runs {trials} trials")
    _audit(_played(algorithm, Tiny(budget=1))[0])


def _until(same: int, log: Iterable[events.Event], said: Iterable[NDArray[Any]]) -> list[str]:
    """Return the predictions and events of a run until so many labels were alike.

    A prediction of example k may depend on the labels before it and on the features up to its own,
    for every size of the block in which it is handed in; on the hold-out environment features of
    all training rows are known at once, the test rows' are not known to training. Of three and
    more classes a prediction is shown without those that have not come.
    """
    found: list[str] = []
    for block in said:
        for values in (block + 0.0).tolist():  # there is a negative 0
            while isinstance(values, list) and values and not values[-1]:
                values.pop()
            found.append(f"prediction {len(found)} is {values}")
    seen = [each for each in log if each.at <= same and not isinstance(each, events.Finished)]
    return found[: same + 1] + _lines(seen)


def _data(algorithm: Algorithm) -> list[Tiny]:
    """Return the data of a check: of many classes, where it learns them, one comes late."""
    many = algorithm.environment in WITH_CLASSES and algorithm.many_classes
    return [Tiny(), Tiny(classes=3)] if many else [Tiny()]


def _require(kept: object, broken: str) -> None:
    """Raise unless a requirement was met; a bare assert would vanish under ``python -O``."""
    if not kept:
        raise RuleBrokenError(broken)


def _audit(log: Iterable[events.Event]) -> events.Finished:
    auditor = Auditor()
    for event in log:
        auditor(event)
    return auditor.close()


def _played(algorithm: Algorithm, tiny: Tiny) -> tuple[list[events.Event], list[NDArray[Any]]]:
    """Return the events of a whole run, and its predictions."""
    env = tiny_environment(algorithm.environment, tiny)
    predictions = recorded(env, "record")
    algorithm.prepare(env)
    return list(play("checked", algorithm, env, 1)), predictions


def _lines(log: Iterable[events.Event]) -> list[str]:
    return list(map(events.to_json, log))


def _global_states() -> tuple[object, ...]:
    legacy = np.random.get_state(legacy=False)  # noqa: NPY002 - it is what must not change
    keys, position = legacy["state"]["key"].tolist(), legacy["state"]["pos"]
    return random.getstate(), keys, position, legacy["has_gauss"]
