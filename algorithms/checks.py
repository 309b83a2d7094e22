"""Requirements that every algorithm meets, as checks that run over ours and over yours.

``leaseboard check my_algorithm.py:Name`` runs them; so does the test suite over the registry.
"""

import copy
import dataclasses
import pickle
import random
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np

from leaseboard.algorithms import registry
from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.base import Algorithm, Environment, play
from leaseboard.algorithms.environments.holdout import HoldoutEnvironment
from leaseboard.algorithms.environments.stream import StreamEnvironment
from leaseboard.algorithms.errors import DivergedError, RuleBrokenError
from leaseboard.algorithms.events import (
    Event,
    Finished,
    LeaseGranted,
    ProbeFinished,
    TrialFinished,
    of,
    to_json,
)
from leaseboard.algorithms.plugins import place
from leaseboard.algorithms.testing import CUTS, Tiny, tiny_environment

Check = Callable[[Algorithm], None]

WITH_CLASSES = (StreamEnvironment.kind, HoldoutEnvironment.kind)
"""Where an algorithm predicts; elsewhere it asks, and pays for answers."""

PAID = frozenset(("pull", "pull_joint", "probe", "probe_fold", "confirm", "test", "fit"))
ACTIONS = PAID | {"record", "skip", "submit", "crown", "fail", "note"}
"""Methods by which an algorithm acts on an environment, and those answered at a price."""


class ActionRecorder:
    """Environment as its algorithm sees it, and a record of what the algorithm does there.

    Parameters
    ----------
    env : Environment
        Fresh.

    Attributes
    ----------
    actions : list of (str, tuple)
        The methods that were called, with copies of their arguments.
    """

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


@dataclasses.dataclass(frozen=True, slots=True)
class Played:
    """Whole run: its environment, its events, and what the algorithm did."""

    env: Environment
    log: list[Event]
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
        leases = algorithm.capacity is None or of(log, LeaseGranted)
        _require(leases, "it has a capacity and grants no lease")


def check_look_ahead(algorithm: Algorithm) -> None:
    """Check that it decides by what it knew until then: later data change nothing before."""
    for tiny in _data(algorithm):
        for budget, cuts in CUTS[algorithm.environment].items():
            known = dataclasses.replace(tiny, budget=budget)
            unchanged = _played(algorithm, known)
            for same in cuts:
                other = _played(algorithm, dataclasses.replace(known, same=same))
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
    trials = len(of(log, TrialFinished))
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

    Parameters
    ----------
    same : int
        How many answers were alike: labels, trials or probes.
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
        answers = [i for i, e in enumerate(log) if isinstance(e, TrialFinished | ProbeFinished)]
        last = answers[same - 1] + 1 if 0 < same <= len(answers) else 1
        events = log[:-1] if same > len(answers) else log[:last]
        return {"action": _actions(actions[:until]), "event": _events(events)}
    events = [each for each in log if each.at <= same and not isinstance(each, Finished)]
    predictions = _predictions(actions)[: same + 1]
    found = {"prediction of example": predictions, "event": _events(events)}
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


def _events(log: Iterable[Event]) -> list[str]:
    """Return events without test scores, which the environment adds."""
    return [
        to_json(
            dataclasses.replace(event, test=None) if isinstance(event, TrialFinished) else event
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


def _audit(log: Iterable[Event]) -> Finished:
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
    return list(map(to_json, _played(algorithm, tiny).log))


def _global_states() -> tuple[object, ...]:
    legacy = np.random.get_state(legacy=False)  # noqa: NPY002 - it is what must not change
    keys, position = legacy["state"]["key"].tolist(), legacy["state"]["pos"]
    return random.getstate(), keys, position, legacy["has_gauss"]
