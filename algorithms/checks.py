"""Requirements that every algorithm meets, as checks that run over ours and over yours.

``leaseboard check my_algorithm.py:Name`` runs them; so does the test suite over the registry.
"""

import dataclasses
import pickle
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock

import numpy as np

from leaseboard.algorithms import registry
from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.base import Algorithm, Environment, play, settings_of
from leaseboard.algorithms.environments.guard import Guard, Played, first_difference
from leaseboard.algorithms.environments.holdout import HoldoutEnvironment
from leaseboard.algorithms.environments.stream import StreamEnvironment
from leaseboard.algorithms.errors import DivergedError, RuleBrokenError
from leaseboard.algorithms.events import Event, Finished, LeaseGranted, TrialFinished, of
from leaseboard.algorithms.log_format import to_json
from leaseboard.algorithms.testing import ENVIRONMENTS, Tiny, tiny_environment
from leaseboard.algorithms.user_files import place

Check = Callable[[Algorithm], None]

WITH_CLASSES = (StreamEnvironment.kind, HoldoutEnvironment.kind)


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
    """Check that the auditor finds nothing, and that the score is a finite number."""
    finished = _audited(algorithm, Tiny())
    _require(np.isfinite(finished.score), f"the score is {finished.score}, not a finite number")


def check_look_ahead(algorithm: Algorithm) -> None:
    """Check that it decides by what it knew until then: later data change nothing before."""
    if algorithm.oracle_baseline:  # declared, and marked wherever it is ranked
        return
    _look_ahead(algorithm, Tiny())


def check_seeded(algorithm: Algorithm) -> None:
    """Check that the same seed gives the same events, byte for byte."""
    _require(_lines(algorithm) == _lines(algorithm), "two runs with one seed differ")


def check_global_randomness(algorithm: Algorithm) -> None:
    """Check that neither `random` nor `numpy.random` is used: poisoned, they change nothing."""
    expected = _lines(algorithm)
    with _poisoned():
        _require(_lines(algorithm) == expected, "global random state changes the events")


def check_restart(algorithm: Algorithm) -> None:
    """Check that a run that was broken off leaves nothing behind: the next one is whole."""
    expected = _lines(algorithm)
    env = tiny_environment(algorithm.environment)
    run = play("checked", algorithm, env, 1, Guard(env).view)
    for _ in range(len(expected) // 2):
        next(run)
    run.close()
    _require(_lines(algorithm) == expected, "a run that was broken off changes the next one")


def check_pickle(algorithm: Algorithm) -> None:
    """Check that a pickled copy is equal and runs equally, as worker processes need."""
    copy = pickle.loads(pickle.dumps(algorithm))  # noqa: S301  (pickled the moment before)
    same = settings_of(copy) == settings_of(algorithm)
    _require(same, "a copy that went through pickle has other settings")
    _require(_lines(copy) == _lines(algorithm), "a copy that went through pickle runs otherwise")


def check_settings(algorithm: Algorithm) -> None:
    """Check that the settings are frozen plain values, and rebuild the algorithm."""
    settings = settings_of(algorithm)
    same = settings_of(type(algorithm)(**settings)) == settings
    _require(same, "the settings do not rebuild the algorithm")
    for name in settings:
        try:
            setattr(algorithm, name, settings[name])
        except dataclasses.FrozenInstanceError:
            continue
        raise RuleBrokenError(f"setting {name!r} can be changed: declare frozen=True")


def check_zero_budget(algorithm: Algorithm) -> None:
    """Check that it spends nothing and stops if it has nothing to spend."""
    log = _run(algorithm, tiny_environment(algorithm.environment, Tiny(budget=0)))
    _require(log[-1].at == 0, f"without a budget it spends {log[-1].at}")
    trials = len(of(log, TrialFinished))
    _require(not trials, f"without a budget it runs {trials} trials")


def check_one_choice(algorithm: Algorithm) -> None:
    """Check that it runs to the end with one configuration, arm or feature to choose from."""
    _audited(algorithm, Tiny(choices=1))


def check_one_unit(algorithm: Algorithm) -> None:
    """Check that it runs to the end within a budget of the least unit."""
    _audited(algorithm, Tiny(budget=1))


def check_not_a_number(algorithm: Algorithm) -> None:
    """Check that NaN in the environment ends in a clean log or in `DivergedError`."""
    with suppress(DivergedError):
        _audited(algorithm, Tiny(broken=True))


def check_leases(algorithm: Algorithm) -> None:
    """Check that an algorithm with a capacity grants leases."""
    if algorithm.capacity is not None:
        log = _run(algorithm, tiny_environment(algorithm.environment))
        _require(of(log, LeaseGranted), "it has a capacity and grants no lease")


def check_many_classes(algorithm: Algorithm) -> None:
    """Check that it predicts each of three classes, one of which comes late, if it says so.

    The auditor finds nothing, the same seed gives the same events, and no class is known before
    it comes.
    """
    three = Tiny(classes=3)
    if algorithm.environment not in WITH_CLASSES or not algorithm.many_classes:
        return
    runs = [_played(algorithm, tiny_environment(algorithm.environment, three)) for _ in range(2)]
    _audit(runs[0].log)
    one, other = ([to_json(event) for event in run.log] for run in runs)
    _require(one == other, "two runs with one seed differ")
    if not algorithm.oracle_baseline:
        _look_ahead(algorithm, three)


def _look_ahead(algorithm: Algorithm, tiny: Tiny) -> None:
    for budget, cuts in ENVIRONMENTS[algorithm.environment].cuts.items():
        known = dataclasses.replace(tiny, budget=budget)
        unchanged = _played(algorithm, tiny_environment(algorithm.environment, known))
        for same in cuts:
            other = tiny_environment(algorithm.environment, dataclasses.replace(known, same=same))
            moved = first_difference(same, unchanged, _played(algorithm, other))
            _require(not moved, moved)


def _require(kept: object, broken: str) -> None:
    """Raise unless a requirement was met; a bare assert would vanish under ``python -O``."""
    if not kept:
        raise RuleBrokenError(broken)


def _audited(algorithm: Algorithm, tiny: Tiny) -> Finished:
    return _audit(_run(algorithm, tiny_environment(algorithm.environment, tiny)))


def _audit(log: list[Event]) -> Finished:
    auditor = Auditor()
    for event in log:
        auditor(event)
    return auditor.close()


def _played(algorithm: Algorithm, env: Environment) -> Played:
    """Return a whole run on a view of `env`."""
    guard = Guard(env)
    algorithm.prepare(guard.view)
    log = list(play("checked", algorithm, env, 1, guard.view))
    guard.verify()
    return Played(env, guard, log)


def _run(algorithm: Algorithm, env: Environment) -> list[Event]:
    return _played(algorithm, env).log


def _lines(algorithm: Algorithm) -> list[str]:
    return [to_json(event) for event in _run(algorithm, tiny_environment(algorithm.environment))]


@contextmanager
def _poisoned() -> Iterator[None]:
    """Make draws from the global generators fail, and their seeding too.

    The usual functions refuse at once, which names the culprit in the traceback; what the others
    do is seen in the generators' states afterwards.
    """

    def refuse(*_: Any, **__: Any) -> None:
        raise RuleBrokenError("a global random generator was used: derive one from the seed")

    names = ("random", "randint", "choice", "shuffle", "uniform", "seed", "sample")
    refusals: dict[str, Any] = dict.fromkeys(names, refuse)
    before = _global_states()
    with mock.patch.multiple(random, **refusals):
        drawn = ("rand", "randn", "randint", "choice", "shuffle", "uniform", "normal", "seed",
                 "random", "permutation")  # fmt: skip
        refusals = dict.fromkeys(drawn, refuse)
        with mock.patch.multiple(np.random, **refusals):
            yield
    if _global_states() != before:
        refuse()


def _global_states() -> tuple[object, ...]:
    legacy = np.random.get_state(legacy=False)  # noqa: NPY002 - it is what must not change
    keys, place = legacy["state"]["key"].tolist(), legacy["state"]["pos"]
    return random.getstate(), keys, place, legacy["has_gauss"]
