"""Requirements that every algorithm meets, as checks that run over ours and over yours.

``leaseboard check my_algorithm.py:Name`` runs them; so does the test suite over the registry.
"""

import dataclasses
import pickle
import random
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from leaseboard.algorithms import registry
from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.base import Algorithm, play, settings_of
from leaseboard.algorithms.environments.guard import Guard, Played, first_difference
from leaseboard.algorithms.environments.holdout import HoldoutEnvironment
from leaseboard.algorithms.environments.stream import StreamEnvironment
from leaseboard.algorithms.errors import DivergedError, RuleBrokenError
from leaseboard.algorithms.events import Finished, LeaseGranted, TrialFinished, of
from leaseboard.algorithms.log_format import to_json
from leaseboard.algorithms.testing import CUTS, Tiny, tiny_environment
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
    """Check that the auditor finds nothing, the score is finite, and a capacity grants leases."""
    for tiny in (*_data(algorithm), Tiny(choices=1)):
        run = _played(algorithm, tiny)
        score = _audit(run).score
        _require(np.isfinite(score), f"the score is {score}, not a finite number")
        leases = algorithm.capacity is None or of(run.log, LeaseGranted)
        _require(leases, "it has a capacity and grants no lease")


def check_look_ahead(algorithm: Algorithm) -> None:
    """Check that it decides by what it knew until then: later data change nothing before."""
    if algorithm.oracle_baseline:  # declared, and marked wherever it is ranked
        return
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
        env = tiny_environment(algorithm.environment, tiny)
        run = play("checked", algorithm, env, 1, Guard(env).view)
        for _ in range(len(expected) // 2):
            next(run)
        run.close()
        again = _lines(algorithm, tiny)
        _require(again == expected, "a run that was broken off changes the next one")
        copy = pickle.loads(pickle.dumps(algorithm))  # noqa: S301  (pickled the moment before)
        _require(_lines(copy, tiny) == expected, "a copy that went through pickle runs otherwise")


def check_global_randomness(algorithm: Algorithm) -> None:
    """Check that neither `random` nor `numpy.random` is used, whose states would change."""
    before = _global_states()
    _played(algorithm, Tiny())
    unused = _global_states() == before
    _require(unused, "a global random generator was used: derive one from the seed")


def check_settings(algorithm: Algorithm) -> None:
    """Check that the settings are frozen plain values, and rebuild the algorithm."""
    settings = settings_of(algorithm)
    copy = pickle.loads(pickle.dumps(algorithm))  # noqa: S301  (pickled the moment before)
    same = settings_of(copy) == settings_of(type(algorithm)(**settings)) == settings
    _require(same, "the settings, or a copy that went through pickle, rebuild another algorithm")
    for name in settings:
        try:
            setattr(algorithm, name, settings[name])
        except dataclasses.FrozenInstanceError:
            continue
        raise RuleBrokenError(f"setting {name!r} can be changed: declare frozen=True")


def check_budget(algorithm: Algorithm) -> None:
    """Check that it spends nothing of no budget, and runs to the end within the least unit."""
    log = _played(algorithm, Tiny(budget=0)).log
    _require(log[-1].at == 0, f"without a budget it spends {log[-1].at}")
    trials = len(of(log, TrialFinished))
    _require(not trials, f"without a budget it runs {trials} trials")
    _audit(_played(algorithm, Tiny(budget=1)))


def check_not_a_number(algorithm: Algorithm) -> None:
    """Check that NaN in the environment ends in a clean log or in `DivergedError`."""
    with suppress(DivergedError):
        _audit(_played(algorithm, Tiny(broken=True)))


def _data(algorithm: Algorithm) -> list[Tiny]:
    """Return the data of a check: of many classes, where it learns them, one comes late."""
    many = algorithm.environment in WITH_CLASSES and algorithm.many_classes
    return [Tiny(), Tiny(classes=3)] if many else [Tiny()]


def _require(kept: object, broken: str) -> None:
    """Raise unless a requirement was met; a bare assert would vanish under ``python -O``."""
    if not kept:
        raise RuleBrokenError(broken)


def _audit(run: Played) -> Finished:
    auditor = Auditor()
    for event in run.log:
        auditor(event)
    return auditor.close()


def _played(algorithm: Algorithm, tiny: Tiny) -> Played:
    """Return a whole run on a view of an environment."""
    env = tiny_environment(algorithm.environment, tiny)
    guard = Guard(env)
    algorithm.prepare(guard.view)
    log = list(play("checked", algorithm, env, 1, guard.view))
    guard.verify()
    return Played(env, guard, log)


def _lines(algorithm: Algorithm, tiny: Tiny) -> list[str]:
    return list(map(to_json, _played(algorithm, tiny).log))


def _global_states() -> tuple[object, ...]:
    legacy = np.random.get_state(legacy=False)  # noqa: NPY002 - it is what must not change
    keys, position = legacy["state"]["key"].tolist(), legacy["state"]["pos"]
    return random.getstate(), keys, position, legacy["has_gauss"]
