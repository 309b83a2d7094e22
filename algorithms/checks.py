"""Requirements of every algorithm, checked on the smallest environments that say anything.

``leaseboard check my_algorithm.py:Name`` runs them; so does the test suite over the registry.
"""

import copy
import math
import pickle
import random
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms import events, registry
from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.base import Algorithm, Cost, Environment, play
from leaseboard.algorithms.environments import samples
from leaseboard.algorithms.environments.holdout import (
    Holdout,
    HoldoutEnvironment,
    Part,
    SystemFit,
    SystemsEnvironment,
)
from leaseboard.algorithms.environments.pulls import PullsEnvironment, Trial, Trials
from leaseboard.algorithms.environments.selecting import Probe
from leaseboard.algorithms.environments.stream import Namespace, Stream, StreamEnvironment
from leaseboard.algorithms.errors import DivergedError, RuleBrokenError
from leaseboard.algorithms.plugins import place
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
    labels, task, classes = _classes(labels, tiny)
    stream = Stream(features, labels, namespaces, names, task, classes=classes)
    return StreamEnvironment(stream, budget=tiny.budget, outside=OUTSIDE.get("learner"))


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
    features, labels = _product(tiny)
    if tiny.same is not None:
        labels[tiny.same :] = _other(labels[tiny.same :])
    if tiny.same is not None and tiny.same < TRAIN_ROWS:
        features[TRAIN_ROWS:] = _other(features[TRAIN_ROWS:])
    labels, task, called = _classes(labels, tiny)
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
    """Arms that rise with the pulls, the later ones higher; all other ones fall."""

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


class _Learners(_Source, samples.Probes):
    """Classifiers that are right on known rows; a broken set's first fails on more than a few."""

    def __init__(self, tiny: Tiny) -> None:
        super().__init__(tiny)
        self._accuracies = 0.7 + 0.2 * np.arange(tiny.choices) / tiny.choices
        right = np.arange(2000) < np.round(2000 * self._accuracies)[:, None]
        right = generator(0, "simulated split").permuted(right.astype(np.int32), axis=1)
        self.train_rows, self.test_rows = 1500, 500
        self._own = samples.KnownVerdicts(right, 1500, [1e-3] * tiny.choices)
        self._others = samples.KnownVerdicts(1 - right, 1500, [3e-3] * tiny.choices)
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
        right = (drawn < self._accuracies[configuration]) ^ self._is_other(configuration, fold)
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
    probes, search = _Learners(tiny), OUTSIDE.get("search")
    return samples.SamplesEnvironment(probes, 0, tiny.budget, initial_rows=100, deciders=search)


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
    "folds": lambda tiny: samples.FoldsEnvironment(_Folds(tiny), 4, budget=tiny.budget),
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


Check = Callable[[Algorithm], None]

WITH_CLASSES = (StreamEnvironment.kind, HoldoutEnvironment.kind)
"""Where an algorithm predicts; elsewhere it asks, and pays for answers."""

PAID = frozenset(("pull", "pull_joint", "probe", "probe_fold", "confirm", "test", "fit"))
ACTIONS = PAID | {"record", "skip", "submit", "crown", "fail", "note"}
"""Methods by which an algorithm acts on an environment, and those answered at a price."""


class ActionRecorder:
    """Environment as its algorithm sees it, and the actions that were called, with arguments."""

    __slots__ = ("__weakref__", "actions", "env")

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.actions: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.env, name)
        return partial(self._act, name, found) if name in ACTIONS else found

    def _act(self, name: str, method: Any, *given: Any, **named: Any) -> Any:
        self.actions.append((name, tuple(map(copy.copy, (*given, *named.values())))))
        return method(*given, **named)


@dataclass(frozen=True, slots=True)
class Played:
    """Whole run: its environment, its events, and what the algorithm did."""

    env: Environment
    log: list[events.Event]
    actions: list[tuple[str, tuple[Any, ...]]]


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
        return f"{type(error).__name__}: {error}{place(error)}"
    return ""


def check_audit(algorithm: Algorithm) -> None:
    """Check that the auditor finds nothing, the score is finite, and a capacity grants leases."""
    for tiny in (*_data(algorithm), Tiny(choices=1)):
        log = _played(algorithm, tiny).log
        score = _audit(log).score
        _require(np.isfinite(score), f"the score is {score}, not a finite number")
        leases = algorithm.capacity is None or events.of(log, events.LeaseGranted)
        _require(leases, "it has a capacity and grants no lease")


def check_look_ahead(algorithm: Algorithm) -> None:
    """Check that it decides by what it knew until then: later data change nothing before."""
    for tiny in _data(algorithm):
        for budget, cuts in CUTS[algorithm.environment].items():
            known = replace(tiny, budget=budget)
            unchanged = _played(algorithm, known)
            for same in cuts:
                other = _played(algorithm, replace(known, same=same))
                moved = first_difference(same, unchanged, other)
                _require(not moved, moved)


def check_seeded(algorithm: Algorithm) -> None:
    """Check that the same seed gives the same events: again, after a broken run, of a copy."""
    for tiny in _data(algorithm):
        expected = _lines(algorithm, tiny)
        _require(_lines(algorithm, tiny) == expected, "two runs with one seed differ")
        run = play("checked", algorithm, tiny_environment(algorithm.environment, tiny), 1)
        for _ in range(len(expected) // 2):
            next(run)
        run.close()
        again = _lines(algorithm, tiny)
        _require(again == expected, "a run that was broken off changes the next one")
        copied = pickle.loads(pickle.dumps(algorithm))  # noqa: S301  (pickled the moment before)
        same = _lines(copied, tiny) == expected
        _require(same, "a copy that went through pickle runs otherwise")


def check_global_randomness(algorithm: Algorithm) -> None:
    """Check that neither `random` nor `numpy.random` is used, whose states would change."""
    before = _global_states()
    _played(algorithm, Tiny())
    unused = _global_states() == before
    _require(unused, "a global random generator was used: derive one from the seed")


def check_budget(algorithm: Algorithm) -> None:
    """Check that it spends nothing of no budget, and runs to the end within the least unit."""
    log = _played(algorithm, Tiny(budget=0)).log
    _require(log[-1].at == 0, f"without a budget it spends {log[-1].at}")
    trials = len(events.of(log, events.TrialFinished))
    _require(not trials, f"without a budget it runs {trials} trials")
    _audit(_played(algorithm, Tiny(budget=1)).log)


def check_not_a_number(algorithm: Algorithm) -> None:
    """Check that NaN in the environment ends in a clean log or in `DivergedError`."""
    with suppress(DivergedError):
        _audit(_played(algorithm, Tiny(broken=True)).log)


def first_difference(same: int, one: Played, other: Played) -> str:
    """Return where runs part although their environments do so only after `same` answers.

    A prediction of example k may depend on the labels before it and on the features up to its own,
    for every size of the block in which it is handed in; on the hold-out environment features of
    all training rows are known at once, the test rows' are not known to training. The choice of a
    pull or a probe may depend on the results of those before. What happened until then, in actions
    and events, must be the same in both runs; then the text is empty.
    """
    theirs = _known(other, same)
    for what, mine in _known(one, same).items():
        for n, (was, now) in enumerate(zip_longest(mine, theirs[what])):
            if was != now:
                return (
                    f"its {what} {n} moves from {was} to {now} although nothing changes before"
                    f" answer {same}"
                )
    return ""


def _known(run: Played, same: int) -> dict[str, list[str]]:
    """Return what a run did until so many answers were alike, by kind."""
    env, actions, log = run.env, run.actions, run.log
    if env.kind not in WITH_CLASSES:
        asked = [i for i, (name, _) in enumerate(actions) if name in PAID]
        until = asked[same] + 1 if same < len(asked) else None  # the next question too
        kinds = events.TrialFinished | events.ProbeFinished
        answers = [i for i, each in enumerate(log) if isinstance(each, kinds)]
        last = answers[same - 1] + 1 if 0 < same <= len(answers) else 1
        seen = log[:-1] if same > len(answers) else log[:last]
        return {"action": _actions(actions[:until]), "event": _events(seen)}
    seen = [each for each in log if each.at <= same and not isinstance(each, events.Finished)]
    predictions = _predictions(actions)[: same + 1]
    found = {"prediction of example": predictions, "event": _events(seen)}
    if isinstance(env, HoldoutEnvironment) and same >= env.n_train:
        found["action"] = _actions(actions)
    return found


def _predictions(actions: Sequence[tuple[str, tuple[Any, ...]]]) -> list[str]:
    """Return what was handed in, of three and more classes without those that have not come."""
    found = []
    for name, given in actions:
        # Adding 0 makes equal numbers equal texts: there is a negative 0.
        for values in (np.asarray(given[0]) + 0.0).tolist() if name == "record" else ():
            while isinstance(values, list) and values and not values[-1]:
                values.pop()
            found.append(repr(values))
    return found


def _actions(actions: Iterable[tuple[str, tuple[Any, ...]]]) -> list[str]:
    """Return actions; arrays by their length and a checksum of their bytes."""
    return [f"{name}({', '.join(map(_shown, given))})" for name, given in actions]


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{len(value)} values of checksum {zlib.crc32(value.tobytes()):08x}"
    return repr(value)


def _events(log: Iterable[events.Event]) -> list[str]:
    """Return events without test scores, which the environment adds."""
    return [
        events.to_json(
            replace(event, test=None) if isinstance(event, events.TrialFinished) else event
        )
        for event in log
    ]


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


def _played(algorithm: Algorithm, tiny: Tiny) -> Played:
    """Return a whole run on a recorded environment."""
    recorder = ActionRecorder(env := tiny_environment(algorithm.environment, tiny))
    algorithm.prepare(recorder)
    log = list(play("checked", algorithm, env, 1, recorder))
    return Played(env, log, recorder.actions)


def _lines(algorithm: Algorithm, tiny: Tiny) -> list[str]:
    return list(map(events.to_json, _played(algorithm, tiny).log))


def _global_states() -> tuple[object, ...]:
    legacy = np.random.get_state(legacy=False)  # noqa: NPY002 - it is what must not change
    keys, position = legacy["state"]["key"].tolist(), legacy["state"]["pos"]
    return random.getstate(), keys, position, legacy["has_gauss"]
